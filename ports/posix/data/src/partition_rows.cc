// Rows that look neither at labels nor at groups, and what all rows share.
#include "partition_rows.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "skew.h"

namespace sotto {

OwnedShares SharesOf(const std::vector<uint32_t>& samples, const std::vector<uint32_t>& owners,
                     size_t devices) {
  std::vector<size_t> starts(devices + 1);
  for (const uint32_t owner : owners) {
    if (owner != kNobody) ++starts[owner + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<size_t> next(starts.begin(), starts.end() - 1);
  std::vector<uint32_t> dealt(starts.back());
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] != kNobody) dealt[next[owners[i]]++] = samples[i];
  }
  return {std::move(starts), std::move(dealt)};
}

std::vector<size_t> CutInShares(size_t count, const std::vector<double>& shares) {
  std::vector<size_t> ends;
  ends.reserve(shares.size());
  double sum = 0;
  for (const double share : shares) {
    sum += share;
    ends.push_back(std::min(count, static_cast<size_t>(sum * static_cast<double>(count))));
  }
  ends.back() = count;  // the sum is 1 up to rounding
  return ends;
}

Partition DealInRandomOrder(const Deal& deal, OwnedShares shares) {
  for (size_t device = 0; device < deal.devices; ++device) {
    const size_t first = shares.starts[device];
    uint32_t* const share = shares.samples.data() + first;
    for (size_t left = shares.starts[device + 1] - first; left > 1; --left) {
      std::swap(share[left - 1], share[deal.random.Below(static_cast<uint32_t>(left))]);
    }
  }
  return {std::move(shares.starts), std::move(shares.samples)};
}

Partition DealIid(const Deal& deal) {
  if (!deal.data.is_generated()) {
    return IidPartition(deal.data.size(), deal.devices, deal.samples_per_device,
                        [&](uint32_t bound) { return deal.random.Below(bound); });
  }
  deal.RequireEnough();
  return Partition::InOrder(static_cast<uint32_t>(deal.devices),
                            static_cast<uint32_t>(deal.samples_per_device));
}

namespace {

// Adds `count` different numbers below `size`, each choice of numbers equally likely. Robert W.
// Floyd's algorithm: Bentley, Programming pearls: a sample of brilliance, 1987.
void DrawDifferent(uint32_t size, uint32_t count, RandomStream& random,
                   std::vector<uint32_t>* out) {
  std::unordered_set<uint32_t> seen;
  for (uint32_t last = size - count; last < size; ++last) {
    uint32_t drawn = random.Below(last + 1);
    if (!seen.insert(drawn).second) seen.insert(drawn = last);
    out->push_back(drawn);
  }
}

}  // namespace

Partition DealIidOverlap(const Deal& deal) {
  RequireEnoughSamples(deal.data.size(), 1, deal.samples_per_device);
  std::vector<size_t> starts = {0};
  std::vector<uint32_t> samples;
  starts.reserve(deal.devices + 1);
  samples.reserve(deal.total());
  for (size_t device = 0; device < deal.devices; ++device) {
    DrawDifferent(static_cast<uint32_t>(deal.data.size()),
                  static_cast<uint32_t>(deal.samples_per_device), deal.random, &samples);
    starts.push_back(samples.size());
  }
  return {std::move(starts), std::move(samples)};
}

Partition DealQuantity(const Deal& deal) {
  deal.RequireEnough();
  std::vector<size_t> starts =
      CutInShares(deal.total(), DrawDirichlet(deal.devices, deal.number, deal.random));
  starts.insert(starts.begin(), 0);
  return {std::move(starts), deal.Draw(deal.data.size(), deal.total())};
}

}  // namespace sotto
