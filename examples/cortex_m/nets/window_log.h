// A log of accelerometer windows in flash: made up when this compiles, in place of what a sensor of
// yours wrote. Part of examples/cortex_m.
//
// Each activity is a movement of another frequency, from 2 to 12 swings a window, that begins
// anywhere, with noise of a quarter of its height. SOTTO_WINDOW_SEED gives another log.
#pragma once

#include <cstdint>

#if !defined(SOTTO_WINDOW_SEED)
#define SOTTO_WINDOW_SEED 1
#endif

namespace sotto {

constexpr uint32_t kSteps = 128;
constexpr uint32_t kAxes = 3;
constexpr uint32_t kActivities = 6;
constexpr uint32_t kLoggedWindows = 60;
constexpr int32_t kOneG = 4096;

struct LoggedWindow {
  int16_t raw[kSteps][kAxes];  // kOneG is 1 g
  uint8_t activity;
};

struct WindowLog {
  LoggedWindow windows[kLoggedWindows];
};

namespace internal {

constexpr uint32_t NextRandom(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 16;
}

// A triangle wave: -kOneG to kOneG over 256 phases.
constexpr int32_t Wave(uint32_t phase) {
  const auto p = static_cast<int32_t>(phase % 256);
  return (p < 128 ? 2 * p - 128 : 384 - 2 * p) * (kOneG / 128);
}

constexpr WindowLog MakeUpLog(uint32_t seed) {
  WindowLog log = {};
  uint32_t random = seed;
  for (uint32_t i = 0; i < kLoggedWindows; ++i) {
    LoggedWindow& window = log.windows[i];
    window.activity = static_cast<uint8_t>(i % kActivities);
    const uint32_t begin = NextRandom(&random);
    for (uint32_t step = 0; step < kSteps; ++step) {
      for (uint32_t axis = 0; axis < kAxes; ++axis) {
        const uint32_t phase = begin + 64 * axis + 4 * (window.activity + 1) * step;
        const auto noise = static_cast<int32_t>(NextRandom(&random) % (kOneG / 2)) - kOneG / 4;
        window.raw[step][axis] = static_cast<int16_t>(Wave(phase) + noise);
      }
    }
  }
  return log;
}

}  // namespace internal

constexpr WindowLog kWindowLog = internal::MakeUpLog(SOTTO_WINDOW_SEED);

}  // namespace sotto
