// How A u = v is solved at every length. Part of sotto::server/aggregate.
//
// A is circulant, so the discrete Fourier transform diagonalizes it. At length n its i-th
// eigenvalue is 1 + 2 s (1 - cos(2 pi i / n)), where s is the factor. KISS FFT is fast only for
// lengths made of the factors 2, 3 and 5; at a large prime it is quadratic. For the other lengths
// the code solves a longer cyclic problem of a fast length. Let w be v repeated endlessly in both
// directions.
//
// Lemma 1. u = A^-1 v is w convolved with
//   g_k = rho^|k| (1 - rho) / (1 + rho),   rho = 1 + 1/(2s) - sqrt(1/s + 1/(4 s^2)) < 1.
// Proof: (1 + 2s) g_k - s (g_{k-1} + g_{k+1}) = [k = 0].
//
// Lemma 2. Cut from w a window of a fast length n that begins K samples before a copy of v and ends
// at least K samples after that copy. Solve the cyclic problem of length n on the window. Then each
// result at that copy differs from u by at most 2 rho^K max|v|. Proof:
// 1. By Lemma 1 the cyclic solution is g convolved with the window repeated endlessly.
// 2. The repeated window equals w in the window and differs from w by at most 2 max|v| outside.
// 3. From the copy of v, the outside is more than K samples away. So the difference is at most
//      2 * sum_{k > K} g_k * 2 max|v| = 4 rho^(K+1) / (1 + rho) * max|v| <= 2 rho^K max|v|.
//
// With K = ln(1e12) / ln(1/rho) the bound is 2e-12 max|v|, far below single precision. K is 15 at s
// = 0.2, 49 at s = 3 and 27,632 at the largest factor.
#include "aggregate/smoothing.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <kissfft/kiss_fftnd.h>
#include <kissfft/kiss_fftr.h>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace sotto::server {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSeamAttenuation = 1e12;

struct FreePlan {
  void operator()(kiss_fftr_state* plan) const { kiss_fftr_free(plan); }
  void operator()(kiss_fftnd_state* plan) const { kiss_fft_free(plan); }
};
using Plan = std::unique_ptr<kiss_fftr_state, FreePlan>;
using ImagePlan = std::unique_ptr<kiss_fftnd_state, FreePlan>;

Plan MakePlan(size_t n, bool inverse) {
  Plan plan(kiss_fftr_alloc(static_cast<int>(n), inverse, nullptr, nullptr));
  if (plan == nullptr) throw std::bad_alloc();
  return plan;
}

ImagePlan MakeImagePlan(size_t height, size_t width, bool inverse) {
  const int extents[] = {static_cast<int>(height), static_cast<int>(width)};
  ImagePlan plan(kiss_fftnd_alloc(extents, 2, inverse, nullptr, nullptr));
  if (plan == nullptr) throw std::bad_alloc();
  return plan;
}

void CheckArguments(Span<const float> values, double factor) {
  if (!(factor >= 0 && factor <= kMaxSmoothingFactor)) {
    throw std::invalid_argument(
        fmt::format("Laplacian smoothing: the factor is {}; choose one from 0 (off) to {}", factor,
                    kMaxSmoothingFactor));
  }
  if (values.size() > kMaxSmoothingSize) {
    throw std::invalid_argument(
        fmt::format("Laplacian smoothing: the tensor has {} values, the limit is {}; split it",
                    values.size(), kMaxSmoothingSize));
  }
  // Written so that NaN is caught too.
  const auto is_bad = [](float x) { return !(std::fabs(x) <= kMaxSmoothingMagnitude); };
  const float* bad = std::find_if(values.begin(), values.end(), is_bad);
  if (bad != values.end()) {
    throw std::invalid_argument(
        fmt::format("Laplacian smoothing: value {} of {} is {}; values must be finite and at most "
                    "{} in magnitude, so reject the update it came from",
                    bad - values.begin(), values.size(), *bad, kMaxSmoothingMagnitude));
  }
}

// The smallest even length >= n without prime factors above 5.
size_t FastSize(size_t n) {
  return static_cast<size_t>(kiss_fftr_next_fast_size_real(static_cast<int>(n)));
}

// K of Lemma 2. 1 + 2s (1 - cosh(x)) = 0 has the solution x = ln(1/rho), and
// cosh(x) - 1 = 2 sinh^2(x / 2).
size_t Margin(double factor) {
  const double decay_per_sample = 2 * std::asinh(0.5 / std::sqrt(factor));
  return static_cast<size_t>(std::ceil(std::log(kSeamAttenuation) / decay_per_sample));
}

// What frequency i of a cyclic axis of n elements adds to an eigenvalue of A. 1 - cos(2x) =
// 2 sin^2(x) keeps the small ones' digits.
double Roughness(size_t i, size_t n, double factor) {
  const double sine = std::sin(kPi * static_cast<double>(i) / static_cast<double>(n));
  return 4 * factor * sine * sine;
}

// Solves the cyclic problem in place; signal.size() is a FastSize.
void SmoothCyclic(std::vector<float>& signal, double factor) {
  const size_t n = signal.size();
  std::vector<kiss_fft_cpx> spectrum(n / 2 + 1);
  kiss_fftr(MakePlan(n, false).get(), signal.data(), spectrum.data());
  for (size_t i = 0; i < spectrum.size(); ++i) {
    // KISS FFT does not divide by n.
    const double eigenvalue = 1 + Roughness(i, n, factor);
    const float scale = static_cast<float>(1 / (eigenvalue * static_cast<double>(n)));
    spectrum[i].r *= scale;
    spectrum[i].i *= scale;
  }
  kiss_fftri(MakePlan(n, true).get(), spectrum.data(), signal.data());
}

// The factors 1 / (eigenvalue height width) of all frequencies of an image.
std::vector<float> ImageScales(size_t height, size_t width, double factor) {
  std::vector<float> scales;
  const auto size = static_cast<double>(height * width);
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      const double eigenvalue = 1 + Roughness(y, height, factor) + Roughness(x, width, factor);
      scales.push_back(static_cast<float>(1 / (eigenvalue * size)));
    }
  }
  return scales;
}

}  // namespace

void SmoothLaplacian(Span<float> values, double factor) {
  CheckArguments(values, factor);
  const size_t size = values.size();
  if (factor == 0 || size < 2) return;

  const size_t margin = FastSize(size) == size ? 0 : Margin(factor);
  std::vector<float> window(FastSize(size + 2 * margin));
  size_t source = (size - margin % size) % size;  // so that window[margin] is values[0]
  for (float& x : window) {
    x = values[source];
    if (++source == size) source = 0;
  }
  SmoothCyclic(window, factor);
  std::copy_n(window.begin() + static_cast<std::ptrdiff_t>(margin), size, values.begin());
}

void SmoothImagesLaplacian(Span<float> values, size_t height, size_t width, double factor) {
  CheckArguments(values, factor);
  const size_t size = height * width;
  if (size == 0 || values.size() % size != 0) {
    throw std::invalid_argument("Laplacian smoothing: the values are no whole number of images");
  }
  if (factor == 0) return;
  const ImagePlan forward = MakeImagePlan(height, width, false);
  const ImagePlan backward = MakeImagePlan(height, width, true);
  const std::vector<float> scales = ImageScales(height, width, factor);
  std::vector<kiss_fft_cpx> image(size);
  std::vector<kiss_fft_cpx> spectrum(size);
  for (size_t first = 0; first < values.size(); first += size) {
    for (size_t i = 0; i < size; ++i) image[i] = {values[first + i], 0};
    kiss_fftnd(forward.get(), image.data(), spectrum.data());
    for (size_t i = 0; i < size; ++i) {
      spectrum[i].r *= scales[i];
      spectrum[i].i *= scales[i];
    }
    kiss_fftnd(backward.get(), spectrum.data(), image.data());
    for (size_t i = 0; i < size; ++i) values[first + i] = image[i].r;
  }
}

double AutoSmoothing(const ModelInfo& model, double noise_sigma, double clip_l2) {
  const auto trained = std::count_if(model.layers.begin(), model.layers.end(),
                                     [](const nn::LayerPlan& each) { return each.trained() > 0; });
  const double norm = noise_sigma * std::sqrt(static_cast<double>(model.parameters));
  return trained == 1 && norm >= kAutoSmoothingNoise * clip_l2 ? kAutoSmoothingFactor : 0;
}

}  // namespace sotto::server
