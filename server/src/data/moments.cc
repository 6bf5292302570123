#include "data/moments.h"

#include <algorithm>
#include <cmath>

namespace sotto::server {
namespace {

// Calls take(figure, number) for each number that is there, and miss(figure) for the others.
template <class Take, class Miss>
void ForEachNumber(const Dataset& data, const ModelInfo* model, size_t figures, const Take& take,
                   const Miss& miss) {
  std::vector<float> features(data.input_size());
  for (size_t sample = 0; sample < data.size(); ++sample) {
    CopyPrepared(data, model, sample, {features.data(), features.size()});
    for (size_t i = 0; i < features.size(); ++i) {
      if (std::isnan(features[i])) {
        miss(i % figures);
      } else {
        take(i % figures, double{features[i]});
      }
    }
  }
}

void Add(double number, Moments* to) {
  to->least = to->count == 0 ? number : std::min(to->least, number);
  to->most = to->count == 0 ? number : std::max(to->most, number);
  to->mean += number;
  ++to->count;
}

}  // namespace

void CopyPrepared(const Dataset& data, const ModelInfo* model, size_t index, Span<float> out) {
  data.CopyFeatures(index, out);
  if (model != nullptr) nn::Prepare(model->preparation, model->layers[0].info.input, out);
}

size_t FigureCount(Per per, const nn::Shape& shape) {
  if (per == Per::kAll) return 1;
  return per == Per::kChannel ? shape.channels : shape.size();
}

std::vector<Moments> ComputeMoments(const Dataset& data, const ModelInfo* model, Per per) {
  const nn::Shape& shape = model == nullptr ? data.info().shape : model->layers[0].info.input;
  std::vector<Moments> all(FigureCount(per, shape));
  ForEachNumber(
      data, model, all.size(), [&](size_t figure, double number) { Add(number, &all[figure]); },
      [&](size_t figure) { ++all[figure].missing; });
  const auto divide = [](double sum, uint64_t count) {
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
  };
  for (Moments& moments : all) moments.mean = divide(moments.mean, moments.count);
  ForEachNumber(
      data, model, all.size(),
      [&](size_t figure, double number) {
        const double difference = number - all[figure].mean;
        all[figure].deviation += difference * difference;
      },
      [](size_t) {});
  for (Moments& moments : all) {
    moments.deviation = std::sqrt(divide(moments.deviation, moments.count));
  }
  return all;
}

}  // namespace sotto::server
