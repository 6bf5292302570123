#include "base/exact_arithmetic.h"
#include "sotto/preparation.h"

namespace sotto::nn::internal {
namespace {

// A whole number from -padding to padding; each is as likely as another but for 2^-32.
int32_t Move(uint32_t random, uint32_t padding) {
  const uint64_t product = uint64_t{random} * (2 * padding + 1);
  return static_cast<int32_t>(product >> 32) - static_cast<int32_t>(padding);
}

// Pixel (row, column) <- pixel (row + down, column + right), or zeros where there is none.
class Mover {
 public:
  Mover(const Shape& shape, int32_t down, int32_t right, float* features)
      : shape_(shape), down_(down), right_(right), features_(features) {}

  void MovePixel(uint32_t pixel) const {
    const auto height = static_cast<int32_t>(shape_.height);
    const auto width = static_cast<int32_t>(shape_.width);
    const int32_t row = static_cast<int32_t>(pixel / shape_.width) + down_;
    const int32_t column = static_cast<int32_t>(pixel % shape_.width) + right_;
    const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
    const float* const from =
        is_inside ? features_ + static_cast<uint32_t>(row * width + column) * shape_.channels
                  : nullptr;
    float* const to = features_ + pixel * shape_.channels;
    for (uint32_t c = 0; c < shape_.channels; ++c) to[c] = from == nullptr ? 0.0f : from[c];
  }

 private:
  const Shape& shape_;
  const int32_t down_;
  const int32_t right_;
  float* const features_;
};

}  // namespace

// In place: a pixel's source is always as far away, so pixels are written from the end from which
// no source has been overwritten yet.
void CropAtRandom(const PreparationCall& call) {
  const int32_t down = Move(call.random[0], call.step.size);
  const int32_t right = Move(call.random[1], call.step.size);
  const uint32_t pixels = call.step.input.height * call.step.input.width;
  const bool is_behind = down * static_cast<int32_t>(call.step.input.width) + right >= 0;
  const Mover mover(call.step.input, down, right, call.features.data());
  for (uint32_t i = 0; i < pixels; ++i) mover.MovePixel(is_behind ? i : pixels - 1 - i);
}

}  // namespace sotto::nn::internal
