// The table of partitions: how the samples of a training set are dealt out to the devices of a
// fleet. Part of sotto::data.
//
// A partition is named by a text NAME or NAME:VALUE, for example "dirichlet:0.1": the value of the
// option --partition of all programs. It is drawn from a key, so every program that has the same
// data, text, numbers and key gives each device the same samples, on every machine.
//
// Stateless; safe in any thread. A wrong text, and data for which a partition is not made, are a
// std::invalid_argument that says what was expected; a defective file of a partition is a
// posix::FileError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/data/dataset.h"
#include "sotto/data/partition.h"

namespace sotto {

constexpr char kDefaultPartition[] = "iid";
constexpr uint32_t kDefaultSamplesPerDevice = 50;

// One row of the table, for programs and people.
struct PartitionInfo {
  const char* name;           // "dirichlet"
  const char* value;          // what VALUE is: "ALPHA"; null: the partition has none
  const char* default_value;  // of VALUE; null: it must be given
  const char* help;           // what each device holds
  bool needs_labels = false;
  bool needs_groups = false;
  bool is_random = true;      // it depends on the key
  bool takes_samples = true;  // it depends on the number of samples of each device
};

// The row of a text. Throws for an unknown name, a VALUE that is missing, one too many or one out
// of its range; opens no file.
const PartitionInfo& FindPartition(const std::string& text);

// Throws std::invalid_argument if the partition of the text does not depend on the number of
// samples of each device: --samples-per-device was given, and would have no effect.
void RequireTakesSamples(const std::string& text);

// Throws std::invalid_argument if the partition of the text needs labels or groups, and the samples
// have none.
void RequireSuitedPartition(const std::string& text, const Dataset& data);

// The rows, in the order of the table.
std::vector<PartitionInfo> AllPartitions();

// "iid, iid-overlap, equal-classes[:K], ...", for --help.
std::string PartitionNames();

// The table in Markdown, for the documentation.
std::string PartitionsTable();

// Deals out a training set.
//   text                a name of the table, see above
//   data                the training set; its labels or groups are read if the row needs them
//   devices             >= 1
//   samples_per_device  >= 1: the mean over the devices; rows that follow a column or a file do not
//                       use it
//   key                 derived under key_label::kPartition
// Devices without samples are possible in some rows: see DeviceShare (device_share.h). Of generated
// data `iid` takes the samples in order and no memory.
Partition MakePartition(const std::string& text, const Dataset& data, size_t devices,
                        size_t samples_per_device, const Key& key);

}  // namespace sotto
