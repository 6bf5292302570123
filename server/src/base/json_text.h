// JSON as text and back, and values of options as JSON. Part of sotto::server/base.
//
// The parser and the writer of nlohmann/json cost seconds in each file that calls them. Call these
// instead: they are compiled once.
//
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "sotto/options/value.h"

namespace sotto::server {

// One line, or lines that are indented by this many spaces. Throws nlohmann's exception for a text
// that is not UTF-8.
std::string JsonText(const nlohmann::ordered_json& json, int indent = -1);

// One line, whatever bytes a text has: those that are not UTF-8 become U+FFFD.
std::string ForgivingJsonText(const nlohmann::ordered_json& json);

// Throws std::invalid_argument, with the place, for a text that is not JSON, and for one whose
// arrays and objects lie in each other so often that a stack would overflow.
nlohmann::ordered_json ParseJson(std::string_view text);

// The same, but is_discarded() for both.
nlohmann::ordered_json TryParseJson(std::string_view text);

// An absent value is null.
nlohmann::ordered_json ToJson(const posix::Value& value);

// The inverse. Throws std::invalid_argument for an object.
posix::Value FromJson(const nlohmann::ordered_json& json);

}  // namespace sotto::server
