#include "accounting/pair_rdp.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"
#include "accounting/log_space.h"
#include "accounting/rdp.h"

namespace sotto::privacy {
namespace {

constexpr double kMostPanels = 8192.0;
constexpr double kMostOrderTimesRate = 64.0;  // lemma 3
constexpr double kPairReach = 14.0;           // in deviations, lemma 4

struct Node {
  double place;  // in [0, 1]; the rule is symmetric about 0
  double weight;
};

constexpr Node kNodes[] = {
    {0.095012509837637440185, 0.18945061045506849629},
    {0.28160355077925891323, 0.18260341504492358887},
    {0.45801677765722738634, 0.16915651939500253819},
    {0.61787624440264374845, 0.14959598881657673208},
    {0.7554044083550030339, 0.12462897125553387205},
    {0.86563120238783174388, 0.09515851168249278481},
    {0.94457502307323257608, 0.062253523938647892863},
    {0.9894009349916499326, 0.027152459411754094852},
};

// The integrand of lemma 2 for one z, q and order.
class PairIntegrand {
 public:
  PairIntegrand(double z, double rate, double order) : z_(z), rate_(rate), order_(order) {}

  double Log(double x) const {
    const double l = LogMixture(rate_, (x - 0.5) / (z_ * z_));
    if (!(l > 0)) return -kInfinity;
    const double log_density = -(x / z_) * (x / z_) / 2 - kHalfLogTwoPi - std::log(z_);
    return log_density + l + LogExpm1((order_ - 1) * l) + std::log(-std::expm1(-order_ * l));
  }

 private:
  double z_;
  double rate_;
  double order_;
};

}  // namespace

double RdpReplacePair(double noise_multiplier, double rate, double order) {
  const double unsampled = RdpUnsampled(noise_multiplier, order);  // checks both
  RequireRate(rate);
  const double z = noise_multiplier;
  if (rate == 0) return 0;
  const double end = std::max(order, 2.0) + kPairReach * z;
  const double panels = std::ceil((end - 0.5) / std::min(z / 2, z * z / 2));
  const bool is_within_reach = rate < 1 && rate >= kMinPairRate &&
                               order * rate <= kMostOrderTimesRate && panels <= kMostPanels;
  if (!is_within_reach) return unsampled;
  const PairIntegrand integrand(z, rate, order);
  const double half = (end - 0.5) / (2 * panels);
  LogSum sum;
  for (int i = 0; i < static_cast<int>(panels); ++i) {
    const double middle = 0.5 + (2 * i + 1) * half;
    for (const Node& node : kNodes) {
      const double log_weight = std::log(node.weight);
      sum.Add(integrand.Log(middle - half * node.place) + log_weight);
      sum.Add(integrand.Log(middle + half * node.place) + log_weight);
    }
  }
  return std::min(Softplus(sum.Log() + std::log(half)) / (order - 1), unsampled);
}

}  // namespace sotto::privacy
