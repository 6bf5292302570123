// The rows of noise and of the coordinates that share it. Part of sotto::server/spec.
#include "spec/job_fields.h"

namespace sotto::server::job_fields {
namespace {

// Conditions under which a store holds a row: a job without the feature has no such row.
bool IsAdaptive(const JobConfig& job) { return job.clip_schedule.has_value(); }
bool EvaluatesOnDevices(const JobConfig& job) { return job.evaluates_on_devices; }
bool IsPrivateNoise(const JobConfig& job) {
  return job.plan.Trust() == privacy::TrustMode::kPrivateNoise;
}

}  // namespace

Fields Noise() {
  return {
      Row("epsilon", Learns::kNoise, &JobRequest::epsilon,
          "budget of the whole training; the noise is calibrated to it, with passes for this job "
          "alone, otherwise after earlier jobs on the same devices; inf: fine uniform dither "
          "instead of noise, NO PRIVACY")
          .Within({0, kInfinity, true}),
      Row("noise-multiplier", Learns::kNoise, &JobRequest::noise_multiplier,
          "deviation of the released sum's noise over its sensitivity (2C uniform, C Poisson), "
          "instead of --epsilon")
          .Within({0, 1e9, true})
          .Excludes("epsilon"),
      Row("noise-sigma", Learns::kNoise, &JobRequest::noise_sigma,
          "deviation of the noise of one device's update, per coordinate, instead of --epsilon "
          "and --noise-multiplier; of the first round, if rounds differ")
          .Within({0, 1e9, true})
          .Unit("model units")
          .Excludes("epsilon"),
      Derived("noise-sigma", &privacy::Plan::noise_sigma, Learns::kNoise),
      Row("noise-decay", Learns::kNoise, &privacy::RoundSchedule::noise_decay,
          "tau of the dynamic schedule of Gau-LRQ: round k, from 0, has the noise of round 0 times "
          "tau^(k/4). --epsilon scales the whole schedule until the sound epsilon meets the "
          "budget. Lemma 4 of the paper, that every tau costs the same, does not hold")
          .Within({1e-6, 1})
          .StoredUnlessDefault(),
      Row("colluders", Learns::kNoise, &privacy::Plan::colluders,
          "participants assumed to tell their noise to the adversary")
          .Within(kCountOrNone),
      Row("delta", Learns::kNoise, &JobRequest::delta, "the other half of the budget")
          .Within({1e-300, 0.5})
          .ByDefault("1e-5, or 1 / (10 devices) if that is less")
          .Formerly("devices^-1.1")
          .RunsWith(&privacy::Plan::delta),
      Row("trust-mode", Learns::kTask, &JobRequest::trust_mode,
          "trusted-server: no epsilon against the server, which is trusted; private-noise: each "
          "device adds its own noise first")
          .OneOf(privacy::TrustMode::kTrustedServer, privacy::TrustMode::kPrivateNoise)
          .Reads([](const JobRecord& job) { return ToValue(job.config.plan.Trust()); })
          .StoredIf(IsPrivateNoise),
      Row("private-noise-multiplier", Learns::kTask, &JobRequest::private_noise_multiplier,
          "deviation of a device's own noise over 2C, the sensitivity of one update")
          .Within(kFactor)
          .RunsWith(&privacy::Plan::private_noise_multiplier)
          .StoredIf(IsPrivateNoise),
      Derived("certificate-eta", &privacy::CertificateBounds::eta),
      Derived("certificate-tau", &privacy::CertificateBounds::tau),
      Derived("certificate-range", &privacy::CertificateBounds::range),
  };
}

Fields AdaptiveClip() {
  return {
      Row("adaptive-clip", Learns::kTask, &JobRequest::adaptive_clip,
          "move C from round to round to a quantile of the devices' norms, learned from a "
          "noisy bit of each; --clip is the first round's"),
      Derived("clip-bit-scale", &privacy::Plan::clip_bit_scale, Learns::kTask).StoredIf(IsAdaptive),
      Row("clip-quantile", Learns::kNothing,
          At(&JobRequest::clip_schedule, &privacy::ClipSchedule::quantile),
          "share of the devices that C should not clip")
          .Within({0, 1})
          .Needs("adaptive-clip")
          .RunsWith(&privacy::ClipSchedule::quantile)
          .StoredIf(IsAdaptive),
      Row("clip-learning-rate", Learns::kNothing,
          At(&JobRequest::clip_schedule, &privacy::ClipSchedule::learning_rate),
          "C is multiplied by exp(-this * (noisy share not clipped - quantile))")
          .Within({1e-6, 10})
          .Needs("adaptive-clip")
          .RunsWith(&privacy::ClipSchedule::learning_rate)
          .StoredIf(IsAdaptive),
      Row("clip-noise", Learns::kTask, &JobRequest::clip_noise,
          "deviation of the noise on the number of devices not clipped")
          .Within({1e-6, 1e9})
          .Unit("devices")
          .Needs("adaptive-clip")
          .ByDefault("cohort / 20, more if that would take above a tenth of the budget"),
  };
}

Fields Evaluation() {
  return {
      Row("evaluate-on-devices", Learns::kTask, &JobConfig::evaluates_on_devices,
          "learn each round how well the model does on the devices' held-out samples: a noisy "
          "number more from each, which takes its share of the privacy budget")
          .RunsWith(&JobConfig::evaluates_on_devices)
          .StoredIf(EvaluatesOnDevices),
      Derived("accuracy-scale", &privacy::Plan::accuracy_scale, Learns::kTask)
          .StoredIf(EvaluatesOnDevices),
      Row("accuracy-noise", Learns::kTask, &JobRequest::accuracy_noise,
          "deviation of the noise on the mean of the devices' accuracies")
          .Within({1e-6, 1e3})
          .Needs("evaluate-on-devices")
          .ByDefault("0.05, more if that would take above a tenth of the budget"),
  };
}

}  // namespace sotto::server::job_fields
