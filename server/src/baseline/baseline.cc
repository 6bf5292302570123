#include "baseline/baseline.h"

#include "baseline/gaussian_float32.h"
#include "baseline/quantized_binomial.h"
#include "baseline/quantized_gaussian.h"

namespace sotto::server::baseline {

std::unique_ptr<UpdateChannel> MakeChannel(const JobConfig& job) {
  switch (job.mechanism) {
    case Mechanism::kGaussianFloat32:
      return std::make_unique<GaussianFloat32>(job.plan.noise_sigma);
    case Mechanism::kQuantizedGaussian:
      return std::make_unique<QuantizedGaussian>();
    case Mechanism::kQuantizedBinomial:
      return std::make_unique<QuantizedBinomial>(job.plan.clip_l2 / job.plan.noise_sigma);
    case Mechanism::kGauLrq:
    case Mechanism::kUniformDither:
    case Mechanism::kNone:
      break;
  }
  return nullptr;
}

}  // namespace sotto::server::baseline
