#include "nn/block_kernels.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "nn/windows.h"

namespace sotto::nn {
namespace {

#define SOTTO_UNROLL _Pragma("GCC unroll 16")

// n Reals. Memory of any address is copied to and from them: of an attribute `aligned` Clang keeps
// less than GCC.
template <int n>
struct AnyVector {
  typedef Real Type __attribute__((vector_size(n * sizeof(Real))));
};
template <int n>
using VectorOf = typename AnyVector<n>::Type;

constexpr size_t Least(size_t a, size_t b) { return a < b ? a : b; }

// sums[k] = the lanes from lanes + k * kLanes on, added in the order of kernels.h, for k < 4.
inline void AddLanesOfFour(const Real* lanes, Real* sums) {
  using Four = VectorOf<4>;
  const auto add_halves = [lanes](int k) -> Four {
    const Real* const p = lanes + k * kLanes;
    Four halves[2];
    __builtin_memcpy(halves, p, sizeof(halves));
    return halves[0] + halves[1];
  };
  const Four a = add_halves(0);
  const Four b = add_halves(1);
  const Four c = add_halves(2);
  const Four d = add_halves(3);
  // Of each two: their lanes 0 + 2 and 1 + 3.
  const Four ab =
      __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd =
      __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four all =
      __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  __builtin_memcpy(sums, &all, sizeof(all));
}

// Rows of weights that share a tile. Rows behind the last are the last once more.
struct TileRows {
  static constexpr size_t kMost = 4;

  const Real* rows[kMost];
  const Real* ends;  // [rows][kLanes] what is behind the last whole step, then zeros; null: nothing
  size_t count;      // that are wanted
};

// Of rows o and those behind it. ends: [rows][kLanes]
inline void SetTile(const DenseWeights& dense, size_t o, size_t rows, Real* ends, TileRows* tile) {
  const size_t rest = dense.n % kLanes;
  tile->count = Least(rows, dense.outputs - o);
  tile->ends = rest == 0 ? nullptr : ends;
  for (size_t r = 0; r < rows; ++r) {
    const Real* const row = dense.weights + (o + Least(r, tile->count - 1)) * dense.n;
    tile->rows[r] = row;
    for (size_t i = 0; i < kLanes; ++i) {
      ends[r * kLanes + i] = i < rest ? row[dense.n - rest + i] : Real{0};
    }
  }
}

// A term of a sum of vectors that lie in one place.
struct Term {
  uint32_t at;
  Real scale;
};

// Terms whose scale is not zero, in their order.
struct TermList {
  size_t count;
  Term terms[kMostSamples + 1];
};

// The terms scales[k] times the vector at k * stride, for k < count.
inline void ListTerms(const BlockRows& scales, size_t count, size_t stride, TermList* list) {
  size_t listed = 0;
  for (size_t k = 0; k < count; ++k) {
    const Real scale = *scales[k];
    list->terms[listed] = {static_cast<uint32_t>(k * stride), scale};
    listed += scale != Real{0} ? 1 : 0;
  }
  list->count = listed;
}

// Rows whose terms are listed at a time, and the columns of a tile of weights.
constexpr size_t kRowsOfDelta = 64;
constexpr size_t kColumnsOfDelta = 128;
constexpr size_t kRowsOfGradient = 32;
static_assert(kRowsOfDelta <= kMostSamples);

// The number of columns that are computed together: as many as stay in a cache for all samples.
inline size_t ColumnsOfTile(size_t samples) {
  constexpr size_t kNumbers = 8192;
  constexpr size_t kStep = 128;
  const size_t columns = kNumbers / samples / kStep * kStep;
  return columns < kStep ? kStep : columns;
}

// Filters lie side by side in vectors of up to 16.
constexpr size_t kFilterStep = 32;

size_t PaddedFilters(const LayerInfo& info) {
  return (info.output.channels + kFilterStep - 1) / kFilterStep * kFilterStep;
}

size_t PatchSize(const LayerInfo& info) { return size_t{info.window.size()} * info.input.channels; }

Shape PaddedInput(const LayerInfo& info) {
  const Window& w = info.window;
  return {info.input.height + 2 * w.rows.padding, info.input.width + 2 * w.columns.padding,
          info.input.channels};
}

// A convolution's filters, transposed, and where a window lies in an input with its padding.
struct ConvPatches {
  size_t rows;          // of a window
  size_t n;             // numbers of a row
  size_t stride;        // from row to row
  size_t filters;       // with those that only fill vectors
  const Real* weights;  // [patch][filters]
  const Real* bias;     // [filters]
  Real* padded;         // null: there is no padding

  // Where the window at position p begins.
  size_t Offset(const LayerInfo& info, size_t p) const {
    const size_t row = p / info.output.width * info.window.rows.stride;
    const size_t column = p % info.output.width * info.window.columns.stride;
    return row * stride + column * info.input.channels;
  }

  // The input with its padding.
  const Real* Pad(const LayerInfo& info, const Real* x) const {
    if (padded == nullptr) return x;
    const size_t width = size_t{info.input.width} * info.input.channels;
    Real* const first = padded + info.window.rows.padding * stride +
                        size_t{info.window.columns.padding} * info.input.channels;
    CopyRows(x, width, info.input.height, width, first, stride);
    return padded;
  }
};

// Without filters and padding.
ConvPatches ShapesOf(const LayerInfo& info) {
  ConvPatches p{};
  p.rows = info.window.rows.extent;
  p.n = size_t{info.window.columns.extent} * info.input.channels;
  p.stride = size_t{PaddedInput(info).width} * info.input.channels;
  p.filters = PaddedFilters(info);
  return p;
}

// Memory for an input with its padding, which is zero; null: there is no padding.
Real* PaddingOf(const LayerInfo& info, Real* memory) {
  if (info.window.rows.padding + info.window.columns.padding == 0) return nullptr;
  FillZero(PaddedInput(info).size(), memory);
  return memory;
}

ConvPatches MakePatches(const LayerInfo& info, const Real* parameters, Real* scratch) {
  const size_t n = PatchSize(info);
  const size_t outputs = info.output.channels;
  ConvPatches p = ShapesOf(info);
  p.weights = scratch;
  p.bias = scratch + n * p.filters;
  FillZero((n + 1) * p.filters, scratch);
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t i = 0; i < n; ++i) scratch[i * p.filters + o] = parameters[o * n + i];
  }
  Copy(parameters + n * outputs, outputs, scratch + n * p.filters);
  p.padded = PaddingOf(info, scratch + (n + 1) * p.filters);
  return p;
}

}  // namespace

size_t ConvBlockScratch(const LayerInfo& info) {
  const size_t filters = (PatchSize(info) + 1) * PaddedFilters(info);
  const size_t patches = kMostSamples * PatchSize(info);
  return (filters > patches ? filters : patches) + PaddedInput(info).size();
}

void ConvAddGradient(const BlockKernels& kernels, const LayerInfo& info, const BlockRows& x,
                     const BlockRows& deltas, size_t samples, Real* scratch, Real* gradient) {
  const size_t n = PatchSize(info);
  const size_t outputs = info.output.channels;
  const size_t count = size_t{info.output.height} * info.output.width;
  ConvPatches patches = ShapesOf(info);
  patches.padded = PaddingOf(info, scratch + kMostSamples * n);
  for (size_t s = 0; s < samples; ++s) {
    const Real* const padded = patches.Pad(info, x[s]);
    for (size_t first = 0; first < count; first += kMostSamples) {
      const size_t positions = Least(kMostSamples, count - first);
      for (size_t p = 0; p < positions; ++p) {
        CopyRows(padded + patches.Offset(info, first + p), patches.stride, patches.rows, patches.n,
                 scratch + p * n, patches.n);
      }
      kernels.dense_add_gradient({deltas[s] + first * outputs, outputs}, outputs, {scratch, n}, n,
                                 positions, gradient);
    }
    AddRowSums(deltas[s], count, outputs, gradient + n * outputs);
  }
}

namespace {

namespace narrow {
#define SOTTO_WIDTH 4
#define SOTTO_TARGET
#define SOTTO_NAME "4 lanes"
#include "nn/block_kernels.inc"
#undef SOTTO_WIDTH
#undef SOTTO_TARGET
#undef SOTTO_NAME
}  // namespace narrow

#if defined(__x86_64__)
namespace avx2 {
#define SOTTO_WIDTH 8
#define SOTTO_TARGET __attribute__((target("avx2")))
#define SOTTO_NAME "AVX2"
#include "nn/block_kernels.inc"
#undef SOTTO_WIDTH
#undef SOTTO_TARGET
#undef SOTTO_NAME
}  // namespace avx2

namespace avx512 {
#define SOTTO_WIDTH 16
#define SOTTO_TARGET __attribute__((target("avx512f,avx512vl,avx512dq")))
#define SOTTO_NAME "AVX-512"
#include "nn/block_kernels.inc"
#undef SOTTO_WIDTH
#undef SOTTO_TARGET
#undef SOTTO_NAME
}  // namespace avx512
#endif

}  // namespace

Span<const BlockKernels* const> AllBlockKernels() {
#if defined(__x86_64__)
  static constexpr const BlockKernels* kAll[] = {&narrow::kKernels, &avx2::kKernels,
                                                 &avx512::kKernels};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return kAll;
  }
  return Span<const BlockKernels* const>(kAll).first(__builtin_cpu_supports("avx2") ? 2 : 1);
#else
  static constexpr const BlockKernels* kAll[] = {&narrow::kKernels};
  return kAll;
#endif
}

}  // namespace sotto::nn
