#include "accounting/rdp_sum.h"

#include <algorithm>
#include <optional>

#include "accounting/rdp.h"

namespace sotto::privacy {
namespace {

// The curve of one setting. The curve of uniform sampling keeps the terms that its orders share.
class SettingCurve {
 public:
  SettingCurve(Sampling sampling, const RateAndNoise& setting)
      : sampling_(sampling), setting_(setting) {
    if (sampling != Sampling::kUniform) return;
    uniform_.emplace(setting.noise_multiplier, setting.sampling_rate, UniformTheorem::kTheorem27);
  }

  double At(double order) {
    if (uniform_) return (*uniform_)(order);
    return Rdp(sampling_, setting_.noise_multiplier, setting_.sampling_rate, order);
  }

  double Terms(double order) const {
    if (uniform_) return uniform_->Terms(order);
    return sampling_ == Sampling::kNone ? 1.0 : RdpPoissonTerms(setting_.noise_multiplier, order);
  }

  double Unsampled() const {
    return 1 / (2 * setting_.noise_multiplier * setting_.noise_multiplier);
  }

 private:
  Sampling sampling_;
  RateAndNoise setting_;
  std::optional<UniformRdp> uniform_;
};

}  // namespace

// The largest one of the curves of a round's settings, at each order.
struct RdpSum::Curve {
  explicit Curve(const GaussianRounds& r) {
    settings.emplace_back(r.sampling, RateAndNoise{r.sampling_rate, r.noise_multiplier});
    if (r.sampling == Sampling::kNone) return;
    for (const RateAndNoise& choice : r.choices) settings.emplace_back(r.sampling, choice);
  }

  double At(double order) {
    double largest = 0.0;
    for (SettingCurve& setting : settings) largest = std::max(largest, setting.At(order));
    return largest;
  }

  // A bound on rho / order.
  double Unsampled() const {
    double largest = 0.0;
    for (const SettingCurve& setting : settings) largest = std::max(largest, setting.Unsampled());
    return largest;
  }

  double Terms(double order) const {
    double terms = 0.0;
    for (const SettingCurve& setting : settings) terms += setting.Terms(order);
    return terms;
  }

  std::vector<SettingCurve> settings;
};

RdpSum::RdpSum(const std::vector<GaussianRounds>& rounds, double most_terms)
    : terms_left_(most_terms) {
  for (const GaussianRounds& r : Canonical(rounds)) {
    if (r.rounds == 0) continue;  // zero times an infinite rho
    parts_.push_back({static_cast<double>(r.rounds), std::make_shared<Curve>(r)});
    unsampled_ += parts_.back().rounds * parts_.back().curve->Unsampled();
  }
}

double RdpSum::operator()(double order) {
  const auto place = known_.find(order);
  if (place != known_.end()) return place->second;
  double terms = 0.0;
  for (const Part& part : parts_) terms += part.curve->Terms(order);
  if (terms > terms_left_) {
    is_exhausted_ = true;
    return unsampled_ * order * (1 + kArithmeticMargin);
  }
  terms_left_ -= terms;
  double total = 0.0;
  for (const Part& part : parts_) total += part.rounds * part.curve->At(order);
  return known_[order] = total * (1 + kArithmeticMargin);
}

double RdpSum::LargestTerms(double order) const {
  double largest = 0.0;
  for (const Part& part : parts_) largest = std::max(largest, part.curve->Terms(order));
  return largest;
}

}  // namespace sotto::privacy
