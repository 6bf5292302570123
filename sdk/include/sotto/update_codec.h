// An update as bytes and back: Gau-LRQ integers under a code. Part of sotto/lrq.
//
// The coordinates of the update may be followed by extra coordinates, which get the same noise: the
// clip bit of adaptive clipping, then the accuracy on held-out samples.
//
// Encoder and decoder stream: their memory is constant and no call allocates. One thread at a time.
// update_format.h describes the bytes, sdk/LRQ.md specifies every bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/decode_loops.h"
#include "sotto/dither.h"
#include "sotto/private_noise.h"
#include "sotto/range_coder.h"
#include "sotto/update_bound.h"
#include "sotto/update_format.h"
#include "sotto/update_model.h"
#include "sotto/update_scale.h"

namespace sotto {

// Bits gathered into bytes, lowest first.
class BitPacker {
 public:
  // Appends the `count` bits of `value`, 0 <= count <= 24. At most 7 bits may wait before the call.
  void Append(uint32_t value, int count);
  void FillLastByte() { count_ = (count_ + 7) / 8 * 8; }
  bool has_byte() const { return count_ >= 8; }
  uint8_t TakeByte();

 private:
  uint32_t bits_ = 0;
  int count_ = 0;
};

// The values behind the coordinates of an update.
class ExtraCoordinates {
 public:
  static constexpr uint32_t kMost = 2;

  // Appends a value, at most kMaxValueQ20 in magnitude. At most kMost calls.
  void Add(int32_t v_q20) { v_q20_[count_++] = v_q20; }

  uint32_t count() const { return count_; }
  int32_t operator[](size_t i) const { return v_q20_[i]; }

 private:
  int32_t v_q20_[kMost] = {};
  uint32_t count_ = 0;
};

// Encodes one update. The update's memory must stay unchanged until the last byte is read: a read
// after Seek() repeats the same bytes, and other values under the same key would reveal both.
//
// With private noise v is always the clipped value plus this noise. Scale, code and length are
// computed from the noisy values, and every pass generates the noise again.
class UpdateEncoder {
 public:
  //   words  memory for the coordinates that are quantized at once, one word each: a multiple of
  //          kDitherBatch, or empty for kDitherBatch coordinates. Some engines are fast only in
  //          large batches. It must outlive the encoder
  explicit UpdateEncoder(const DitherEngine& engine = {}, Span<uint64_t> words = {})
      : engine_(engine), words_(words.empty() ? Span<uint64_t>(own_words_) : words) {}
  ~UpdateEncoder() { Wipe(); }
  UpdateEncoder(const UpdateEncoder&) = delete;
  UpdateEncoder& operator=(const UpdateEncoder&) = delete;

  // Computes scale and clip factor: two passes over the update, a third with private noise.
  //   round_key      used for this update only
  //   format         kRange or kFixed
  //   extras         not clipped: the sum of squares of all coordinates is at most the bound of
  //                  update_scale.h plus the squares of the extras
  //   private_noise  allowed only with Gaussian dither, without extras, and with clip_l2 at most
  //                  kMaxPrivateClipInScales times quantizer_scale
  // The other arguments and the statuses are as for ComputeUpdateScale(); kInvalidArgument also
  // for more than kMaxParameters coordinates, kCryptoFailed also with private noise.
  Status Begin(const Key& round_key, const UpdateFormat& format, Span<const float> update,
               float clip_l2, float quantizer_scale, const ExtraCoordinates& extras = {},
               const PrivateNoise& private_noise = {});

  // Forgets the update and wipes the keys.
  void Wipe();

  // Sets *fits: whether the update has at most the format's `length` bytes; true if the format has
  // no length. It encodes the update once and discards the bytes. Call it after Begin(), before the
  // first Read(). Returns as Read().
  Status FitsLength(bool* fits);

  // Writes the next bytes: as many as fit, or as there are. Returns kOk, kWrongState before
  // Begin(), or kCryptoFailed.
  Status Read(MutableByteSpan out, size_t* written);

  // True once the last byte is read. The value is exact after a Read(): if true, no byte follows.
  bool is_done() const { return stage_ == Stage::kDone && !HasReady(); }

  // The next Read() starts at byte `offset`. Encodes the bytes before it again and discards them.
  // Returns kInvalidArgument for an offset beyond the end, else as Read().
  Status Seek(size_t offset);

  // With private noise max_value_q20 and rms_q20 are computed from the noisy values.
  const UpdateScale& scale() const { return scale_; }

 private:
  enum class Stage : uint8_t { kCoordinates, kPadding, kDone };

  void ChooseScaleCode();
  Status MeasureNoisyValues();
  Status Values(size_t first, Span<int32_t> v_q20) const;
  size_t coordinates() const { return update_.size() + extras_.count(); }
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
  ExtraCoordinates extras_;
  int32_t bound_q20_ = 0;  // A(scale_code_), Q20
  int bits_ = 0;           // bits a coordinate, of a fixed-length code
  uint8_t scale_code_ = 0;

  bool header_taken_ = false;
  Stage stage_ = Stage::kCoordinates;
  uint32_t next_ = 0;    // coordinate to be quantized
  size_t position_ = 0;  // bytes taken
  uint32_t zeros_ = 0;   // of the padding, not yet taken
  uint64_t own_words_[kDitherBatch];
  Span<uint64_t> words_;            // where a batch is quantized
  Span<const uint64_t> quantized_;  // the part of words_ not yet coded; see WithInteger()
  UpdateModel model_;
  RangeEncoder range_;
  BitPacker packer_;
};

// Decodes one complete encoded update into noisy values: update / quantizer_scale plus standard
// Gaussian noise. The extra coordinates, if there are any, follow the update.
//   format     kRange or kFixed
//   encoded    [n] as UpdateEncoder wrote it. Other bytes give kMalformed or, under kRange, some
//              values of the format's range; never a crash, and no read beyond the end
//   noisy      [d] int32 Q20; on failure its contents are unspecified and must not be used
//   engine     computes the dither and runs the loops (decode_loops.h); every engine gives the same
//              values; engines differ in speed
//   bound      the bound that the complete update must keep (update_bound.h); null: none
// It takes about 5 KB of stack, 24 KB with an engine that reads scattered words.
// Returns kOk; kInvalidArgument if noisy is empty or too long or the format is unknown; kMalformed;
// kOutOfRange if the bytes are well formed but no update within the bound has these integers; or
// kCryptoFailed.
Status DecodeUpdate(const Key& round_key, const UpdateFormat& format, ByteSpan encoded,
                    Span<int32_t> noisy, const DecodeEngine& engine = {},
                    const UpdateBound* bound = nullptr);

}  // namespace sotto
