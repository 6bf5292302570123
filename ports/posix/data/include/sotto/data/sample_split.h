// Samples set apart for evaluation. Part of sotto::data.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/data/partition.h"

namespace sotto {

// Positions in a list of samples, each part in the list's order. Samples in neither part are
// windows that share rows with the held-out part.
struct SplitParts {
  std::vector<uint32_t> training;
  std::vector<uint32_t> held_out;
};

// The last samples of each class of each group are held out, as many of them as their share, so
// both parts have the same classes and groups. Nothing is drawn: the same list gives the same
// parts. Of small classes and groups, some give no sample, so that the whole share is right.
//   indices  of samples in `data`
//   share    in [0, 1)
SplitParts SplitSamples(const Dataset& data, const DeviceIndices& indices, double share);

}  // namespace sotto
