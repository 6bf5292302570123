#include "preparation/frames.h"

#include "base/exact_arithmetic.h"

namespace sotto::nn {
namespace {

// cos and sin of 2 pi k / n for k < n/2.
struct Rotation {
  float cosine;
  float sine;
};

class Rotations {
 public:
  Rotations(const float* quarter, uint32_t n) : quarter_(quarter), n_(n) {}

  Rotation operator[](uint32_t k) const {
    const uint32_t fourth = n_ / 4;
    if (k <= fourth) return {quarter_[k], quarter_[fourth - k]};
    return {-quarter_[n_ / 2 - k], quarter_[k - fourth]};
  }

 private:
  const float* quarter_;
  uint32_t n_;
};

// Two complex numbers at a distance: a <- a + r b, b <- a - r b, r = cosine - i sine.
void Butterfly(const Rotation& r, float* a, float* b) {
  const float real = b[0] * r.cosine + b[1] * r.sine;
  const float imaginary = b[1] * r.cosine - b[0] * r.sine;
  b[0] = a[0] - real;
  b[1] = a[1] - imaginary;
  a[0] += real;
  a[1] += imaginary;
}

// What a frame's readings lose before its window, which would spread it into the lowest band.
float LevelOf(const FrameSettings& frames, const float* signal, uint32_t stride) {
  if (!frames.is_level()) return 0.0f;
  float sum = 0.0f;
  for (uint32_t t = 0; t < frames.window; ++t) sum += signal[size_t{t} * stride];
  return sum / static_cast<float>(frames.window);
}

// The frame times its window, then zeros: pairs of readings as complex numbers, in the order of the
// reversed bits of their index.
void LoadFrame(const FrameSettings& frames, const float* window, const float* signal,
               uint32_t stride, float* memory) {
  const float level = LevelOf(frames, signal, stride);
  const uint32_t pairs = frames.transform() / 2;
  uint32_t reversed = 0;
  for (uint32_t i = 0; i < pairs; ++i) {
    for (uint32_t t = 2 * i; t < 2 * i + 2; ++t) {
      const uint32_t mirrored = 2 * t <= frames.window ? t : frames.window - t;
      memory[2 * reversed + t % 2] =
          t < frames.window ? (signal[size_t{t} * stride] - level) * window[mirrored] : 0.0f;
    }
    uint32_t bit = pairs / 2;
    for (; (reversed & bit) != 0; bit /= 2) reversed ^= bit;
    reversed |= bit;
  }
}

// The complex transform of n/2 numbers whose order LoadFrame() has reversed.
void Transform(const Rotations& rotations, uint32_t n, float* x) {
  for (uint32_t half = 1; half < n / 2; half *= 2) {
    for (uint32_t j = 0; j < half; ++j) {
      const Rotation r = rotations[j * (n / 2 / half)];
      for (uint32_t at = j; at < n / 2; at += 2 * half) {
        Butterfly(r, x + 2 * at, x + 2 * (at + half));
      }
    }
  }
}

// From the transform of pairs to powers of the frame's own. Twice its numbers k and n/2 - k come
// from the same two pairs.
void TakePowers(const Rotations& rotations, uint32_t n, float* x) {
  const float sum = 2.0f * (x[0] + x[1]);
  const float difference = 2.0f * (x[0] - x[1]);
  x[0] = sum * sum;
  x[1] = difference * difference;
  for (uint32_t k = 1; k <= n / 4; ++k) {
    float* const a = x + 2 * k;
    float* const b = x + 2 * (n / 2 - k);
    const float even[2] = {a[0] + b[0], a[1] - b[1]};
    const float odd[2] = {a[1] + b[1], b[0] - a[0]};
    const Rotation r = rotations[k];
    const float real = odd[0] * r.cosine + odd[1] * r.sine;
    const float imaginary = odd[1] * r.cosine - odd[0] * r.sine;
    const float near[2] = {even[0] + real, even[1] + imaginary};
    const float far[2] = {even[0] - real, even[1] - imaginary};
    b[0] = far[0] * far[0] + far[1] * far[1];
    a[0] = near[0] * near[0] + near[1] * near[1];
  }
}

}  // namespace

Powers PowersOfFrame(const FrameSettings& frames, const float* tables, const float* signal,
                     uint32_t stride, float* memory) {
  const uint32_t n = frames.transform();
  const Rotations rotations(tables + frames.cosines_at(), n);
  LoadFrame(frames, tables, signal, stride, memory);
  Transform(rotations, n, memory);
  TakePowers(rotations, n, memory);
  return {memory, n};
}

}  // namespace sotto::nn
