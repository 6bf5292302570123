// The rows of the table of partitions that look at labels.
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "partition_rows.h"
#include "skew.h"

namespace sotto {
namespace {

// The samples of one class.
struct ClassPool {
  uint32_t label = 0;
  std::vector<uint32_t> samples;
  size_t used = 0;

  size_t left() const { return samples.size() - used; }
};

// The classes that occur among these samples, by label, each with its samples in their order.
std::vector<ClassPool> PoolsOf(const Dataset& data, const std::vector<uint32_t>& samples) {
  std::vector<ClassPool> all(data.info().classes);
  for (const uint32_t sample : samples) all[data.Label(sample)].samples.push_back(sample);
  std::vector<ClassPool> pools;
  for (uint32_t label = 0; label < all.size(); ++label) {
    if (!all[label].samples.empty()) pools.push_back({label, std::move(all[label].samples)});
  }
  return pools;
}

std::vector<ClassPool> ShuffledPools(const Deal& deal) {
  return PoolsOf(deal.data, deal.Draw(deal.data.size(), deal.data.size()));
}

// What each device holds under `equal-classes`: K of the classes that occur. The classes go round
// in a random order, so that each class is asked for equally often, and so do the samples that do
// not divide evenly.
class EqualShares {
 public:
  EqualShares(size_t samples_per_device, size_t classes_each, std::vector<uint32_t> order)
      : samples_(samples_per_device), each_(classes_each), order_(std::move(order)) {}

  // The device's i-th class, i < K, as an index of the pools.
  uint32_t Class(size_t device, size_t i) const {
    return order_[(device * each_ + i) % order_.size()];
  }
  size_t Count(size_t device, size_t i) const {
    return samples_ / each_ + ((device + i) % each_ < samples_ % each_ ? 1 : 0);
  }

 private:
  size_t samples_;
  size_t each_;
  std::vector<uint32_t> order_;
};

size_t ClassesEach(const Deal& deal, size_t classes) {
  const auto asked = static_cast<size_t>(deal.number);
  if (asked <= classes) return asked == 0 ? classes : asked;
  throw std::invalid_argument(
      fmt::format("partition equal-classes:{}: {} has samples of {} classes; expected 1 to {}",
                  deal.value, deal.data.name(), classes, classes));
}

void RequireEnoughOfEach(const Deal& deal, const EqualShares& shares, size_t classes_each,
                         const std::vector<ClassPool>& pools) {
  std::vector<size_t> wanted(pools.size());
  for (size_t device = 0; device < deal.devices; ++device) {
    for (size_t i = 0; i < classes_each; ++i) {
      wanted[shares.Class(device, i)] += shares.Count(device, i);
    }
  }
  for (size_t k = 0; k < pools.size(); ++k) {
    if (wanted[k] <= pools[k].samples.size()) continue;
    throw std::invalid_argument(fmt::format(
        "partition equal-classes: {} devices with {} samples each need {} of class {}, and {} has "
        "{}; ask for fewer devices or fewer samples on each",
        deal.devices, deal.samples_per_device, wanted[k], pools[k].label, deal.data.name(),
        pools[k].samples.size()));
  }
}

// Draws a class by its weight among those that have samples left.
ClassPool& DrawClass(std::vector<ClassPool>& pools, const std::vector<double>& weights,
                     RandomStream& random) {
  const auto sum_of = [&](const auto& weight) {
    double sum = 0;
    for (size_t k = 0; k < pools.size(); ++k) sum += pools[k].left() == 0 ? 0 : weight(k);
    return sum;
  };
  const auto draw = [&](const auto& weight, double sum) -> ClassPool& {
    double at = DrawUniform(random) * sum;
    ClassPool* last = nullptr;
    for (size_t k = 0; k < pools.size(); ++k) {
      if (pools[k].left() == 0) continue;
      last = &pools[k];
      at -= weight(k);
      if (at < 0) break;
    }
    return *last;
  };
  const auto by_weight = [&](size_t k) { return weights[k]; };
  const auto by_rest = [&](size_t k) { return static_cast<double>(pools[k].left()); };
  const double sum = sum_of(by_weight);
  // All weights of the classes that are left may be 0.
  return sum > 0 ? draw(by_weight, sum) : draw(by_rest, sum_of(by_rest));
}

}  // namespace

Partition DealEqualClasses(const Deal& deal) {
  deal.RequireEnough();
  std::vector<ClassPool> pools = ShuffledPools(deal);
  const size_t each = ClassesEach(deal, pools.size());
  const EqualShares shares(deal.samples_per_device, each, deal.Draw(pools.size(), pools.size()));
  RequireEnoughOfEach(deal, shares, each, pools);
  std::vector<size_t> starts = {0};
  std::vector<uint32_t> samples;
  for (size_t device = 0; device < deal.devices; ++device) {
    for (size_t i = 0; i < each; ++i) {
      ClassPool& pool = pools[shares.Class(device, i)];
      for (size_t n = shares.Count(device, i); n > 0; --n) {
        samples.push_back(pool.samples[pool.used++]);
      }
    }
    starts.push_back(samples.size());
  }
  return DealInRandomOrder(deal, {std::move(starts), std::move(samples)});
}

Partition DealShards(const Deal& deal) {
  deal.RequireEnough();
  const auto each = static_cast<size_t>(deal.number);
  if (each > deal.samples_per_device) {
    throw std::invalid_argument(
        fmt::format("partition shards:{}: a device cannot hold {} shards of its {} samples",
                    deal.value, each, deal.samples_per_device));
  }
  std::vector<uint32_t> sorted = deal.Draw(deal.data.size(), deal.total());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](uint32_t a, uint32_t b) { return deal.data.Label(a) < deal.data.Label(b); });
  const size_t shards = deal.devices * each;
  const std::vector<uint32_t> order = deal.Draw(shards, shards);
  const auto begin_of = [&](uint64_t shard) {
    return static_cast<size_t>(shard * sorted.size() / shards);
  };
  std::vector<size_t> starts = {0};
  std::vector<uint32_t> samples;
  for (size_t i = 0; i < shards; ++i) {
    for (size_t k = begin_of(order[i]); k < begin_of(order[i] + uint64_t{1}); ++k) {
      samples.push_back(sorted[k]);
    }
    if ((i + 1) % each == 0) starts.push_back(samples.size());
  }
  return DealInRandomOrder(deal, {std::move(starts), std::move(samples)});
}

Partition DealDirichlet(const Deal& deal) {
  deal.RequireEnough();
  std::vector<ClassPool> pools = ShuffledPools(deal);
  std::vector<size_t> starts = {0};
  std::vector<uint32_t> samples;
  for (size_t device = 0; device < deal.devices; ++device) {
    const std::vector<double> weights = DrawDirichlet(pools.size(), deal.number, deal.random);
    for (size_t i = 0; i < deal.samples_per_device; ++i) {
      ClassPool& pool = DrawClass(pools, weights, deal.random);
      samples.push_back(pool.samples[pool.used++]);
    }
    starts.push_back(samples.size());
  }
  return {std::move(starts), std::move(samples)};
}

Partition DealDirichletSplit(const Deal& deal) {
  deal.RequireEnough();
  std::vector<uint32_t> samples;
  std::vector<uint32_t> owners;
  for (const ClassPool& pool : PoolsOf(deal.data, deal.Draw(deal.data.size(), deal.total()))) {
    const std::vector<size_t> ends =
        CutInShares(pool.samples.size(), DrawDirichlet(deal.devices, deal.number, deal.random));
    for (uint32_t device = 0; device < ends.size(); ++device) {
      while (owners.size() < samples.size() + ends[device]) owners.push_back(device);
    }
    samples.insert(samples.end(), pool.samples.begin(), pool.samples.end());
  }
  return DealInRandomOrder(deal, SharesOf(samples, owners, deal.devices));
}

}  // namespace sotto
