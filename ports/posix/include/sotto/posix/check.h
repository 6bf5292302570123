// Turns a failed status of the SDK into an exception. Part of sotto::server/round.
#ifndef SOTTO_ROUND_CHECK_H_
#define SOTTO_ROUND_CHECK_H_

#include <stdexcept>
#include <string>

#include "sotto/status.h"

namespace sotto::server {

// Throws std::runtime_error("<what> failed: <status>") for every status but kOk.
inline void Check(Status status, const char* what) {
  if (status == Status::kOk) return;
  throw std::runtime_error(std::string(what) + " failed: " + StatusName(status));
}

}  // namespace sotto::server

#endif  // SOTTO_ROUND_CHECK_H_
