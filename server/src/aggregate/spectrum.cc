#include "aggregate/spectrum.h"

#include <algorithm>
#include <cmath>
#include <kissfft/kiss_fft.h>
#include <memory>
#include <new>
#include <stdexcept>

namespace sotto::server {

namespace {

// The values in the order of `order`, transformed.
//   length  at least tensor.size(); behind the values are zeros
std::vector<kiss_fft_cpx> Transform(Span<const float> values, const TrainedTensor& tensor,
                                    const std::string& order, size_t length) {
  if (values.size() != tensor.size()) {
    throw std::invalid_argument("the values must have the tensor's size");
  }
  const std::vector<uint32_t> positions = Flattened(tensor, order);
  std::vector<kiss_fft_cpx> signal(length, kiss_fft_cpx{0, 0});
  for (size_t i = 0; i < positions.size(); ++i) signal[i] = {values[positions[i]], 0};
  const std::unique_ptr<kiss_fft_state, void (*)(void*)> plan(
      kiss_fft_alloc(static_cast<int>(length), 0, nullptr, nullptr),
      [](void* p) { kiss_fft_free(p); });
  if (plan == nullptr) throw std::bad_alloc();
  std::vector<kiss_fft_cpx> spectrum(length);
  kiss_fft(plan.get(), signal.data(), spectrum.data());
  return spectrum;
}

}  // namespace

std::vector<float> SpectrumOf(Span<const float> values, const TrainedTensor& tensor,
                              const std::string& order) {
  const size_t n = tensor.size();
  const std::vector<kiss_fft_cpx> spectrum = Transform(values, tensor, order, n);
  std::vector<float> magnitudes;
  for (size_t k = 0; k <= n / 2; ++k)
    magnitudes.push_back(std::hypot(spectrum[k].r, spectrum[k].i));
  return magnitudes;
}

std::vector<float> PowerInBands(Span<const float> values, Span<const TrainedTensor> tensors,
                                const std::string& order) {
  std::vector<double> power(kSpectrumBands, 0.0);
  std::vector<double> count(kSpectrumBands, 0.0);
  size_t first = 0;
  for (const TrainedTensor& tensor : tensors) {
    const size_t n = tensor.size();
    const auto length = std::max(static_cast<size_t>(kiss_fft_next_fast_size(static_cast<int>(n))),
                                 2 * kSpectrumBands);
    const std::vector<kiss_fft_cpx> spectrum =
        Transform(values.subspan(first, n), tensor, order, length);
    for (size_t k = 0; k <= length / 2; ++k) {
      const size_t band = std::min(2 * kSpectrumBands * k / length, kSpectrumBands - 1);
      const double magnitude = std::hypot(spectrum[k].r, spectrum[k].i);
      power[band] += magnitude * magnitude / static_cast<double>(n);
      count[band] += 1;
    }
    first += n;
  }
  std::vector<float> mean(kSpectrumBands);
  for (size_t band = 0; band < kSpectrumBands; ++band) {
    mean[band] = static_cast<float>(power[band] / count[band]);
  }
  return mean;
}

}  // namespace sotto::server
