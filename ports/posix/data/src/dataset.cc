#include "sotto/data/dataset.h"

#include <algorithm>
#include <stdexcept>

namespace sotto {
namespace {

constexpr float kByteScale = 1 / 255.F;

}  // namespace

StoredDataset::StoredDataset(std::string name, SampleInfo info, StoredSamples samples)
    : Dataset(std::move(name), std::move(info)), samples_(std::move(samples)) {
  const size_t values = samples_.bytes.size() + samples_.numbers.size();
  size_ = samples_.starts.empty() ? values / input_size() : samples_.starts.size();
  const auto fits = [&](size_t count, size_t each) { return count == 0 || count == size_ * each; };
  const size_t last =
      samples_.starts.empty()
          ? 0
          : *std::max_element(samples_.starts.begin(), samples_.starts.end()) + input_size();
  if ((!samples_.bytes.empty() && !samples_.numbers.empty()) || last > values ||
      (samples_.starts.empty() && values != size_ * input_size()) ||
      !fits(samples_.labels.size(), 1) || !fits(samples_.groups.size(), 1) ||
      !fits(samples_.targets.size(), this->info().targets)) {
    throw std::logic_error("the vectors of " + this->name() + " do not go together");
  }
}

void StoredDataset::CopyFeatures(size_t index, Span<float> out) const {
  const size_t start = Place(index);
  if (samples_.bytes.empty()) {
    std::copy_n(samples_.numbers.data() + start, out.size(), out.data());
    return;
  }
  const uint8_t* bytes = samples_.bytes.data() + start;
  const float scale = info().tokens > 0 ? 1 : kByteScale;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(bytes[i]) * scale;
}

void StoredDataset::CopyTarget(size_t index, Span<float> out) const {
  std::copy_n(samples_.targets.data() + index * out.size(), out.size(), out.data());
}

uint32_t StoredDataset::group_count() const {
  return std::max<uint32_t>(1, static_cast<uint32_t>(samples_.group_names.size()));
}

Span<const uint8_t> StoredDataset::Bytes(size_t index) const {
  if (samples_.bytes.empty()) return {};
  return {samples_.bytes.data() + Place(index), input_size()};
}

Subset::Subset(std::string name, SharedDataset of, std::vector<uint32_t> indices)
    : Dataset(std::move(name), of->info()), of_(std::move(of)), indices_(std::move(indices)) {}

}  // namespace sotto
