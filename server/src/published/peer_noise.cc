#include "published/peer_noise.h"

#include <cmath>

#include "accounting/arguments.h"
#include "accounting/gdp.h"
#include "sotto/private_noise.h"

namespace sotto::privacy {

PublishedPeerNoise PublishedNoiseOf(const ModelInfo& model, const PeerJob& job, double epsilon,
                                    double delta) {
  RequirePositive(epsilon, "epsilon");
  RequireDelta(delta);
  Require(job.batch_size >= 1, "batch size", job.batch_size, "at least 1");
  PublishedPeerNoise noise;
  noise.epsilon = epsilon;
  noise.delta = delta;
  noise.sensitivity = 2.0 * job.learning_rate / job.batch_size;
  noise.deviation = std::sqrt(2 * std::log(1.25 / delta)) * noise.sensitivity / epsilon;
  const double units = std::round(noise.deviation * 0x1p20);
  Require(units >= 1 && units <= kMaxPrivateNoiseQ20, "noise in units of 2^-20", units,
          "in [1, 2^26]");
  noise.noise_q20 = static_cast<uint32_t>(units);
  noise.models = model.loss.kind == nn::LossKind::kSoftmaxCrossEntropy ? 1 : model.outputs;
  return noise;
}

PublishedPeerFigures FiguresAt(const PublishedPeerNoise& noise, int64_t copies, int64_t passes) {
  Require(copies >= 1, "copies", copies, "at least 1");
  Require(passes >= 1, "passes", passes, "at least 1");
  const double mu = noise.sensitivity / noise.deviation;
  const auto epsilon = [&](double variance_factor) {
    return GdpEpsilon(mu * std::sqrt(variance_factor), noise.delta);
  };
  const auto k = static_cast<double>(noise.models);
  const auto c = static_cast<double>(copies);
  const auto p = static_cast<double>(passes);
  return {epsilon(1), epsilon(k), epsilon(2 * k), epsilon(k * c), epsilon(2 * k * c * p)};
}

}  // namespace sotto::privacy
