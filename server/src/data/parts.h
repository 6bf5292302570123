// Parts of a data set: a share that is split off for evaluation, the samples of some classes. Part
// of sotto::server/data.
//
// Reentrant: safe from any thread.
#pragma once

#include <string>

#include "sotto/data/dataset.h"

namespace sotto::server {

// As SplitSamples() does: the last samples of each class of each group go into the test part, and
// windows that share rows with them into neither.
//   share  in (0, 1)
// Throws std::invalid_argument if a part would be empty.
TrainTest SplitOff(const SharedDataset& data, double share);

// Keeps the samples of these classes in both parts, in their order. Labels and the number of
// classes stay, so a model of all classes fits. The name of each part says which classes it has.
//   classes  "3", or "0-4", both ends included
// Throws std::invalid_argument if the text is no such range, or a class is not one of the data
// set's.
TrainTest OnlyClasses(const TrainTest& data, const std::string& classes);

}  // namespace sotto::server
