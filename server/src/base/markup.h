// Text as the contents of SVG and HTML. Part of sotto::server/base.
//
// Pure: safe from any thread.
#pragma once

#include <string>

namespace sotto::server {

// The text with & < > " written as entities: fit for an element's contents, and for an attribute in
// double quotes.
inline std::string EscapeMarkup(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace sotto::server
