#include "sotto/posix/signals.h"

#include <csignal>

namespace sotto::posix {
namespace {

volatile std::sig_atomic_t stop_signal = 0;

void OnStopSignal(int number) {
  stop_signal = number;
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
  std::signal(SIGINT, OnStopSignal);
  std::signal(SIGTERM, OnStopSignal);
}

int StopSignal() { return stop_signal; }

}  // namespace sotto::posix
