// The rows of noise and of the coordinates that share it. Part of sotto::server/spec.
#include "spec/job_fields.h"

namespace sotto::server::job_fields {
namespace {

// Conditions under which a store holds a row. Stores of older programs lack these rows.
bool IsAdaptive(const JobConfig& job) { return job.clip_schedule.has_value(); }
bool EvaluatesOnDevices(const JobConfig& job) { return job.evaluates_on_devices; }
bool HasNoiseDecay(const JobConfig& job) { return job.plan.schedule.noise_decay != 1; }
bool IsPrivateNoise(const JobConfig& job) {
  return job.plan.Trust() == privacy::TrustMode::kPrivateNoise;
}

}  // namespace

Fields Noise() {
  return {
      Row("epsilon",
          "budget of the whole training; the noise is calibrated to it; inf: fine uniform dither "
          "instead of noise, NO PRIVACY")
          .In(Group::kPrivacy)
          .Within({0, kInfinity, true})
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.epsilon; }),
      Row("noise-multiplier",
          "deviation of the released sum's noise over its sensitivity (2C uniform, C Poisson), "
          "instead of --epsilon")
          .In(Group::kPrivacy)
          .Within({0, 1e9, true})
          .Excludes("epsilon")
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.noise_multiplier; }),
      Row("noise-sigma",
          "deviation of the noise of one device's update, per coordinate, instead of --epsilon and "
          "--noise-multiplier; of the first round, if rounds differ")
          .In(Group::kPrivacy)
          .Within({0, 1e9, true})
          .Unit("model units")
          .Excludes("epsilon")
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.noise_sigma; }),
      Derived("noise-sigma", Learns::kNoise).OfPlan([](auto& plan) -> auto& {
        return plan.noise_sigma;
      }),
      Row("noise-decay",
          "tau of the dynamic schedule of Gau-LRQ: the noise of round k, from 0, is that of the "
          "first times tau^(k/4). --epsilon scales the whole schedule until the sound epsilon "
          "meets "
          "the budget: that every tau costs the same (Lemma 4 of the paper) does not hold")
          .In(Group::kPrivacy)
          .Within({1e-6, 1})
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.schedule.noise_decay; })
          .StoredIf(HasNoiseDecay),
      Row("colluders", "participants assumed to tell their noise to the adversary")
          .In(Group::kPrivacy)
          .Within(kCountOrNone)
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.colluders; }),
      Row("delta", "the other half of the budget")
          .In(Group::kPrivacy)
          .Within({1e-300, 0.5})
          .ByDefault("devices^-1.1")
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.delta; })
          .OfPlan([](auto& plan) -> auto& { return plan.delta; }),
      Row("trust-mode",
          "trusted-server: the server can take the noise off an update; private-noise: each device "
          "adds noise of its own first")
          .In(Group::kPrivacy)
          .OneOf(privacy::TrustMode::kTrustedServer, privacy::TrustMode::kPrivateNoise)
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.trust_mode; })
          .Reads([](const JobRecord& job) { return ToValue(job.config.plan.Trust()); })
          .StoredIf(IsPrivateNoise),
      Row("private-noise-multiplier",
          "deviation of a device's own noise over 2C, the sensitivity of one update")
          .In(Group::kPrivacy)
          .Within(kFactor)
          .Asked(
              Learns::kTask,
              [](auto& request) -> auto& { return request.private_noise_multiplier; })
          .OfPlan([](auto& plan) -> auto& { return plan.private_noise_multiplier; })
          .StoredIf(IsPrivateNoise),
      Derived("certificate-eta").OfPlan([](auto& plan) -> auto& { return plan.certificate.eta; }),
      Derived("certificate-tau").OfPlan([](auto& plan) -> auto& { return plan.certificate.tau; }),
      Derived("certificate-range").OfPlan([](auto& plan) -> auto& {
        return plan.certificate.range;
      }),
  };
}

Fields AdaptiveClip() {
  return {
      Row("adaptive-clip",
          "move C from round to round to a quantile of the devices' norms, learned from a noisy "
          "bit "
          "of each; --clip is the first round's")
          .In(Group::kTraining)
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.adaptive_clip; }),
      Derived("clip-bit-scale", Learns::kTask)
          .OfPlan([](auto& plan) -> auto& { return plan.clip_bit_scale; })
          .StoredIf(IsAdaptive),
      Row("clip-quantile", "share of the devices that C should not clip")
          .In(Group::kTraining)
          .Within({0, 1})
          .Needs("adaptive-clip")
          .Asked(
              Learns::kNothing,
              [](auto& request) -> auto& { return request.clip_schedule.quantile; })
          .Reads([](const JobRecord& job) { return ToValue(job.config.clip_schedule->quantile); })
          .StoredIf(IsAdaptive),
      Row("clip-learning-rate",
          "C is multiplied by exp(-this * (noisy share not clipped - quantile))")
          .In(Group::kTraining)
          .Within({1e-6, 10})
          .Needs("adaptive-clip")
          .Asked(
              Learns::kNothing,
              [](auto& request) -> auto& { return request.clip_schedule.learning_rate; })
          .Reads(
              [](const JobRecord& job) { return ToValue(job.config.clip_schedule->learning_rate); })
          .StoredIf(IsAdaptive),
      Row("clip-noise", "deviation of the noise on the number of devices not clipped")
          .In(Group::kTraining)
          .Within({1e-6, 1e9})
          .Unit("devices")
          .Needs("adaptive-clip")
          .ByDefault("cohort / 20, more if that would take above a tenth of the budget")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.clip_noise; }),
  };
}

Fields Evaluation() {
  return {
      Row("evaluate-on-devices",
          "learn each round how well the model does on the devices' held-out samples: a noisy "
          "number more from each, which takes its share of the privacy budget")
          .In(Group::kTraining)
          .Asked(
              Learns::kTask,
              [](auto& request) -> auto& { return request.job.evaluates_on_devices; })
          .Reads([](const JobRecord& job) { return ToValue(job.config.evaluates_on_devices); })
          .StoredIf(EvaluatesOnDevices),
      Derived("accuracy-scale", Learns::kTask)
          .OfPlan([](auto& plan) -> auto& { return plan.accuracy_scale; })
          .StoredIf(EvaluatesOnDevices),
      Row("accuracy-noise", "deviation of the noise on the mean of the devices' accuracies")
          .In(Group::kTraining)
          .Within({1e-6, 1e3})
          .Needs("evaluate-on-devices")
          .ByDefault("0.05, more if that would take above a tenth of the budget")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.accuracy_noise; }),
  };
}

}  // namespace sotto::server::job_fields
