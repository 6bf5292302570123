// The bound on the norm of an attempt's updates that the server enforces. Part of
// sotto::server/codec.
//
// sotto/update_bound.h says what the bound is and proves that it refuses no honest update;
// plans/private_noise.h derives the limit for updates with private noise.
//
// Pure functions, safe from any thread.
#pragma once

#include <cstddef>

#include "sotto/messages.h"
#include "sotto/update_bound.h"

namespace sotto::server {

// The bound for updates of this task. The task is valid and its coding is not kFloat32.
//   coordinates  of an encoded update, extra ones included
UpdateBound BoundOf(const TrainTask& task, size_t coordinates);

}  // namespace sotto::server
