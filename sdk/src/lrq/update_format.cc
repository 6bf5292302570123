#include "sotto/update_format.h"

#include "sotto/private_noise.h"
#include "sotto/quantizer.h"

namespace sotto {
namespace {

// A range code of d coordinates has fewer bytes than d float32 plus this slack. Only an update of a
// few coordinates needs the slack.
constexpr size_t kRangeSlack = 64;

}  // namespace

namespace lrq {

int32_t ScaleBoundQ20(uint8_t code) {
  if (code == 0) return 0;
  // floor(2^(i/4) * 2^30)
  constexpr uint32_t kQuarterOctaves[4] = {1073741824, 1276901416, 1518500249, 1805811301};
  const int quarter = code - 1;
  return static_cast<int32_t>(kQuarterOctaves[quarter & 3] >> (30 - (quarter >> 2)));
}

uint8_t ScaleCodeFor(int32_t max_value_q20) {
  uint8_t code = 0;
  while (ScaleBoundQ20(code) < max_value_q20) ++code;
  return code;
}

int FixedCodeBits(uint8_t scale_code, DitherKind kind) {
  const uint64_t width_q27 = uint64_t{256} * static_cast<uint32_t>(ScaleBoundQ20(scale_code));
  const uint64_t step = kind == DitherKind::kUniform ? kUniformStepQ27 : kMinStepQ27;
  int bits = 0;
  while (((uint64_t{1} << bits) - 1) * step < width_q27) ++bits;
  return bits;
}

size_t FixedCodeSize(uint32_t coordinates, uint8_t scale_code, DitherKind kind) {
  const uint64_t bits = static_cast<uint64_t>(coordinates) * FixedCodeBits(scale_code, kind);
  return static_cast<size_t>(1 + (bits + 7) / 8);
}

}  // namespace lrq

bool UpdateFormat::IsValid() const {
  const bool known_coding =
      coding == Coding::kRange || coding == Coding::kFixed || coding == Coding::kFloat32;
  const bool known_dither = dither == DitherKind::kGaussian || dither == DitherKind::kUniform;
  const bool known_length = length == 0 || (coding != Coding::kFloat32 && length <= kMaxLength);
  return known_coding && known_dither && padding <= kMaxPadding && known_length;
}

bool UpdateFormat::CanCarry(uint32_t clip_bit_q20, uint32_t accuracy_q20,
                            uint32_t private_noise_q20) const {
  constexpr auto kMost = static_cast<uint32_t>(kMaxValueQ20);
  if (!IsValid()) return false;
  const uint32_t extras = clip_bit_q20 | accuracy_q20;
  if ((extras | private_noise_q20) == 0) return true;
  if (coding == Coding::kFloat32) return false;
  if (private_noise_q20 == 0) return clip_bit_q20 <= kMost && accuracy_q20 <= kMost;
  return extras == 0 && length == 0 && dither == DitherKind::kGaussian &&
         private_noise_q20 <= kMaxPrivateNoiseQ20;
}

size_t MaxUpdateSize(uint32_t coordinates, const UpdateFormat& format) {
  const size_t exact = size_t{4} * coordinates;
  if (format.length != 0) return format.length;
  switch (format.coding) {
    case Coding::kFloat32:
      return exact;
    case Coding::kFixed:
      return format.PaddedSize(lrq::FixedCodeSize(coordinates, lrq::kMaxScaleCode, format.dither));
    case Coding::kRange:
      break;
  }
  return format.PaddedSize(exact + kRangeSlack);
}

}  // namespace sotto
