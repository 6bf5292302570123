#include "nn/kernels.h"

#include "nn/eigen.h"

namespace sotto::nn {
namespace {

using Lanes = Eigen::Array<Real, kLanes, 1>;

using View = Eigen::Map<const Lanes>;

void Store(const Lanes& lanes, Real* p) { Eigen::Map<Lanes>{p} = lanes; }

// Not inlined: GCC packs sums into vector registers only when they end in memory.
[[gnu::noinline]] Real AddLanes(const Real* lanes) {
  const Eigen::Array<Real, 4, 1> four = View(lanes).head<4>() + View(lanes).tail<4>();
  const Eigen::Array<Real, 2, 1> two = four.head<2>() + four.tail<2>();
  return two[0] + two[1];
}

// Adds the products after the last whole group of lanes. Not inlined: the inlined copies would be
// most of the code.
[[gnu::noinline]] void AddTail(const Real* row, const Real* x, size_t n, Real* lanes) {
  for (size_t i = n - n % kLanes; i < n; ++i) lanes[i % kLanes] += row[i] * x[i];
}

// Two rows at once: they share the loads of x and hide the latency of each other's sums.
void TwoRowProducts(const Real* row0, const Real* row1, const Real* x, size_t n, Real* sums) {
  Lanes sum0 = Lanes::Zero();
  Lanes sum1 = Lanes::Zero();
  for (size_t i = 0; i + kLanes <= n; i += kLanes) {
    const Lanes xi = View(x + i);
    sum0 += View(row0 + i) * xi;
    sum1 += View(row1 + i) * xi;
  }
  Real lanes[2][kLanes];
  Store(sum0, lanes[0]);
  Store(sum1, lanes[1]);
  AddTail(row0, x, n, lanes[0]);
  AddTail(row1, x, n, lanes[1]);
  sums[0] = AddLanes(lanes[0]);
  sums[1] = AddLanes(lanes[1]);
}

[[gnu::always_inline]] inline void AddScaledLanes(Real scale, const Lanes& x, Real* y) {
  Store(View(y) + scale * x, y);
}

// y += a0 x0, then y += a1 x1: the same bits as two calls of AddScaled().
[[gnu::always_inline]] inline void AddTwoScaledLanes(Real a0, const Lanes& x0, Real a1,
                                                     const Lanes& x1, Real* y) {
  const Lanes first = View(y) + a0 * x0;
  Store(first + a1 * x1, y);
}

void AddTwoScaled(Real a0, const Real* x0, Real a1, const Real* x1, size_t n, Real* y) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    AddTwoScaledLanes(a0, View(x0 + i), a1, View(x1 + i), y + i);
  }
  for (size_t i = whole; i < n; ++i) y[i] = (y[i] + a0 * x0[i]) + a1 * x1[i];
}

}  // namespace

void DenseForward(const Real* weights, const Real* bias, const Real* x, size_t n, size_t outputs,
                  Real* y) {
  for (size_t o = 0; o < outputs; o += 2) {
    // An odd last row is computed twice.
    const size_t next = o + 1 < outputs ? o + 1 : o;
    Real sums[2];
    TwoRowProducts(weights + o * n, weights + next * n, x, n, sums);
    y[next] = sums[1];
    y[o] = sums[0];
  }
  for (size_t o = 0; o < outputs; ++o) y[o] += bias[o];
}

// For an odd last row, which few models have. So it is not worth lanes.
void AddScaled(Real scale, const Real* x, size_t n, Real* y) {
  for (size_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

void AddScaledToTwo(Real scale0, Real scale1, const Real* x, size_t n, Real* y0, Real* y1) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    const Lanes xi = View(x + i);
    AddScaledLanes(scale0, xi, y0 + i);
    AddScaledLanes(scale1, xi, y1 + i);
  }
  for (size_t i = whole; i < n; ++i) {
    y0[i] += scale0 * x[i];
    y1[i] += scale1 * x[i];
  }
}

void AddOuterProduct(const Real* a, size_t rows, const Real* x, size_t n, Real* m) {
  size_t o = 0;
  for (; o + 2 <= rows; o += 2) AddScaledToTwo(a[o], a[o + 1], x, n, m + o * n, m + (o + 1) * n);
  if (o < rows) AddScaled(a[o], x, n, m + o * n);
}

void TransposedProduct(const Real* m, const Real* a, size_t n, size_t rows, Real* y) {
  FillZero(n, y);
  size_t o = 0;
  for (; o + 2 <= rows; o += 2) AddTwoScaled(a[o], m + o * n, a[o + 1], m + (o + 1) * n, n, y);
  if (o < rows) AddScaled(a[o], m + o * n, n, y);
}

void AddRowProducts(const Real* a, const Real* b, size_t rows, size_t n, Real* y) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    Lanes sum = View(y + i);
    for (size_t t = 0; t < rows; ++t) sum += View(a + t * n + i) * View(b + t * n + i);
    Store(sum, y + i);
  }
  for (size_t i = whole; i < n; ++i) {
    for (size_t t = 0; t < rows; ++t) y[i] += a[t * n + i] * b[t * n + i];
  }
}

void AddScaledColumns(const Real* a, const Real* x, size_t rows, size_t n, Real* m) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    const Lanes xi = View(x + i);
    for (size_t t = i; t < rows * n; t += n) Store(View(m + t) + View(a + t) * xi, m + t);
  }
  for (size_t i = whole; i < n; ++i) {
    for (size_t t = i; t < rows * n; t += n) m[t] += a[t] * x[i];
  }
}

void FillZero(size_t n, Real* y) {
  for (size_t i = 0; i < n; ++i) y[i] = Real{0};
}

void Copy(const Real* x, size_t n, Real* y) { __builtin_memcpy(y, x, n * sizeof(Real)); }

void Scale(Real scale, size_t n, Real* y) {
  for (size_t i = 0; i < n; ++i) y[i] *= scale;
}

Real SquaredDistance(const Real* a, const Real* b, size_t n) {
  Lanes sum = Lanes::Zero();
  for (size_t i = 0; i + kLanes <= n; i += kLanes) sum += (View(a + i) - View(b + i)).square();
  Real lanes[kLanes];
  Store(sum, lanes);
  const size_t whole = n - n % kLanes;
  Real rest[kLanes];
  for (size_t i = whole; i < n; ++i) rest[i - whole] = a[i] - b[i];
  AddTail(rest, rest, n - whole, lanes);
  return AddLanes(lanes);
}

void PullTowards(const Real* center, Real scale, size_t n, Real* y) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    const Lanes c = View(center + i);
    Store(c + scale * (View(y + i) - c), y + i);
  }
  for (size_t i = whole; i < n; ++i) y[i] = center[i] + scale * (y[i] - center[i]);
}

}  // namespace sotto::nn
