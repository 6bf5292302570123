#include "base/json_text.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace sotto::server {

using Json = nlohmann::ordered_json;

std::string JsonText(const Json& json, int indent) { return json.dump(indent); }

std::string ForgivingJsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

// What this project writes is a few levels deep. Code that goes through a value calls itself for
// each level.
constexpr int kMostLevels = 100;

bool IsTooDeep(std::string_view text) {
  int levels = 0;
  bool is_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') is_string = !is_string;
    if (is_string && c == '\\') ++i;
    if (is_string) continue;
    if (c == '[' || c == '{') ++levels;
    if (c == ']' || c == '}') --levels;
    if (levels > kMostLevels) return true;
  }
  return false;
}

}  // namespace

Json ParseJson(std::string_view text) {
  if (IsTooDeep(text)) {
    throw std::invalid_argument("arrays and objects lie in each other more than " +
                                std::to_string(kMostLevels) + " times");
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {  // its words repeat what it read, of any length
    const size_t read = std::min<size_t>(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + read, '\n');
    throw std::invalid_argument("wrong in line " + std::to_string(line) + ", at byte " +
                                std::to_string(error.byte));
  }
}

Json TryParseJson(std::string_view text) {
  return IsTooDeep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

Json ToJson(const posix::Value& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

posix::Value FromJson(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) return json.get<std::vector<std::string>>();
  throw std::invalid_argument("an object is no value of an option");
}

}  // namespace sotto::server
