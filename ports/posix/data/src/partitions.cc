#include "sotto/data/partitions.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>

#include "partition_rows.h"
#include "skew.h"
#include "sotto/data/deal.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "sotto/options/open_table.h"
#include "sotto/posix/check.h"

namespace sotto {
namespace {

// A row of the table, and how it deals out samples.
struct Row {
  PartitionInfo info;
  uint32_t stream;  // of random numbers; never change one
  double least;     // of a number as VALUE
  double most;
  Partition (*deal)(const Deal& deal);
};

constexpr bool kLabels = true;
constexpr bool kGroups = true;
constexpr double kMostClasses = 1e6;

constexpr Row kBuiltIn[] = {
    {{"iid", nullptr, nullptr, "M samples drawn at random; no two devices share one"},
     0,
     0,
     0,
     DealIid},
    {{"iid-overlap", nullptr, nullptr,
      "M samples drawn at random from the whole set; devices may share some"},
     1,
     0,
     0,
     DealIidOverlap},
    {{"equal-classes", "K", "all",
      "M samples, equally many of each of K classes; devices take turns at the classes", kLabels},
     2,
     1,
     kMostClasses,
     DealEqualClasses},
    {{"shards", "K", "2",
      "K shards of M / K samples: the samples are sorted by label, cut into shards, and these "
      "dealt out at random (McMahan et al. 2017)",
      kLabels},
     3,
     1,
     kMostClasses,
     DealShards},
    {{"dirichlet", "ALPHA", nullptr,
      "M samples, whose mix of classes is drawn for each device from Dirichlet(ALPHA, ..., ALPHA) "
      "(Hsu et al. 2019); a small ALPHA gives few classes",
      kLabels},
     4,
     kLeastAlpha,
     kMostAlpha,
     DealDirichlet},
    {{"dirichlet-split", "ALPHA", nullptr,
      "of each class a share that Dirichlet(ALPHA) over the devices gives (Li et al. 2022): "
      "numbers of samples differ, too, and may be 0",
      kLabels},
     5,
     kLeastAlpha,
     kMostAlpha,
     DealDirichletSplit},
    {{"quantity", "ALPHA", nullptr,
      "samples drawn at random; their numbers, M on average, follow Dirichlet(ALPHA) over the "
      "devices and may be 0"},
     6,
     kLeastAlpha,
     kMostAlpha,
     DealQuantity},
    {{"group", nullptr, nullptr,
      "all samples of one group: of a user, of a speaker; device i has group i, and further groups "
      "are left out",
      !kLabels, kGroups, false, false},
     7,
     0,
     0,
     DealGroups},
    {{"file", "PATH", nullptr,
      "what a file says: a line a sample with its device, or lines SAMPLE,DEVICE; numbers count "
      "from 0, and - is no device",
      !kLabels, !kGroups, false, false},
     8,
     0,
     0,
     DealFile},
};

// Of rows that other programs add.
constexpr uint32_t kStreamOfOwn = 256;

posix::OpenTable<Row>& Table() {
  static posix::OpenTable<Row> table("partition", kBuiltIn,
                                     [](const Row& row) { return row.info.name; });
  return table;
}

Span<const Row> Rows() { return Table().rows(); }

std::string NameWithValue(const PartitionInfo& info) {
  if (info.value == nullptr) return info.name;
  return fmt::format(info.default_value == nullptr ? "{}:{}" : "{}[:{}]", info.name, info.value);
}

// Absent without a colon.
std::optional<std::string> ValueOf(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  return text.substr(colon + 1);
}

const Row& FindRow(const std::string& text) {
  const std::string name = posix::NameOfText(text);
  std::vector<std::string> names;
  for (const Row& row : Rows()) {
    if (name == row.info.name) return row;
    names.emplace_back(row.info.name);
  }
  throw std::invalid_argument(fmt::format("partition {}: there is no such partition; expected {}{}",
                                          text, PartitionNames(), posix::DidYouMean(name, names)));
}

[[noreturn]] void RefuseValue(const std::string& text, const std::string& expected) {
  throw std::invalid_argument(fmt::format("partition {}: expected {}", text, expected));
}

// The number in a text of this row; 0 for a VALUE that stands for all.
double NumberOf(const Row& row, const std::string& text) {
  const std::string value =
      ValueOf(text).value_or(row.info.default_value != nullptr ? row.info.default_value : "");
  if (row.most == 0 || value == "all") return 0;
  const bool is_whole = std::string(row.info.value) == "K";
  const std::optional<double> number = posix::ParseReal(value);
  const bool is_count = posix::ParseCount(value).has_value();
  if (number && *number >= row.least && *number <= row.most && (is_count || !is_whole)) {
    return *number;
  }
  RefuseValue(text, fmt::format("{}:{} with a {} from {} to {}", row.info.name, row.info.value,
                                is_whole ? "whole number" : "number", row.least, row.most));
}

void CheckText(const Row& row, const std::string& text) {
  const std::optional<std::string> value = ValueOf(text);
  const PartitionInfo& info = row.info;
  if (value && info.value == nullptr)
    RefuseValue(text, fmt::format("{} without a value", info.name));
  if (info.value == nullptr) return;
  const bool is_missing = value ? value->empty() : info.default_value == nullptr;
  if (is_missing) RefuseValue(text, NameWithValue(info));
  static_cast<void>(NumberOf(row, text));
}

void RequireSuited(const Row& row, const Dataset& data) {
  if (row.info.needs_labels && data.info().classes == 0) {
    throw std::invalid_argument(
        fmt::format("partition {}: {} has no labels to deal by; iid, iid-overlap, quantity, group "
                    "and file need none",
                    row.info.name, data.name()));
  }
  if (row.info.needs_groups && data.group_count() < 2) {
    throw std::invalid_argument(
        fmt::format("partition {}: {} does not say from whom its samples are; name the column of "
                    "users in --data, or choose another partition",
                    row.info.name, data.name()));
  }
}

}  // namespace

void RequireSuitedPartition(const std::string& text, const Dataset& data) {
  RequireSuited(FindRow(text), data);
}

const PartitionInfo& FindPartition(const std::string& text) {
  const Row& row = FindRow(text);
  CheckText(row, text);
  return row.info;
}

void RequireTakesSamples(const std::string& text) {
  const PartitionInfo& info = FindPartition(text);
  if (info.takes_samples) return;
  throw std::invalid_argument(
      fmt::format("--samples-per-device: partition {} gives each device the samples that {}, "
                  "however many they are; leave the option out, or take another partition",
                  info.name, info.needs_groups ? "its group has" : "its file says"));
}

std::vector<PartitionInfo> AllPartitions() {
  std::vector<PartitionInfo> all;
  for (const Row& row : Rows()) all.push_back(row.info);
  return all;
}

std::string PartitionNames() {
  std::string names;
  for (const Row& row : Rows()) names += (names.empty() ? "" : ", ") + NameWithValue(row.info);
  return names;
}

std::string PartitionsTable() {
  std::string table = "| partition | what each device holds |\n|---|---|\n";
  for (const Row& row : Rows()) {
    table +=
        fmt::format("| `{}` | {}{} |\n", NameWithValue(row.info), row.info.help,
                    row.info.default_value == nullptr
                        ? ""
                        : fmt::format("; without {} {}", row.info.value, row.info.default_value));
  }
  return table;
}

void AddPartition(const OwnPartition& own) {
  const PartitionInfo info = {own.name, own.value, nullptr, own.help, own.needs_labels};
  Table().Add({info, kStreamOfOwn, own.least, own.most, own.deal});
}

Partition MakePartition(const std::string& text, const Dataset& data, size_t devices,
                        size_t samples_per_device, const Key& key) {
  const Row& row = FindRow(text);
  CheckText(row, text);
  RequireSuited(row, data);
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max();
  if (devices == 0 || samples_per_device == 0 || data.size() > kMost ||
      devices > kMost / samples_per_device) {
    RequireEnoughSamples(data.size(), devices, samples_per_device);
  }
  RandomStream random(key, row.stream);
  Partition partition = row.deal(
      {data, devices, samples_per_device, ValueOf(text).value_or(""), NumberOf(row, text), random});
  posix::Check(random.status(), "drawing a partition");
  if (CountEmpty(partition) == partition.devices()) {
    throw std::invalid_argument(
        fmt::format("partition {}: no device gets a sample of {}", text, data.name()));
  }
  return partition;
}

}  // namespace sotto
