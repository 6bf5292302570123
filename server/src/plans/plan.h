// A training plan: all inputs of its privacy statement (statement.h), fixed before the first round.
//
// Each of `planned_reports` encodings brings its own noise, and the server tops a round up to that
// number. So the noise of the released sum is constant: sqrt(planned_reports) * noise_sigma in each
// coordinate. The adjacency follows from the sampling (types.h). Pure functions, safe from any
// thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "accounting/accountant.h"
#include "accounting/guarantee.h"
#include "accounting/types.h"
#include "plans/adaptive_clip.h"
#include "plans/schedule.h"

namespace sotto::privacy {

struct Plan {
  Sampling sampling = Sampling::kUniform;
  int64_t devices = 0;  // N, eligible devices of the larger neighbouring fleet; in [1, 10^9]
  // B, in [1, N]: exact (kUniform, kPasses), expected (kPoisson), N (kNone, kFull).
  int64_t cohort = 0;
  int64_t planned_reports = 0;  // B, or for kPoisson the cap on the draw, in [1, N]
  // kPoisson, of a fleet that has changed: the number of devices that B and the cap were planned
  // for. q = B / rate_devices stays, and so does the cap. 0: it is N.
  int64_t rate_devices = 0;
  // kUniform: the floor, >= B. While the fleet has at least as many devices, a round is accounted
  // as if it had exactly so many (round/job_phases.h, lemma 5). 0: it is N.
  int64_t device_floor = 0;
  int64_t rounds = 0;  // >= 1
  // kPasses: K, the most releases of this job in which one device takes part (turns.h); >= 1. 0 for
  // the other samplings.
  int64_t participations = 0;
  // kPasses, of a plan to which rounds were added: the number of rounds that it began with, in
  // [1, rounds]. A device's limit on mu^2 still follows from those rounds. 0: it is `rounds`.
  int64_t limit_rounds = 0;
  // kPasses: the limit on one device's turns in all jobs of a store, LifeLimit() of turns.h, which
  // every device keeps. 0: there is none.
  double life_mu_squared = 0.0;
  double life_coordinates = 0.0;
  // The same of updates that are too long, where a store has lost what counts them; 0: they are
  // counted.
  double life_too_long = 0.0;
  Order order = Order::kConnected;  // of kPasses
  // Devices upload at a time that the server set before the round from public figures, and a round
  // may close early at another such time alone. So its time tells nothing about them.
  bool timed_reports = false;
  int64_t dimension = 0;  // encoded coordinates of one update; >= 1
  double clip_l2 = 0.0;   // C, bound on an update's L2 norm, model units, in round 0; > 0
  // s, model units; >= 0. The last coordinate of an update is +-s/2 and adapts C (adaptive_clip.h);
  // 0: no such coordinate. If C follows the bits, then C, s and noise_sigma are the values of one
  // round. The statement depends on their ratios only, which are the same in every round.
  double clip_bit_scale = 0.0;
  // s of the accuracy, model units; >= 0. One more coordinate of an update is s (k / n - 1/2) for k
  // of the device's n held-out samples that the round's model gets right: at most s/2 in magnitude
  // (device_accuracy.h). It moves with C as the clip bit's scale does. 0: no such coordinate.
  double accuracy_scale = 0.0;
  double noise_sigma = 0.0;  // deviation of ONE encoding's noise per coordinate, model units, in
                             // round 0; >= 0. 0, no noise, is accounted as an infinite epsilon
  // How C and noise_sigma change from round to round; constant if extra coordinates travel with
  // updates. Everything below that names no round is of round 0.
  RoundSchedule schedule;
  // The public adversary knows which devices reported in each round. It is so if rounds close as
  // soon as their cohort has reported, because the time of a release then tells. Nothing is
  // amplified by sampling.
  bool participants_known = false;
  int64_t colluders = 1;  // participants assumed to tell their noise to the adversary; >= 0
  double delta = 0.0;     // in (0, 1)
  // z of trust mode kPrivateNoise: each device adds discrete Gaussian noise of deviation 2 C z to
  // every coordinate of its clipped update before it is encoded. >= 0; 0: the server is trusted.
  double private_noise_multiplier = 0.0;
  // All updates have one length, and each is longer with at most this probability, whatever it is:
  // zeros are sent in its place (accounting/one_length.h). In [0, 1); 0: there is no such length.
  double too_long = 0.0;
  CertificateBounds certificate;
  Accountant accountant;  // must state guarantees: Accountant::StatesGuarantees()

  // Throws std::invalid_argument that names the first field outside its range, its value and the
  // range.
  void Validate() const;

  TrustMode Trust() const;
  // The number of released rounds, >= 0, that one device is charged for: at most K of
  // kPasses, all of them otherwise.
  int64_t ChargedRounds(int64_t released) const;
  int64_t LimitRounds() const;    // the rounds from which the limit of kPasses follows
  double SamplingRate() const;    // q: B / N, of the fleet for which B was planned
  double ExpectedCohort() const;  // B; q N for kPoisson
  double ClipWithExtras() const;  // bound on the norm of all coordinates; C without extra ones
  double ExtraScale() const;      // of one coordinate in place of all extra ones; 0: there is none
  // N, or the floor if that is smaller: the number of devices for which releases are accounted.
  int64_t AccountedDevices() const;
  // The bound of one_length.h, lemma 2, for a device that is charged for this many releases.
  double TooLong(int64_t charged) const;
  double Sensitivity() const;  // of the sum, L2, model units: once or twice ClipWithExtras()

  // Deviation of a device's own noise, per coordinate, model units: 2 C z.
  double PrivateNoiseSigma() const;

  // Deviation of the noise of a sum of `reports` encodings, per coordinate, model units; 0 for
  // reports < 0.
  double SumDeviation(int64_t reports) const;

  // Deviation of the released sum's noise divided by the sensitivity. NoiseMultiplier() counts all
  // the noise. AccountedNoiseMultiplier() leaves out the colluders' part; it is 0 if there are as
  // many colluders as planned reports.
  double NoiseMultiplier(int64_t round = 0) const;
  double AccountedNoiseMultiplier(int64_t round = 0) const;
};

// The privacy cost of an earlier job that shares devices with this job.
struct SpentRounds {
  Plan plan;           // of that job
  int64_t rounds = 0;  // charged, >= 0; may exceed plan.rounds
  // Upper bound on the updates that one device sent: one for each attempt, abandoned attempts
  // included. >= 0; a value below `rounds` counts as `rounds`. Only the figure against the server
  // uses it.
  int64_t updates = 0;
  // Upper bound on the releases of that job in which one device of the present job took part, by
  // the records of who was drawn; >= 0. Absent: any number. Only figures under replace-one
  // adjacency use it (turns.h, lemma 9).
  std::optional<int64_t> turns = std::nullopt;
};

// So many rounds or turns stand for a number that nobody knows: of jobs that a store has lost. Only
// a life limit bounds their figure. Sums of them are this number, too.
constexpr int64_t kUnknownTurns = 1'000'000'000;

// The rounds of these jobs.
int64_t CountRounds(const std::vector<SpentRounds>& jobs);

// The noise_sigma that gives the released sum of round 0 this noise multiplier. It counts all the
// noise, the colluders' included; > 0, finite. The plan's own noise_sigma is ignored. Throws
// std::invalid_argument.
double SigmaForNoiseMultiplier(const Plan& plan, double noise_multiplier);

// The plan with extra coordinates beside each update. The noise multiplier and so the epsilon stay
// the same; noise_sigma grows by 1 / sqrt(1 - bit_share - accuracy_share).
//   plan            has noise; its dimension already counts the extra coordinates
//   bit_share       the clip bits' share of the budget, see SplitNoise(); 0: no bits
//   accuracy_share  the same of the accuracies. Each >= 0, the sum below 1
// Throws std::invalid_argument.
Plan WithExtras(Plan plan, double bit_share, double accuracy_share);

// The delta of a plan that names none: min(10^-5, 1 / (10 N)). At a larger one, N delta says how
// many devices the guarantee may leave out: of 100 devices at delta 10^-2, one.
//   devices  N >= 1
double DefaultDelta(int64_t devices);

// The largest N delta at which a job begins without being asked whether it means that delta.
constexpr double kMostDevicesLeftOut = 0.1;

// The split of a plan's noise between updates and clip bits. The plan has bits and noise. Throws
// std::invalid_argument.
NoiseSplit SplitNoise(const Plan& plan);

// Deviation of the noise on the sum of the accuracies, k/n - 1/2 each, in devices. The plan has
// noise and accuracies.
double AccuracySumDeviation(const Plan& plan);

}  // namespace sotto::privacy
