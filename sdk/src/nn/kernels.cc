#include "nn/kernels.h"

#include "base/exact_arithmetic.h"
#include "nn/lanes.h"

namespace sotto::nn {
namespace {

using Lanes = Array<kLanes>;

auto View(const Real* p) { return Load<kLanes>(p); }

constexpr int kGroup = 4;
using Group = Array<kGroup>;

auto ViewGroup(const Real* p) { return Load<kGroup>(p); }

// Not inlined: GCC packs sums into vector registers only when they end in memory.
[[gnu::noinline]] Real AddLanes(const Real* lanes) {
  const Array<4> four = Load<4>(lanes) + Load<4>(lanes + 4);
  const Array<2> two = Load<2>(four.data()) + Load<2>(four.data() + 2);
  return two[0] + two[1];
}

// The lanes of two rows' products with x, without the tail. Two at once: they share the loads of x
// and hide the latency of each other's sums. Not inlined, as AddLanes().
[[gnu::noinline]] void TwoRowLanes(const Real* row0, const Real* row1, const Real* x, size_t n,
                                   Real (*lanes)[kLanes]) {
  if (n < kLanes) return FillZero(size_t{2} * kLanes, lanes[0]);
  Lanes sum0 = Constant<kLanes>(0);
  Lanes sum1 = Constant<kLanes>(0);
  const Real* const end = x + (n - n % kLanes);
  do {
    const Lanes xi = View(x);
    sum0 += View(row0) * xi;
    sum1 += View(row1) * xi;
    row0 += kLanes;
    row1 += kLanes;
    x += kLanes;
  } while (x != end);
  Store<kLanes>(sum0, lanes[0]);
  Store<kLanes>(sum1, lanes[1]);
}

// Four rows of DenseForwardOfColumns().
struct FourRows {
  const Real* weights[4];
  Real bias[4];
};

// y[c * stride + r] = bias[r] + sum_i weights[r][i] * x[i * kColumns + c] for all columns. Not
// inlined, as AddLanes().
[[gnu::noinline]] void FourRowsOfColumns(const FourRows& rows, const Real* x, size_t n,
                                         size_t stride, Real* y) {
  const Real* row0 = rows.weights[0];
  const Real* row1 = rows.weights[1];
  const Real* row2 = rows.weights[2];
  const Real* row3 = rows.weights[3];
  Group sum0 = Constant<kGroup>(rows.bias[0]);
  Group sum1 = Constant<kGroup>(rows.bias[1]);
  Group sum2 = Constant<kGroup>(rows.bias[2]);
  Group sum3 = Constant<kGroup>(rows.bias[3]);
  for (size_t i = 0; i < n; ++i) {
    const Group xi = ViewGroup(x + i * kColumns);
    sum0 += row0[i] * xi;
    sum1 += row1[i] * xi;
    sum2 += row2[i] * xi;
    sum3 += row3[i] * xi;
  }
  for (size_t c = 0; c < kColumns; ++c, y += stride) {
    y[0] = sum0[static_cast<int>(c)];
    y[1] = sum1[static_cast<int>(c)];
    y[2] = sum2[static_cast<int>(c)];
    y[3] = sum3[static_cast<int>(c)];
  }
}

[[gnu::always_inline]] inline void AddScaledLanes(Real scale, const Lanes& x, Real* y) {
  Store<kLanes>(View(y) + scale * x, y);
}

// y += a0 x0, then y += a1 x1: the same bits as two calls of AddScaled().
[[gnu::always_inline]] inline void AddTwoScaledLanes(Real a0, const Lanes& x0, Real a1,
                                                     const Lanes& x1, Real* y) {
  const Lanes first = View(y) + a0 * x0;
  Store<kLanes>(first + a1 * x1, y);
}

void AddTwoScaled(Real a0, const Real* x0, Real a1, const Real* x1, size_t n, Real* y) {
  for (size_t i = n / kLanes; i > 0; --i, x0 += kLanes, x1 += kLanes, y += kLanes) {
    AddTwoScaledLanes(a0, View(x0), a1, View(x1), y);
  }
  for (size_t i = n % kLanes; i > 0; --i, ++y) *y = (*y + a0 * *x0++) + a1 * *x1++;
}

// y = a0 x0 + a1 x1.
void SetTwoScaled(Real a0, const Real* x0, Real a1, const Real* x1, size_t n, Real* y) {
  for (size_t i = n / kLanes; i > 0; --i, x0 += kLanes, x1 += kLanes, y += kLanes) {
    Store<kLanes>(a0 * View(x0) + a1 * View(x1), y);
  }
  for (size_t i = n % kLanes; i > 0; --i) *y++ = a0 * *x0++ + a1 * *x1++;
}

// The same result as AddScaled(), faster.
void AddScaledInLanes(Real scale, const Real* x, size_t n, Real* y) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) AddScaledLanes(scale, View(x + i), y + i);
  for (size_t i = whole; i < n; ++i) y[i] += scale * x[i];
}

}  // namespace

void DenseForward(const Real* weights, const Real* bias, const Real* x, size_t n, size_t outputs,
                  Real* y) {
  for (size_t o = 0; o < outputs; o += 2) {
    // An odd last row is computed twice.
    const size_t next = o + 1 < outputs ? o + 1 : o;
    const Real* row0 = weights + o * n;
    const Real* row1 = weights + next * n;
    Real lanes[2][kLanes];
    TwoRowLanes(row0, row1, x, n, lanes);
    const size_t whole = n - n % kLanes;
    for (size_t i = whole; i < n; ++i) {
      lanes[0][i - whole] += row0[i] * x[i];
      lanes[1][i - whole] += row1[i] * x[i];
    }
    y[o] = AddLanes(lanes[0]) + bias[o];
    y[next] = AddLanes(lanes[1]) + bias[next];
  }
}

void DenseForwardOfColumns(const Real* weights, const Real* bias, const Real* x, size_t n,
                           size_t outputs, size_t columns, Real* y) {
  constexpr size_t kRows = 4;
  for (size_t first = 0; first < outputs; first += kRows) {
    // Rows behind the last are the last once more.
    const size_t rows = outputs - first < kRows ? outputs - first : kRows;
    FourRows four;
    for (size_t r = 0; r < kRows; ++r) {
      four.weights[r] = weights;
      four.bias[r] = *bias;
      if (r + 1 < rows) weights += n, ++bias;
    }
    weights += n;
    ++bias;
    if (rows == kRows && columns == kColumns) {
      FourRowsOfColumns(four, x, n, outputs, y + first);
      continue;
    }
    Real all[kColumns][kRows];
    FourRowsOfColumns(four, x, n, kRows, all[0]);
    CopyRows(all[0], kRows, columns, rows, y + first, outputs);
  }
}

// Short vectors, and what is done once a batch: not worth the flash of lanes.
void AddScaled(Real scale, const Real* x, size_t n, Real* y) {
  for (size_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

void AddScaledToTwo(Real scale0, Real scale1, const Real* x, size_t n, Real* y0, Real* y1) {
  for (size_t i = n / kLanes; i > 0; --i, x += kLanes, y0 += kLanes, y1 += kLanes) {
    const Lanes xi = View(x);
    AddScaledLanes(scale0, xi, y0);
    AddScaledLanes(scale1, xi, y1);
  }
  for (size_t i = n % kLanes; i > 0; --i, ++x) {
    *y0++ += scale0 * *x;
    *y1++ += scale1 * *x;
  }
}

void AddOuterProduct(const Real* a, size_t rows, const Real* x, size_t n, Real* m) {
  for (const Real* const end = a + rows; a < end; a += 2, m += 2 * n) {
    const Real second = a + 1 < end ? a[1] : Real{0};
    if (a[0] != Real{0} && second != Real{0}) {
      AddScaledToTwo(a[0], second, x, n, m, m + n);
    } else if (a[0] != Real{0}) {
      AddScaledInLanes(a[0], x, n, m);
    } else if (second != Real{0}) {
      AddScaledInLanes(second, x, n, m + n);
    }
  }
}

void TransposedProduct(const Real* m, const Real* a, size_t n, size_t rows, Real* y) {
  bool is_empty = true;
  for (const Real* const end = a + rows; a < end; a += 2, m += 2 * n) {
    const Real second = a + 1 < end ? a[1] : Real{0};
    if (a[0] == Real{0} && second == Real{0}) continue;
    if (is_empty) {
      SetTwoScaled(a[0], m, second, a + 1 < end ? m + n : m, n, y);
      is_empty = false;
    } else if (a[0] != Real{0} && second != Real{0}) {
      AddTwoScaled(a[0], m, second, m + n, n, y);
    } else if (a[0] != Real{0}) {
      AddScaledInLanes(a[0], m, n, y);
    } else {
      AddScaledInLanes(second, m + n, n, y);
    }
  }
  if (is_empty) FillZero(n, y);
}

void AddRowProducts(const Real* a, const Real* b, size_t rows, size_t n, Real* y) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    Lanes sum = View(y + i);
    for (size_t t = 0; t < rows; ++t) sum += View(a + t * n + i) * View(b + t * n + i);
    Store<kLanes>(sum, y + i);
  }
  for (size_t i = whole; i < n; ++i) {
    for (size_t t = 0; t < rows; ++t) y[i] += a[t * n + i] * b[t * n + i];
  }
}

void AddRowSums(const Real* a, size_t rows, size_t n, Real* y) {
  const size_t whole = n - n % kGroup;
  for (size_t i = 0; i < whole; i += kGroup) {
    Group sum = ViewGroup(y + i);
    for (size_t t = 0; t < rows; ++t) sum += ViewGroup(a + t * n + i);
    Store<kGroup>(sum, y + i);
  }
  for (size_t i = whole; i < n; ++i) {
    for (size_t t = 0; t < rows; ++t) y[i] += a[t * n + i];
  }
}

void AddScaledColumns(const Real* a, const Real* x, size_t rows, size_t n, Real* m) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    const Lanes xi = View(x + i);
    for (size_t t = i; t < rows * n; t += n) Store<kLanes>(View(m + t) + View(a + t) * xi, m + t);
  }
  for (size_t i = whole; i < n; ++i) {
    for (size_t t = i; t < rows * n; t += n) m[t] += a[t] * x[i];
  }
}

void FillZero(size_t n, Real* y) {
  for (size_t i = 0; i < n; ++i) y[i] = Real{0};
}

void Copy(const Real* x, size_t n, Real* y) { CopyRows(x, n, 1, n, y, n); }

void CopyRows(const Real* x, size_t x_stride, size_t rows, size_t n, Real* y, size_t y_stride) {
  const size_t whole = n - n % kGroup;
  for (; rows > 0; --rows, x += x_stride, y += y_stride) {
    for (size_t i = 0; i < whole; i += kGroup) {
      const Group group = ViewGroup(x + i);
      Store<kGroup>(group, y + i);
    }
    for (size_t i = whole; i < n; ++i) y[i] = x[i];
  }
}

void Scale(Real scale, size_t n, Real* y) {
  for (size_t i = 0; i < n; ++i) y[i] *= scale;
}

void DecayAndAdd(Real decay, Real scale, const Real* x, size_t n, Real* y) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    Store<kLanes>(decay * View(y + i) + scale * View(x + i), y + i);
  }
  for (size_t i = whole; i < n; ++i) y[i] = decay * y[i] + scale * x[i];
}

void DecayAndPull(Real decay, Real pull, const Real* center, size_t n, Real* y) {
  for (size_t i = 0; i < n; ++i) y[i] = decay * y[i] - pull * (y[i] - center[i]);
}

void AddScaledDifference(Real scale, const Real* a, const Real* b, size_t n, Real* y) {
  for (size_t i = 0; i < n; ++i) y[i] += scale * (a[i] - b[i]);
}

Real SumOfSquares(const Real* x, size_t n) {
  Group sum = Constant<kGroup>(0);
  for (size_t i = n / kGroup; i > 0; --i, x += kGroup) {
    const Group xi = ViewGroup(x);
    sum += xi * xi;
  }
  for (size_t i = n % kGroup; i > 0; --i, ++x) sum[0] += *x * *x;
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

Real SquaredDistance(const Real* a, const Real* b, size_t n) {
  Lanes sum = Constant<kLanes>(0);
  for (size_t i = n / kLanes; i > 0; --i, a += kLanes, b += kLanes) {
    const Lanes difference = View(a) - View(b);
    sum += difference * difference;
  }
  Real* lane = sum.data();
  for (size_t i = n % kLanes; i > 0; --i, ++a, ++b) *lane++ += (*a - *b) * (*a - *b);
  return AddLanes(sum.data());
}

void PullTowards(const Real* center, Real scale, size_t n, Real* y) {
  for (size_t i = n / kGroup; i > 0; --i, center += kGroup, y += kGroup) {
    const Group c = ViewGroup(center);
    const Group pulled = c + scale * (ViewGroup(y) - c);
    Store<kGroup>(pulled, y);
  }
  for (size_t i = n % kGroup; i > 0; --i, ++center, ++y) *y = *center + scale * (*y - *center);
}

}  // namespace sotto::nn
