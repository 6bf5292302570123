// sotto-gateway: joins boards that speak frames over a UART to a Sotto server. Part of
// ports/posix/gateway.
//
// It forwards the bytes of TLS and has no key: what passes through it, it can neither read nor
// change unnoticed. It sees when a board speaks and how much, as each router does. One thread, one
// loop over poll(). Exit statuses: 1 this machine failed; 2 an option is wrong; 130 or 143 stopped
// by SIGINT or SIGTERM.
#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "channel.h"
#include "events.h"
#include "options.h"
#include "serial_port.h"
#include "sotto/log/failures.h"
#include "sotto/options/exit_status.h"
#include "sotto/posix/acceptor.h"
#include "sotto/posix/files.h"
#include "sotto/posix/output_descriptor.h"
#include "sotto/posix/port.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/sockets.h"
#include "sotto/version.h"

namespace sotto::posix {
namespace {

constexpr uint64_t kReopenMs = 1000;
constexpr int kMostAccepted = 16;  // connections of a turn of the loop

// A serial device, which may come and go.
struct SerialWire {
  std::string path;
  std::unique_ptr<Channel> channel;
  uint64_t next_try_ms = 0;
};

class Gateway {
 public:
  Gateway(const GatewayOptions& options, EventLog& log) : options_(options), log_(log) {
    for (const std::string& path : options.serials) {
      serials_.push_back({path, nullptr, 0});
    }
    if (const std::optional<HostPort> listener = ListenerOf(options)) {
      acceptor_.emplace(listener->host, listener->port);
      log_.Write(event::kListens,
                 {{"port", uint64_t{acceptor_->port()}}, {"server", options.server}});
    }
    if (!options.port_file.empty() && acceptor_) {
      ReplaceTextFile(options.port_file, fmt::format("{}\n", acceptor_->port()));
    }
    if (options.test_loss > 0) {
      log_.Write(event::kTestLoss, {{"share", fmt::format("{}", options.test_loss)}});
    }
  }

  void Run() {
    while (StopSignal() == 0) {
      const uint64_t now_ms = NowMs();
      OpenSerials(now_ms);
      AcceptBoards();
      for (SerialWire& wire : serials_) {
        if (wire.channel && !wire.channel->Work(now_ms)) {
          log_.Write(event::kWireLost, {{"wire", wire.path}});
          wire.channel.reset();
          wire.next_try_ms = now_ms + kReopenMs;
        }
      }
      const auto is_gone = [&](const std::unique_ptr<Channel>& board) {
        return !board->Work(now_ms);
      };
      boards_.erase(std::remove_if(boards_.begin(), boards_.end(), is_gone), boards_.end());
      Wait(now_ms);
    }
  }

 private:
  void OpenSerials(uint64_t now_ms) {
    for (SerialWire& wire : serials_) {
      if (wire.channel || now_ms < wire.next_try_ms) continue;
      std::string error;
      const int descriptor = SerialPort::Open(wire.path, options_.baud, &error);
      if (descriptor < 0) {
        log_.Write(event::kWireFailed, {{"wire", wire.path}, {"reason", error}});
        wire.next_try_ms = now_ms + kReopenMs;
        continue;
      }
      log_.End(event::kWireFailed);
      log_.Write(event::kWireOpened, {{"wire", wire.path}});
      wire.channel = MakeChannel(descriptor, wire.path);
    }
  }

  void AcceptBoards() {
    if (!acceptor_) return;
    (void)acceptor_->Accept(kMostAccepted, [&](int socket, const IpAddress&) {
      if (boards_.size() >= options_.most) {
        log_.Write(event::kTooMany, {{"most", uint64_t{options_.most}}});
        CloseSocket(socket);
        return true;
      }
      SendAtOnce(socket);
      WatchPeer(socket);
      boards_.push_back(MakeChannel(socket, fmt::format("connection {}", ++connections_)));
      return true;
    });
  }

  std::unique_ptr<Channel> MakeChannel(int descriptor, const std::string& name) {
    return std::make_unique<Channel>(options_, log_, descriptor, name,
                                     options_.test_seed + channels_++);
  }

  void Wait(uint64_t now_ms) {
    std::vector<WaitingSocket> sockets = {{StopDescriptor(), true, false, false}};
    if (acceptor_) sockets.push_back({acceptor_->socket(), true, false, false});
    uint32_t wait_ms = 60'000;
    const auto add = [&](const Channel& channel) {
      channel.AddWaits(&sockets);
      wait_ms = std::min(wait_ms, channel.WaitMs(now_ms));
    };
    for (const SerialWire& wire : serials_) {
      if (wire.channel) {
        add(*wire.channel);
      } else {
        wait_ms = std::min(wait_ms, static_cast<uint32_t>(kReopenMs));
      }
    }
    for (const std::unique_ptr<Channel>& board : boards_) add(*board);
    WaitForSockets(&sockets, static_cast<int>(wait_ms));
  }

  const GatewayOptions& options_;
  EventLog& log_;
  std::optional<Acceptor> acceptor_;
  std::vector<SerialWire> serials_;
  std::vector<std::unique_ptr<Channel>> boards_;
  uint64_t connections_ = 0;
  uint64_t channels_ = 0;
};

bool are_errors_json = false;  // --errors

int Fail(EventLog& log, const std::exception& error, int status) {
  log.Write(event::kFailed, {{"reason", error.what()}});
  if (are_errors_json) TellFailureAsJson("sotto-gateway", error.what(), status);
  return status;
}

int RunGateway(const GatewayOptions& options) {
  EventLog log("sotto-gateway", LogOptionsOf(options));
  try {
    CheckOptions(options);
    CatchStopSignals();
    Gateway(options, log).Run();
    return kExitSignal + StopSignal();
  } catch (const std::invalid_argument& error) {
    return Fail(log, error, kExitUsage);
  } catch (const std::exception& error) {
    return Fail(log, error, kExitFailure);
  }
}

}  // namespace
}  // namespace sotto::posix

int main(int argc, char** argv) {
  sotto::posix::OpenStandardStreams();
  sotto::posix::IgnoreWriteSignals();
  int status = 0;
  const auto run = [&status](const sotto::posix::GatewayOptions& options) {
    status = sotto::posix::RunGateway(options);
  };
  sotto::posix::Command program = sotto::posix::GatewayCommand(run);
  sotto::posix::AddErrorsOption(argc, argv, &program);
  sotto::posix::are_errors_json = sotto::posix::AreErrorsJson(argc, argv);
  const int usage = sotto::posix::RunProgram(program, sotto::kVersion, argc, argv);
  return usage != 0 ? usage : status;
}
