// The samples of one device, in memory. Part of ports/posix/client.
//
// A share owns its samples and is constant after it was loaded, so any number of threads may read
// it; but for recorded samples, which one thread reads anew at each round.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "options.h"
#include "recorded_samples.h"
#include "sotto/data/dataset.h"
#include "sotto/data/partition.h"

namespace sotto::posix {

struct Share {
  SharedDataset data;             // this device's samples, in the file's order
  std::vector<uint32_t> indices;  // of them, in the order of the share
  std::string unsuited;           // see ShareFor(); empty: the samples suit the model
  // With --sample-log, in place of `data`, which is then empty.
  std::shared_ptr<RecordedSamples> recorded = nullptr;

  DeviceIndices view() const {
    return {{indices.data(), indices.size()}, 0, static_cast<uint32_t>(indices.size())};
  }
};

// Reads the samples of --samples from the file of --data; no others stay in memory. Without a seed
// these count in the file. With one they count in the seed's permutation of the file, as in the
// simulator, and the file is read twice. With --device they are what the simulator gives that
// device; then there may be none. With --sample-log that file has them, and `model` must outlive
// the share. Throws where ReadDataset(), MakePartition() and RecordedSamples() do, and
// std::invalid_argument if the range exceeds the file.
Share LoadShare(const ClientOptions& options, const ModelInfo& model);

// What the device's owner should check before it joins, and nobody else is told: which label is
// which class and how many samples have it, which classes have none, and how the file was read.
std::vector<std::string> DescribeData(const Share& share);

constexpr char kTooLittleMemory[] = "this machine has too little memory for them";

// A share without samples. No file is read.
Share EmptyShare();

// The share for a model that came from a server. Samples that LoadShare() refuses are none, and
// `unsuited` says why, for the device's owner alone: whether a device takes part must not depend on
// its data.
Share ShareFor(const ClientOptions& options, const ModelInfo& model);

// Of a device that waits for its first model: throws a FileError if nothing can be read where its
// data should be, and std::invalid_argument for options that name no data.
void RequireData(const ClientOptions& options);

}  // namespace sotto::posix
