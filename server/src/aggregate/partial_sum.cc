#include "aggregate/partial_sum.h"

#include <algorithm>
#include <stdexcept>

namespace sotto::server {

void AttemptCounts::Merge(const AttemptCounts& other) {
  checked_in += other.checked_in;
  reported += other.reported;
  rejected += other.rejected;
  update_bytes += other.update_bytes;
  beyond_bound.insert(beyond_bound.end(), other.beyond_bound.begin(), other.beyond_bound.end());
  std::sort(beyond_bound.begin(), beyond_bound.end());
}

void PartialSum::Merge(const PartialSum& other) {
  if (other.sums.size() != sums.size()) {
    throw std::invalid_argument("the parts of an attempt have the same number of coordinates");
  }
  for (size_t j = 0; j < sums.size(); ++j) sums[j] += other.sums[j];
  counts.Merge(other.counts);
}

}  // namespace sotto::server
