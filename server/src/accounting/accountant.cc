#include "accounting/accountant.h"

#include <algorithm>
#include <stdexcept>

#include "accounting/arguments.h"
#include "accounting/gdp.h"
#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

constexpr Accountant kAccountants[] = {Accountant::kBest, Accountant::kRdp, Accountant::kRdpClassic,
                                       Accountant::kPld, Accountant::kGdp};

// A rate of 1 is no sampling, under either adjacency.
std::vector<GaussianRounds> WithEffect(const std::vector<GaussianRounds>& rounds) {
  std::vector<GaussianRounds> kept;
  for (GaussianRounds r : Canonical(rounds)) {
    if (r.rounds == 0 || (r.sampling != Sampling::kNone && r.sampling_rate == 0)) continue;
    if (r.sampling_rate == 1) r.sampling = Sampling::kNone;
    kept.push_back(r);
  }
  return Canonical(kept);
}

bool Has(const std::vector<GaussianRounds>& rounds, Sampling sampling) {
  return std::any_of(rounds.begin(), rounds.end(),
                     [&](const GaussianRounds& r) { return r.sampling == sampling; });
}

}  // namespace

const char* Name(Accountant accountant) {
  switch (accountant) {
    case Accountant::kRdp:
      return "rdp";
    case Accountant::kRdpClassic:
      return "rdp-classic";
    case Accountant::kPld:
      return "pld";
    case Accountant::kGdp:
      return "gdp";
    case Accountant::kBest:
      break;
  }
  return "best";
}

Accountant AccountantByName(const std::string& name) {
  std::string known;
  for (const Accountant accountant : kAccountants) {
    if (name == Name(accountant)) return accountant;
    known += std::string(known.empty() ? "" : ", ") + Name(accountant);
  }
  throw std::invalid_argument("accountant is " + name + "; it must be one of " + known);
}

RoundsAccountant::RoundsAccountant(const std::vector<GaussianRounds>& rounds, double delta,
                                   Accountant accountant)
    : rounds_(WithEffect(rounds)),
      accountant_(accountant),
      is_sampled_(Has(rounds_, Sampling::kPoisson) || Has(rounds_, Sampling::kUniform)),
      has_true_lower_bound_(!Has(rounds_, Sampling::kUniform)) {
  RequireDelta(delta);
  if (accountant == Accountant::kPld || (accountant == Accountant::kBest && is_sampled_)) {
    pld_.emplace(rounds_, delta);
  }
}

AccountedEpsilon RoundsAccountant::At(double delta) const {
  RequireDelta(delta);
  switch (accountant_) {
    case Accountant::kRdp:
      return ByRdp(delta, Conversion::kImproved);
    case Accountant::kRdpClassic:
      return ByRdp(delta, Conversion::kClassic);
    case Accountant::kPld:
      return ByPld(delta);
    case Accountant::kGdp:
      return is_sampled_ ? ByCentralLimit(delta) : ByGaussian(delta);
    case Accountant::kBest:
      break;
  }
  return Best(delta);
}

AccountedEpsilon RoundsAccountant::ByRdp(double delta, Conversion conversion) const {
  const ConvertedEpsilon converted = Epsilon(rounds_, delta, conversion);
  AccountedEpsilon result;
  result.epsilon = converted.Guarantee();
  result.winner = conversion == Conversion::kClassic ? "rdp-classic" : "rdp";
  result.order = converted.order;
  result.order_at_edge = converted.order_at_edge;
  return result;
}

AccountedEpsilon RoundsAccountant::ByPld(double delta) const {
  AccountedEpsilon result;
  result.winner = "pld";
  result.epsilon = pld_->Epsilon(delta);
  const double lower = std::min(pld_->Epsilon(delta, Bound::kLower), result.epsilon);
  result.numeric_error = result.epsilon - lower;
  if (has_true_lower_bound_) result.epsilon_lower = lower;
  return result;
}

AccountedEpsilon RoundsAccountant::ByGaussian(double delta) const {
  constexpr double kRounding = 1e-12;
  AccountedEpsilon result;
  result.winner = "gaussian";
  result.epsilon = GdpEpsilon(UnsampledMu(rounds_), delta);
  if (!is_sampled_) result.epsilon_lower = result.epsilon * (1 - kRounding);
  return result;
}

AccountedEpsilon RoundsAccountant::ByCentralLimit(double delta) const {
  AccountedEpsilon result;
  result.winner = "gdp";
  result.epsilon = GdpEpsilon(CentralLimitMu(rounds_).value, delta);
  result.is_upper_bound = false;
  return result;
}

AccountedEpsilon RoundsAccountant::Best(double delta) const {
  AccountedEpsilon best = ByGaussian(delta);
  if (!is_sampled_) return best;
  const AccountedEpsilon by_pld = ByPld(delta);
  for (const AccountedEpsilon& other : {ByRdp(delta, Conversion::kImproved), by_pld}) {
    if (other.epsilon < best.epsilon) best = other;
  }
  if (by_pld.epsilon_lower) best.epsilon_lower = std::min(*by_pld.epsilon_lower, best.epsilon);
  return best;
}

AccountedEpsilon AccountFor(const std::vector<GaussianRounds>& rounds, double delta,
                            Accountant accountant) {
  return RoundsAccountant(rounds, delta, accountant).At(delta);
}

}  // namespace sotto::privacy
