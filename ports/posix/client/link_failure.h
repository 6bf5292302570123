// Why a connection failed, in words. Part of ports/posix/client. Stateless.
#pragma once

#include <fmt/format.h>
#include <string>

#include "connection.h"
#include "reporter.h"

namespace sotto::posix {

// Of a connection that was not closed yet.
//   device  this device's name
inline Failure WhyLost(const Connection& link, const std::string& device, Status status) {
  Failure failure = FailureOf(status);
  if (!link.is_open()) {
    failure.reason = fmt::format("cannot connect: {}", link.error());
  } else if (link.is_authenticated()) {
    return failure;
  } else if (status == Status::kPeerRefused || status == Status::kMismatch) {
    failure.reason = fmt::format(
        "it does not accept the key of {}, or is not the server of this device", device);
  } else {
    failure.reason += fmt::format(", before the server proved that it knows the key of {}", device);
  }
  return failure;
}

}  // namespace sotto::posix
