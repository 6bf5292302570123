#include "sotto/self_test.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "sotto/num.h"
#include "sotto/quantizer.h"
#include "sotto/update_codec.h"

namespace sotto {
namespace {

// FNV-1a of 64 bits over words, for comparison: nobody attacks it.
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
  uint64_t sum() const { return sum_; }

 private:
  void Add(uint8_t byte) { sum_ = (sum_ ^ byte) * 0x100000001b3; }

  uint64_t sum_ = 0xcbf29ce484222325;
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

// Golden: also computed by tests/e2e/independent's quantizer and by float32 in Python.
constexpr uint64_t kKernelBits = 0x3f1bc9a43f87a81e;
constexpr uint64_t kFunctionBits = 0x538abdf6f41c26d9;
constexpr uint64_t kCellBits = 0x7492b5c17e6d0870;
constexpr uint64_t kCodeBits = 0x34068a014d7301f8;

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

// Not inlined, as those below: one of them at a time lies on a board's stack.
[[gnu::noinline]] uint64_t KernelBits() {
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
  BitSum bits;
  nn::DenseForward(m, y, x, kN, kRows, out);
  bits.Add(Span<const float>(out));
  nn::AddScaled(numbers.Next(), x, kN, y);
  nn::AddOuterProduct(out, kRows, x, kN, m);
  bits.Add(Span<const float>(m));
  nn::TransposedProduct(m, out, kN, kRows, x);
  bits.Add(Span<const float>(x));
  nn::DecayAndAdd(0.875f, numbers.Next(), x, kN, y);
  nn::PullTowards(x, 0.3f, kN, y);
  bits.Add(Span<const float>(y));
  bits.Add(nn::SumOfSquares(y, kN));
  bits.Add(nn::SquaredDistance(x, y, kN));
  return bits.sum();
}

uint64_t FunctionBits() {
  TestNumbers numbers;
  BitSum bits;
  for (int i = 0; i < 16; ++i) {
    const float x = numbers.Next();
    bits.Add(Exp(x));
    bits.Add(Log(x * x));
    bits.Add(HyperbolicTangent(x));
    bits.Add(Logistic(x));
  }
  return bits.sum();
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

[[gnu::noinline]] Status CellBits(Quantized* quantized, BitSum* bits) {
  uint64_t words[kDitherBatch];
  const Dither dither(TestKey(), DitherKind::kGaussian);
  if (Status s = dither.Generate(kDitherBatch, words); s != Status::kOk) return s;
  for (uint32_t i = 0; i < kDitherBatch; ++i) {
    const uint32_t j = kDitherBatch + i;
    const int32_t v_q20 = (static_cast<int32_t>(i) - 8) * 5000007;
    DitherCell cell{};
    int32_t noisy = 0;
    if (Status s = dither.Select(j, words[i], &cell); s != Status::kOk) return s;
    if (Status s = Quantize(dither, j, cell, v_q20, &quantized->m[i]); s != Status::kOk) return s;
    if (Status s = Dequantize(dither, j, cell, quantized->m[i], &noisy); s != Status::kOk) return s;
    quantized->fraction[i] = Dither::Fraction(words[i]);
    bits->Add(static_cast<uint32_t>(cell.step_q27));
    bits->Add(static_cast<uint32_t>(cell.left_q27));
    bits->Add(static_cast<uint32_t>(quantized->m[i]));
    bits->Add(static_cast<uint32_t>(noisy));
  }
  return Status::kOk;
}

void AddFinished(RangeEncoder* encoder, BitSum* bits) {
  uint8_t bytes[16];
  while (!encoder->is_empty()) bits->Add(ByteSpan(bytes, encoder->Take(bytes)));
}

[[gnu::noinline]] void CodeBits(const Quantized& quantized, BitSum* bits) {
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
  BitPacker packer;
  for (const int32_t m : quantized.m) {
    packer.Append(static_cast<uint32_t>(m) & 0xfff, 12);
    while (packer.has_byte()) bits->Add(uint32_t{packer.TakeByte()});
  }
}

}  // namespace

Status internal::SelfTestOfLibrary() {
  if (!KernelAddsExactly()) return Status::kMismatch;
  if (KernelBits() != kKernelBits || FunctionBits() != kFunctionBits) return Status::kMismatch;
  Quantized quantized;
  BitSum cells;
  BitSum codes;
  if (Status s = CellBits(&quantized, &cells); s != Status::kOk) return s;
  CodeBits(quantized, &codes);
  const bool agree = cells.sum() == kCellBits && codes.sum() == kCodeBits;
  return agree ? Status::kOk : Status::kMismatch;
}

}  // namespace sotto
