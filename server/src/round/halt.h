// Why a job opens no attempt: it waits, or it is over. Part of sotto::server/round.
//
// To add an end: its value here, its row in kHalts. Status, page, report, results, metrics and
// alerts show it.
//
// Constants and pure functions: safe from any thread.
#pragma once

#include "base/names.h"

namespace sotto::server {

// It holds until the next attempt is committed.
enum class Halt {
  kWaiting,    // until the fleet changes, devices connect, or a pause ends
  kAllRounds,  // all others are ends
  kNoTurns,
  kBudget,
  kOperator,
  kReplaced,
  kDiverged,
  kGaveUp,
};

struct HaltKind {
  Halt value;
  const char* name;   // in a store, JSON and metrics
  const char* state;  // of a job that is halted so
  const char* words;  // public: they count nobody
};

constexpr HaltKind kHalts[] = {
    {Halt::kWaiting, "waiting", "waiting", ""},
    {Halt::kAllRounds, "all-rounds", "finished", "all rounds of its plan are released"},
    {Halt::kNoTurns, "no-turns", "finished", "the turns of its devices are used"},
    {Halt::kBudget, "budget", "finished", "its privacy budget pays for no other round"},
    {Halt::kOperator, "operator", "stopped", "its operator stopped it"},
    {Halt::kReplaced, "replaced", "stopped", "another job began after it"},
    {Halt::kDiverged, "diverged", "gave-up", "training diverged"},
    {Halt::kGaveUp, "gave-up", "gave-up", "too few devices took part in its last attempts"},
};

inline const char* Name(Halt kind) { return privacy::NameIn(kHalts, kind); }

constexpr bool IsEnd(Halt kind) { return kind != Halt::kWaiting; }

// An end after which a later start of the server tries again, whatever has changed since.
constexpr bool IsRetried(Halt kind) { return kind == Halt::kDiverged || kind == Halt::kGaveUp; }

inline const HaltKind& KindOf(Halt value) {
  for (const HaltKind& kind : kHalts) {
    if (kind.value == value) return kind;
  }
  return kHalts[0];
}

}  // namespace sotto::server
