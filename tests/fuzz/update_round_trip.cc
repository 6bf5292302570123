// Fuzzes encoder and decoder together. Every update that the encoder takes keeps the bound of its
// norm, and decodes to itself plus an error of at most one step, in whatever portions its bytes are
// read. A repeated read gives the same bytes.
//
// Input: coding, dither (bytes), padding (u16), bytes a read, the clipping bound and the quantizer
// scale as exponents of two (bytes), the offset of the repeated read (u16), the extra coordinate
// (u32); the update, float32.
#include <cstdlib>
#include <vector>

#include "fuzz/input.h"
#include "sotto/bytes.h"
#include "sotto/train_task.h"
#include "sotto/update_codec.h"
#include "unit/sdk/extra_coordinates.h"

namespace sotto::fuzz {
namespace {

constexpr uint32_t kMostCoordinates = 512;

struct Case {
  explicit Case(Input& input)
      : format(input.TakeFormat()),
        read_size(size_t{1} + input.TakeByte()),
        clip_l2(FloatFromBits(uint32_t{input.TakeByte()} << 23)),
        unit(FloatFromBits(uint32_t{input.TakeByte()} << 23)),
        seek(input.TakeU16()),
        extra_q20(static_cast<int32_t>(input.TakeU32())) {
    while (update.size() < kMostCoordinates && input.rest().size() >= 4) {
      update.push_back(FloatFromBits(input.TakeU32()));
    }
  }

  Span<const float> values() const { return {update.data(), update.size()}; }

  UpdateFormat format;
  size_t read_size;
  float clip_l2;
  float unit;
  size_t seek;
  int32_t extra_q20;
  std::vector<float> update;
};

std::vector<uint8_t> ReadAll(UpdateEncoder& encoder, size_t read_size) {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> part(read_size);
  while (!encoder.is_done()) {
    size_t written = 0;
    Require(encoder.Read({part.data(), part.size()}, &written) == Status::kOk, "reading succeeds");
    Require(written == part.size() || encoder.is_done(), "a read is full until the end");
    bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(written));
  }
  return bytes;
}

void CheckRepeatedRead(UpdateEncoder& encoder, const Case& c, const std::vector<uint8_t>& bytes) {
  const size_t offset = c.seek % (bytes.size() + 1);
  Require(encoder.Seek(offset) == Status::kOk, "every byte can be sought");
  const std::vector<uint8_t> rest = ReadAll(encoder, c.read_size);
  Require(rest == std::vector<uint8_t>(bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                                       bytes.end()),
          "a repeated read repeats the bytes");
}

void CheckErrors(const Case& c, const UpdateScale& scale, const std::vector<int32_t>& noisy) {
  const int32_t step_q27 = c.format.dither == DitherKind::kUniform ? kUniformStepQ27 : kMaxStepQ27;
  for (size_t j = 0; j < noisy.size(); ++j) {
    const bool is_last = j == c.update.size();
    const int64_t error =
        int64_t{noisy[j]} - (is_last ? c.extra_q20 : ScaleToQ20(c.update[j], scale));
    Require(std::llabs(error) <= step_q27 / 128 + 1, "the error is at most one step");
  }
}

void CheckRoundTrip(const Case& c) {
  const Key key;
  UpdateEncoder encoder;
  const Status status =
      encoder.Begin(key, c.format, c.values(), c.clip_l2, c.unit, WithClipBit(c.extra_q20));
  if (status != Status::kOk) {
    Require(status == Status::kInvalidArgument || status == Status::kNotFinite,
            "an update is refused for what it is");
    return;
  }
  const std::vector<uint8_t> bytes = ReadAll(encoder, c.read_size);
  const auto coordinates = static_cast<uint32_t>(c.update.size()) + (c.extra_q20 == 0 ? 0 : 1);
  Require(bytes.size() <= MaxUpdateSize(coordinates, c.format), "no update is longer than allowed");
  Require(c.format.padding == 0 || bytes.size() % c.format.padding == 0, "updates are padded");
  std::vector<int32_t> noisy(coordinates);
  UpdateBound bound;
  bound.max_squares_q40 = MaxSquaresQ40(c.clip_l2, c.unit);
  bound.clip_bit_q20 = static_cast<uint32_t>(std::abs(c.extra_q20));
  Require(DecodeUpdate(key, c.format, {bytes.data(), bytes.size()}, {noisy.data(), noisy.size()},
                       {}, &bound) == Status::kOk,
          "what was encoded decodes within its bound");
  CheckErrors(c, encoder.scale(), noisy);
  CheckRepeatedRead(encoder, c, bytes);
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sotto::fuzz::Input input(data, size);
  sotto::fuzz::CheckRoundTrip(sotto::fuzz::Case(input));
  return 0;
}
