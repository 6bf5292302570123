// For tests: an auditor of released models. It knows the plan, which devices hold a canary, and
// that all other devices send updates of zeros. From each model it takes what the plan promises.
//
// A round adds to the model  (canary + noise) / cohort,  with noise of deviation
// sqrt(planned_reports) noise_sigma in each of the d coordinates. The canary is the longest update
// that is allowed, C u or -C u for a fixed direction u. One round of a model with many coordinates
// is so as good as thousands of repetitions with few:
//   1. Across u there is noise alone. Its deviation is measured to 1 / sqrt(2 d).
//   2. Along u the model moves by C / cohort if the canary reported, and not at all otherwise, up
//      to the deviation of one coordinate.
//   3. Noise of two rounds is uncorrelated.
// Each check allows kDeviations standard deviations: it fails wrongly with probability 8e-11. With
// 8 rounds there are 44 checks, together below 1e-8. For d = 7850 the first check sees a deviation
// that is off by 10 %, and misses it with probability below 1e-8.
#pragma once

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "plans/plan.h"
#include "round/devices.h"
#include "sotto/messages.h"
#include "sotto/random.h"
#include "sotto/update_codec.h"

namespace sotto::audit {

constexpr double kDeviations = 6.5;

struct Round {
  std::vector<float> before;
  std::vector<float> after;
  int canary = 0;  // sign of the canary in the sum; 0: it did not report
};

// A unit vector with entries +-1 / sqrt(d), the same for every d-dimensional audit.
inline std::vector<double> Direction(size_t d) {
  RandomStream random(Key(), 19);
  std::vector<double> u(d);
  for (double& value : u) {
    value = (random.Below(2) == 0 ? 1.0 : -1.0) / std::sqrt(static_cast<double>(d));
  }
  return u;
}

// The update of a device with this sign: an update of norm C, or of zeros.
inline std::vector<float> CanaryUpdate(size_t d, double clip_l2, int sign) {
  std::vector<float> update;
  for (const double u : Direction(d)) update.push_back(static_cast<float>(sign * clip_l2 * u));
  return update;
}

// The bytes that an honest device sends for this update.
inline std::vector<uint8_t> Encoded(const server::Device& device, const TrainTask& task,
                                    ByteSpan nonce, const std::vector<float>& update) {
  const ByteSpan id(reinterpret_cast<const uint8_t*>(device.id.data()), device.id.size());
  Key key;
  EXPECT_EQ(DeriveRoundKey(device.secret, {task.job_id, id, task.round, task.attempt, nonce}, &key),
            Status::kOk);
  UpdateEncoder encoder;
  EXPECT_EQ(encoder.Begin(key, task.format, {update.data(), update.size()}, task.training.clip_l2,
                          task.quantizer_scale),
            Status::kOk);
  std::vector<uint8_t> bytes(MaxUpdateSize(static_cast<uint32_t>(update.size()), task.format));
  size_t written = 0;
  EXPECT_EQ(encoder.Read({bytes.data(), bytes.size()}, &written), Status::kOk);
  bytes.resize(written);
  return bytes;
}

// A round in units of the promised deviation, taken apart.
struct Parts {
  double along = 0;            // in the direction of the canary
  std::vector<double> across;  // orthogonal to it
  double deviation = 0;        // of `across`
};

inline double PromisedDeviation(const privacy::Plan& plan) {
  return plan.SumDeviation(plan.planned_reports) / static_cast<double>(plan.cohort);
}

inline Parts TakeApart(const Round& round, const privacy::Plan& plan) {
  const std::vector<double> u = Direction(round.after.size());
  Parts parts;
  for (size_t j = 0; j < u.size(); ++j) {
    const double moved = static_cast<double>(round.after[j]) - static_cast<double>(round.before[j]);
    parts.across.push_back(moved / PromisedDeviation(plan));
    parts.along += parts.across[j] * u[j];
  }
  double squares = 0;
  for (size_t j = 0; j < u.size(); ++j) {
    parts.across[j] -= parts.along * u[j];
    squares += parts.across[j] * parts.across[j];
  }
  parts.deviation = std::sqrt(squares / static_cast<double>(u.size() - 1));
  return parts;
}

// What the plan promises of these rounds and the models do not keep. Empty: the audit found
// nothing.
inline std::vector<std::string> FaultsOf(const std::vector<Round>& rounds,
                                         const privacy::Plan& plan) {
  std::vector<std::string> faults;
  std::vector<Parts> parts;
  const auto check = [&](size_t round, const char* what, double is, double promised,
                         double deviation) {
    if (std::abs(is - promised) <= kDeviations * deviation) return;
    faults.push_back("round " + std::to_string(round + 1) + ": " + what + " is " +
                     std::to_string(is) + ", promised " + std::to_string(promised));
  };
  for (size_t i = 0; i < rounds.size(); ++i) {
    parts.push_back(TakeApart(rounds[i], plan));
    const double d = static_cast<double>(rounds[i].after.size());
    const double shift = plan.clip_l2 / static_cast<double>(plan.cohort) / PromisedDeviation(plan);
    check(i, "the noise's deviation", parts[i].deviation, 1, 1 / std::sqrt(2 * (d - 1)));
    check(i, "the canary's shift", parts[i].along, rounds[i].canary * shift, 1);
    for (size_t k = 0; k < i; ++k) {
      double product = 0;
      for (size_t j = 0; j < parts[i].across.size(); ++j) {
        product += parts[i].across[j] * parts[k].across[j];
      }
      check(i, "the correlation with an earlier round",
            product / d / parts[i].deviation / parts[k].deviation, 0, 1 / std::sqrt(d));
    }
  }
  return faults;
}

// The noise multiplier that an attacker sees who knows in which rounds the canary reported: how far
// apart the two signs of the canary are in the models, in deviations of their noise, inverted. `in`
// has the sign +1 and `out` -1. Its relative error has a deviation of about the multiplier divided
// by the square root of the number of rounds in which the canary reported.
inline double NoiseMultiplierSeen(const std::vector<Round>& in, const std::vector<Round>& out,
                                  const privacy::Plan& plan) {
  double apart = 0;
  double deviation = 0;
  for (const std::vector<Round>* rounds : {&in, &out}) {
    double along = 0;
    int with_canary = 0;
    for (const Round& round : *rounds) {
      const Parts parts = TakeApart(round, plan);
      deviation += parts.deviation / static_cast<double>(in.size() + out.size());
      if (round.canary == 0) continue;
      along += round.canary * parts.along;
      ++with_canary;
    }
    EXPECT_GT(with_canary, 0);
    apart += along / with_canary;
  }
  return deviation / apart;
}

}  // namespace sotto::audit
