// The time of day in a simulation: what time() returns in this program, so also the times that a
// store keeps with its records. Otherwise two records of one content, which are different ones
// because the second was written later, would be the same.
#pragma once

#include <cstdint>

namespace sotto::server {

// Milliseconds since a simulation began.
void SetWallClock(uint64_t ms);

}  // namespace sotto::server
