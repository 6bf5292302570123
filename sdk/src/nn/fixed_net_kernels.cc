#include "nn/fixed_net_kernels.h"

#include "base/exact_arithmetic.h"

namespace sotto::nn {
namespace {

// Number of elements that one pass of a loop computes.
constexpr size_t kGroup = 4;

int64_t Product(int32_t a, int32_t b) { return int64_t{a} * b; }

// How a sum of products with a shifted operand becomes a number in the operand's own units.
class Narrowing {
 public:
  explicit Narrowing(size_t n) : shift_(Weight::kFractionBits - OperandShift(n)) {}

  // What a sum begins with: a number in units of the result, and one half.
  int64_t Begin(int32_t number) const { return Product(number, 1 << shift_) + Half(); }
  int64_t Half() const { return int64_t{1} << (shift_ - 1); }

  // sum / 2^shift, rounded down and saturated. In words of 32 bits, as a Cortex-M computes.
  int32_t operator()(int64_t sum) {
    const auto high = static_cast<uint32_t>(static_cast<uint64_t>(sum) >> 32);
    const auto low = static_cast<uint32_t>(sum);
    if ((high + (1u << (shift_ - 1))) >> shift_ != 0) {
      saturated_ = true;
      return high >> 31 != 0 ? INT32_MIN : INT32_MAX;
    }
    return static_cast<int32_t>(low >> shift_ | high << (32 - shift_));
  }

  bool saturated() const { return saturated_; }

 private:
  int shift_;
  bool saturated_ = false;
};

// Has its highest bit set if raw is out of the range of a Gradient.
uint32_t Excess(int32_t raw) { return static_cast<uint32_t>(raw) + (1u << (Gradient::kBits - 1)); }

// y + the upper word of a * x, rounded: a multiplication that accumulates onto (y, 1/2).
int32_t Sum(int32_t y, int32_t a, int32_t x) {
  const int64_t sum = y * (int64_t{1} << 32) + (int64_t{1} << 31) + Product(a, x);
  return static_cast<int32_t>(sum >> 32);
}

// A separate pass, since saturation is rare: this is cheaper than a comparison for each element.
void Saturate(size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) StoreRaw(Gradient::FromRaw(LoadRaw(y + i)).raw(), y + i);
}

void AddTo(int32_t a, int32_t x, float* y, uint32_t* excess) {
  const int32_t raw = Sum(LoadRaw(y), a, x);
  *excess |= Excess(raw);
  StoreRaw(raw, y);
}

bool AddProducts(int32_t a, const float* x, size_t n, float* y) {
  uint32_t excess = 0;
  size_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    for (size_t j = i; j < i + kGroup; ++j) AddTo(a, LoadRaw(x + j), y + j, &excess);
  }
  for (; i < n; ++i) AddTo(a, LoadRaw(x + i), y + i, &excess);
  if (excess >> 31 == 0) return false;
  Saturate(n, y);
  return true;
}

// Two rows at once share the loads of x.
bool AddProductsToTwo(int32_t a0, int32_t a1, const float* x, size_t n, float* y0, float* y1) {
  uint32_t excess = 0;
  const auto add = [&](size_t i) {
    const int32_t xi = LoadRaw(x + i);
    AddTo(a0, xi, y0 + i, &excess);
    AddTo(a1, xi, y1 + i, &excess);
  };
  size_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    for (size_t j = i; j < i + kGroup; ++j) add(j);
  }
  for (; i < n; ++i) add(i);
  if (excess >> 31 == 0) return false;
  Saturate(n, y0);
  Saturate(n, y1);
  return true;
}

// y = the sum, or the nearest number of 32 bits.
bool StoreSum(int64_t sum, float* y) {
  const int32_t raw = Fixed<32, 0>::FromRaw(sum).raw();
  StoreRaw(raw, y);
  return raw != sum;
}

}  // namespace

void FixedShift(const float* x, size_t n, int shift, float* y) {
  for (size_t i = 0; i < n; ++i) StoreRaw(((LoadRaw(x + i) >> (shift - 1)) + 1) >> 1, y + i);
}

bool FixedRowProducts(const float* weights, const float* bias, const float* x, size_t n,
                      size_t outputs, float* y) {
  Narrowing narrow(n);
  for (size_t o = 0; o < outputs; o += 2) {
    // Two rows at once share the loads of x. An odd last row is computed twice.
    const size_t next = o + 1 < outputs ? o + 1 : o;
    const float* row0 = weights + o * n;
    const float* row1 = weights + next * n;
    int64_t sum0 = narrow.Begin(LoadRaw(bias + o));
    int64_t sum1 = narrow.Begin(LoadRaw(bias + next));
    const auto add = [&](size_t i) {
      const int32_t xi = LoadRaw(x + i);
      sum0 += Product(LoadRaw(row0 + i), xi);
      sum1 += Product(LoadRaw(row1 + i), xi);
    };
    size_t i = 0;
    for (; i + kGroup <= n; i += kGroup) {
      for (size_t j = i; j < i + kGroup; ++j) add(j);
    }
    for (; i < n; ++i) add(i);
    StoreRaw(narrow(sum0), y + o);
    StoreRaw(narrow(sum1), y + next);
  }
  return narrow.saturated();
}

bool FixedTransposedProduct(const float* weights, const float* a, size_t n, size_t rows, float* y) {
  Narrowing narrow(rows);
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    int64_t sum0 = narrow.Half();
    int64_t sum1 = narrow.Half();
    const float* column = weights + i;
    for (size_t o = 0; o < rows; ++o, column += n) {
      const int32_t ao = LoadRaw(a + o);
      sum0 += Product(LoadRaw(column), ao);
      sum1 += Product(LoadRaw(column + 1), ao);
    }
    StoreRaw(narrow(sum0), y + i);
    StoreRaw(narrow(sum1), y + i + 1);
  }
  if (i < n) {
    int64_t sum = narrow.Half();
    for (size_t o = 0; o < rows; ++o) {
      sum += Product(LoadRaw(weights + o * n + i), LoadRaw(a + o));
    }
    StoreRaw(narrow(sum), y + i);
  }
  return narrow.saturated();
}

// Rows whose factor is not zero, two at a time: behind a rectifier half of the factors are zero.
bool FixedAddOuterProduct(const float* a, size_t rows, const float* x, size_t n, float* m) {
  bool saturated = false;
  size_t first = rows;  // of two; rows: it is not found yet
  for (size_t o = 0; o < rows; ++o) {
    if (LoadRaw(a + o) == 0) continue;
    if (first == rows) {
      first = o;
      continue;
    }
    saturated |=
        AddProductsToTwo(LoadRaw(a + first), LoadRaw(a + o), x, n, m + first * n, m + o * n);
    first = rows;
  }
  if (first < rows) saturated |= AddProducts(LoadRaw(a + first), x, n, m + first * n);
  return saturated;
}

bool FixedAddDeltas(const float* x, size_t n, float* y) {
  constexpr int kShift = Delta::kFractionBits - Gradient::kFractionBits;
  uint32_t excess = 0;
  for (size_t i = 0; i < n; ++i) {
    const int32_t raw = LoadRaw(y + i) + (((LoadRaw(x + i) >> (kShift - 1)) + 1) >> 1);
    excess |= Excess(raw);
    StoreRaw(raw, y + i);
  }
  if (excess >> 31 == 0) return false;
  Saturate(n, y);
  return true;
}

bool FixedAdd(const float* x, size_t n, float* y) {
  bool saturated = false;
  for (size_t i = 0; i < n; ++i) {
    saturated |= StoreSum(int64_t{LoadRaw(y + i)} + LoadRaw(x + i), y + i);
  }
  return saturated;
}

bool FixedStep(Rate scale, const float* x, int x_fraction_bits, size_t n, float* y) {
  const int shift = Rate::kFractionBits + x_fraction_bits - Weight::kFractionBits;
  bool saturated = false;
  for (size_t i = 0; i < n; ++i) {
    const int64_t moved = RoundingShift(Product(scale.raw(), LoadRaw(x + i)), shift);
    const int64_t sum = LoadRaw(y + i) + moved;
    const int32_t raw = Weight::FromRaw(sum).raw();
    saturated |= raw != sum;
    StoreRaw(raw, y + i);
  }
  return saturated;
}

bool IsZeroRaw(const float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (LoadRaw(x + i) != 0) return false;
  }
  return true;
}

}  // namespace sotto::nn
