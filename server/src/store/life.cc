#include "store/life.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "accounting/figures.h"
#include "accounting/one_length.h"
#include "sotto/certificate.h"
#include "store/history.h"
#include "store/recovery.h"

namespace sotto::server {
namespace {

constexpr privacy::CertificateBounds kOurs = {kDitherEta, kDitherTau, kDitherRange};

void Raise(const privacy::Turns& turns, privacy::Turns* most) {
  most->count = std::max(most->count, turns.count);
  most->mu_squared = std::max(most->mu_squared, turns.mu_squared);
  most->coordinates = std::max(most->coordinates, turns.coordinates);
  most->too_long = std::max(most->too_long, turns.too_long);
}

privacy::Plan PlanWith(const History& history, const JobEntry& job, int64_t colluders) {
  privacy::Plan plan = PlanOf(history, job);
  plan.rounds = PlanNow(history.store, job).rounds;
  plan.colluders = std::max(plan.colluders, colluders);
  return plan;
}

privacy::Turns InRounds(const privacy::Plan& plan, int64_t rounds) {
  privacy::Turns turns;
  for (int64_t round = 0; round < rounds; ++round) turns = turns + privacy::TurnIn(plan, round);
  return turns;
}

void Charge(const JobEntry& job, const privacy::Plan& plan, TurnsByDevice* turns) {
  for (const SettledEntry& entry : job.settled) {
    (*turns)[entry.device] = (*turns)[entry.device] + entry.charged;
  }
  std::set<int64_t> recorded;
  for (const SealRecord& seal : job.seals) {
    const privacy::Turns turn = privacy::TurnIn(plan, seal.round);
    for (const int64_t device : seal.devices) (*turns)[device] = (*turns)[device] + turn;
    recorded.insert(seal.round);
  }
  for (int64_t round = 0; round < job.released; ++round) {
    if (recorded.count(round) != 0) continue;  // otherwise nobody wrote who was drawn
    const privacy::Turns turn = privacy::TurnIn(plan, round);
    for (const int64_t device : job.devices) (*turns)[device] = (*turns)[device] + turn;
  }
}

}  // namespace

TurnsByDevice TurnsBefore(const History& history, const JobEntry* job, int64_t colluders) {
  TurnsByDevice turns;
  for (const JobEntry& other : history.jobs) {
    if (job != nullptr && other.number >= job->number) break;
    Charge(other, PlanWith(history, other, colluders), &turns);
  }
  return turns;
}

privacy::Turns MostOf(const TurnsByDevice& turns, const History& history, bool eligible) {
  privacy::Turns most;
  for (const DeviceRecord& device : history.devices) {
    const auto found = turns.find(device.number);
    if (found == turns.end() || (eligible && !device.is_eligible())) continue;
    Raise(found->second, &most);
  }
  return most;
}

privacy::Turns WorstCaseOf(const History& history, const JobEntry* job, const privacy::Plan& plan) {
  TurnsByDevice turns;
  for (const JobEntry& other : history.jobs) {
    if (job != nullptr && other.number >= job->number) break;
    const privacy::Plan then = PlanWith(history, other, plan.colluders);
    if (then.sampling == privacy::Sampling::kPasses) {
      Charge(other, then, &turns);
      continue;
    }
    const privacy::Turns all = InRounds(then, other.released);
    for (const int64_t device : other.devices) turns[device] = turns[device] + all;
  }
  return MostOf(turns, history, false) + InRounds(plan, plan.rounds);
}

std::optional<privacy::Turns> LifeLimitOf(const History& history,
                                          const privacy::CertificateBounds& certificate) {
  if (!history.life) return std::nullopt;
  return privacy::LifeLimit(history.life->epsilon, history.life->delta, certificate);
}

double LifeEpsilonFor(const privacy::Turns& turns, double delta,
                      const privacy::CertificateBounds& certificate) {
  constexpr double kPlaces = 10;
  constexpr int kMostSteps = 100;
  if (!std::isfinite(turns.mu_squared)) return std::numeric_limits<double>::infinity();
  const double least = privacy::GuaranteeOf(turns, delta, certificate).epsilon;
  if (!std::isfinite(least)) return least;
  double units = std::ceil(std::max(least, 1 / kPlaces) * kPlaces);
  for (int step = 0; step < kMostSteps; ++step, units = std::ceil(units * 1.001 + 0.5)) {
    const privacy::Turns limit = privacy::LifeLimit(units / kPlaces, delta, certificate);
    if (privacy::HasRoom({}, turns, limit)) return units / kPlaces;
  }
  return std::numeric_limits<double>::infinity();
}

double LargestLifeEpsilonFor(const privacy::Turns& turns, double epsilon, double delta,
                             const privacy::CertificateBounds& certificate) {
  constexpr double kPlaces = 10;
  const auto has_room = [&](double units) {
    return privacy::HasRoom({}, turns, privacy::LifeLimit(units / kPlaces, delta, certificate));
  };
  double enough = LifeEpsilonFor(turns, delta, certificate) * kPlaces;
  double many = std::floor(epsilon * kPlaces) + 1;
  if (!(enough < many)) return 0;
  while (many - enough > 1) {
    const double middle = std::floor((enough + many) / 2);
    (has_room(middle) ? enough : many) = middle;
  }
  return enough / kPlaces;
}

std::string WhyTooLarge(double epsilon, double delta) {
  // A small net, and two jobs whose updates have one length.
  privacy::Turns least;
  least.coordinates = 1000;
  least.too_long = 2 * privacy::ProbabilityOfTooLong(0, delta, privacy::kDeltaShare, 1);
  if (privacy::HasRoom({}, least, privacy::LifeLimit(epsilon, delta, kOurs))) return "";
  return fmt::format(
      "a life epsilon of {} leaves no job room: the terms of the encoder and of updates of one "
      "length grow as e to it, and delta {} has none for them; it is never lowered, so name at "
      "most {:.1f}",
      epsilon, privacy::DeltaText(delta), LargestLifeEpsilonFor(least, epsilon, delta, kOurs));
}

std::string DescribeRoomOf(double epsilon, double delta) {
  constexpr double kUsual = 7850.0 * 100 * 4;  // parameters, cohort, turns
  constexpr double kJobs = 10;
  const double room = privacy::LifeLimit(epsilon, delta, kOurs).coordinates;
  if (room >= kUsual * kJobs) return "";
  privacy::Turns usual;
  usual.coordinates = kUsual * kJobs;
  return fmt::format(
      "a life epsilon of {} leaves the encoder's terms room for {:.2g} coordinates of a device in "
      "all jobs, parameters x cohort x turns; a job of 7850 x 100 x 4 takes {:.2g}. You can never "
      "lower a life epsilon, and a smaller one leaves more room: {:.1f} has room for ten such jobs",
      epsilon, room, kUsual, LargestLifeEpsilonFor(usual, epsilon, delta, kOurs));
}

// `epsilon`, or a smaller one with room for what was spent and for the last job, if `epsilon` is so
// large that it has none.
double LargestFor(const History& history, double epsilon, double delta) {
  if (history.jobs.empty()) return epsilon;
  const privacy::Plan last = PlanWith(history, history.jobs.back(), 0);
  privacy::Turns needed = MostBounded(history);
  const bool goes_on = history.jobs.back().released < last.rounds;
  if (goes_on && last.sampling == privacy::Sampling::kPasses && last.noise_sigma > 0) {
    Raise(privacy::LimitOf(last), &needed);
  }
  if (privacy::HasRoom({}, needed, privacy::LifeLimit(epsilon, delta, last.certificate)))
    return epsilon;
  return LargestLifeEpsilonFor(needed, epsilon, delta, last.certificate);
}

double DefaultLifeDelta(const History& history) {
  const auto eligible = std::count_if(history.devices.begin(), history.devices.end(),
                                      [](const DeviceRecord& d) { return d.is_eligible(); });
  return privacy::DefaultDelta(std::max<int64_t>(eligible, 1));
}

std::string WhyNotLifeEpsilon(const History& history, double epsilon, double delta,
                              bool is_served) {
  if (const std::string why = WhyTooLarge(epsilon, delta); !why.empty()) return why;
  const double largest = LargestFor(history, epsilon, delta);
  if (largest > 0 && largest < epsilon) {
    return fmt::format(
        "a life epsilon of {} is too large for its last job: the terms of the encoder and of "
        "updates of one length grow as e to it, and have no room in delta {}; name at most {:.1f}",
        epsilon, privacy::DeltaText(delta), largest);
  }
  if (history.life) return "";  // every device keeps the one before
  if (is_served) {
    return "a server runs its job without a life epsilon; stop it, set one, and start it again";
  }
  if (const std::string why = WhyUnbounded(history); !why.empty()) return why;
  const privacy::Turns spent = MostBounded(history);
  if (privacy::HasRoom({}, spent, privacy::LifeLimit(epsilon, delta, kOurs))) return "";
  const double least = LifeEpsilonFor(spent, delta, kOurs);
  if (std::isinf(least)) {
    return "a job without noise has asked some of its devices, so no epsilon covers them; begin a "
           "new store with new devices";
  }
  return fmt::format("its jobs have spent epsilon {} on a device already; name at least {:.1f}",
                     privacy::EpsilonText(privacy::GuaranteeOf(spent, delta, kOurs).epsilon),
                     least);
}

std::string DescribeTooLarge(const History& history, const privacy::Turns& turns,
                             const privacy::Plan& plan) {
  const LifeEpsilon& life = *history.life;
  return fmt::format(
      "the store's life epsilon, {} at delta {}, is too large for that: the terms of the encoder "
      "and of updates of one length grow as e to it, and have no room in that delta. It is never "
      "lowered: take a new store with --life-epsilon {:.1f} to {:.1f}, or a smaller model, or a "
      "smaller cohort",
      life.epsilon, privacy::DeltaText(life.delta),
      LifeEpsilonFor(turns, life.delta, plan.certificate),
      LargestLifeEpsilonFor(turns, life.epsilon, life.delta, plan.certificate));
}

std::string HowToRaise(const std::string& store, const History& history,
                       const privacy::Turns& turns, const privacy::Plan& plan) {
  const double delta = history.life ? history.life->delta : plan.delta;
  const double epsilon = LifeEpsilonFor(turns, delta, plan.certificate);
  if (std::isinf(epsilon)) {
    return std::isfinite(turns.mu_squared)
               ? "no life epsilon has room for that, since the terms of the encoder and of updates "
                 "of one length grow as e to it: take more noise, a smaller model or a smaller "
                 "cohort"
               : "no epsilon covers that, since one of the jobs has no noise: take a new store "
                 "with "
                 "new devices";
  }
  if (history.life && epsilon <= history.life->epsilon) {
    return DescribeTooLarge(history, turns, plan);
  }
  const bool is_default = history.life || delta == DefaultLifeDelta(history);
  return fmt::format("allow it with `sotto store raise-life-epsilon {} {:.1f}{}`", store, epsilon,
                     is_default ? "" : fmt::format(" --delta {}", delta));
}

}  // namespace sotto::server
