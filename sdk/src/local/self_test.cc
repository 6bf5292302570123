#include "sotto/self_test.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "sotto/num.h"
#include "sotto/quantizer.h"
#include "sotto/update_codec.h"

namespace sotto {
namespace {

// FNV-1a of 32 bits over words, for comparison: nobody attacks it.
class BitSum {
 public:
  void Add(uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) Add(static_cast<uint8_t>(word >> shift));
  }
  void Add(float value) { Add(FloatBits(value)); }
  void Add(Span<const float> values) {
    for (const float value : values) Add(value);
  }
  void Add(ByteSpan bytes) {
    for (const uint8_t byte : bytes) Add(byte);
  }
  uint32_t sum() const { return sum_; }

 private:
  void Add(uint8_t byte) { sum_ = (sum_ ^ byte) * 0x01000193; }

  uint32_t sum_ = 0x811c9dc5;
};

// Numbers of 24 bits between -8 and 8, most of which a product or a sum must round.
class TestNumbers {
 public:
  float Next() {
    state_ = state_ * 1664525 + 1013904223;
    return static_cast<float>(static_cast<int32_t>(state_) >> 8) * (1.0f / 1048576);
  }
  void Fill(Span<float> values) {
    for (float& value : values) value = Next();
  }

 private:
  uint32_t state_ = 1;
};

// Golden: of numbers that tests/e2e/independent's quantizer and float32 in Python computed, too.
constexpr uint32_t kBits = 0x38bf4f9f;

// sotto/self_test.h says why 2^-11 is left.
bool KernelAddsExactly() {
  constexpr size_t kSize = 11;  // lanes and a rest
  float x[kSize];
  float y[kSize];
  for (size_t i = 0; i < kSize; ++i) {
    x[i] = 1.000244140625f;
    y[i] = -1.0f;
  }
  nn::AddScaled(x[0], x, kSize, y);
  for (const float value : y) {
    if (FloatBits(value) != FloatBits(0.00048828125f)) return false;
  }
  return true;
}

// Kernels that every training calls, so that the test brings no others to a board's flash. Not
// inlined, as those below: one of them at a time lies on a board's stack.
[[gnu::noinline]] void AddKernelBits(BitSum* bits) {
  constexpr size_t kN = 19;
  constexpr size_t kRows = 3;
  float m[kRows * kN];
  float x[kN];
  float y[kN];
  float out[kRows];
  TestNumbers numbers;
  numbers.Fill(m);
  numbers.Fill(x);
  numbers.Fill(y);
  nn::DenseForward(m, y, x, kN, kRows, out);
  bits->Add(Span<const float>(out));
  nn::AddScaled(numbers.Next(), x, kN, y);
  nn::PullTowards(x, 0.3f, kN, y);
  bits->Add(Span<const float>(y));
  bits->Add(nn::SumOfSquares(y, kN));
  bits->Add(nn::SquaredDistance(x, y, kN));
}

void AddFunctionBits(BitSum* bits) {
  TestNumbers numbers;
  for (int i = 0; i < 16; ++i) {
    const float x = numbers.Next();
    bits->Add(Exp(x));
    bits->Add(Log(x * x));
  }
}

Key TestKey() {
  Key key;
  for (size_t i = 0; i < sizeof(key.bytes); ++i) key.bytes[i] = static_cast<uint8_t>(11 * i + 5);
  return key;
}

// What the dither made of an update.
struct Quantized {
  uint32_t fraction[kDitherBatch];
  int32_t m[kDitherBatch];
};

[[gnu::noinline]] Status AddCellBits(Quantized* quantized, BitSum* bits) {
  uint64_t words[kDitherBatch];
  const Dither dither(TestKey(), DitherKind::kGaussian);
  if (Status s = dither.Generate(kDitherBatch, words); s != Status::kOk) return s;
  for (uint32_t i = 0; i < kDitherBatch; ++i) {
    const uint32_t j = kDitherBatch + i;
    const int32_t v_q20 = (static_cast<int32_t>(i) - 8) * 5000007;
    DitherCell cell{};
    if (Status s = dither.Select(j, words[i], &cell); s != Status::kOk) return s;
    if (Status s = Quantize(dither, j, cell, v_q20, &quantized->m[i]); s != Status::kOk) return s;
    quantized->fraction[i] = Dither::Fraction(words[i]);
    bits->Add(static_cast<uint32_t>(cell.step_q27));
    bits->Add(static_cast<uint32_t>(cell.left_q27));
    bits->Add(static_cast<uint32_t>(quantized->m[i]));
  }
  return Status::kOk;
}

void AddFinished(RangeEncoder* encoder, BitSum* bits) {
  uint8_t bytes[16];
  while (!encoder->is_empty()) bits->Add(ByteSpan(bytes, encoder->Take(bytes)));
}

[[gnu::noinline]] void AddCodeBits(const Quantized& quantized, BitSum* bits) {
  constexpr uint8_t kScaleCode = 81;  // 2^20: the root mean square is the noise's deviation
  UpdateModel model;
  model.Reset(kScaleCode, DitherKind::kGaussian);
  RangeEncoder encoder;
  for (uint32_t i = 0; i < kDitherBatch; ++i) {
    model.Encode(quantized.fraction[i], quantized.m[i], &encoder);
    AddFinished(&encoder, bits);
  }
  encoder.Finish();
  AddFinished(&encoder, bits);
}

}  // namespace

Status internal::SelfTestOfLibrary() {
  if (!KernelAddsExactly()) return Status::kMismatch;
  BitSum bits;
  AddKernelBits(&bits);
  AddFunctionBits(&bits);
  Quantized quantized;
  if (Status s = AddCellBits(&quantized, &bits); s != Status::kOk) return s;
  AddCodeBits(quantized, &bits);
  return bits.sum() == kBits ? Status::kOk : Status::kMismatch;
}

}  // namespace sotto
