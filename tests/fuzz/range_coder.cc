// Fuzzes the range coder. Any bytes decode to a sequence of decisions. Encoding these decisions
// gives bytes that decode to them again, and no more bytes than the decoder read.
//
// Input: the decisions' number as u16; bytes to decode.
#include "sotto/range_coder.h"

#include <vector>

#include "fuzz/input.h"

namespace sotto::fuzz {
namespace {

constexpr uint32_t kMostDecisions = 4096;

// The probabilities that encoder and decoder share: one of eight, by the last three decisions, and
// every fifth decision is a fair one.
class Contexts {
 public:
  Contexts() {
    for (AdaptiveBit& bit : bits_) bit = AdaptiveBit::Even();
  }

  // Null for a fair decision.
  AdaptiveBit* Next() { return ++count_ % 5 == 0 ? nullptr : &bits_[history_ % 8]; }
  void See(bool bit) { history_ = history_ << 1 | (bit ? 1 : 0); }

 private:
  AdaptiveBit bits_[8];
  uint32_t history_ = 0;
  uint32_t count_ = 0;
};

std::vector<bool> Decode(ByteSpan bytes, uint32_t count, size_t* position) {
  RangeDecoder decoder(bytes);
  Contexts contexts;
  std::vector<bool> decisions;
  for (uint32_t i = 0; i < count; ++i) {
    AdaptiveBit* probability = contexts.Next();
    decisions.push_back(probability == nullptr ? decoder.DecodeFair()
                                               : decoder.Decode(probability));
    contexts.See(decisions.back());
  }
  *position = decoder.position();
  return decisions;
}

std::vector<uint8_t> Encode(const std::vector<bool>& decisions) {
  RangeEncoder encoder;
  Contexts contexts;
  std::vector<uint8_t> bytes;
  const auto take = [&] {
    uint8_t part[3];
    while (const size_t count = encoder.Take(part)) bytes.insert(bytes.end(), part, part + count);
    Require(encoder.is_empty(), "an encoder that gives no more bytes is empty");
  };
  for (const bool bit : decisions) {
    AdaptiveBit* probability = contexts.Next();
    probability == nullptr ? encoder.EncodeFair(bit) : encoder.Encode(bit, probability);
    contexts.See(bit);
    take();
  }
  encoder.Finish();
  take();
  return bytes;
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sotto::fuzz;
  Input input(data, size);
  const uint32_t count = input.TakeU16() % kMostDecisions;
  size_t position = 0;
  size_t again = 0;
  const std::vector<bool> decisions = Decode(input.rest(), count, &position);
  const std::vector<uint8_t> encoded = Encode(decisions);
  Require(Decode({encoded.data(), encoded.size()}, count, &again) == decisions,
          "decisions survive encoding");
  Require(position == again && encoded.size() <= position, "a code ends where it was looked at");
  return 0;
}
