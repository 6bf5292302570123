// Mean and deviation of a data set's features. Part of sotto::server/data.
//
// Reentrant: safe from any thread. Figures are computed from samples and say something about them:
// no epsilon covers a figure of private data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

// The features of a sample as a model's first layer gets them in a prediction, or raw ones without
// a model.
//   model  null, or one with as many inputs as the data set has features
//   out    [data.input_size()]
void CopyPrepared(const Dataset& data, const ModelInfo* model, size_t index, Span<float> out);

// Which features one figure is of: all, those of a channel, or a single one.
enum class Per { kAll, kChannel, kFeature };

// How many figures there are for samples of this shape. Feature i has figure i % count.
size_t FigureCount(Per per, const nn::Shape& shape);

struct Moments {
  uint64_t count = 0;    // numbers that are not missing
  uint64_t missing = 0;  // NaN: they count for nothing else
  double mean = 0;
  double deviation = 0;  // without Bessel's correction
  double least = 0;
  double most = 0;
};

// The figures, in the order of the features. Each sum is over the samples in their order, in
// double; deviations are from the mean, in a second pass. A figure of no number is 0.
std::vector<Moments> ComputeMoments(const Dataset& data, const ModelInfo* model, Per per);

}  // namespace sotto::server
