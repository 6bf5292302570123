// How often a sweep of pure arithmetic repeats itself.
//
// A build for this machine runs all trials. Under sanitizers and under an emulator, which are ten
// to thirty times slower, an eleventh of them: the build for this machine finds a wrong result
// among all of them; what only a sanitizer or another CPU finds (a bad access, an overflow, other
// bytes) shows in few trials as in many, and golden values are compared in full everywhere.
#pragma once

namespace sotto {

// A prime: every eleventh case of nested loops meets every value of each of them.
#ifdef SOTTO_FEW_TRIALS
constexpr int kEveryTrial = 11;
#else
constexpr int kEveryTrial = 1;
#endif

// How many of `all` trials run.
template <typename Integer>
constexpr Integer Trials(Integer all) {
  return (all + kEveryTrial - 1) / kEveryTrial;
}

// Whether the given one of the cases that loops enumerate runs.
constexpr bool IsTried(int number) { return number % kEveryTrial == 0; }

}  // namespace sotto
