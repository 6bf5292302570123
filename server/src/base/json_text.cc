#include "base/json_text.h"

#include <nlohmann/json.hpp>

namespace sotto::server {

using Json = nlohmann::ordered_json;

std::string JsonText(const Json& json, int indent) { return json.dump(indent); }

std::string ForgivingJsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json ParseJson(std::string_view text) { return Json::parse(text); }

Json TryParseJson(std::string_view text) { return Json::parse(text, nullptr, false); }

}  // namespace sotto::server
