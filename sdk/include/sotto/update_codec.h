// An update as bytes: Gau-LRQ integers under a code. Part of sotto/lrq.
//
// The coordinates are those of the update and, if the caller has one, a last value of its own: what
// a device tells besides its update travels under the same noise.
//
// Encoded update: one header byte h, the code of the d integers m, zeros up to a multiple of the
// padding. h is 0, and no code follows, if every |v| is 0; else it is in 1..121 and stands for
// A(h) = floor(2^((h-1)/4)), Q20.
//   kRange  h: the root mean square of v, rounded up to a quarter octave. An adaptive range code: a
//           few bytes and about 1 % above the entropy of m given the dither (update_model.h)
//   kFixed  h: the largest |v|, rounded up. b = ceil(log2(2A / w_min + 1)) bits a coordinate
//           (Gau-LRQ, Theorem 2): m_j minus the smallest m that a value in [-A, A] can have in
//           coordinate j, least significant bit first; the last byte is filled up with zeros
// Encoder and decoder stream: their memory is constant and no call allocates. One thread at a time.
// sdk/LRQ.md specifies every bit.
#ifndef SOTTO_UPDATE_CODEC_H_
#define SOTTO_UPDATE_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "sotto/dither.h"
#include "sotto/private_noise.h"
#include "sotto/range_coder.h"
#include "sotto/update_model.h"
#include "sotto/update_scale.h"

namespace sotto {

// How an update's values become bytes. Values cross the wire: never renumber.
enum class Coding : uint8_t {
  kFixed = 1,    // Gau-LRQ or uniform dither, fixed-length code
  kFloat32 = 2,  // little-endian binary32: exact, WITHOUT privacy
  kRange = 3,    // Gau-LRQ or uniform dither, range code
};

constexpr uint32_t kDefaultPadding = 64;
constexpr uint32_t kMaxPadding = 4096;

// The form of an encoded update. Both sides know it before the first byte.
struct UpdateFormat {
  Coding coding = Coding::kRange;
  DitherKind dither = DitherKind::kGaussian;
  // The length is a multiple of this: it tells a watcher of the network less. 0: no padding. At
  // most kMaxPadding; without effect on kFloat32.
  uint32_t padding = kDefaultPadding;

  // True if all fields are in range.
  bool IsValid() const;
};

// No honest device's update is longer. d <= kMaxParameters.
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

// Bits gathered into bytes, lowest first.
class BitPacker {
 public:
  // The `count` bits of `value`, 0 <= count <= 24; at most 7 others wait.
  void Append(uint32_t value, int count);
  void FillLastByte() { count_ = (count_ + 7) / 8 * 8; }
  bool has_byte() const { return count_ >= 8; }
  uint8_t TakeByte();

 private:
  uint32_t bits_ = 0;
  int count_ = 0;
};

// Encodes one update. The update's memory must stay unchanged until the last byte is read: a read
// after Seek() repeats the same bytes, and other values under the same key would reveal both.
//
// With private noise v is the clipped value plus that noise, everywhere: scale, code and length are
// those of the noisy values, generated anew in every pass.
class UpdateEncoder {
 public:
  //   words  memory for the coordinates that are quantized at once, or empty: kDitherBatch of them.
  //          A multiple of that is for engines that are fast only in large batches
  explicit UpdateEncoder(const DitherEngine& engine = {}, Span<uint64_t> words = {})
      : engine_(engine), words_(words.empty() ? Span<uint64_t>(own_words_) : words) {}
  ~UpdateEncoder() { Wipe(); }
  UpdateEncoder(const UpdateEncoder&) = delete;
  UpdateEncoder& operator=(const UpdateEncoder&) = delete;

  // Computes scale and clip factor: two passes over the update, a third with private noise.
  //   round_key       has encoded nothing else, ever
  //   format          kRange or kFixed
  //   last_value_q20  of one more coordinate after the update's, units of the noise's deviation;
  //                   clipping does not touch it; at most kMaxValueQ20 in magnitude. 0: there is
  //                   none. So the integers' sum of squares is at most that of update_scale.h and
  //                   the square of this.
  //   private_noise   Gaussian dither, no last value, clip_l2 / unit <= kMaxPrivateClipInUnits
  // The other arguments and the statuses are those of ComputeUpdateScale(); kInvalidArgument too if
  // there would be more than kMaxParameters coordinates, kCryptoFailed with private noise.
  Status Begin(const Key& round_key, const UpdateFormat& format, Span<const float> update,
               float clip_l2, float unit, int32_t last_value_q20 = 0,
               const PrivateNoise& private_noise = {});

  // Forgets the update and wipes the keys.
  void Wipe();

  // Writes the next bytes: as many as fit, or as there are. Returns kOk, kWrongState before
  // Begin(), or kCryptoFailed.
  Status Read(MutableByteSpan out, size_t* written);

  // True once the last byte is read. Exact right after a Read(): nothing then follows.
  bool is_done() const { return stage_ == Stage::kDone && !HasReady(); }

  // The next Read() starts at byte `offset` again. Encodes and discards. Returns kInvalidArgument
  // for an offset beyond the end, else as Read().
  Status Seek(size_t offset);

  // With private noise max_value_q20 and rms_q20 are those of the noisy values.
  const UpdateScale& scale() const { return scale_; }

 private:
  enum class Stage : uint8_t { kCoordinates, kPadding, kDone };

  void ChooseScaleCode();
  Status MeasureNoisyValues();
  Status Values(size_t first, Span<int32_t> v_q20) const;
  size_t coordinates() const { return update_.size() + (last_value_q20_ == 0 ? 0 : 1); }
  void Restart();
  bool HasReady() const;
  size_t Take(MutableByteSpan out);
  Status EncodeMore();
  Status QuantizeBatch();
  Status QuantizeCoordinate(uint32_t j, int32_t v_q20, uint64_t* word) const;
  void CodeSome();

  DitherEngine engine_;
  Dither dither_;
  PrivateNoise private_noise_;
  UpdateFormat format_;
  Span<const float> update_;
  UpdateScale scale_;
  int32_t last_value_q20_ = 0;  // 0: there is none
  uint8_t scale_code_ = 0;
  int32_t bound_q20_ = 0;  // of the scale code
  int bits_ = 0;           // of a fixed-length code

  Stage stage_ = Stage::kCoordinates;
  uint32_t next_ = 0;    // coordinate to be quantized
  size_t position_ = 0;  // bytes taken
  uint32_t zeros_ = 0;   // of the padding, not yet taken
  bool header_taken_ = false;
  uint64_t own_words_[kDitherBatch];
  Span<uint64_t> words_;            // where a batch is quantized
  Span<const uint64_t> quantized_;  // of these, not yet coded; see WithInteger()
  UpdateModel model_;
  RangeEncoder range_;
  BitPacker packer_;
};

// Decodes one complete encoded update into noisy values: update / unit plus standard Gaussian
// noise; a last value of the encoder's caller comes after the update.
//   format     kRange or kFixed
//   encoded    [n] as UpdateEncoder wrote it. Other bytes give kMalformed or, under kRange, some
//              values of the format's range; never a crash, and no read beyond the end
//   noisy      [d] int32 Q20; on failure its contents are unspecified and must not be used
//   engine     of the dither: the values are the same, the time may not be
// Takes about 4 KB of stack.
// Returns kOk, kInvalidArgument if noisy is empty or too long or the format unknown, kMalformed, or
// kCryptoFailed.
Status DecodeUpdate(const Key& round_key, const UpdateFormat& format, ByteSpan encoded,
                    Span<int32_t> noisy, const DitherEngine& engine = {});

}  // namespace sotto

#endif  // SOTTO_UPDATE_CODEC_H_
