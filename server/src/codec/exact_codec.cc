#include "codec/exact_codec.h"

#include <cmath>

#include "sotto/bytes.h"

namespace sotto::server {
namespace {

constexpr int kFractionBits = 40;

}  // namespace

ExactCodec::ExactCodec(const TrainTask& task)
    : unit_(std::ldexp(1.0, std::ilogb(task.training.clip_l2) + 1 - kFractionBits)) {}

bool ExactCodec::Add(const UpdateOrigin&, ByteSpan encoded, Accumulator& sum) const {
  std::vector<int64_t> exact(sum.size());
  const bool valid = Decode(encoded, &exact);
  if (valid) sum.Add(Span<const int64_t>(exact.data(), exact.size()));
  SecureWipe(exact.data(), exact.size() * sizeof(exact[0]));
  return valid;
}

bool ExactCodec::Decode(ByteSpan encoded, std::vector<int64_t>* values) const {
  std::vector<int64_t>& exact = *values;
  if (encoded.size() != 4 * exact.size()) return false;
  for (size_t j = 0; j < exact.size(); ++j) {
    const double value =
        static_cast<double>(FloatFromBits(LoadU32Le(encoded.data() + 4 * j))) / unit_;
    if (!(std::fabs(value) < 0x1p41)) return false;  // no clipped update has it, or NaN
    exact[j] = std::llrint(value);
  }
  return true;
}

}  // namespace sotto::server
