#include "nn/fixed_kernels.h"

#include "base/exact_arithmetic.h"

namespace sotto::nn {
namespace {

constexpr int kSumFractionBits = Weight::kFractionBits + Feature::kFractionBits;
// Number of elements that one pass of a loop computes.
constexpr size_t kGroup = 4;

// The format of a weight that is given as float32.
using Center = Offset;

int64_t Product(int32_t a, int32_t b) { return int64_t{a} * b; }

// Has its highest bit set if raw is out of the range of a Weight.
uint32_t Excess(int32_t raw) { return static_cast<uint32_t>(raw) + (1u << (Weight::kBits - 1)); }

// y + scale * x, rounded: a multiplication that accumulates onto (y, 1/2). The sum is not
// saturated, but fits into 32 bits.
int32_t Sum(int32_t y, int32_t scale, int32_t x) {
  const int64_t sum = y * (int64_t{1} << 32) + (int64_t{1} << 31) + Product(scale, x);
  return static_cast<int32_t>(sum >> 32);
}

// Adds scale * x to one element. Sets the highest bit of *excess if the element must be saturated.
void AddTo(int32_t scale, const float* x, float* y, uint32_t* excess) {
  const int32_t raw = Sum(LoadRaw(y), scale, LoadRaw(x));
  *excess |= Excess(raw);
  StoreRaw(raw, y);
}

// A separate pass, since saturation is rare: this is cheaper than a comparison for each element.
void Saturate(size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) StoreRaw(Weight::FromRaw(LoadRaw(y + i)).raw(), y + i);
}

int32_t Distance(const float* center, const float* y) {
  return LoadRaw(y) - Center::FromFloat(*center).raw();
}

uint64_t SquaredDistance(const float* center, const float* y) {
  const int32_t d = Distance(center, y);
  return static_cast<uint64_t>(Product(d, d));
}

}  // namespace

void FixedDenseForward(const float* weights, const float* bias, const float* x, size_t n,
                       size_t outputs, float* y) {
  for (size_t o = 0; o < outputs; o += 2) {
    // Two rows at once share the loads of x. An odd last row is computed twice.
    const size_t next = o + 1 < outputs ? o + 1 : o;
    const float* row0 = weights + o * n;
    const float* row1 = weights + next * n;
    int64_t sum0 = Product(LoadRaw(bias + o), 1 << Feature::kFractionBits);
    int64_t sum1 = Product(LoadRaw(bias + next), 1 << Feature::kFractionBits);
    for (size_t i = 0; i < n; ++i) {
      const int32_t xi = LoadRaw(x + i);
      sum0 += Product(LoadRaw(row0 + i), xi);
      sum1 += Product(LoadRaw(row1 + i), xi);
    }
    StoreRaw(Score::Round<kSumFractionBits>(sum0).raw(), y + o);
    StoreRaw(Score::Round<kSumFractionBits>(sum1).raw(), y + next);
  }
}

bool FixedAddScaled(Rate scale, const float* x, size_t n, float* y) {
  uint32_t excess = 0;
  size_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    for (size_t j = 0; j < kGroup; ++j) AddTo(scale.raw(), x + i + j, y + i + j, &excess);
  }
  for (; i < n; ++i) AddTo(scale.raw(), x + i, y + i, &excess);
  if (excess >> 31 == 0) return false;
  Saturate(n, y);
  return true;
}

bool FixedAdd(Rate scale, float* y) {
  const int32_t raw = Sum(LoadRaw(y), scale.raw(), 1 << FineFeature::kFractionBits);
  const int32_t limited = Weight::FromRaw(raw).raw();
  StoreRaw(limited, y);
  return limited != raw;
}

void FixedScale(Error scale, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) {
    StoreRaw(Multiply<Weight>(Weight::FromRaw(LoadRaw(y + i)), scale).raw(), y + i);
  }
}

Wide FixedSquaredDistance(const float* center, const float* y, size_t n) {
  Wide sum;
  size_t i = 0;
  // A distance is below 2^31, so the squares of a group fit into 64 bits.
  for (; i + kGroup <= n; i += kGroup) {
    uint64_t group = 0;
    for (size_t j = 0; j < kGroup; ++j) group += SquaredDistance(center + i + j, y + i + j);
    sum.Add(group);
  }
  for (; i < n; ++i) sum.Add(SquaredDistance(center + i, y + i));
  return sum;
}

void FixedPullTowards(const float* center, Fixed<32, 31> ratio, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) {
    const int32_t c = Center::FromFloat(center[i]).raw();
    const int64_t moved = Product(LoadRaw(y + i) - c, ratio.raw());
    const int64_t sum = c * (int64_t{1} << 31) + (int64_t{1} << 30) + moved;
    StoreRaw(static_cast<int32_t>(sum >> 31), y + i);
  }
}

}  // namespace sotto::nn
