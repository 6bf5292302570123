// DecodeUpdate() takes any bytes in any format: it decodes them or refuses, within its limits, and
// always the same way.
//
// Input: coding, dither (bytes), padding, coordinates - 1 (u16); the encoded update.
#include <vector>

#include "fuzz/input.h"
#include "sotto/update_codec.h"

namespace sotto::fuzz {
namespace {

constexpr uint32_t kMostCoordinates = 512;

// Sums of 2^32 values must fit into 64 bits: see Dequantize().
constexpr int32_t kNoisyLimit = (1 << 30) + (1 << 24);

void CheckDecoder(Input& input) {
  const UpdateFormat format = input.TakeFormat();
  const uint32_t coordinates = 1 + input.TakeU16() % kMostCoordinates;
  const Key key;
  std::vector<int32_t> noisy(coordinates);
  std::vector<int32_t> again(coordinates);
  const Status status = DecodeUpdate(key, format, input.rest(), {noisy.data(), noisy.size()});
  Require(DecodeUpdate(key, format, input.rest(), {again.data(), again.size()}) == status,
          "the same bytes are taken or refused alike");
  const bool is_known = format.IsValid() && format.coding != Coding::kFloat32;
  Require(is_known == (status != Status::kInvalidArgument), "unknown formats are refused by name");
  Require(!is_known || status == Status::kOk || status == Status::kMalformed,
          "bytes are taken or malformed");
  if (status != Status::kOk) return;
  Require(noisy == again, "the same bytes decode to the same values");
  UpdateBound bound;
  bound.max_squares_q40.low = uint64_t{1} << 44;
  if (coordinates > 2) {
    bound.clip_bit_q20 = coordinates % 2 == 0 ? 0 : 1 << 21;
    bound.accuracy_q20 = coordinates % 3 == 0 ? 0 : 1 << 20;
  }
  const Status verdict =
      DecodeUpdate(key, format, input.rest(), {again.data(), again.size()}, {}, &bound);
  Require(verdict == Status::kOk || verdict == Status::kOutOfRange,
          "a bound refuses nothing else and nothing twice");
  Require(noisy == again, "a bound changes no value");
  for (const int32_t value : noisy) {
    Require(value > -kNoisyLimit && value < kNoisyLimit, "decoded values keep their limit");
  }
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sotto::fuzz::Input input(data, size);
  sotto::fuzz::CheckDecoder(input);
  return 0;
}
