#include "share.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include "sotto/data/partitions.h"
#include "sotto/data/source.h"
#include "sotto/key_labels.h"
#include "sotto/posix/files.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::posix {
namespace {

DataSource SourceOf(const ClientOptions& options) {
  DataSource source = ParseDataSource(options.data);
  if (options.labels.empty()) return source;
  if (!source.options.emplace("labels", options.labels).second) {
    throw std::invalid_argument("--labels and the option labels= of --data: expected one of them");
  }
  source.options.emplace("format", "idx");
  return source;
}

// Throws a FileError that says who names it unless what the owner names is there.
void RequireFiles(const ClientOptions& options, const DataSource& source) {
  for (const auto& [key, path] : {std::pair("data", source.path), {"labels", options.labels}}) {
    if (path.empty() || access((path + ".gz").c_str(), R_OK) == 0) continue;
    if (access(path.c_str(), R_OK) == 0) continue;
    const bool is_in_kit = !options.kit.empty() && options.given.count(key) == 0;
    const std::string from =
        is_in_kit ? fmt::format("`{}` in the kit {}", key, options.kit) : fmt::format("--{}", key);
    throw FileError(fmt::format("{}: {}; {} names it: put the samples there, or correct the name",
                                path, std::strerror(errno), from));
  }
}

// The numbers of all samples that `data` holds, in its order.
std::vector<uint32_t> All(const SharedDataset& data) {
  std::vector<uint32_t> indices(data->size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

Share LoadInFile(const ClientOptions& options, const DataSource& source, const ModelInfo& model) {
  const SampleRange wanted = ParseSampleRange(options.samples);
  size_t total = 0;
  Share share;
  share.data = ReadDataset(source, &model, [&](size_t index) {
    total = index + 1;
    return index >= wanted.first && index - wanted.first < wanted.count;
  });
  (void)ParseSampleRange(options.samples, total);
  share.indices = All(share.data);
  return share;
}

// Where each of the numbers stands when they are sorted.
std::vector<uint32_t> RanksOf(const std::vector<uint32_t>& numbers) {
  std::vector<uint32_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> ranks;
  for (const uint32_t number : numbers) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), number);
    ranks.push_back(static_cast<uint32_t>(at - sorted.begin()));
  }
  return ranks;
}

std::vector<uint32_t> PickInPermutation(const SampleRange& range, size_t total, uint64_t seed) {
  const size_t end = range.first + range.count;
  RandomStream random(posix::DeriveKey(RunKey(seed), key_label::kPartition), 0);
  const Partition partition =
      IidPartition(total, 1, end, [&](uint32_t bound) { return random.Below(bound); });
  const Span<const uint32_t> all = partition.DeviceSamples(0).list;
  return {all.begin() + range.first, all.end()};
}

// These samples of the file, in this order.
Share LoadPicked(const DataSource& source, const ModelInfo& model, size_t total,
                 const std::vector<uint32_t>& picked) {
  std::vector<bool> is_picked(total, false);
  for (const uint32_t number : picked) is_picked[number] = true;
  Share share;
  share.data = ReadDataset(source, &model, [&](size_t index) { return is_picked[index]; });
  share.indices = RanksOf(picked);
  return share;
}

Share LoadInPermutation(const ClientOptions& options, const DataSource& source,
                        const ModelInfo& model) {
  const size_t total = CountSamples(source, &model);
  const SampleRange range = ParseSampleRange(options.samples, total);
  const std::vector<uint32_t> picked = PickInPermutation(range, total, *options.seed);
  return LoadPicked(source, model, total, picked);
}

// Samples of which only the number is known; they are not read.
class Numbers : public Dataset {
 public:
  explicit Numbers(size_t size) : Dataset("the data", {}), size_(size) {}
  size_t size() const override { return size_; }
  void CopyFeatures(size_t, Span<float>) const override {}
  uint32_t Label(size_t) const override { return 0; }
  void CopyTarget(size_t, Span<float>) const override {}
  uint32_t Group(size_t) const override { return 0; }
  Span<const uint8_t> Bytes(size_t) const override { return {}; }

 private:
  size_t size_;
};

// Which samples the device holds. A partition that looks at labels or groups reads all of the file
// into memory for a while.
std::vector<uint32_t> PickInPartition(const ClientOptions& options, const Dataset& all) {
  const uint64_t seed = options.partition_seed.value_or(options.seed.value_or(0));
  const Partition partition =
      MakePartition(options.partition, all, *options.devices,
                    options.samples_per_device.value_or(kDefaultSamplesPerDevice),
                    posix::DeriveKey(RunKey(seed), key_label::kPartition));
  const DeviceIndices share = partition.DeviceSamples(*options.device);
  std::vector<uint32_t> picked;
  for (uint32_t i = 0; i < share.size(); ++i) picked.push_back(share[i]);
  return picked;
}

// The file is read twice: to deal out its samples, and to keep this device's samples.
Share LoadInPartition(const ClientOptions& options, const DataSource& source,
                      const ModelInfo& model) {
  const PartitionInfo& info = FindPartition(options.partition);
  SharedDataset all = info.needs_labels || info.needs_groups
                          ? ReadDataset(source, &model)
                          : std::make_shared<Numbers>(CountSamples(source, &model));
  const size_t total = all->size();
  const std::vector<uint32_t> picked = PickInPartition(options, *all);
  all.reset();
  if (picked.empty()) return EmptyShare();
  return LoadPicked(source, model, total, picked);
}

// "walk -> class 1: 30", or with the name that the label stands for "1 -> class 1 (walk): 30".
std::string ClassText(const SampleInfo& info, uint32_t label, size_t count) {
  const std::string& spelling = info.spellings[label];
  const std::string name = info.class_names.empty() ? spelling : info.class_names[label];
  return fmt::format("{} -> class {}{}: {}", spelling, label,
                     name == spelling ? "" : fmt::format(" ({})", name), count);
}

std::string DescribeLabels(const Share& share) {
  constexpr size_t kMostShown = 40;
  const SampleInfo& info = share.data->info();
  std::vector<size_t> counts(info.classes);
  for (const uint32_t index : share.indices) ++counts[share.data->Label(index)];
  std::vector<std::string> held;
  std::vector<std::string> lacks;
  for (uint32_t label = 0; label < info.classes; ++label) {
    if (counts[label] > 0) {
      held.push_back(ClassText(info, label, counts[label]));
    } else {
      lacks.push_back(info.class_names.empty() ? std::to_string(label) : info.class_names[label]);
    }
  }
  const auto shown = [](std::vector<std::string> texts) {
    if (texts.size() > kMostShown) {
      texts.resize(kMostShown);
      texts.emplace_back("...");
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  return fmt::format("labels: {}{}", held.empty() ? "none" : shown(held),
                     lacks.empty() ? "" : "; no sample of " + shown(lacks));
}

}  // namespace

std::vector<std::string> DescribeData(const Share& share) {
  if (share.recorded != nullptr) return share.recorded->Describe();
  std::vector<std::string> lines = share.data->info().notes;
  if (!share.data->info().spellings.empty()) lines.insert(lines.begin(), DescribeLabels(share));
  return lines;
}

Share EmptyShare() { return {std::make_shared<Numbers>(0), {}, {}, nullptr}; }

Share ShareFor(const ClientOptions& options, const ModelInfo& model) {
  Share none = EmptyShare();
  try {
    return LoadShare(options, model);
  } catch (const std::bad_alloc&) {
    none.unsuited = kTooLittleMemory;
  } catch (const std::exception& error) {
    none.unsuited = error.what();
  }
  return none;
}

void RequireData(const ClientOptions& options) {
  if (!options.sample_log.empty()) {
    (void)SampleFileCopy(options.sample_log);
    return;
  }
  const DataSource source = SourceOf(options);
  RequireFiles(options, source);
  RequireWholeName(source);
  const std::vector<std::string> files = FilesIn(source);
  if (files.empty()) {
    throw FileError(source.path + ": there are no samples; name their file or folder with --data");
  }
  for (const std::string& file : files) {
    if (access(file.c_str(), R_OK) != 0) {
      throw FileError(fmt::format("{}: {}", file, std::strerror(errno)));
    }
  }
}

Share LoadShare(const ClientOptions& options, const ModelInfo& model) {
  if (!options.sample_log.empty()) {
    Share share = EmptyShare();
    share.recorded = std::make_shared<RecordedSamples>(options.sample_log, options.held_out, model);
    return share;
  }
  const DataSource source = SourceOf(options);
  try {
    if (options.device) return LoadInPartition(options, source, model);
    return options.seed ? LoadInPermutation(options, source, model)
                        : LoadInFile(options, source, model);
  } catch (const FileError&) {
    RequireFiles(options, source);  // says more of a file that is not there
    throw;
  }
}

}  // namespace sotto::posix
