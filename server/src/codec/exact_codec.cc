#include "codec/exact_codec.h"

#include <cmath>

#include "sotto/bytes.h"

namespace sotto::server {
namespace {

constexpr int kFractionBits = 40;

// Above clip_l2 by at most this factor, a norm may be the rounding of a device's float arithmetic.
constexpr double kRoundingMargin = 1 + 0x1p-10;

// The L2 norm of the float32 values; NaN or infinite if one of them is. The squares of finite
// floats are below 2^256, so their sum is a finite double.
double Norm(ByteSpan encoded) {
  double squares = 0;
  for (size_t i = 0; i < encoded.size(); i += 4) {
    const auto value = static_cast<double>(FloatFromBits(LoadU32Le(encoded.data() + i)));
    squares += value * value;
  }
  return std::sqrt(squares);
}

}  // namespace

ExactCodec::ExactCodec(const TrainTask& task)
    : clip_l2_(static_cast<double>(task.training.clip_l2)),
      unit_(std::ldexp(1.0, std::ilogb(task.training.clip_l2) + 1 - kFractionBits)) {}

Verdict ExactCodec::Add(const UpdateOrigin&, ByteSpan encoded, Accumulator& sum) const {
  std::vector<int64_t> exact(sum.size());
  const bool valid = Decode(encoded, &exact);
  if (valid) sum.Add(Span<const int64_t>(exact.data(), exact.size()));
  SecureWipe(exact.data(), exact.size() * sizeof(exact[0]));
  return valid ? Verdict::kAdded : Verdict::kMalformed;
}

bool ExactCodec::Decode(ByteSpan encoded, std::vector<int64_t>* values) const {
  std::vector<int64_t>& exact = *values;
  if (encoded.size() != 4 * exact.size()) return false;
  const double norm = Norm(encoded);
  if (!std::isfinite(norm)) return false;
  const double factor = norm > clip_l2_ * kRoundingMargin ? clip_l2_ / norm : 1.0;
  for (size_t j = 0; j < exact.size(); ++j) {
    const auto value = static_cast<double>(FloatFromBits(LoadU32Le(encoded.data() + 4 * j)));
    exact[j] = std::llrint(value * factor / unit_);  // below 2^41 in magnitude
  }
  return true;
}

}  // namespace sotto::server
