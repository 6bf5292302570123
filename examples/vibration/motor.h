// The motor of this example: what an accelerometer on its bearing reads. Made up from a physical
// model, the same numbers on a board and on a desktop if both compile it with -ffp-contract=off;
// README.md writes the model down. Part of examples/vibration.
#pragma once

#include <cstdint>

namespace vibration {

constexpr uint32_t kRate = 1000;  // readings a second
constexpr uint32_t kAxes = 3;     // two across the shaft, one along it

// Uniform numbers from a seed: xorshift, by G. Marsaglia.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435761u + 1) {
    for (int i = 0; i < 8; ++i) Next();
  }
  // In [low, high).
  float Between(float low, float high) {
    return low + (high - low) * static_cast<float>(Next() >> 8) * 0x1p-24f;
  }
  // About normal, with a deviation of 1: the sum of twelve.
  float Normal() {
    float sum = -6.0f;
    for (int i = 0; i < 12; ++i) sum += Between(0.0f, 1.0f);
    return sum;
  }

 private:
  uint32_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  uint32_t state_;
};

// The sine of a phase of which 2^32 are a turn; error below 2e-4. No library's sine: those differ.
inline float Sine(uint32_t phase) {
  const auto turn = static_cast<int32_t>(phase);  // half a turn is 2^31
  const float x = static_cast<float>(turn) * 0x1p-31f;
  const float magnitude = x < 0.0f ? -x : x;
  const float parabola = 4.0f * x * (1.0f - magnitude);
  const float size = parabola < 0.0f ? -parabola : parabola;
  return parabola * (0.775f + 0.225f * size);
}

struct Reading {
  float g[kAxes];  // acceleration, in units of gravity
};

class Motor {
 public:
  // Machines of one kind that differ: each number has its own motor.
  explicit Motor(uint32_t machine) : random_(machine + 1) {
    speed_ = random_.Between(24.0f, 25.0f);
    imbalance_ = random_.Between(0.05f, 0.15f);
    misalignment_ = random_.Between(0.02f, 0.06f);
    noise_ = random_.Between(0.02f, 0.04f);
    load_ = random_.Between(0.4f, 1.0f);
    phase_ = random_.Between(0.0f, 1.0f) < 0.5f ? 0 : 1u << 31;
  }

  // How far the outer ring of the bearing is worn: 0 it is sound, 1 the motor must stop.
  void Wear(float severity) { severity_ = severity; }

  // What the sensor reads in the next millisecond.
  Reading Read() {
    Turn();
    const float across = imbalance_ * Sine(phase_);
    const float quadrature = imbalance_ * Sine(phase_ + kQuarter);
    const float along = misalignment_ * Sine(2 * phase_);
    const float hum = 0.02f * Sine(hum_);
    const float ring = Ring();
    return {{across + hum + ring + noise_ * random_.Normal(),
             quadrature + 0.7f * ring + noise_ * random_.Normal(),
             1.0f + along + 0.3f * ring + noise_ * random_.Normal()}};
  }

 private:
  static constexpr uint32_t kQuarter = 1u << 30;
  static constexpr float kTurn = 4294967296.0f;
  static constexpr float kBallPasses = 3.58f;  // of the outer ring's fault, in a turn of the shaft
  static constexpr float kResonance = 310.0f;  // Hz, of the housing
  static constexpr float kDecay = 0.85f;       // of the ringing, in a millisecond
  static constexpr float kImpact = 0.6f;       // g, of a worn bearing under full load

  static uint32_t Step(float hz) { return static_cast<uint32_t>(hz * (kTurn / kRate)); }

  // The load drifts; the shaft slips by 3 % under full load.
  void Turn() {
    load_ += 0.0005f * random_.Normal();
    load_ = load_ < 0.3f ? 0.3f : load_ > 1.0f ? 1.0f : load_;
    const float hz = speed_ * (1.0f - 0.03f * load_);
    phase_ += Step(hz);
    hum_ += Step(100.0f);
    resonance_ += Step(kResonance);
    const uint32_t before = ball_;
    ball_ += Step(hz * kBallPasses);
    ringing_ *= kDecay;
    if (ball_ < before) {  // a ball runs over the fault
      ringing_ = kImpact * severity_ * load_;
      resonance_ = kQuarter;
    }
  }

  float Ring() const { return ringing_ * Sine(resonance_); }

  Random random_;
  float speed_;
  float imbalance_;
  float misalignment_;
  float noise_;
  float load_;
  float severity_ = 0.0f;
  float ringing_ = 0.0f;
  uint32_t phase_;
  uint32_t hum_ = 0;
  uint32_t resonance_ = 0;
  uint32_t ball_ = 0;
};

}  // namespace vibration
