// Turns a failed status of the SDK into an exception. Part of sotto/posix. Safe in any thread.
#pragma once

#include <stdexcept>
#include <string>

#include "sotto/status.h"

namespace sotto::posix {

// Throws std::runtime_error("<what> failed: <status>") for every status but kOk.
inline void Check(Status status, const char* what) {
  if (status == Status::kOk) return;
  throw std::runtime_error(std::string(what) + " failed: " + StatusName(status));
}

}  // namespace sotto::posix
