#include "aggregate/spectrum.h"

#include <cmath>
#include <kissfft/kiss_fft.h>
#include <memory>
#include <new>
#include <stdexcept>

namespace sotto::server {

std::vector<float> SpectrumOf(Span<const float> values, const TrainedTensor& tensor,
                              const std::string& order) {
  const size_t n = tensor.size();
  if (values.size() != n) throw std::invalid_argument("the values must have the tensor's size");
  const std::vector<uint32_t> positions = Flattened(tensor, order);
  std::vector<kiss_fft_cpx> signal(n);
  for (size_t i = 0; i < n; ++i) signal[i] = {values[positions[i]], 0};
  const std::unique_ptr<kiss_fft_state, void (*)(void*)> plan(
      kiss_fft_alloc(static_cast<int>(n), 0, nullptr, nullptr), [](void* p) { kiss_fft_free(p); });
  if (plan == nullptr) throw std::bad_alloc();
  std::vector<kiss_fft_cpx> spectrum(n);
  kiss_fft(plan.get(), signal.data(), spectrum.data());
  std::vector<float> magnitudes;
  for (size_t k = 0; k <= n / 2; ++k)
    magnitudes.push_back(std::hypot(spectrum[k].r, spectrum[k].i));
  return magnitudes;
}

}  // namespace sotto::server
