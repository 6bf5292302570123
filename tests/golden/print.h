// Chooses the edge cases and writes golden_values.inc. Host only.
#pragma once

namespace sotto::golden {

// Writes the file to standard output. Returns false, after saying why on standard error, if a value
// cannot be computed.
bool Print();

}  // namespace sotto::golden
