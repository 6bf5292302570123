#include "nn/kernels.h"

#include "nn/eigen.h"

namespace sotto::nn {
namespace {

using Lanes = Eigen::Array<float, kLanes, 1>;

using View = Eigen::Map<const Lanes>;

void Store(const Lanes& lanes, float* p) { Eigen::Map<Lanes>{p} = lanes; }

// Not inlined: GCC packs sums into vector registers only when they end in memory.
[[gnu::noinline]] float AddLanes(const float* lanes) {
  const Eigen::Array<float, 4, 1> four = View(lanes).head<4>() + View(lanes).tail<4>();
  const Eigen::Array<float, 2, 1> two = four.head<2>() + four.tail<2>();
  return two[0] + two[1];
}

// Adds the products after the last whole group of lanes. Not inlined: the inlined copies would be
// most of the code.
[[gnu::noinline]] void AddTail(const float* row, const float* x, size_t n, float* lanes) {
  for (size_t i = n - n % kLanes; i < n; ++i) lanes[i % kLanes] += row[i] * x[i];
}

// Two rows at once: they share the loads of x and hide the latency of each other's sums.
void TwoRowProducts(const float* row0, const float* row1, const float* x, size_t n, float* sums) {
  Lanes sum0 = Lanes::Zero();
  Lanes sum1 = Lanes::Zero();
  for (size_t i = 0; i + kLanes <= n; i += kLanes) {
    const Lanes xi = View(x + i);
    sum0 += View(row0 + i) * xi;
    sum1 += View(row1 + i) * xi;
  }
  float lanes[2][kLanes];
  Store(sum0, lanes[0]);
  Store(sum1, lanes[1]);
  AddTail(row0, x, n, lanes[0]);
  AddTail(row1, x, n, lanes[1]);
  sums[0] = AddLanes(lanes[0]);
  sums[1] = AddLanes(lanes[1]);
}

[[gnu::always_inline]] inline void AddScaledLanes(float scale, const Lanes& x, float* y) {
  Store(View(y) + scale * x, y);
}

}  // namespace

void DenseForward(const float* weights, const float* bias, const float* x, size_t n, size_t outputs,
                  float* y) {
  for (size_t o = 0; o < outputs; o += 2) {
    // An odd last row is computed twice.
    const size_t next = o + 1 < outputs ? o + 1 : o;
    float sums[2];
    TwoRowProducts(weights + o * n, weights + next * n, x, n, sums);
    y[next] = sums[1];
    y[o] = sums[0];
  }
  for (size_t o = 0; o < outputs; ++o) y[o] += bias[o];
}

// For an odd last row, which few models have. So it is not worth lanes.
void AddScaled(float scale, const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

void AddScaledToTwo(float scale0, float scale1, const float* x, size_t n, float* y0, float* y1) {
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

void Scale(float scale, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] *= scale;
}

float SquaredDistance(const float* a, const float* b, size_t n) {
  Lanes sum = Lanes::Zero();
  for (size_t i = 0; i + kLanes <= n; i += kLanes) sum += (View(a + i) - View(b + i)).square();
  float lanes[kLanes];
  Store(sum, lanes);
  const size_t whole = n - n % kLanes;
  float rest[kLanes];
  for (size_t i = whole; i < n; ++i) rest[i - whole] = a[i] - b[i];
  AddTail(rest, rest, n - whole, lanes);
  return AddLanes(lanes);
}

void PullTowards(const float* center, float scale, size_t n, float* y) {
  const size_t whole = n - n % kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    const Lanes c = View(center + i);
    Store(c + scale * (View(y + i) - c), y + i);
  }
  for (size_t i = whole; i < n; ++i) y[i] = center[i] + scale * (y[i] - center[i]);
}

}  // namespace sotto::nn
