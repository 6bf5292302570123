#include "public_loss.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "sotto/data/source.h"

namespace sotto::posix {
namespace {

constexpr uint32_t kBatch = 64;

std::vector<uint32_t> AllOf(const Dataset& data) {
  std::vector<uint32_t> indices(data.size());
  std::iota(indices.begin(), indices.end(), 0U);
  return indices;
}

DataSource SourceLike(const std::string& text, const ColumnNames& like) {
  DataSource source = ParseDataSource(text);
  source.like = like;
  return source;
}

}  // namespace

PublicLossData::PublicLossData(const std::string& source, const ModelInfo& model,
                               const ColumnNames& like)
    : model_(model),
      data_(ReadDataset(SourceLike(source, like), &model)),
      indices_(AllOf(*data_)),
      samples_(*data_,
               {{indices_.data(), indices_.size()}, 0, static_cast<uint32_t>(indices_.size())}),
      working_(model.parameters),
      scratch_(model.training_floats(model, kBatch)) {
  RequireFits(model, *data_);
  if (indices_.empty()) {
    throw std::invalid_argument(fmt::format("--public-data {}: it has no sample", source));
  }
}

// Steps of rate 0: each gives the mean loss of its batch.
double PublicLossData::Loss(void* context, Span<const float> global) {
  auto& self = *static_cast<PublicLossData*>(context);
  const ModelInfo& model = self.model_;
  const WorkingParameters working = {{self.working_.data(), self.working_.size()}};
  const SampleSource source = self.samples_.source();
  const Span<const uint32_t> all = {self.indices_.data(), self.indices_.size()};
  double sum = 0;
  for (size_t first = 0; first < all.size(); first += kBatch) {
    const size_t count = std::min<size_t>(kBatch, all.size() - first);
    const Batch batch = {&source, all.subspan(first, count)};
    float loss = 0;
    Status status = model.begin_training(global, working);
    if (status == Status::kOk) {
      status = model.train_batch(model, batch, SgdStep(), working,
                                 {self.scratch_.data(), self.scratch_.size()}, &loss);
    }
    if (status != Status::kOk) return std::numeric_limits<double>::infinity();
    sum += static_cast<double>(loss) * static_cast<double>(count);
  }
  return sum / static_cast<double>(all.size());
}

}  // namespace sotto::posix
