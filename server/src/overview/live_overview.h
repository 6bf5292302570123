// The overview of a store while its server runs, and the events that keep a viewer's copy up to
// date. For the operator alone. Part of sotto::server/overview.
//
// Each change returns one server-sent event, complete with its number. A viewer that has the
// overview with "sequence": n follows by taking the events after n. The text of a round is made
// once, so an overview of thousands of rounds is copied, not computed.
//
// The events, each {"job", ...} of the running job unless it says otherwise:
//   round       {"round", "claims", "turns" (without "devices"), "attempts", "rounds_released"}
//   claims      {"claims"}: after the last round, with their epsilons at other deltas
//   attempt     {"attempt": {"round", "attempt", "drawn", "opened", "deadline"} | null}
//   evaluation  {"evaluation"}
//   state       {"state", "ended", "reason", "rounds_planned", "epsilon_budget"}
//   spectrum    {"spectrum": {"round", "frequency", "before", "after", "noise"}}
//   jobs        {}: another job has begun; viewers take the whole overview again
//   devices, network   the objects of the overview;  log {"line"};  end {}
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "net/server.h"
#include "store/ledger.h"

namespace sotto::server {

class LiveOverview {
 public:
  LiveOverview();
  ~LiveOverview();

  // The overview of the store when a job has begun, or when the server has: the last job is the one
  // that runs, or it is over, or there is none. Until then there is no overview, and viewers see
  // the log. The event lets viewers ask for the whole overview anew.
  std::string Begin(const nlohmann::ordered_json& overview, bool seeded);

  bool has_begun() const { return has_begun_; }

  // The whole overview, as JSON.
  std::string Text() const;

  // A result was published.
  //   release  the ledger's entry of it; absent: the attempt was given up
  //   turns    of the job, after it
  std::string OnOutcome(const RoundOutcome& outcome, const std::optional<LedgerEntry>& release,
                        const JobTurns& turns);
  // The claims after a round, with their epsilons at other deltas. Empty if another round followed.
  std::string OnClaims(uint32_t round, const std::vector<privacy::Claim>& claims);
  std::string OnPhase(const ServerPhase& phase, bool is_paused);
  std::string OnEvaluation(uint32_t round, const EvaluatedData& data, const Evaluation& evaluation);
  std::string OnDevices(nlohmann::ordered_json devices);
  std::string OnQueue(nlohmann::ordered_json queue);
  std::string OnNetwork(const NetworkFigures& figures);
  std::string OnLog(const std::string& line);
  std::string OnEnd();

 private:
  std::string Event(const char* name, const nlohmann::ordered_json& data);
  std::string SpectrumEvent(const RoundOutcome& outcome);
  std::string StateEvent();

  struct Parts;
  const std::unique_ptr<Parts> parts_;
  bool has_begun_ = false;
  uint64_t sequence_ = 0;
  std::string head_;               // the overview's first fields, without braces
  std::vector<std::string> past_;  // jobs before the one that runs
  std::vector<std::string> rounds_;
  std::vector<std::string> evaluations_;
  std::deque<std::string> log_;
  double started_ = 0;
};

}  // namespace sotto::server
