// A serial device: 8 bits, no parity, no flow control, raw. Part of ports/posix/gateway.
#pragma once

#include <cstdint>
#include <string>

namespace sotto::posix {

class SerialPort {
 public:
  static bool HasRate(uint32_t baud);

  // Opens a device that does not block. Returns its descriptor, which the caller closes; or -1, and
  // *error says why and what to do.
  static int Open(const std::string& path, uint32_t baud, std::string* error);
};

}  // namespace sotto::posix
