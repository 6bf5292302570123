// A partition: unequal shares. Of devices * samples_per_device samples device i gets a part of size
// i + 1, no sample twice. --partition ladder.
#include <utility>
#include <vector>

#include "methods.h"

sotto::Partition DealLadder(const sotto::Deal& deal) {
  deal.RequireEnough();
  std::vector<uint32_t> samples = deal.Draw(deal.data.size(), deal.total());
  const double parts =
      static_cast<double>(deal.devices) * static_cast<double>(deal.devices + 1) / 2;
  std::vector<size_t> starts = {0};
  for (size_t i = 0; i < deal.devices; ++i) {
    const double until = static_cast<double>(i + 1) * static_cast<double>(i + 2) / 2 / parts;
    starts.push_back(static_cast<size_t>(until * static_cast<double>(samples.size())));
  }
  starts.back() = samples.size();
  return {std::move(starts), std::move(samples)};
}
