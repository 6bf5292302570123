// SVG and HTML as text. Part of sotto::server/base.
//
// Pure: safe from any thread.
#pragma once

#include <fmt/format.h>
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

// A text, such as JSON, inside of a script element: nothing in it ends the element.
inline std::string EscapeForScript(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

// The beginning of a drawing on white, in pixels; it ends with "</svg>".
template <typename Width, typename Height>
std::string SvgHead(Width width, Height height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"10\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
}

}  // namespace sotto::server
