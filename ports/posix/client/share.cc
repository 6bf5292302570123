#include "share.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>

#include "sotto/data/partition.h"
#include "sotto/data/source.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::posix {
namespace {

Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const auto* share = static_cast<const Share*>(context);
  const uint32_t sample = share->indices[index];
  share->data->CopyFeatures(sample, features);
  *label = share->data->Label(sample);
  return Status::kOk;
}

Status ReadVector(void* context, uint32_t index, Span<float> features, Span<float> target) {
  const auto* share = static_cast<const Share*>(context);
  const uint32_t sample = share->indices[index];
  share->data->CopyFeatures(sample, features);
  share->data->CopyTarget(sample, target);
  return Status::kOk;
}

DataSource SourceOf(const ClientOptions& options) {
  DataSource source = ParseDataSource(options.data);
  if (options.labels.empty()) return source;
  if (!source.options.emplace("labels", options.labels).second) {
    throw std::invalid_argument("--labels and the option labels= of --data: expected one of them");
  }
  source.options.emplace("format", "idx");
  return source;
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

Share LoadInPermutation(const ClientOptions& options, const DataSource& source,
                        const ModelInfo& model) {
  const size_t total = CountSamples(source, &model);
  const SampleRange range = ParseSampleRange(options.samples, total);
  const std::vector<uint32_t> picked = PickInPermutation(range, total, *options.seed);
  std::vector<bool> is_picked(total, false);
  for (const uint32_t number : picked) is_picked[number] = true;
  Share share;
  share.data = ReadDataset(source, &model, [&](size_t index) { return is_picked[index]; });
  share.indices = RanksOf(picked);
  return share;
}

}  // namespace

SampleSource Share::source() {
  return {static_cast<uint32_t>(indices.size()), Read, this, ReadVector};
}

Share LoadShare(const ClientOptions& options, const ModelInfo& model) {
  const DataSource source = SourceOf(options);
  return options.seed ? LoadInPermutation(options, source, model)
                      : LoadInFile(options, source, model);
}

}  // namespace sotto::posix
