// The command line of sotto-gateway. Part of ports/posix/gateway.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sotto/frame_link.h"
#include "sotto/log/event_log.h"
#include "sotto/options/command.h"
#include "sotto/options/numbers.h"

namespace sotto::posix {

struct GatewayOptions {
  std::string server;                // HOST:PORT
  std::vector<std::string> serials;  // devices such as /dev/ttyUSB0
  uint32_t baud = 115200;
  std::string listen;  // HOST:PORT for UARTs over TCP; empty: none
  uint32_t most = 64;  // connections there
  uint32_t max_frame = kLargestFrame;
  uint32_t window = 16;
  std::string port_file;
  std::string log = "lines";
  bool verbose = false;
  double test_loss = 0;
  uint64_t test_seed = 1;
};

Command GatewayCommand(std::function<void(const GatewayOptions&)> run);

// Options that only make sense together. Throws std::invalid_argument.
void CheckOptions(const GatewayOptions& options);

FrameLinkConfig LinkConfigOf(const GatewayOptions& options);
HostPort ServerOf(const GatewayOptions& options);
std::optional<HostPort> ListenerOf(const GatewayOptions& options);
LogOptions LogOptionsOf(const GatewayOptions& options);

}  // namespace sotto::posix
