// A share of a data set, split off for evaluation. Part of sotto::server/data.
//
// Reentrant: safe from any thread.
#pragma once

#include "sotto/data/dataset.h"

namespace sotto::server {

// As SplitSamples() does: the last samples of each class of each group go into the test part, and
// windows that share rows with them into neither.
//   share  in (0, 1)
// Throws std::invalid_argument if a part would be empty.
TrainTest SplitOff(const SharedDataset& data, double share);

}  // namespace sotto::server
