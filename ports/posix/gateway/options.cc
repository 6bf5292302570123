#include "options.h"

#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "serial_port.h"
#include "sotto/options/exit_status.h"

namespace sotto::posix {
namespace {

using Row = Field<GatewayOptions>;

HostPort Parse(const char* option, const std::string& text, bool may_be_any_port) {
  const std::optional<HostPort> address = ParseHostPort(text);
  if (address && (address->port != 0 || may_be_any_port)) return *address;
  throw std::invalid_argument(
      fmt::format("{} {}: expected HOST:PORT or [ADDRESS]:PORT", option, text));
}

std::vector<Row> Rows() {
  return {
      Row("server", &GatewayOptions::server, "HOST:PORT of the Sotto server").Required(),
      Row("serial", &GatewayOptions::serials,
          "serial device with a board behind it, such as /dev/ttyUSB0; give it once for each "
          "board"),
      Row("baud", &GatewayOptions::baud, "rate of the serial devices, bits a second"),
      Row("listen", &GatewayOptions::listen,
          "HOST:PORT, numeric, for UARTs over TCP: each connection is one board. Any host that "
          "reaches this port reaches the server")
          .ByDefault("none"),
      Row("most", &GatewayOptions::most, "most connections of --listen at once").Within({1, 1000}),
      Row("max-frame", &GatewayOptions::max_frame,
          "largest frame, bytes; a board with smaller frames gets smaller frames")
          .Within({kSmallestFrame, kLargestFrame}),
      Row("window", &GatewayOptions::window,
          "frames that a board may send before the gateway reads them: 1, 2, 4, 8, 16 or 32")
          .Within({1, kLargestWindow}),
      Row("port-file", &GatewayOptions::port_file,
          "write the port of --listen to this file once it is open (port 0)"),
      Row("log", &GatewayOptions::log,
          "format of the events on standard error; lines: for people; json: one object a line")
          .OneOfNames(LogFormatNames()),
      Row("verbose", &GatewayOptions::verbose, "log also each connection and its counts")
          .Letter("v"),
      Row("test-loss", &GatewayOptions::test_loss,
          "for tests: lose this share of the frames, in each direction")
          .Within({0, 0.9}),
      Row("test-seed", &GatewayOptions::test_seed, "for tests: seed of --test-loss"),
  };
}

}  // namespace

Command GatewayCommand(std::function<void(const GatewayOptions&)> run) {
  return CommandFor<GatewayOptions>("sotto-gateway",
                                    "Joins boards that speak frames over a UART to a Sotto server. "
                                    "It forwards encrypted bytes and has no secret.")
      .Takes(Rows())
      .Footer(DescribeExits({{kExitFailure, "this machine failed, or the port is in use"},
                             {kExitUsage, "an option is wrong"}}))
      .Runs(std::move(run));
}

void CheckOptions(const GatewayOptions& options) {
  (void)ServerOf(options);
  (void)ListenerOf(options);
  if (options.serials.empty() && options.listen.empty()) {
    throw std::invalid_argument("there is no board: give --serial DEVICE or --listen HOST:PORT");
  }
  if (LinkConfigOf(options).Validate() != Status::kOk) {
    throw std::invalid_argument(
        fmt::format("--window {}: expected 1, 2, 4, 8, 16 or 32", options.window));
  }
  if (!SerialPort::HasRate(options.baud)) {
    throw std::invalid_argument(
        fmt::format("--baud {}: this system's serial devices have no such rate; expected 9600, "
                    "19200, 38400, 57600, 115200, 230400, 460800 or 921600",
                    options.baud));
  }
}

FrameLinkConfig LinkConfigOf(const GatewayOptions& options) {
  FrameLinkConfig config;
  config.max_frame = static_cast<uint8_t>(options.max_frame);
  config.window = static_cast<uint8_t>(options.window);
  return config;
}

HostPort ServerOf(const GatewayOptions& options) {
  return Parse("--server", options.server, false);
}

std::optional<HostPort> ListenerOf(const GatewayOptions& options) {
  if (options.listen.empty()) return {};
  return Parse("--listen", options.listen, true);
}

LogOptions LogOptionsOf(const GatewayOptions& options) {
  LogOptions log;
  log.format = LogFormatFor(options.log);
  log.level = options.verbose ? LogLevel::kDebug : LogLevel::kInfo;
  return log;
}

}  // namespace sotto::posix
