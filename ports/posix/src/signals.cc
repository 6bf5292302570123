#include "sotto/posix/signals.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>

namespace sotto::posix {
namespace {

volatile std::sig_atomic_t stop_signal = 0;
int stop_pipe[2] = {-1, -1};

void OnStopSignal(int number) {
  const int error = errno;
  stop_signal = number;
  static_cast<void>(write(stop_pipe[1], "", 1));
  errno = error;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void IgnoreWriteSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void IgnoreHangUp() { std::signal(SIGHUP, SIG_IGN); }

void CatchStopSignals() {
  if (stop_pipe[0] < 0 && pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::runtime_error("no pipe for signals: " + std::generic_category().message(errno));
  }
  std::signal(SIGINT, OnStopSignal);
  std::signal(SIGTERM, OnStopSignal);
}

int StopSignal() { return stop_signal; }

int StopDescriptor() { return stop_pipe[0]; }

void SleepUnlessStopped(uint32_t ms) {
  constexpr uint32_t kMostMs = 1'000'000'000;
  pollfd stop{stop_pipe[0], POLLIN, 0};
  static_cast<void>(poll(&stop, 1, static_cast<int>(std::min(ms, kMostMs))));
}

}  // namespace sotto::posix
