// An update as bytes: Gau-LRQ integers under a fixed-length code. Part of sotto/lrq.
//
// Encoded update: one header byte, then ceil(d * b / 8) bytes.
//   header  0 if every |v| is 0; else h in 1..121, and every |v| <= A(h) = floor(2^((h-1)/4)) in
//   Q20:
//           the largest |v| rounded up to a quarter octave
//   b       ceil(log2(2A / w_min + 1)) bits a coordinate (Gau-LRQ, Theorem 2), 0 if A is 0
//   code j  m_j minus the smallest m that a value in [-A, A] can have in coordinate j, in b bits,
//           least significant bit first; the bits that fill the last byte are 0
// Encoder and decoder stream: their memory is constant and no call allocates. One thread at a time.
#ifndef SOTTO_UPDATE_CODEC_H_
#define SOTTO_UPDATE_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "sotto/dither.h"
#include "sotto/update_scale.h"

namespace sotto {

// How an update's values become bytes. Values cross the wire: never renumber.
enum class Coding : uint8_t {
  kFixed = 1,    // Gau-LRQ or uniform dither, fixed-length code
  kFloat32 = 2,  // little-endian binary32: exact, WITHOUT privacy
};

namespace lrq {

constexpr uint8_t kMaxScaleCode = 121;  // A(121) = 2^30
constexpr int kMaxCodeBits = 14;        // the largest b

// A(code), Q20. code <= kMaxScaleCode.
int32_t ScaleBoundQ20(uint8_t code);

// The smallest code with value <= A(code). 0 <= value <= kMaxValueQ20.
uint8_t ScaleCodeFor(int32_t max_value_q20);

// b for a header byte.
int FixedCodeBits(uint8_t scale_code, DitherKind kind);

// Bytes of an encoded update of d coordinates, header included.
size_t FixedCodeSize(uint32_t coordinates, uint8_t scale_code, DitherKind kind);

}  // namespace lrq

// Cells of consecutive coordinates, generated a batch at a time. Wiped by the destructor.
class DitherCursor {
 public:
  DitherCursor() = default;
  DitherCursor(const Key& round_key, DitherKind kind) : dither_(round_key, kind) {}
  ~DitherCursor() { Wipe(); }
  DitherCursor(const DitherCursor&) = delete;
  DitherCursor& operator=(const DitherCursor&) = delete;

  void Reset(const Key& round_key, DitherKind kind);
  void Wipe();

  // The cell of coordinate j; cheap if j follows the last call's. Returns kOk or kCryptoFailed.
  Status Seek(uint32_t j, const DitherCell** cell);

  const Dither& dither() const { return dither_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  Dither dither_{Key(), DitherKind::kGaussian};
  uint32_t batch_ = kNone;
  DitherCell cells_[kDitherBatch] = {};
};

// Encodes one update. The update's memory must stay unchanged until the last byte is read: a read
// after Seek() repeats the same bytes, and other values under the same key would reveal both.
class UpdateEncoder {
 public:
  // Computes scale, clip factor and size: two passes over the update.
  //   round_key  has encoded nothing else, ever
  // The other arguments and the statuses are those of ComputeUpdateScale().
  Status Begin(const Key& round_key, DitherKind kind, Span<const float> update, float clip_l2,
               float unit);

  // Forgets the update and wipes the key.
  void Wipe();

  // Bytes of the whole encoded update.
  size_t size() const { return lrq::FixedCodeSize(coordinates(), scale_code_, kind_); }

  // Writes the next bytes. *written = min(out.size(), bytes left).
  // Returns kOk, kWrongState before Begin(), or kCryptoFailed.
  Status Read(MutableByteSpan out, size_t* written);

  // The next Read() starts at byte `offset` again. Encodes and discards; offset <= size().
  Status Seek(size_t offset);

  const UpdateScale& scale() const { return scale_; }

 private:
  uint32_t coordinates() const { return static_cast<uint32_t>(update_.size()); }
  Status NextByte(uint8_t* byte);
  Status AppendCode();

  DitherCursor cursor_;
  DitherKind kind_ = DitherKind::kGaussian;
  Span<const float> update_;
  UpdateScale scale_;
  uint8_t scale_code_ = 0;
  int32_t bound_q20_ = 0;  // A of the scale code
  int bits_ = 0;           // of a code
  size_t position_ = 0;    // of the next byte
  uint32_t next_ = 0;      // coordinate
  uint32_t pending_ = 0;   // code bits not yet written, lowest first
  int pending_bits_ = 0;
};

// Decodes one complete encoded update into noisy values: update / unit plus standard Gaussian
// noise.
//   encoded  [n] as UpdateEncoder wrote it; any other bytes give kMalformed, never a crash
//   noisy    [d] int32 Q20; on failure its contents are unspecified and must not be used
// Returns kOk, kInvalidArgument if noisy is empty or too long, kMalformed, or kCryptoFailed.
Status DecodeUpdate(const Key& round_key, DitherKind kind, ByteSpan encoded, Span<int32_t> noisy);

}  // namespace sotto

#endif  // SOTTO_UPDATE_CODEC_H_
