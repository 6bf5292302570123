// The kinds of runs: how settings become an outcome. Part of sotto::server/experiment.
//
// A new kind is a row in run_kinds.cc. A run is deterministic: settings and seed decide every
// figure. Reentrant: runs may go on at the same time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formulas/settings.h"
#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

// What runs share: samples are opened once, by the first run that wants them. Thread-safe.
class SharedSamples {
 public:
  virtual ~SharedSamples() = default;
  virtual TrainTest Open(const SimulationRequest& request) = 0;
  virtual TrainTest Open(const PeersRequest& request) = 0;
};

struct RunContext {
  SharedSamples& samples;
  std::function<bool()> stop;  // true: end soon; the outcome is then thrown away
};

struct RunKind {
  const char* name;
  const char* help;
  bool one_run_decides;  // a difference needs no second run: it is computed, not trained
  // The figures and the series that a run may have; none: they depend on its settings.
  std::vector<std::string> figures;
  std::vector<std::string> series;
  bool (*has_option)(const std::string& name);
  // Throws std::invalid_argument if there is no such run.
  void (*check)(const Settings& settings);
  // What a run does before its first round: it opens its files and finds its noise. Throws what the
  // run would throw.
  void (*rehearse)(const Settings& settings, const RunContext& context);
  Outcome (*run)(const Settings& settings, const RunContext& context);
  // The command that repeats a run alone; empty: it has none.
  std::string (*command)(const Settings& settings);
  // The files that a run reads.
  std::vector<NamedInput> (*inputs)(const Settings& settings);
  // The multiply-accumulates of its training. 0: it trains no net. Negative: they depend on samples
  // that are not here.
  //   settings  without the model
  //   model     null: the kind's default
  double (*work)(const Settings& settings, const ModelInfo* model);
};

const std::vector<RunKind>& RunKinds();

// Throws std::invalid_argument that lists the names.
const RunKind& FindRunKind(const std::string& name);

}  // namespace sotto::server
