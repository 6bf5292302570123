#include "share.h"

#include <fmt/format.h>
#include <numeric>
#include <stdexcept>

#include "sotto/data/idx.h"
#include "sotto/data/partition.h"
#include "sotto/key_labels.h"
#include "sotto/model/model_file.h"
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

std::vector<uint32_t> PickInFile(const SampleRange& range) {
  std::vector<uint32_t> indices(range.count);
  std::iota(indices.begin(), indices.end(), static_cast<uint32_t>(range.first));
  return indices;
}

std::vector<uint32_t> PickInPermutation(const SampleRange& range, size_t total, uint64_t seed) {
  const size_t end = range.first + range.count;
  RandomStream random(posix::DeriveKey(RunKey(seed), key_label::kPartition), 0);
  const Partition partition =
      IidPartition(total, 1, end, [&](uint32_t bound) { return random.Below(bound); });
  const Span<const uint32_t> all = partition.DeviceSamples(0).list;
  return {all.begin() + range.first, all.end()};
}

}  // namespace

SampleSource Share::source() { return {static_cast<uint32_t>(indices.size()), Read, this}; }

Share LoadShare(const ClientOptions& options, const ModelInfo& model) {
  RequireImageModel(model);
  Share share;
  share.data = ReadIdxDataset(options.data, options.data, options.labels, model.classes);
  if (share.data->input_size() != model.inputs) {
    throw std::invalid_argument(fmt::format("model {} takes {} inputs, but {} has {}", model.name,
                                            model.inputs, options.data, share.data->input_size()));
  }
  const size_t total = share.data->size();
  const SampleRange range = ParseSampleRange(options.samples, total);
  share.indices = options.seed ? PickInPermutation(range, total, *options.seed) : PickInFile(range);
  return share;
}

}  // namespace sotto::posix
