#include "data/fits.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include <Eigen/Dense>

namespace sotto::server {
namespace {

// Calls take(figure, number) for each number that is there, and miss(figure) for the others.
template <class Take, class Miss>
void ForEachNumber(const Dataset& data, const ModelInfo* model, size_t figures, const Take& take,
                   const Miss& miss) {
  PreparedReader reader(data, model);
  for (size_t sample = 0; sample < data.size(); ++sample) {
    const Span<const float> features = reader.Read(sample);
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

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr size_t kBlock = 256;  // samples that are added at once

size_t PreparedSize(const Dataset& data, const ModelInfo* model) {
  return model == nullptr ? data.input_size() : model->PreparedShape().size();
}

void Require(const Dataset& data, const ModelInfo* model, uint32_t dimensions) {
  const size_t inputs = PreparedSize(data, model);
  if (inputs > kMaxPcaInputs) {
    throw std::invalid_argument(
        fmt::format("samples have {} features; PCA takes at most {}", inputs, kMaxPcaInputs));
  }
  if (dimensions < 1 || dimensions > inputs || dimensions >= data.size()) {
    throw std::invalid_argument(
        fmt::format("{} dimensions of {} samples of {} features; expected at least 1, at most the "
                    "features, and fewer than samples",
                    dimensions, data.size(), inputs));
  }
}

// Samples as columns, features as rows.
MatrixXd ReadBlock(const Dataset& data, const ModelInfo* model, size_t first, size_t count) {
  PreparedReader reader(data, model);
  MatrixXd block(static_cast<Index>(reader.shape().size()), static_cast<Index>(count));
  for (size_t s = 0; s < count; ++s) {
    const Span<const float> features = reader.Read(first + s);
    for (size_t i = 0; i < features.size(); ++i) {
      if (!std::isfinite(features[i])) {
        throw std::invalid_argument(
            fmt::format("sample {}, feature {}: the number is missing or not finite; give a model "
                        "whose file has missing = NUMBER with --model",
                        first + s, i));
      }
      block(static_cast<Index>(i), static_cast<Index>(s)) = double{features[i]};
    }
  }
  return block;
}

template <class Use>
void ForEachBlock(const Dataset& data, const ModelInfo* model, const Use& use) {
  for (size_t first = 0; first < data.size(); first += kBlock) {
    use(ReadBlock(data, model, first, std::min(kBlock, data.size() - first)));
  }
}

VectorXd MeanOf(const Dataset& data, const ModelInfo* model) {
  VectorXd sum = VectorXd::Zero(static_cast<Index>(PreparedSize(data, model)));
  ForEachBlock(data, model, [&](const MatrixXd& block) { sum += block.rowwise().sum(); });
  return sum / static_cast<double>(data.size());
}

// The lower triangle.
MatrixXd CovarianceOf(const Dataset& data, const ModelInfo* model, const VectorXd& mean) {
  const auto inputs = static_cast<Index>(PreparedSize(data, model));
  MatrixXd sum = MatrixXd::Zero(inputs, inputs);
  ForEachBlock(data, model, [&](const MatrixXd& block) {
    sum.selfadjointView<Eigen::Lower>().rankUpdate(block.colwise() - mean);
  });
  return sum / static_cast<double>(data.size());
}

VectorXd WithPositivePeak(const VectorXd& direction) {
  Index peak = 0;
  direction.cwiseAbs().maxCoeff(&peak);
  return direction(peak) < 0 ? VectorXd(-direction) : direction;
}

}  // namespace

PreparedReader::PreparedReader(const Dataset& data, const ModelInfo* model)
    : data_(data),
      model_(model),
      shape_(model == nullptr ? data.info().shape : model->PreparedShape()),
      memory_(model == nullptr ? data.input_size()
                               : nn::PreparationFloats(model->preparation, model->SampleShape())) {}

Span<const float> PreparedReader::Read(size_t index) {
  data_.CopyFeatures(index, {memory_.data(), data_.input_size()});
  if (model_ != nullptr) nn::Prepare(model_->preparation, memory_.data());
  return {memory_.data(), shape_.size()};
}

size_t FigureCount(Per per, const nn::Shape& shape) {
  if (per == Per::kAll) return 1;
  return per == Per::kChannel ? shape.channels : shape.size();
}

std::vector<Moments> ComputeMoments(const Dataset& data, const ModelInfo* model, Per per) {
  const nn::Shape shape = model == nullptr ? data.info().shape : model->PreparedShape();
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

PrincipalComponents FitPrincipalComponents(const Dataset& data, const ModelInfo* model,
                                           uint32_t dimensions) {
  Require(data, model, dimensions);
  const VectorXd mean = MeanOf(data, model);
  const MatrixXd covariance = CovarianceOf(data, model, mean);
  PrincipalComponents result;
  result.total_variance = covariance.trace();
  if (!(result.total_variance > 0)) {
    throw std::invalid_argument("all samples are the same; there is no direction to find");
  }
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(covariance);  // reads the lower triangle
  if (solver.info() != Eigen::Success) throw std::runtime_error("no eigenvectors were found");
  const auto inputs = static_cast<Index>(PreparedSize(data, model));
  std::vector<float> biases;
  for (Index k = 0; k < static_cast<Index>(dimensions); ++k) {
    const Index column = inputs - 1 - k;  // they increase
    const VectorXd direction = WithPositivePeak(solver.eigenvectors().col(column));
    result.variances.push_back(std::max(solver.eigenvalues()(column), 0.0));
    for (const double weight : direction) result.parameters.push_back(static_cast<float>(weight));
    biases.push_back(static_cast<float>(-direction.dot(mean)));
  }
  result.parameters.insert(result.parameters.end(), biases.begin(), biases.end());
  return result;
}

}  // namespace sotto::server
