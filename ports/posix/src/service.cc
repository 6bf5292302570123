#include "sotto/posix/service.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <systemd/sd-daemon.h>
#include <unistd.h>

namespace sotto::posix {
namespace {

// A manager that does not listen is no reason to end.
void Tell(const std::string& state) { (void)sd_notify(0, state.c_str()); }

}  // namespace

bool IsService() {
  const char* const process = std::getenv("SYSTEMD_EXEC_PID");
  return process != nullptr && process == std::to_string(getpid());
}

void TellReady() { Tell("READY=1"); }

void TellStatus(const std::string& line) {
  std::string one_line = line;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  Tell("STATUS=" + one_line);
}

void TellStopping() { Tell("STOPPING=1"); }

WatchdogSigns::WatchdogSigns() {
  uint64_t time_us = 0;
  if (sd_watchdog_enabled(0, &time_us) > 0) {
    period_ms_ = std::max<uint64_t>(time_us / 1000 / 3, 1);
  }
}

void WatchdogSigns::Alive(uint64_t now_ms) {
  if (period_ms_ == 0 || now_ms < next_ms_) return;
  next_ms_ = now_ms + period_ms_;
  Tell("WATCHDOG=1");
}

}  // namespace sotto::posix
