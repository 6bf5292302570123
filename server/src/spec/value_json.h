// Values of options as JSON. Part of sotto::server/spec.
//
// Pure functions, safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sotto/options/value.h"

namespace sotto::server {

// An absent value is null.
nlohmann::ordered_json ToJson(const posix::Value& value);

// The inverse. Throws std::invalid_argument for an object.
posix::Value FromJson(const nlohmann::ordered_json& json);

}  // namespace sotto::server
