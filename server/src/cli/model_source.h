// Where `sotto model export`, `evaluate`, `predict` and `threshold` take a trained model from: a
// store or a file; and the samples of all but the first. Part of sotto::server/cli.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "export/format.h"
#include "sotto/data/dataset.h"
#include "sotto/model/model_file.h"
#include "sotto/model_info.h"
#include "sotto/options/command.h"

namespace sotto::server {

// What the user names.
struct ModelSource {
  std::string path;               // a store, or a file of parameters
  std::string model;              // --model; empty: a store's own, or what the file says
  std::optional<uint32_t> round;  // of a store: from 1; 0: with which the job began; absent: last
  std::optional<uint32_t> job;    // of a store; absent: the last one
};

const std::vector<posix::Field<ModelSource>>& ModelSourceFields();

struct OpenedModel {
  posix::SharedModel model;
  std::vector<float> parameters;
  Metadata metadata;  // model, digest; of a store the round and what is claimed of it
  int64_t job = 0;    // of a store, its number; 0: of a file
  int64_t round = 0;  // of a store, from 0; kFirstModel: with which the job began

  TrainedModel trained() const {
    return {*model, {parameters.data(), parameters.size()}, metadata};
  }
};

// The model that a job of a store trains.
//   job  absent: the last one
// Throws as OpenModelSource() does.
posix::SharedModel OpenModelOfStore(const std::string& path, std::optional<uint32_t> job);

// Opens it; a store also while a server writes to it. Throws std::invalid_argument or
// std::runtime_error that name the file, what is wrong and what to do.
OpenedModel OpenModelSource(const ModelSource& source);

enum class Labels { kNeeded, kIgnored };

// Which samples the user names.
struct SamplesSource {
  std::string data;        // --data
  std::string trained_on;  // --trained-on; empty: the file of --data alone says what it holds
};

// The rows of both options.
const std::vector<posix::Field<SamplesSource>>& SamplesFields();

// The samples that --data names: of a data set of two parts those for the test, of a file all. If
// labels are ignored, a table without a column for them is fine. Throws std::invalid_argument or
// std::runtime_error, also for samples that the model does not take.
SharedDataset OpenSamples(const SamplesSource& source, const ModelInfo& model, Labels labels);

// The same for an autoencoder, with labels that it does not know: Label() is 1 for an anomaly, else
// 0.
//   column  of a table: its name or number; it has 0 and 1
SharedDataset OpenAnomalies(const SamplesSource& source, const ModelInfo& model,
                            const std::string& column);

}  // namespace sotto::server
