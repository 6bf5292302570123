// What a service tells the service manager that started it: that it is ready, how it is, that it is
// alive. Part of sotto/posix.
//
// The manager is systemd (Type=notify, WatchdogSec=). Under none, or another one, nothing happens.
// Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace sotto::posix {

// Whether a service manager has started this program, and may start it again by itself.
bool IsService();

// The service is ready to serve.
void TellReady();

// One line for people, as `systemctl status` shows it.
void TellStatus(const std::string& line);

// The service is about to end.
void TellStopping();

// Tells a watchdog that the service is alive. Without such a sign for the watchdog's time the
// manager ends the service and starts it again.
class WatchdogSigns {
 public:
  WatchdogSigns();

  // Call it often, from the place whose life matters; it gives a sign when one is due.
  //   now_ms  of a clock that does not go back
  void Alive(uint64_t now_ms);

 private:
  uint64_t period_ms_ = 0;  // between two signs; 0: nobody asks
  uint64_t next_ms_ = 0;
};

}  // namespace sotto::posix
