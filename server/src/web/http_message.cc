#include <algorithm>

#include "web/http_server.h"

namespace sotto::server {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsSameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

}  // namespace

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [each, value] : headers) {
    if (IsSameName(each, name)) return value;
  }
  return {};
}

size_t HttpRequest::CountOf(std::string_view name) const {
  return static_cast<size_t>(std::count_if(headers.begin(), headers.end(), [&](const auto& each) {
    return IsSameName(each.first, name);
  }));
}

HttpReply TextReply(unsigned status, std::string text) {
  HttpReply reply;
  reply.status = status;
  reply.body = std::make_shared<const std::string>(std::move(text));
  return reply;
}

}  // namespace sotto::server
