// How the rows of the table of partitions deal out samples. Part of sotto::data.
//
// Each function makes the partition of one row. It draws from Deal::random alone and in a fixed
// order, whatever the machine. Throws std::invalid_argument for data that the row cannot deal out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/data/partition.h"
#include "sotto/random.h"

namespace sotto {

// What a row deals out, and its VALUE.
struct Deal {
  const Dataset& data;
  size_t devices;
  size_t samples_per_device;
  std::string value;  // a path
  double number;      // or a number in the row's range; 0: none was given
  RandomStream& random;

  size_t total() const { return devices * samples_per_device; }
  void RequireEnough() const { RequireEnoughSamples(data.size(), devices, samples_per_device); }
  // `count` of the numbers below `size`, in random order.
  std::vector<uint32_t> Draw(size_t size, size_t count) const {
    return DrawSamples(size, count, [this](uint32_t bound) { return random.Below(bound); });
  }
};

// The arguments of Partition().
struct OwnedShares {
  std::vector<size_t> starts;
  std::vector<uint32_t> samples;
};

// Each sample goes to its owner, in the order of the samples.
//   owners  [samples.size()] devices, or kNobody
constexpr uint32_t kNobody = 0xffffffff;
OwnedShares SharesOf(const std::vector<uint32_t>& samples, const std::vector<uint32_t>& owners,
                     size_t devices);

// Ends of the parts of `count` things, cut in these proportions.
//   shares  [parts] >= 0 with sum 1
std::vector<size_t> CutInShares(size_t count, const std::vector<double>& shares);

// Puts each share into a random order: the last samples of a device are then like its first ones,
// so that some of them may be held out.
Partition DealInRandomOrder(const Deal& deal, OwnedShares shares);

Partition DealIid(const Deal& deal);
Partition DealIidOverlap(const Deal& deal);
Partition DealQuantity(const Deal& deal);

// Rows that look at labels.
Partition DealEqualClasses(const Deal& deal);
Partition DealShards(const Deal& deal);
Partition DealDirichlet(const Deal& deal);
Partition DealDirichletSplit(const Deal& deal);

// Rows that do what the data or a file say.
Partition DealGroups(const Deal& deal);
Partition DealFile(const Deal& deal);

}  // namespace sotto
