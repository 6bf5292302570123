// Chooses the edge cases and writes golden_values.inc. Host only.
#ifndef SOTTO_TESTS_GOLDEN_PRINT_H_
#define SOTTO_TESTS_GOLDEN_PRINT_H_

namespace sotto::golden {

// Writes the file to standard output. Returns false, after saying why on standard error, if a value
// cannot be computed.
bool Print();

}  // namespace sotto::golden

#endif  // SOTTO_TESTS_GOLDEN_PRINT_H_
