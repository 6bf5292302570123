#include "sim/peer_data.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>
#include <vector>

#include "data/catalog.h"
#include "data/fits.h"
#include "data/parts.h"
#include "sotto/peer/peer_options.h"

namespace sotto::server {
namespace {

constexpr uint64_t kDefaultSamplesPerPeer = 6000;  // of made samples

double NormOf(Span<const float> row) {
  double squares = 0;
  for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

void Scale(double factor, Span<float> row) {
  for (float& x : row) x = static_cast<float>(static_cast<double>(x) * factor);
}

// Another data set whose rows have at most a norm.
class BoundedRows : public Dataset {
 public:
  BoundedRows(SharedDataset of, double most)
      : Dataset(of->name(), of->info()), of_(std::move(of)), most_(most) {}

  size_t size() const override { return of_->size(); }
  void CopyFeatures(size_t index, Span<float> out) const override {
    of_->CopyFeatures(index, out);
    const double norm = NormOf(out);
    if (norm > most_) Scale(most_ / norm, out);
  }
  uint32_t Label(size_t index) const override { return of_->Label(index); }
  void CopyTarget(size_t index, Span<float> out) const override { of_->CopyTarget(index, out); }
  uint32_t Group(size_t index) const override { return of_->Group(index); }
  uint32_t group_count() const override { return of_->group_count(); }
  std::string GroupName(uint32_t group) const override { return of_->GroupName(group); }
  Span<const uint8_t> Bytes(size_t) const override { return {}; }

 private:
  SharedDataset of_;
  double most_;
};

// The components of a row, computed feature by feature.
class Projection {
 public:
  Projection(const PrincipalComponents& fit, uint32_t dimensions, double norm)
      : dimensions_(dimensions), norm_(norm), weights_(fit.parameters.size()) {
    const size_t inputs = fit.parameters.size() / dimensions - 1;
    for (size_t k = 0; k < dimensions; ++k) {
      for (size_t i = 0; i < inputs; ++i) {
        weights_[i * dimensions + k] = fit.parameters[k * inputs + i];
      }
    }
    std::copy(fit.parameters.end() - dimensions, fit.parameters.end(), weights_.end() - dimensions);
  }

  //   row  [inputs];  out  [dimensions], of the norm
  void Apply(Span<const float> row, Span<float> out) const {
    std::copy(weights_.end() - dimensions_, weights_.end(), out.begin());
    const float* weights = weights_.data();
    for (const float x : row) {
      if (x != 0.0f) {
        for (uint32_t k = 0; k < dimensions_; ++k) out[k] += x * weights[k];
      }
      weights += dimensions_;
    }
    const double norm = NormOf(out);
    if (norm > 0) Scale(norm_ / norm, out);
  }

 private:
  uint32_t dimensions_;
  double norm_;                 // of a row
  std::vector<float> weights_;  // [inputs][dimensions], then biases [dimensions]
};

SharedDataset Projected(const Dataset& data, const Projection& projection, uint32_t dimensions) {
  StoredSamples samples;
  samples.numbers.resize(data.size() * dimensions);
  SampleInfo info = data.info();
  info.shape = {1, 1, dimensions};
  std::vector<float> row(data.input_size());
  for (size_t i = 0; i < data.size(); ++i) {
    data.CopyFeatures(i, {row.data(), row.size()});
    projection.Apply({row.data(), row.size()},
                     Span<float>(samples.numbers.data() + i * dimensions, dimensions));
    if (info.classes > 0) samples.labels.push_back(data.Label(i));
    if (info.targets > 0) {
      samples.targets.resize((i + 1) * info.targets);
      data.CopyTarget(i, {samples.targets.data() + i * info.targets, info.targets});
    }
    samples.groups.push_back(data.Group(i));
  }
  for (uint32_t group = 0; group < data.group_count(); ++group) {
    samples.group_names.push_back(data.GroupName(group));
  }
  return std::make_shared<PrincipalRows>(data.name(), info, std::move(samples));
}

TrainTest OnComponents(const TrainTest& data, uint32_t dimensions, double norm) {
  const Projection projection(FitPrincipalComponents(*data.train, nullptr, dimensions), dimensions,
                              norm);
  return {Projected(*data.train, projection, dimensions),
          Projected(*data.test, projection, dimensions)};
}

// The model for which samples are read. One that takes components does not take the features.
const ModelInfo* ReadFor(const PeersRequest& request) {
  const bool has_components = request.pca.value_or(0) > 0;
  return request.Has("model") && !has_components ? request.job.model : nullptr;
}

}  // namespace

uint32_t PcaOf(const PeersRequest& request, size_t features) {
  if (request.pca) return *request.pca;
  return !request.Has("model") && features > kDefaultPca ? kDefaultPca : 0;
}

std::string PeerDataKey(const PeersRequest& request) {
  const std::optional<uint32_t>& pca = request.pca;
  return fmt::format("peers|{}|{}|{}|{}|{}|{}|{}|{}", request.data, request.test.value_or(""),
                     request.classes.value_or(""), request.Has("model"),
                     pca ? static_cast<int64_t>(*pca) : -1, Name(request.nodes.unit),
                     request.nodes.feature_norm, request.job.model->name);
}

TrainTest OpenPeerData(const PeersRequest& request) {
  const uint64_t each =
      request.Has("samples-per-device") ? request.fleet.samples_per_device : kDefaultSamplesPerPeer;
  TrainTest data =
      OpenForFleet(request.data, request.test.value_or(""), ReadFor(request), request.peers * each);
  if (request.classes) data = OnlyClasses(data, *request.classes);
  const uint32_t pca = PcaOf(request, data.train->input_size());
  if (pca > 0) {
    return OnComponents(data, pca, static_cast<double>(request.nodes.feature_norm));
  }
  const bool is_prepared = request.Has("model") && !request.job.model->preparation.empty();
  if (request.nodes.unit == PeerUnit::kSample && !is_prepared) {
    data.test =
        std::make_shared<BoundedRows>(data.test, static_cast<double>(request.nodes.feature_norm));
  }
  return data;
}

posix::SharedModel PeerModel(const PeersRequest& request, const SampleInfo& info) {
  if (request.Has("model")) {
    if (request.opened_model) return request.opened_model;
    return posix::SharedModel(posix::SharedModel(), request.job.model);
  }
  if (info.classes == 0 && info.targets == 0) {
    throw std::invalid_argument("the samples have neither labels nor targets; name a --model");
  }
  const bool is_binary = info.classes == 2;
  const uint32_t outputs = is_binary ? 1 : info.classes > 0 ? info.classes : info.targets;
  const char* loss = info.classes > 0 ? "one-vs-all" : "mean-squared-error";
  const std::string name = fmt::format("{}-{}-{}", loss, info.shape.size(), outputs);
  return posix::ParseModel(
      name + ".toml",
      fmt::format("name = \"{}\"\ninput = [{}]\nloss = \"{}\"\n[[layer]]\nkind = \"dense\"\n"
                  "outputs = {}\n",
                  name, info.shape.size(), loss, outputs));
}

}  // namespace sotto::server
