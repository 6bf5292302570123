// How two models differ, in words for the owners of device and server. Part of sotto::model_file.
#pragma once

#include <string>

#include "sotto/model_info.h"

namespace sotto::posix {

constexpr size_t kMaxDifference = 160;  // bytes

// The first difference between what the two models mean by a sample, a parameter and a class, of at
// most kMaxDifference bytes of printable ASCII and UTF-8: "class 0 is normal here and Normal in the
// job". Names of models and arithmetic count for nothing. Empty if the two have the same digest, as
// far as these words go: two digests that differ always give a text.
//   own  "here"
//   job  "in the job"
// Throws std::runtime_error if SHA-256 fails. Stateless; safe in any thread.
std::string DifferenceOf(const ModelInfo& own, const ModelInfo& job);

}  // namespace sotto::posix
