// A share of a data set, split off for evaluation. Part of sotto::server/data.
//
// Reentrant: safe from any thread.
#ifndef SOTTO_DATA_SPLIT_H_
#define SOTTO_DATA_SPLIT_H_

#include "sotto/data/dataset.h"

namespace sotto::server {

// The last samples of each class of each group go into the test part, as many of them as their
// share, so both parts have the same classes and groups, and windows over time that share rows stay
// together but for one border a class and group. Nothing is drawn: the same data give the same
// parts. Of small classes and groups, some give no sample, so that the whole share is right.
//   share  in (0, 1)
// Throws std::invalid_argument if a part would be empty.
TrainTest SplitOff(const SharedDataset& data, double share);

}  // namespace sotto::server

#endif  // SOTTO_DATA_SPLIT_H_
