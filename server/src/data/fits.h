// What is fitted to a data set for a model's preparation: mean and deviation of features, and
// principal components. Part of sotto::server/data.
//
// Figures and weights are computed from samples and say something about them: no epsilon covers a
// fit on private data.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

// Reads the samples of a data set as a model's first layer gets them in a prediction, or raw ones
// without a model. One thread at a time.
class PreparedReader {
 public:
  //   model  null, or one with as many inputs as the data set has features
  PreparedReader(const Dataset& data, const ModelInfo* model);

  // Of a sample that is read.
  const nn::Shape& shape() const { return shape_; }
  // Until the next call.
  Span<const float> Read(size_t index);

 private:
  const Dataset& data_;
  const ModelInfo* model_;
  nn::Shape shape_;
  std::vector<float> memory_;
};

// Which features one figure covers: all, one channel's, or a single one.
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

// The most features: the covariance matrix then takes 134 MB.
constexpr size_t kMaxPcaInputs = 4096;

// Principal components of a data set, as the weights of a Dense layer. A net whose first layer is
// this Dense, frozen, trains on the data's main directions only: fewer parameters, so the same
// privacy takes less noise in all.
struct PrincipalComponents {
  // Parameters of Dense<inputs, dimensions>: [dimensions][inputs], then biases [dimensions]. Output
  // k is the k-th component of a sample minus the mean. The number of largest magnitude in each row
  // is positive, so the signs do not depend on the computation.
  std::vector<float> parameters;
  std::vector<double> variances;  // [dimensions] of the outputs, decreasing
  double total_variance = 0;      // of all features
};

// Fits to all samples.
//   model       null, or the model whose steps prepare samples first
//   dimensions  at least 1, below the number of samples, at most the number of features
// Throws std::invalid_argument if that does not hold, for more than kMaxPcaInputs features, for
// samples without any variance, and for a number that is missing or not finite.
PrincipalComponents FitPrincipalComponents(const Dataset& data, const ModelInfo* model,
                                           uint32_t dimensions);

}  // namespace sotto::server
