// Where a simulation ended, as a value and as the text of a file: a later simulation goes on there
// and gives the same results as one that was never interrupted. Part of sotto::server/sim.
//
// The text is JSON below two lines, its version and its digest (sotto/posix/kept_file.h). Raise
// kRunStateVersion with every change of the fields. It holds the key of the run, so no epsilon
// holds against its reader (sdk/LRQ.md, section 8.1): it belongs to its owner alone.
//
// Damage is found by the digest. A state that somebody has edited, digest included, is refused
// where rounds, attempts and releases do not fit each other (RequireConsistent() in run_state.cc):
// it would release more than its epsilon counts.
//
// Why a key may be used again. Everything that a simulation draws derives from its key. A
// simulation that goes on must have the same configuration, the same fleet and the same data. So
// two of them from one file draw the same numbers for the same rounds and release the same models:
// together they tell no more than one.
//
// Plain values and pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "round/job.h"
#include "sotto/keys.h"
#include "spec/inputs.h"

namespace sotto::server {

constexpr int kRunStateVersion = 2;

struct RoundReport {
  RoundOutcome outcome;
  std::optional<Evaluation> evaluation;  // after the round, on the test set; absent: not made
  std::optional<Evaluation> average_evaluation;  // the same of the average of the models
  uint32_t attempts = 0;                         // committed so far, of the whole job
  uint32_t failed_trainings = 0;                 // of this process's devices, which reported zeros
  uint32_t saturated_trainings = 0;  // the same, in which numbers in fixed point saturated
};

struct RunState {
  std::string file;           // its name, for messages
  std::string configuration;  // of the job, text of ConfigurationToJson()
  std::string fleet;          // SimulationConfig::fleet_text
  InputDigests inputs;        // of the files that it read
  // The programs that ran its rounds (BuildText()), in their order, each once.
  std::vector<std::string> builds;
  Key run_key;
  JobState job;
  std::optional<Evaluation> initial;  // before the first round; absent: not made
  std::vector<RoundReport> rounds;    // released ones; after FromText() without outcome.spent
};

// The text of a file. `file` is no part of it.
std::string ToText(const RunState& state);

// Throws std::invalid_argument that names the file if the text is no state of this version, if it
// is not as it was written, or if what it says does not fit together.
RunState RunStateFromText(const std::string& file, const std::string& text);

// Writes a state to a file, or replaces it: at any moment it holds one whole state. Throws as
// posix::WriteKeptFile() does.
void WriteRunState(const std::string& path, const RunState& state);

// Reads it. Throws std::invalid_argument as RunStateFromText() does, and if there is no such file.
RunState ReadRunState(const std::string& path);

// Throws std::invalid_argument that names the file and a round whose cohort, bound, noise or counts
// are none that the job gives: somebody has edited the file. What devices measured may be any.
//   job  of now, whose configuration is the file's
void RequireRoundsOf(const RunState& state, const JobConfig& job);

// Throws std::invalid_argument that names the file and the first field that differs between what
// the simulation of the file began with and what is asked now.
//   configuration, fleet  of now, as in RunState
void RequireSameRun(const RunState& state, const std::string& configuration,
                    const std::string& fleet);

// The same for the first file whose content differs.
void RequireSameInputs(const RunState& state, const InputDigests& inputs);

// What to tell of a state that another build wrote; empty: this one did.
std::string OtherBuildWarning(const RunState& state, const std::string& build);

}  // namespace sotto::server
