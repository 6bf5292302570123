#include "sotto/discrete_gaussian.h"

#include "sotto/num.h"

namespace sotto {
namespace {

// True with probability exp(-p), where trial() is true with probability p. This is Algorithm 1 for
// p <= 1: its trial number k succeeds with probability p / k.
template <typename Trial>
bool DrawExpMinusOf(RandomStream* random, Trial trial) {
  uint32_t k = 1;
  while (trial() && (k == 1 || random->Below(k) == 0)) {
    // A stream that has failed gives only zeros, so the loop must end here.
    if (random->status() != Status::kOk) return true;
    ++k;
  }
  return k % 2 == 1;
}

struct Proposal {
  uint64_t magnitude;
  bool is_negative;
};

// The discrete Laplace distribution of scale numerator / denominator: Algorithm 2. One word gives
// the first U and the sign. The sign is independent of everything else.
Proposal DrawLaplace(uint32_t numerator, uint32_t denominator, RandomStream* random) {
  for (;;) {
    const uint32_t word = random->Below(2 * numerator);
    const uint32_t rest = word >> 1;
    if (!DrawExpMinus(rest, numerator, random)) continue;
    uint64_t whole = 0;
    while (DrawExpMinus(1, 1, random) && random->status() == Status::kOk) ++whole;
    const uint64_t magnitude = Divide(rest + whole * numerator, denominator).quotient;
    const bool is_negative = (word & 1) != 0;
    if (magnitude != 0 || !is_negative) return {magnitude, is_negative};
  }
}

// True with probability exp(-(y - sigma)^2 / (2 sigma^2)), y >= 0. With sigma = s / q and
// |y q - s| = a s + b the exponent is a^2 / 2 + a b / s + b^2 / (2 s^2). Each of the three terms is
// one test.
bool IsAccepted(uint64_t y, uint32_t s, uint32_t q, RandomStream* random) {
  const uint64_t scaled = y * q;
  const uint64_t distance = scaled > s ? scaled - s : s - scaled;
  const Division division = Divide(distance, s);
  const uint64_t a = division.quotient;
  const auto b = static_cast<uint32_t>(division.remainder);
  for (uint64_t i = 0; i < a * a; ++i) {
    if (!DrawExpMinus(1, 2, random)) return false;
  }
  for (uint64_t i = 0; i < a; ++i) {
    if (!DrawExpMinus(b, s, random)) return false;
  }
  return DrawExpMinusOf(random, [&] {
    return random->Below(s) < b && random->Below(s) < b && random->Below(2) == 0;
  });
}

}  // namespace

bool DrawExpMinus(uint32_t numerator, uint32_t denominator, RandomStream* random) {
  return DrawExpMinusOf(
      random, [&] { return numerator == denominator || random->Below(denominator) < numerator; });
}

int64_t DrawDiscreteGaussian(uint32_t numerator, uint32_t denominator, RandomStream* random) {
  for (;;) {
    const Proposal proposal = DrawLaplace(numerator, denominator, random);
    if (!IsAccepted(proposal.magnitude, numerator, denominator, random)) continue;
    const auto magnitude = static_cast<int64_t>(proposal.magnitude);
    return proposal.is_negative ? -magnitude : magnitude;
  }
}

}  // namespace sotto
