#include "sim/peer_policies.h"

#include <algorithm>
#include <cmath>

#include "sotto/options/numbers.h"
#include "sotto/policy/policies.h"

namespace sotto::server {
namespace {

constexpr double kRare = 1e-3;

// The VALUE of a text that FindSharePolicy() takes.
double ValueOf(const std::string& share, const SharePolicyInfo& info) {
  const size_t colon = share.find(':');
  const std::string text =
      colon == std::string::npos ? info.default_value : share.substr(colon + 1);
  return posix::ParseReal(text).value_or(0);
}

// The smallest k with P(Binomial(n, p) >= k) < kRare by Chernoff's bound exp(-n KL(k/n, p)).
uint32_t MostHeads(uint32_t n, double p) {
  uint32_t k = static_cast<uint32_t>(std::ceil(n * p));
  for (; k < n; ++k) {
    const double q = static_cast<double>(k) / n;
    const double divergence = q * std::log(q / p) + (1 - q) * std::log((1 - q) / (1 - p));
    if (q > p && n * divergence > -std::log(kRare)) break;
  }
  return k;
}

PolicyBounds BoundsOfCoin(double p, uint32_t steps) {
  if (p == 1) return {1, steps};
  const double most = std::ceil(std::log(kRare) / std::log1p(-p));
  return {static_cast<uint32_t>(std::min<double>(most, steps)), MostHeads(steps, p)};
}

}  // namespace

PolicyBounds BoundsOf(const std::string& share, uint32_t steps) {
  const SharePolicyInfo& info = FindSharePolicy(share);
  const std::string name = info.name;
  if (name == "never") return {steps, 0};
  if (name == "always") return {1, steps};
  if (name == "coin") return BoundsOfCoin(ValueOf(share, info), steps);
  if (name == "period") {
    const double k = ValueOf(share, info);
    return {static_cast<uint32_t>(std::min<double>(k, steps)), static_cast<uint32_t>(steps / k)};
  }
  return {steps, steps};
}

}  // namespace sotto::server
