// Two codecs.
//   sign          the sign of each coordinate, times C / sqrt(d): of norm C at most, but no noise
//                 is stated, so its runs say NO PRIVACY. Bernstein et al., "signSGD" (2018).
//   sixteen-bits  f(u) = u, so the stretch is 1; Gaussian noise of noise_sigma; then each noisy
//                 value is rounded to a grid of sigma / 64, which depends on nothing else.
#include <algorithm>
#include <cmath>
#include <vector>

#include "methods.h"

using namespace sotto::server;

namespace {

class Sign : public UpdateCoder {
 public:
  explicit Sign(const CodedRound& round) : clip_l2_(round.clip_l2) {}

  size_t MaxSize(uint32_t coordinates) const override { return (size_t{coordinates} + 7) / 8; }

  std::vector<uint8_t> Encode(sotto::Span<const double> update, RandomValues&) const override {
    std::vector<uint8_t> bits((update.size() + 7) / 8);
    for (size_t j = 0; j < update.size(); ++j) {
      if (update[j] > 0) bits[j / 8] = static_cast<uint8_t>(bits[j / 8] | 1 << j % 8);
    }
    return bits;
  }

  bool Decode(sotto::ByteSpan encoded, sotto::Span<double> update) const override {
    if (encoded.size() != (update.size() + 7) / 8) return false;
    const double size = clip_l2_ / std::sqrt(static_cast<double>(update.size()));
    for (size_t j = 0; j < update.size(); ++j) {
      update[j] = (encoded[j / 8] >> j % 8 & 1) != 0 ? size : -size;
    }
    return true;
  }

 private:
  double clip_l2_;
};

class SixteenBits : public UpdateCoder {
 public:
  explicit SixteenBits(const CodedRound& round)
      : sigma_(round.noise_sigma), step_(round.noise_sigma / 64) {}

  size_t MaxSize(uint32_t coordinates) const override { return 2 * size_t{coordinates}; }

  std::vector<uint8_t> Encode(sotto::Span<const double> update,
                              RandomValues& random) const override {
    std::vector<uint8_t> bytes;
    for (const double u : update) {
      const double noisy = u + sigma_ * random.Gaussian();
      const auto cell = static_cast<int>(std::lrint(std::clamp(noisy / step_, -32767.0, 32767.0)));
      bytes.push_back(static_cast<uint8_t>(cell & 0xff));
      bytes.push_back(static_cast<uint8_t>(cell >> 8 & 0xff));
    }
    return bytes;
  }

  bool Decode(sotto::ByteSpan encoded, sotto::Span<double> update) const override {
    if (encoded.size() != 2 * update.size()) return false;
    for (size_t j = 0; j < update.size(); ++j) {
      const int cell = static_cast<int16_t>(encoded[2 * j] | encoded[2 * j + 1] << 8);
      update[j] = cell * step_;
    }
    return true;
  }

 private:
  double sigma_;
  double step_;
};

}  // namespace

std::unique_ptr<const UpdateCoder> MakeSign(const CodedRound& round) {
  return std::make_unique<Sign>(round);
}

std::unique_ptr<const UpdateCoder> MakeSixteenBits(const CodedRound& round) {
  return std::make_unique<SixteenBits>(round);
}
