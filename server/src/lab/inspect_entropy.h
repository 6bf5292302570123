// `sotto-lab inspect entropy`: compares the encoded length of synthetic updates with the smallest
// possible length. Part of sotto::server/lab.
#ifndef SOTTO_LAB_INSPECT_ENTROPY_H_
#define SOTTO_LAB_INSPECT_ENTROPY_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command InspectEntropyCommand();

}  // namespace sotto::server

#endif  // SOTTO_LAB_INSPECT_ENTROPY_H_
