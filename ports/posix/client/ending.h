// How a device's part in a job ends: the one table of outcomes, their exit statuses and events.
// Part of ports/posix/client. Constant data and plain values.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

#include "events.h"
#include "sotto/options/exit_status.h"

namespace sotto::posix {

enum class Outcome : uint8_t {
  kDone,      // the job is done
  kFailed,    // this machine failed, or a file became wrong
  kRefused,   // the server refused this device's model for good, or this device the job
  kNoServer,  // no server in time (--give-up)
  kStopped,   // SIGINT or SIGTERM
};

struct Ending {
  Outcome outcome = Outcome::kDone;
  std::string reason = {};  // for people; empty if the job is done
  std::string code = {};    // of kRefused: the name of the status or error code
  int signal = 0;           // of kStopped
};

// Of a program that a stop signal ends.
inline Ending EndingOfSignal(int signal) {
  const char* const name = signal == SIGINT ? "SIGINT" : "SIGTERM";
  return {Outcome::kStopped, std::string("stopped by ") + name, "", signal};
}

struct OutcomeRow {
  Outcome outcome;
  const EventKind& event;  // its name is the outcome's
  int exit_status;
};

inline constexpr int kExitRefused = 3;
inline constexpr int kExitNoServer = 4;

// In the order of the enumeration.
inline constexpr OutcomeRow kOutcomes[] = {
    {Outcome::kDone, event::kDone, 0},
    {Outcome::kFailed, event::kFailed, kExitFailure},
    {Outcome::kRefused, event::kRefused, kExitRefused},
    {Outcome::kNoServer, event::kNoServer, kExitNoServer},
    {Outcome::kStopped, event::kStopped, kExitSignal},
};

inline const OutcomeRow& RowOf(Outcome outcome) { return kOutcomes[static_cast<int>(outcome)]; }

inline int ExitStatus(const Ending& ending) {
  return RowOf(ending.outcome).exit_status + ending.signal;
}

}  // namespace sotto::posix
