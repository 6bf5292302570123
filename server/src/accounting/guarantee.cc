#include "accounting/guarantee.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"
#include "accounting/gdp.h"

namespace sotto::privacy {
namespace {

constexpr double kMinDelta = 1e-300;  // for a smaller delta its own arithmetic would fail
constexpr int kMaxPasses = 30;

void RequireDeviations(const Deviations& deviations) {
  deviations.certificate.Validate();
  Require(deviations.coordinates >= 0 && std::isfinite(deviations.coordinates),
          "number of coordinates", deviations.coordinates, "finite and at least 0");
  Require(!std::isnan(deviations.log_cap_excess), "log of the cap's excess probability",
          deviations.log_cap_excess, "a number");
  Require(!std::isnan(deviations.log_refusal), "log of the probability of a refusal",
          deviations.log_refusal, "a number");
  Require(!std::isnan(deviations.log_too_long), "log of the probability that an update is too long",
          deviations.log_too_long, "a number");
  Require(deviations.shift >= 0, "shift", deviations.shift, "at least 0");
}

Guarantee Unbounded() {
  Guarantee guarantee;
  guarantee.epsilon = kInfinity;
  return guarantee;
}

// ln of a bound on the probability that some of n coordinates is outside of the certificate's
// range.
double LogOutside(const Deviations& deviations) {
  return std::log(deviations.coordinates * deviations.certificate.tau);
}

// Adds the accountant's epsilon at gaussian_delta to the encoder's terms.
Guarantee WithGaussian(const RoundsAccountant& accountant, Guarantee guarantee) {
  if (!(guarantee.gaussian_delta >= kMinDelta)) return Unbounded();
  guarantee.gaussian = accountant.At(guarantee.gaussian_delta);
  guarantee.epsilon = guarantee.gaussian.epsilon + 2 * guarantee.encoder_epsilon;
  return guarantee;
}

// kConcentrated for a given split of delta.
Guarantee Combine(const RoundsAccountant& accountant, double first_term_delta, double log_delta_q,
                  const Deviations& deviations) {
  const double eta = deviations.certificate.eta;
  const double rho = deviations.coordinates * eta * eta / 2;
  Guarantee guarantee;
  guarantee.encoder_epsilon = rho > 0 ? rho + 2 * std::sqrt(-rho * log_delta_q) : 0.0;
  LogSum encoder_delta;
  encoder_delta.Add(log_delta_q);
  encoder_delta.Add(LogOutside(deviations));
  guarantee.log_encoder_delta = encoder_delta.Log();
  guarantee.gaussian_delta = first_term_delta * std::exp(-guarantee.encoder_epsilon);
  return WithGaussian(accountant, guarantee);
}

// The exponent of the factor on the mass that the encoder puts outside of its certificate's range.
double Reach(const Guarantee& guarantee) {
  return guarantee.gaussian.epsilon + guarantee.encoder_epsilon;
}

// The part of delta that cap, refusals and the encoder's part `log_part` of d1 need. Computed with
// logarithms, because e^epsilon may not fit a double.
double Charge(const Guarantee& guarantee, double log_part, const Deviations& deviations) {
  return std::exp(Softplus(Reach(guarantee)) + log_part) +
         std::exp(Softplus(guarantee.epsilon) + deviations.log_cap_excess) +
         std::exp(deviations.log_refusal);
}

// Looks for the smallest charge on delta that covers its own consequences. A larger charge leaves
// less delta to the accountant, so epsilon grows, and with epsilon the charge that is needed.
//   Lemma 1. The map from a charge to the needed charge is convex. So secant steps from below stay
//     below its first fixed point.
//   Lemma 2. A slope of 1 shows that the map has no fixed point.
class ChargeSearch {
 public:
  explicit ChargeSearch(double charge) : charge_(charge) {}

  double charge() const { return charge_; }

  // Takes the charge that the present charge makes necessary; false if no charge is enough.
  bool Raise(double needed) {
    if (needed <= charge_) return true;
    const double slope =
        charge_ > last_charge_ ? (needed - last_needed_) / (charge_ - last_charge_) : 0.0;
    last_charge_ = charge_;
    last_needed_ = needed;
    charge_ += (needed - charge_) / (1 - std::max(slope, 0.0)) + 1e-9 * needed;
    return slope < 1;
  }

 private:
  double charge_;
  double last_charge_ = kInfinity;  // no charge has been taken yet
  double last_needed_ = 0.0;
};

Guarantee Concentrated(const std::vector<GaussianRounds>& rounds, double delta,
                       const Deviations& deviations, Accountant chosen) {
  const RoundsAccountant accountant(rounds, delta, chosen);
  const bool has_ratio = deviations.coordinates * deviations.certificate.eta > 0;
  const bool has_encoder = has_ratio || deviations.coordinates * deviations.certificate.tau > 0;
  const bool has_cap = deviations.log_cap_excess > -kInfinity;
  ChargeSearch search(delta * kDeltaShare * ((has_encoder ? 1 : 0) + (has_cap ? 1 : 0)));
  // Half of the encoder's share is for delta_q and its factor 1 + e^reach. A little less than half
  // is used, so that the resulting reach may differ slightly from the assumed one. The first
  // assumed reach comes from the accountant alone.
  const double slice = has_ratio ? delta * kDeltaShare / 2 : 0.0;
  double reach = has_ratio ? accountant.At(delta - search.charge()).epsilon : 0.0;
  for (int pass = 0; pass < kMaxPasses && search.charge() < delta; ++pass) {
    const double log_delta_q = std::log(0.8 * slice) - Softplus(reach);
    const Guarantee guarantee =
        Combine(accountant, delta - search.charge(), log_delta_q, deviations);
    if (!std::isfinite(guarantee.epsilon)) break;
    if (Charge(guarantee, guarantee.log_encoder_delta, deviations) <= search.charge()) {
      return guarantee;
    }
    reach = Reach(guarantee);
    const double needed = slice + Charge(guarantee, LogOutside(deviations), deviations);
    if (!search.Raise(needed)) break;
  }
  return Unbounded();
}

// The rounds as if every device took part in each, and one more release. That release stands for
// the rounding of the shares to the grid, which adds at most a quarter of a squared step per
// coordinate to their squared norm.
std::vector<GaussianRounds> UnsampledOnGrid(std::vector<GaussianRounds> rounds,
                                            double coordinates) {
  for (GaussianRounds& group : rounds) {
    group.sampling = Sampling::kNone;
    group.choices.clear();
  }
  rounds.push_back({Sampling::kNone, 2 / (kNoiseGrid * std::sqrt(coordinates)), 1.0, 1});
  return rounds;
}

// The Gaussian's mass beyond a range on the grid: the sum over the grid beyond a point is below the
// integral that starts one step before the point.
double GaussianOutside(double range) { return std::erfc((range - kNoiseGrid) / std::sqrt(2.0)); }

// Lemma 8: Pr[not good]; +infinity where T' leaves nothing.
double OutsideOfGood(const Deviations& deviations) {
  const CertificateBounds& certificate = deviations.certificate;
  const double inner_range = certificate.range - (deviations.shift + kNoiseGrid);
  if (!(deviations.coordinates > 0 && inner_range > kNoiseGrid)) return kInfinity;
  return deviations.coordinates *
         (certificate.tau + std::exp(certificate.eta) * GaussianOutside(inner_range)) *
         (1 + kArithmeticMargin);
}

// Lemma 10: e1 for q = e^-L.
double RatioEpsilon(const Deviations& deviations, double minus_log_q) {
  const auto [eta, tau, range] = deviations.certificate;
  const double n = deviations.coordinates;
  const double worst = n * eta;
  const double t = std::min(std::max(tau, GaussianOutside(range)), 1.0);
  const double rho = n * eta * eta / 2;
  const double concentrated = rho - n * std::log1p(-t) + 2 * std::sqrt(rho * minus_log_q);
  return std::min(worst, concentrated * (1 + kArithmeticMargin));
}

Guarantee OnGoodEvent(const std::vector<GaussianRounds>& rounds, double delta,
                      const Deviations& deviations, Accountant chosen) {
  const double slice =
      deviations.coordinates * deviations.certificate.eta > 0 ? kConcentrationShare * delta : 0.0;
  const double outside = OutsideOfGood(deviations);
  const double left = delta * (1 - kArithmeticMargin) - slice - outside -
                      std::exp(deviations.log_cap_excess) - std::exp(deviations.log_refusal);
  if (!(left >= kMinDelta)) return Unbounded();
  const RoundsAccountant accountant(UnsampledOnGrid(rounds, deviations.coordinates), delta, chosen);
  Guarantee guarantee;
  guarantee.terms = EncoderTerms::kGoodEvent;
  guarantee.log_encoder_delta = std::log(slice + outside);
  // A little less than the slice is used, so that the resulting reach may differ slightly from the
  // assumed one.
  double reach = accountant.At(left).epsilon;
  for (int pass = 0; pass < kMaxPasses && std::isfinite(reach); ++pass) {
    const double minus_log_q = slice > 0 ? Softplus(reach) - std::log(0.8 * slice) : 0.0;
    guarantee.encoder_epsilon = RatioEpsilon(deviations, minus_log_q);
    guarantee.gaussian_delta = left * std::exp(-guarantee.encoder_epsilon);
    const Guarantee stated = WithGaussian(accountant, guarantee);
    if (!std::isfinite(stated.epsilon)) break;
    if (slice == 0 || std::exp(Softplus(Reach(stated)) - minus_log_q) <= slice) return stated;
    reach = Reach(stated);
  }
  return Unbounded();
}

Guarantee SmallerOf(const std::vector<GaussianRounds>& rounds, double delta,
                    const Deviations& deviations, Accountant accountant) {
  const Guarantee concentrated = Concentrated(rounds, delta, deviations, accountant);
  const Guarantee on_good_event = OnGoodEvent(rounds, delta, deviations, accountant);
  return on_good_event.epsilon < concentrated.epsilon ? on_good_event : concentrated;
}

// one_length.h, lemma 4: what is set aside of delta covers (1 + e^epsilon) e^log_too_long.
Guarantee WithOneLength(const std::vector<GaussianRounds>& rounds, double delta,
                        const Deviations& deviations, Accountant accountant) {
  ChargeSearch search(delta * kDeltaShare);
  for (int pass = 0; pass < kMaxPasses && search.charge() < delta; ++pass) {
    const Guarantee guarantee = SmallerOf(rounds, delta - search.charge(), deviations, accountant);
    if (!std::isfinite(guarantee.epsilon)) break;
    const double needed = std::exp(Softplus(guarantee.epsilon) + deviations.log_too_long);
    if (needed * (1 + kArithmeticMargin) <= search.charge()) return guarantee;
    if (!search.Raise(needed * (1 + 2 * kArithmeticMargin))) break;
  }
  return Unbounded();
}

}  // namespace

void CertificateBounds::Validate() const {
  Require(eta >= 0 && std::isfinite(eta), "certificate eta", eta, "finite and at least 0");
  Require(tau >= 0 && tau <= 1, "certificate tau", tau, "in [0, 1]");
  Require(range >= 0 && std::isfinite(range), "certificate range", range, "finite and at least 0");
}

double AttackerRight(double epsilon, double delta) {
  Require(epsilon >= 0, "epsilon", epsilon, "at least 0");
  Require(delta >= 0 && delta < 1, "delta", delta, "in [0, 1)");
  return std::min(
      (1 + delta * std::exp(-epsilon)) / (1 + std::exp(-epsilon)) * (1 + kArithmeticMargin), 1.0);
}

double AttackerRight(double mu, const Deviations& deviations) {
  RequireDeviations(deviations);
  const double eta = deviations.certificate.eta;
  const double encoder = eta * std::sqrt(deviations.coordinates) / 2 +
                         2 * deviations.coordinates * deviations.certificate.tau +
                         std::exp(deviations.log_refusal) + std::exp(deviations.log_too_long);
  return std::min((GdpAttackerRight(mu) + encoder) * (1 + kArithmeticMargin), 1.0);
}

Guarantee StateGuarantee(const std::vector<GaussianRounds>& rounds, double delta,
                         const Deviations& deviations, Accountant accountant) {
  RequireDelta(delta);
  RequireDeviations(deviations);
  Require(accountant.StatesGuarantees(), "accountant", accountant.name(),
          "one that gives an upper bound");
  return deviations.log_too_long > -kInfinity ? WithOneLength(rounds, delta, deviations, accountant)
                                              : SmallerOf(rounds, delta, deviations, accountant);
}

}  // namespace sotto::privacy
