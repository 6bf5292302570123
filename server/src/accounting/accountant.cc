#include "accounting/accountant.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "accounting/arguments.h"
#include "accounting/gdp.h"
#include "accounting/known_draws.h"
#include "accounting/log_space.h"
#include "accounting/per_round.h"
#include "accounting/pld.h"

namespace sotto::privacy {
namespace {

using Rounds = std::vector<GaussianRounds>;

EpsilonAt ComposeBest(const Rounds& rounds, double delta, Effort effort);

Soundness AlwaysUpperBound(Sampling /*sampling*/) { return Soundness::kUpperBound; }

Soundness ExactUnsampledElseUpperBound(Sampling sampling) {
  return sampling == Sampling::kNone ? Soundness::kExact : Soundness::kUpperBound;
}

Soundness ExactUnsampledElseApproximate(Sampling sampling) {
  return sampling == Sampling::kNone ? Soundness::kExact : Soundness::kApproximate;
}

bool AllRounds(const Rounds& /*rounds*/, double /*delta*/) { return true; }

// If two figures are equal, "best" takes the figure of the later row: the simpler method.
constexpr AccountantKind kAccountants[] = {
    // The smallest figure of the rows with is_in_best.
    {"best", true, false, "rdp", ExactUnsampledElseUpperBound, AllRounds, ComposeBest},
    // Privacy loss distributions: pld.h.
    {"pld", true, true, nullptr, AlwaysUpperBound, Pld::Supports, ComposePld},
    // RDP with the improved conversion: conversion.h.
    {"rdp", true, true, nullptr, AlwaysUpperBound, AllRounds, ComposeRdp},
    // RDP with Mironov's conversion, as older tools print it.
    {"rdp-classic", true, false, nullptr, AlwaysUpperBound, AllRounds, ComposeRdpClassic},
    // Gaussian differential privacy; for sampled rounds the central limit theorem: gdp.h.
    {"gdp", true, false, nullptr, ExactUnsampledElseApproximate, AllRounds, ComposeGdp},
    // The closed form of each round, added up: per_round.h.
    {"per-round", false, true, nullptr, AlwaysUpperBound, PerRoundSupports, ComposePerRound},
    // Gaussian differential privacy as if nothing were sampled: gdp.h.
    {"gaussian", false, true, nullptr, ExactUnsampledElseUpperBound, AllRounds, ComposeGaussian},
};

// A rate of 1 is no sampling, under either adjacency.
Rounds WithEffect(const Rounds& rounds) {
  Rounds kept;
  for (GaussianRounds r : Canonical(rounds)) {
    if (r.rounds == 0 || (r.sampling != Sampling::kNone && r.sampling_rate == 0)) continue;
    if (r.sampling_rate == 1) r.sampling = Sampling::kNone;
    kept.push_back(r);
  }
  return Canonical(kept);
}

bool HasSampling(const Rounds& rounds) {
  return std::any_of(rounds.begin(), rounds.end(),
                     [](const GaussianRounds& r) { return r.sampling != Sampling::kNone; });
}

// The soundness of the figure for all the rounds together. An empty list counts as unsampled.
Soundness Weakest(const AccountantKind& row, const Rounds& rounds) {
  Soundness weakest = row.soundness(Sampling::kNone);
  for (const GaussianRounds& r : rounds) weakest = std::min(weakest, row.soundness(r.sampling));
  return weakest;
}

EpsilonAt Compose(const AccountantKind& row, const Rounds& rounds, double delta, Effort effort) {
  if (row.supports(rounds, delta)) return row.compose(rounds, delta, effort);
  AccountedEpsilon none;
  none.epsilon = kInfinity;
  none.epsilon_lower = 0.0;
  none.numeric_error = kInfinity;
  none.winner = row.name;
  return [none](double) { return none; };
}

AccountedEpsilon Smallest(const std::vector<EpsilonAt>& members, double delta) {
  std::optional<AccountedEpsilon> best;
  std::optional<double> lower;  // the largest lower bound: each of them holds
  for (const EpsilonAt& member : members) {
    const AccountedEpsilon one = member(delta);
    if (!best || one.epsilon <= best->epsilon) best = one;
    if (one.epsilon_lower) lower = std::max(lower.value_or(0.0), *one.epsilon_lower);
  }
  if (lower) best->epsilon_lower = std::min(*lower, best->epsilon);
  return *best;
}

// If one accountant is exact, no other accountant can give a smaller upper bound.
EpsilonAt ComposeBest(const Rounds& rounds, double delta, Effort effort) {
  for (const AccountantKind& row : kAccountants) {
    if (row.is_in_best && Weakest(row, rounds) == Soundness::kExact) {
      return Compose(row, rounds, delta, effort);
    }
  }
  std::vector<EpsilonAt> members;
  for (const AccountantKind& row : kAccountants) {
    if (row.is_in_best) members.push_back(Compose(row, rounds, delta, effort));
  }
  return [members](double at) { return Smallest(members, at); };
}

const AccountantKind& Offered(std::string_view name) {
  std::string known;
  for (const AccountantKind& row : kAccountants) {
    if (!row.is_offered) continue;
    if (name == row.name) return row;
    known += std::string(known.empty() ? "" : ", ") + row.name;
  }
  throw std::invalid_argument("accountant is " + std::string(name) + "; it must be one of " +
                              known);
}

}  // namespace

Accountant::Accountant() : Accountant("best") {}

Accountant::Accountant(std::string_view name) : row_(&Offered(name)) {}

Accountant Accountant::RdpFilter(double order) {
  Require(order > 1 && std::isfinite(order), "order", order, "finite and above 1");
  Accountant filter("rdp");
  filter.filter_order_ = order;
  return filter;
}

Accountant Accountant::GaussianFilter(double order) {
  Accountant filter = RdpFilter(order);
  filter.is_gaussian_filter_ = true;
  return filter;
}

Accountant Accountant::WithKnownDraws() const {
  Accountant knowing = *this;
  knowing.knows_draws_ = true;
  return knowing;
}

bool Accountant::StatesGuarantees() const {
  return IsUpperBound(Sampling::kNone) && IsUpperBound(Sampling::kPoisson) &&
         IsUpperBound(Sampling::kUniform);
}

Accountant Accountant::FirstGuess() const {
  if (row_->first_guess == nullptr) return *this;
  Accountant guess(row_->first_guess);
  guess.effort_ = effort_;
  return guess;
}

Accountant Accountant::Quick() const {
  Accountant quick = *this;
  quick.effort_ = Effort::kQuick;
  return quick;
}

std::vector<Accountant> OfferedAccountants() {
  std::vector<Accountant> offered;
  for (const AccountantKind& row : kAccountants) {
    if (row.is_offered) offered.push_back(Accountant(&row));
  }
  return offered;
}

RoundsAccountant::RoundsAccountant(const Rounds& rounds, double delta, Accountant accountant) {
  RequireDelta(delta);
  const Rounds effective = WithEffect(rounds);
  const double order = accountant.filter_order();
  const bool has_sampling = HasSampling(effective);
  if (has_sampling && accountant.knows_draws()) {
    epsilon_at_ = order == 0 ? ComposeKnownDraws(effective, delta)
                             : ComposeKnownDrawsAtOrder(effective, order);
  } else if (order == 0) {
    epsilon_at_ = Compose(accountant.row(), effective, delta, accountant.effort());
  } else if (!has_sampling && accountant.is_gaussian_filter()) {
    epsilon_at_ = ComposeGaussian(effective, delta, accountant.effort());
  } else {
    epsilon_at_ = ComposeRdpAtOrder(effective, order);
  }
}

AccountedEpsilon RoundsAccountant::At(double delta) const {
  RequireDelta(delta);
  AccountedEpsilon accounted = epsilon_at_(delta);
  // No accountant returns NaN on purpose. If one does, nothing is known: that is +infinity.
  if (std::isnan(accounted.epsilon)) accounted.epsilon = kInfinity;
  return accounted;
}

AccountedEpsilon AccountFor(const Rounds& rounds, double delta, Accountant accountant) {
  return RoundsAccountant(rounds, delta, accountant).At(delta);
}

}  // namespace sotto::privacy
