// What Gau-LRQ is compared with: Gaussian noise first, then rounding to integers at random.
//
// As it would be written without further thought, in floating point: x = v + normal noise, then
// floor(x) or one more, with the probability that keeps the mean. Two error terms where Gau-LRQ has
// one, and nothing is coded yet. In a header so that the source of random numbers is inlined.
#ifndef SOTTO_TESTS_BENCHMARK_QUANTIZED_GAUSSIAN_H_
#define SOTTO_TESTS_BENCHMARK_QUANTIZED_GAUSSIAN_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "sotto/bytes.h"
#include "sotto/crypto.h"

namespace sotto {

// Normal and uniform numbers from the ChaCha20 keystream, by Box and Muller's transform.
class KeystreamNumbers {
 public:
  explicit KeystreamNumbers(const Key& key) : key_(key) {}

  double Uniform() { return static_cast<double>(NextWord() >> 11) * 0x1p-53; }  // in [0, 1)

  double Normal() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    const double angle = kTwoPi * Uniform();
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

  Status status() const { return status_; }

 private:
  static constexpr size_t kWords = 512;

  uint64_t NextWord() {
    if (next_ == kWords) {
      const Status status = ChaCha20Keystream(key_, 0, block_, bytes_);
      if (status != Status::kOk) status_ = status;
      block_ += sizeof(bytes_) / kChaChaBlockSize;
      next_ = 0;
    }
    return LoadU64Le(bytes_ + 8 * next_++);
  }

  Key key_;
  uint8_t bytes_[8 * kWords];
  size_t next_ = kWords;
  uint32_t block_ = 0;
  bool has_second_ = false;
  double second_ = 0;
  Status status_ = Status::kOk;
};

// The same from the standard library's Mersenne Twister, which is not for cryptography.
class StandardNumbers {
 public:
  explicit StandardNumbers(const Key& key) : engine_(LoadU64Le(key.bytes)) {}

  double Uniform() { return uniform_(engine_); }
  double Normal() { return normal_(engine_); }
  Status status() const { return Status::kOk; }

 private:
  std::mt19937_64 engine_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
};

// The integer for v, in units of the noise's deviation.
template <typename Numbers>
int32_t NoiseAndRound(float v, Numbers& numbers) {
  return static_cast<int32_t>(std::floor(v + numbers.Normal() + numbers.Uniform()));
}

}  // namespace sotto

#endif  // SOTTO_TESTS_BENCHMARK_QUANTIZED_GAUSSIAN_H_
