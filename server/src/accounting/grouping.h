// Many different rounds as a few groups that cost at least as much.
//
// An accountant's time grows with the number of different settings. A schedule of thousands of rows
// is therefore charged in groups: all rounds of a group have the smallest noise multiplier and the
// largest rate among them.
//   Lemma 1. A smaller noise multiplier never gives more privacy: adding noise is post-processing.
//   Lemma 2. A larger rate never gives more privacy. Let q < q'. The output at rate q equals the
//     output at rate q' with probability q / q', and the neighbour's output otherwise. Each
//     hockey-stick divergence is jointly convex, and smallest for equal outputs. So it is not
//     larger at q. A uniform cohort's pair is made of such divergences (round_loss.h).
//   Lemma 3. Unsampled Gaussian rounds compose exactly to any others of the same
//     sum of T / z^2.
//
// Pure functions, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <cstddef>
#include <vector>

#include "accounting/conversion.h"

namespace sotto::privacy {

// At most `most` groups, >= 4, that dominate the rounds; the rounds themselves, merged, if they are
// no more than that. Rounds with choices (conversion.h) are never merged and come on top. Throws
// std::invalid_argument as Canonical() does.
std::vector<GaussianRounds> Grouped(const std::vector<GaussianRounds>& rounds, size_t most);

// Unsampled rounds as one group, by lemma 3 (several if one would have less noise than accountants
// handle). No rounds: no group. The sampling of the rounds is ignored.
std::vector<GaussianRounds> MergedUnsampled(const std::vector<GaussianRounds>& rounds);

}  // namespace sotto::privacy
