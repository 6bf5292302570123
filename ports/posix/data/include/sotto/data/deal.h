// How partitions deal out samples: what each row of the table of partitions gets, and how a program
// adds one more row. Part of sotto::data.
//
// A partition decides which device holds which samples and nothing else, so no privacy claim
// depends on it.
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

// Puts each share into a random order: the last samples of a device are then like its first ones,
// so that some of them may be held out.
Partition DealInRandomOrder(const Deal& deal, OwnedShares shares);

// --partition NAME, or NAME:VALUE with a number.
struct OwnPartition {
  const char* name;
  const char* help;  // what each device holds, one line
  // Draws from Deal::random alone, in a fixed order. Some device gets a sample. Throws
  // std::invalid_argument for data that it cannot deal out.
  Partition (*deal)(const Deal& deal);
  const char* value = nullptr;  // what VALUE is: "SKEW"; null: there is none
  double least = 0;             // the range of VALUE, if there is one
  double most = 0;              // > 0
  bool needs_labels = false;    // of the samples
};

// Adds a row to the table. A program calls it first of all: it is not safe while another thread
// reads. Throws std::invalid_argument for a name that is taken or is none, and std::logic_error
// for more than 32 rows.
void AddPartition(const OwnPartition& own);

}  // namespace sotto
