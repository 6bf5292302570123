#include "aggregate/partial_sum.h"

#include <algorithm>
#include <stdexcept>

namespace sotto::server {

namespace {

void MergeBits(const std::vector<bool>& other, std::vector<bool>* all) {
  if (all->size() < other.size()) all->resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) {
    if (other[i]) (*all)[i] = true;
  }
}

// Their number, then 64 to a number.
void AppendBits(const std::vector<bool>& bits, std::vector<uint64_t>* numbers) {
  numbers->push_back(bits.size());
  const size_t first = numbers->size();
  numbers->resize(first + (bits.size() + 63) / 64);
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) (*numbers)[first + i / 64] |= uint64_t{1} << (i % 64);
  }
}

}  // namespace

void LackCount::Merge(const LackCount& other) {
  if (other.devices == 0) return;
  least = devices == 0 ? other.least : std::min(least, other.least);
  needed = other.needed;
  devices += other.devices;
  drawn += other.drawn;
}

void LackCounts::Merge(const LackCounts& other) {
  devices += other.devices;
  drawn += other.drawn;
  if (by_need.size() < other.by_need.size()) by_need.resize(other.by_need.size());
  for (size_t i = 0; i < other.by_need.size(); ++i) by_need[i].Merge(other.by_need[i]);
}

void AttemptCounts::Merge(const AttemptCounts& other) {
  MergeBits(other.is_heard, &is_heard);
  MergeBits(other.is_checked_in, &is_checked_in);
  checked_in =
      is_checked_in.empty()
          ? checked_in + other.checked_in
          : static_cast<uint32_t>(std::count(is_checked_in.begin(), is_checked_in.end(), true));
  reported += other.reported;
  rejected += other.rejected;
  update_bytes += other.update_bytes;
  const auto merge = [](std::vector<uint32_t>& all, const std::vector<uint32_t>& more) {
    all.insert(all.end(), more.begin(), more.end());
    std::sort(all.begin(), all.end());
  };
  merge(reporters, other.reporters);
  merge(beyond_bound, other.beyond_bound);
  lacking.Merge(other.lacking);
}

std::vector<uint64_t> AttemptCounts::ToNumbers() const {
  std::vector<uint64_t> numbers = {checked_in,      reported,         rejected,
                                   update_bytes,    reporters.size(), beyond_bound.size(),
                                   lacking.devices, lacking.drawn};
  numbers.insert(numbers.end(), reporters.begin(), reporters.end());
  numbers.insert(numbers.end(), beyond_bound.begin(), beyond_bound.end());
  AppendBits(is_checked_in, &numbers);
  AppendBits(is_heard, &numbers);
  for (const LackCount& lack : lacking.by_need) {
    numbers.insert(numbers.end(), {lack.devices, lack.drawn, lack.needed, lack.least});
  }
  return numbers;
}

AttemptCounts AttemptCounts::FromNumbers(const std::vector<uint64_t>& numbers) {
  size_t at = 0;
  const auto next = [&] { return numbers.at(at++); };
  const auto next32 = [&] { return static_cast<uint32_t>(next()); };
  AttemptCounts counts;
  counts.checked_in = next32();
  counts.reported = next32();
  counts.rejected = next32();
  counts.update_bytes = next();
  counts.reporters.resize(next());
  counts.beyond_bound.resize(next());
  counts.lacking.devices = next32();
  counts.lacking.drawn = next32();
  for (uint32_t& device : counts.reporters) device = next32();
  for (uint32_t& device : counts.beyond_bound) device = next32();
  for (std::vector<bool>* bits : {&counts.is_checked_in, &counts.is_heard}) {
    bits->resize(next());
    for (size_t i = 0; i < bits->size(); ++i) {
      (*bits)[i] = (numbers.at(at + i / 64) >> (i % 64) & 1) != 0;
    }
    at += (bits->size() + 63) / 64;
  }
  while (at < numbers.size()) {
    LackCount lack;
    lack.devices = next32();
    lack.drawn = next32();
    lack.needed = next32();
    lack.least = next32();
    counts.lacking.by_need.push_back(lack);
  }
  return counts;
}

void PartialSum::Merge(const PartialSum& other) {
  if (other.sums.size() != sums.size()) {
    throw std::invalid_argument("the parts of an attempt have the same number of coordinates");
  }
  for (size_t j = 0; j < sums.size(); ++j) sums[j] += other.sums[j];
  counts.Merge(other.counts);
}

}  // namespace sotto::server
