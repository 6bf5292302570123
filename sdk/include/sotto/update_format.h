// The form of an encoded update: its code, its dither, its length. Part of sotto/lrq.
//
// An encoded update is one header byte h, the code of the d integers m, and zeros up to a multiple
// of the padding, or up to the one length that all updates of the job have. If every |v| is 0, then
// h is 0 and no code follows. Otherwise h is in 1..121 and stands for A(h) = floor(2^((h-1)/4)),
// Q20.
//   kRange  A(h) is the root mean square of v, rounded up to a quarter octave. The code is an
//           adaptive range code: a few bytes and about 1 % above the entropy of m given the dither
//           (update_model.h)
//   kFixed  A(h) is the largest |v|, rounded up. The code has b = ceil(log2(2A / w_min + 1)) bits a
//           coordinate (Gau-LRQ, Theorem 2): m_j minus the smallest m that a value in [-A, A] can
//           have in coordinate j, least significant bit first. The last byte is filled with zeros
// sdk/LRQ.md specifies every bit. The functions keep no state: safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/dither.h"

namespace sotto {

// The code of an update's values. Enumerators cross the wire: never renumber.
enum class Coding : uint8_t {
  kFixed = 1,    // Gau-LRQ or uniform dither, fixed-length code
  kFloat32 = 2,  // little-endian binary32: exact, WITHOUT privacy
  kRange = 3,    // Gau-LRQ or uniform dither, range code
};

constexpr uint32_t kDefaultPadding = 64;
constexpr uint32_t kMaxPadding = 4096;
constexpr uint32_t kMaxLength = uint32_t{1} << 27;

// The form of an encoded update. Both sides know it before the first byte.
struct UpdateFormat {
  Coding coding = Coding::kRange;
  DitherKind dither = DitherKind::kGaussian;
  // The length is a multiple of this, so it reveals less to an observer of the network. 0: no
  // padding. At most kMaxPadding; without effect on kFloat32.
  uint32_t padding = kDefaultPadding;
  // Above 0: every update has exactly this many bytes, so its length tells nothing, and `padding`
  // has no effect. Under kRange the probabilities then do not adapt. If the code of an update is
  // longer, the device sends zeros instead (local_round.h). At most kMaxLength; 0 for kFloat32, and
  // with private noise.
  uint32_t length = 0;

  // True if all fields are in range.
  bool IsValid() const;

  // True if the format is valid and its updates can have these extra coordinates and this private
  // noise (update_codec.h). Both need a quantizer. Private noise needs Gaussian dither and excludes
  // extra coordinates.
  //   clip_bit_q20       magnitude of the clip bit, Q20; 0: there is none
  //   accuracy_q20       largest magnitude of the accuracy, Q20; 0: there is none
  //   private_noise_q20  deviation of the private noise, Q20; 0: none
  bool CanCarry(uint32_t clip_bit_q20, uint32_t accuracy_q20, uint32_t private_noise_q20) const;

  // The length of an update whose header and code have `size` bytes. If `length` is above 0 and
  // below `size`, the update cannot be sent, and the result is `size`.
  size_t PaddedSize(size_t size) const {
    if (length != 0) return size < length ? length : size;
    return padding == 0 ? size : (size + padding - 1) / padding * padding;
  }
};

// The most bytes of an update that an honest device sends. coordinates <= kMaxParameters.
size_t MaxUpdateSize(uint32_t coordinates, const UpdateFormat& format);

namespace lrq {

constexpr uint8_t kMaxScaleCode = 121;  // A(121) = 2^30
constexpr int kMaxCodeBits = 14;        // the largest b

// A(code), Q20. code <= kMaxScaleCode.
int32_t ScaleBoundQ20(uint8_t code);

// The smallest code with value <= A(code). 0 <= value <= kMaxValueQ20.
uint8_t ScaleCodeFor(int32_t value_q20);

// b for a header byte.
int FixedCodeBits(uint8_t scale_code, DitherKind kind);

// Bytes of header and fixed-length code of d coordinates, without padding.
size_t FixedCodeSize(uint32_t coordinates, uint8_t scale_code, DitherKind kind);

}  // namespace lrq

}  // namespace sotto
