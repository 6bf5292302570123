// The overview of a store or of results, as the operator's page and `sotto report` draw it. Part of
// sotto::server/overview.
//
// An overview is a JSON object; server/page/ draws it. Null means that a figure is not
// known. What belongs to the operator is in no published overview: counts, bytes and times of
// attempts tell who took part, and no claim against the public covers them (PRIVACY.md, section 1).
//
//   {"format": 1, "audience": "operator" | "public", "source", "sotto_version", "charts", "live",
//    "sequence", "started", "now", "jobs": [job...]}; the operator's: {"devices", "queue",
//    "network", "log", "listens"}
//
//   job     {"job", "model", "parameters", "mechanism", "begun", "rounds_planned",
//            "rounds_released", "attempts", "state", "ended", "reason", "private", "seeded",
//            "epsilon_budget", "claims", "settings": [[name, value]...], "columns": [column...],
//            "rounds": [round...], "evaluations": [...]}; the operator's: {"classes": of the
//            last evaluation, OverviewOfClasses(), "turns": of a job
//            of passes, as turns_output.h has them, but "never_asked" is a text}
//   round   {"round", "attempts", "epsilon": {field: value}}, and the figures of round_figures.h
//           that are in kOverview and that the overview's reader may see
//   column  {"field", "heading", "unit", "help"}: a figure for the page's table of rounds
// Rounds count from 1. Times are seconds since 1970.
//
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "round/round_figures.h"
#include "round/round_outcome.h"
#include "store/ledger.h"

namespace sotto::server {

// What an overview says of the test data that a job's models were evaluated on. They are the
// operator's: no epsilon covers what the figures tell about these samples.
enum class TestFigures { kShown, kLeftOut };

// "clip_l2": "clip l2"
std::string InWords(std::string field);

nlohmann::ordered_json OverviewHead(const std::string& source, Audience audience);

// A claim with the field and the words that claim_kinds.h has for it, and its assumptions in
// sentences.
nlohmann::ordered_json OverviewOfClaims(const std::vector<privacy::Claim>& claims);

nlohmann::ordered_json OverviewOfTurns(const JobTurns& turns);

//   seen  what the server saw of the round; nullptr: an earlier start of the server saw it
nlohmann::ordered_json OverviewOfRound(const LedgerEntry& release, Audience audience,
                                       const RoundOutcome* seen = nullptr);

nlohmann::ordered_json OverviewOfEvaluation(uint32_t round, const std::string& data,
                                            const Evaluation& evaluation);

// {"round", "rows": [{"class", "correct", "total"}]}; null: the target is no class.
nlohmann::ordered_json OverviewOfClasses(uint32_t round, const EvaluatedData& data,
                                         const Evaluation& evaluation);

// A store's last job can go on; it is served, or not.
enum class JobPlace { kPast, kLast, kServed };

// What a job is about. All views that show it take it from here.
struct JobStanding {
  const char* state = "";       // running, paused, waiting, interrupted, or of kHalts
  const char* ended = nullptr;  // name of the end (round/halt.h); null: the job is not over
  std::string reason;           // for people

  nlohmann::ordered_json EndedToJson() const;
  // "over (no-turns): the turns of its devices are used", "interrupted: no server runs", "running"
  std::string Text() const;
};

// "waiting: 3 devices are eligible"; a reason that begins with the state says it once.
std::string StateText(const std::string& state, const std::string& reason);

//   is_paused  the store's jobs are
JobStanding StandingOf(const JobLedger& job, JobPlace place, bool is_paused, Audience audience);

nlohmann::ordered_json OverviewOfJob(const JobLedger& job, JobPlace place, Audience audience,
                                     TestFigures test = TestFigures::kShown,
                                     bool is_paused = false);

// The jobs that wait for their turn: [{"request", "asked", "settings"}...]
nlohmann::ordered_json OverviewOfQueue(const std::vector<JobRequestEntry>& requests);

// {"registered", "eligible", "revoked"}
nlohmann::ordered_json OverviewOfDevices(const std::vector<DeviceRecord>& devices);

// The overview of all jobs of a store.
nlohmann::ordered_json OverviewOfStore(Store& store, Audience audience,
                                       TestFigures test = TestFigures::kShown);

// The overview of the results that `sotto simulate --json` or `sotto serve --json` wrote.
// Throws std::invalid_argument, naming `path`, if they are something else.
nlohmann::ordered_json OverviewOfResults(const std::string& path,
                                         const nlohmann::ordered_json& results, Audience audience,
                                         TestFigures test = TestFigures::kShown);

}  // namespace sotto::server
