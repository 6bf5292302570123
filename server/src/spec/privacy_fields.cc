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
          "privacy budget of the whole training, to which the noise is calibrated: with --sampling "
          "passes for this job alone, otherwise after earlier jobs on the same devices; inf: fine "
          "uniform dither instead of noise, NO PRIVACY")
          .Within({0, kInfinity, true}),
      Row("noise-multiplier", Learns::kNoise, &JobRequest::noise_multiplier,
          "deviation of the released sum's noise divided by the sum's sensitivity (2C uniform, C "
          "poisson), instead of --epsilon")
          .Within({0, 1e9, true})
          .Excludes("epsilon"),
      Row("noise-sigma", Learns::kNoise, &JobRequest::noise_sigma,
          "deviation of the noise of one device's update, per coordinate, in the first round; "
          "instead of --epsilon and --noise-multiplier")
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
          "participants that epsilon assumes to tell their noise to the adversary")
          .Within(kCountOrNone),
      Row("delta", Learns::kNoise, &JobRequest::delta, "delta of the budget (epsilon, delta)")
          .Within({1e-300, 0.5})
          .ByDefault("1e-5, or 1 / (10 devices) if that is less")
          .Formerly("devices^-1.1")
          .RunsWith(&privacy::Plan::delta),
      Row("trust-mode", Learns::kTask, &JobRequest::trust_mode,
          "whether devices trust the server; trusted-server: they do, and no epsilon holds against "
          "it; private-noise: each device adds its own noise first")
          .OneOf(privacy::TrustMode::kTrustedServer, privacy::TrustMode::kPrivateNoise)
          .Reads([](const JobRecord& job) { return ToValue(job.config.plan.Trust()); })
          .StoredIf(IsPrivateNoise),
      Row("private-noise-multiplier", Learns::kTask, &JobRequest::private_noise_multiplier,
          "deviation of a device's own noise divided by 2C, the sensitivity of one update")
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
          "move C from round to round to a quantile of the devices' norms, learned from a noisy "
          "bit of each device; --clip is the C of the first round"),
      Derived("clip-bit-scale", &privacy::Plan::clip_bit_scale, Learns::kTask).StoredIf(IsAdaptive),
      Row("clip-quantile", Learns::kNothing,
          At(&JobRequest::clip_schedule, &privacy::ClipSchedule::quantile),
          "quantile that C follows: the share of the devices that C should not clip")
          .Within({0, 1})
          .Needs("adaptive-clip")
          .RunsWith(&privacy::ClipSchedule::quantile)
          .StoredIf(IsAdaptive),
      Row("clip-learning-rate", Learns::kNothing,
          At(&JobRequest::clip_schedule, &privacy::ClipSchedule::learning_rate),
          "speed of C: each round multiplies C by exp(-this * (noisy share not clipped - "
          "quantile))")
          .Within({1e-6, 10})
          .Needs("adaptive-clip")
          .RunsWith(&privacy::ClipSchedule::learning_rate)
          .StoredIf(IsAdaptive),
      Row("clip-noise", Learns::kTask, &JobRequest::clip_noise,
          "deviation of the noise on the number of devices not clipped")
          .Within({1e-6, 1e9})
          .Unit("devices")
          .Needs("adaptive-clip")
          .ByDefault("cohort / 20, or more, so that it takes at most a tenth of the budget"),
  };
}

Fields Evaluation() {
  return {
      Row("evaluate-on-devices", Learns::kTask, &JobConfig::evaluates_on_devices,
          "estimate each round the model's accuracy on the devices' held-out samples: each device "
          "sends one more noisy number, which takes a share of the privacy budget")
          .RunsWith(&JobConfig::evaluates_on_devices)
          .StoredIf(EvaluatesOnDevices),
      Derived("accuracy-scale", &privacy::Plan::accuracy_scale, Learns::kTask)
          .StoredIf(EvaluatesOnDevices),
      Row("accuracy-noise", Learns::kTask, &JobRequest::accuracy_noise,
          "deviation of the noise on the mean of the devices' accuracies")
          .Within({1e-6, 1e3})
          .Needs("evaluate-on-devices")
          .ByDefault("0.05, or more, so that it takes at most a tenth of the budget"),
  };
}

}  // namespace sotto::server::job_fields
