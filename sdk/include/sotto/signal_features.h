// Features of a signal: steps that turn a window of readings into fewer, more telling numbers.
// Part of sotto/nn; included by preparation.h.
//
// A signal is a sample of one or two axes: Input<length> or Input<length, axes>, readings one after
// the other. Each axis has its own features. A step works in the memory that holds the signal.
//
//   using Vibration = sotto::nn::Sequential<
//       sotto::nn::Input<1024, 3>, sotto::nn::Spectrum<1024, 1024, 32>,
//       sotto::nn::Normalise<kMean, kDeviation>, sotto::nn::Dense<96, 8>, ...>;
//   using Speech = sotto::nn::Sequential<
//       sotto::nn::Input<16000, 1>, sotto::nn::Mel<512, 320, 40, 16000, 60, 8000>,
//       sotto::nn::Conv2d<16, 3>, ...>;
//
// Windows, rotations and filters are tables of constants, computed when a firmware compiles: they
// lie in flash, and their bits are in the model's digest. On hosts FillFrameTables() makes the same
// tables. The transform is a radix-2 FFT in float32 in a fixed order, so all CPUs get the same
// bits. Beside the formulas in double, an output of signals of magnitude 1 is off by less than
// 1e-5.
//
// Frames: Spectrum and Mel cut the signal into frames of `window` readings, one each `hop`; what is
// left at the end is not used. With L = window and N the next power of two, of a frame x
//   X[k] = sum over t < L of x[t] (1/2 - 1/2 cos(2 pi t / L)) e^(-2 pi i k t / N)
//   P[k] = 16 / (3 N L) |X[k]|^2
// so the sum of P[k] over k = 1 to N/2 is about the frame's mean square: 0.5 for a sine of height
// 1. Spectrum takes x without its mean over the frame, so that neither gravity nor the offset of a
// sensor reaches its lowest band. Of powers the features are ln(power + 2^-20): scale readings to
// magnitudes of about 1 first (Rescale), lest the floor hides them.
#pragma once

#include <cstdint>

#include "sotto/preparation.h"

namespace sotto::nn {

// A sample as a signal: readings of `axes` numbers each.
struct Signal {
  uint32_t length;
  uint32_t axes;
};
constexpr Signal SignalOf(const Shape& shape) {
  return shape.width == 1 ? Signal{shape.channels, 1} : Signal{shape.width, shape.channels};
}

// Numbers that Stats gives of each axis.
constexpr uint32_t kStats = 5;
// Readings of a frame, at least and at most.
constexpr uint32_t kLeastWindow = 8;
constexpr uint32_t kMostWindow = 16384;

// The settings of Spectrum and Mel, which stand in PreparationStep::first in this order; and the
// places of the tables in PreparationStep::second.
struct FrameSettings {
  uint32_t window = 0;
  uint32_t hop = 0;
  uint32_t bands = 0;
  uint32_t rate = 0;  // from here on: of Mel
  uint32_t low = 0;
  uint32_t high = 0;

  constexpr uint32_t transform() const {
    uint32_t n = 1;
    while (n < window) n *= 2;
    return n;
  }
  constexpr uint32_t frames(uint32_t length) const { return (length - window) / hop + 1; }
  // Whether each frame loses its mean, as in Spectrum.
  constexpr bool is_level() const { return rate == 0; }

  // Half of the window, a quarter of a cosine's turn; of Mel the weight of each power in the band
  // that rises there, and where bands begin.
  constexpr uint32_t cosines_at() const { return window / 2 + 1; }
  constexpr uint32_t weights_at() const { return cosines_at() + transform() / 4 + 1; }
  constexpr uint32_t starts_at() const { return weights_at() + transform() / 2 + 1; }
  constexpr uint32_t tables() const { return rate == 0 ? weights_at() : starts_at() + bands + 2; }
};

constexpr FrameSettings FrameSettingsOf(const PreparationStep& step) {
  const auto setting = [&](size_t i) {
    return i < step.first.size() ? static_cast<uint32_t>(step.first[i]) : 0;
  };
  return {setting(0), setting(1), setting(2), setting(3), setting(4), setting(5)};
}

// Whether frames of these settings can be cut from a signal.
constexpr bool FitsFrames(const FrameSettings& frames, uint32_t length) {
  return frames.window >= kLeastWindow && frames.window <= kMostWindow && frames.window <= length &&
         frames.hop >= 1 && frames.bands >= 1 && frames.bands <= frames.transform() / 2 &&
         // In place: what a frame leaves must not reach the readings of the next.
         (frames.frames(length) == 1 || frames.bands <= frames.hop);
}

// Whether a band of Mel has a power in it, with a weight above 0.
constexpr bool HasPower(const FrameSettings& mel, Span<const float> tables, uint32_t b) {
  const float* const start = tables.data() + mel.starts_at() + b;
  if (start[1] < start[2]) return true;
  for (auto k = static_cast<uint32_t>(start[0]); k < static_cast<uint32_t>(start[1]); ++k) {
    if (tables[mel.weights_at() + k] > 0.0f) return true;
  }
  return false;
}

constexpr bool HasFullBands(const FrameSettings& mel, Span<const float> tables) {
  if (mel.high <= mel.low || mel.high > mel.rate / 2) return false;
  for (uint32_t b = 0; b < mel.bands; ++b) {
    if (!HasPower(mel, tables, b)) return false;
  }
  return true;
}

// The settings of Dct, likewise.
struct DctSettings {
  uint32_t bands = 0;
  uint32_t coefficients = 0;
};

constexpr DctSettings DctSettingsOf(const PreparationStep& step) {
  return {static_cast<uint32_t>(step.first[0]), static_cast<uint32_t>(step.first[1])};
}

constexpr bool FitsDct(const DctSettings& dct, const Signal& signal) {
  return dct.bands == signal.length && dct.coefficients >= 1 && dct.coefficients <= dct.bands;
}

constexpr bool FitsFeatures(const PreparationStep& step, const Shape& shape) {
  const Signal signal = SignalOf(shape);
  const FrameSettings frames = FrameSettingsOf(step);
  switch (step.kind) {
    case PreparationKind::kDifference:
      return shape.height == 1 && signal.length >= 2;
    case PreparationKind::kStats:
      return shape.height == 1 && signal.length >= kStats;
    case PreparationKind::kSpectrum:
      return shape.height == 1 && FitsFrames(frames, signal.length);
    case PreparationKind::kMel:
      return shape.height == 1 && FitsFrames(frames, signal.length) &&
             HasFullBands(frames, step.second);
    default:
      return FitsDct(DctSettingsOf(step), signal);
  }
}

constexpr Shape FeatureShape(const PreparationStep& step, const Shape& shape) {
  const Signal signal = SignalOf(shape);
  const FrameSettings frames = FrameSettingsOf(step);
  switch (step.kind) {
    case PreparationKind::kDifference:
      return {1, signal.length - 1, signal.axes};
    case PreparationKind::kStats:
      return {1, kStats, signal.axes};
    case PreparationKind::kDct:
      return {shape.height, DctSettingsOf(step).coefficients, signal.axes};
    default:
      return {frames.frames(signal.length), frames.bands, signal.axes};
  }
}

constexpr uint32_t FeatureScratch(const PreparationStep& step, const Shape& shape) {
  switch (step.kind) {
    case PreparationKind::kSpectrum:
    case PreparationKind::kMel:
      return FrameSettingsOf(step).transform();
    case PreparationKind::kDct:
      return shape.size() / shape.height;
    default:
      return 0;
  }
}

namespace internal {

void DifferenceFeatures(const PreparationCall& call);
void StatsFeatures(const PreparationCall& call);
void SpectrumFeatures(const PreparationCall& call);
void MelFeatures(const PreparationCall& call);
void DctFeatures(const PreparationCall& call);

constexpr PreparationStep DifferenceStep() {
  return StepOf(PreparationKind::kDifference, DifferenceFeatures);
}
constexpr PreparationStep StatsStep() { return StepOf(PreparationKind::kStats, StatsFeatures); }
constexpr PreparationStep SpectrumStep(Span<const float> settings, Span<const float> tables) {
  return StepOf(PreparationKind::kSpectrum, SpectrumFeatures, settings, tables);
}
constexpr PreparationStep MelStep(Span<const float> settings, Span<const float> tables) {
  return StepOf(PreparationKind::kMel, MelFeatures, settings, tables);
}
constexpr PreparationStep DctStep(Span<const float> settings, Span<const float> tables) {
  return StepOf(PreparationKind::kDct, DctFeatures, settings, tables);
}

// cos(2 pi k / n), k < n < 2^30: reduced in integers to an eighth of a turn, then a series, to the
// last place of a double.
constexpr double CosineOfTurn(uint64_t k, uint64_t n) {
  uint64_t quarters = 4 * k;  // in units of a quarter of a turn, times n
  if (quarters > 2 * n) quarters = 4 * n - quarters;
  const double sign = quarters > n ? -1.0 : 1.0;
  if (quarters > n) quarters = 2 * n - quarters;
  const bool is_sine = 2 * quarters > n;
  if (is_sine) quarters = n - quarters;
  constexpr double kHalfPi = 1.57079632679489661923;
  const double x = kHalfPi * static_cast<double>(quarters) / static_cast<double>(n);
  double term = is_sine ? x : 1.0;
  double sum = term;
  for (int i = is_sine ? 3 : 2; i < 22; i += 2) {
    term *= -x * x / (i * (i - 1));
    sum += term;
  }
  return sign * sum;
}

constexpr double kLn2 = 0.69314718055994530942;

// Of x > 0 that is no extreme.
constexpr double ConstantLog(double x) {
  double result = 0.0;
  for (; x > 1.5; x /= 2) result += kLn2;
  for (; x < 0.75; x *= 2) result -= kLn2;
  const double s = (x - 1.0) / (x + 1.0);
  double power = 2.0 * s;
  for (int i = 1; i < 32; i += 2) {
    result += power / i;
    power *= s * s;
  }
  return result;
}

// Of 0 <= x < 60.
constexpr double ConstantExp(double x) {
  double scale = 1.0;
  for (; x > kLn2; x -= kLn2) scale *= 2.0;
  double term = 1.0;
  double sum = 1.0;
  for (int i = 1; i < 24; ++i) {
    term *= x / i;
    sum += term;
  }
  return scale * sum;
}

// Hz of edge i of the bands: equal distances on the scale of mel(f) = 1127 ln(1 + f / 700).
constexpr double MelEdge(const FrameSettings& mel, uint32_t i) {
  if (i == 0) return mel.low;
  if (i == mel.bands + 1) return mel.high;
  const double from = 1.0 + mel.low / 700.0;
  const double to = 1.0 + mel.high / 700.0;
  const double part = static_cast<double>(i) / (mel.bands + 1);
  return 700.0 * (from * ConstantExp(part * ConstantLog(to / from)) - 1.0);
}

constexpr void WriteMelTables(const FrameSettings& mel, float* tables) {
  const uint32_t powers = mel.transform() / 2 + 1;
  uint32_t k = 0;
  for (uint32_t i = 0; i <= mel.bands + 1; ++i) {
    const double edge = MelEdge(mel, i);
    const double before = i == 0 ? edge - 1.0 : MelEdge(mel, i - 1);
    for (; k < powers; ++k) {
      const double hz = static_cast<double>(k) * mel.rate / mel.transform();
      if (hz >= edge) break;
      const double weight = (hz - before) / (edge - before);
      tables[mel.weights_at() + k] = i == 0 ? 0.0f : static_cast<float>(weight);
    }
    tables[mel.starts_at() + i] = static_cast<float>(k);
  }
}

// tables  [FrameSettings::tables()]
constexpr void WriteFrameTables(const FrameSettings& frames, float* tables) {
  for (uint32_t t = 0; t <= frames.window / 2; ++t) {
    tables[t] = static_cast<float>(0.5 - 0.5 * CosineOfTurn(t, frames.window));
  }
  for (uint32_t k = 0; k <= frames.transform() / 4; ++k) {
    tables[frames.cosines_at() + k] = static_cast<float>(CosineOfTurn(k, frames.transform()));
  }
  if (frames.rate > 0) WriteMelTables(frames, tables);
}

// tables  [coefficients][bands]: row c of the orthonormal DCT-II
constexpr void WriteDctTables(const DctSettings& dct, float* tables) {
  // sqrt(2 / bands) by Newton's method, from above.
  const uint64_t turn = 4 * uint64_t{dct.bands};
  const double square = 2.0 / dct.bands;
  double root = 1.0 + square;
  for (int i = 0; i < 40; ++i) root = (root + square / root) / 2;
  constexpr double kRootOfHalf = 0.70710678118654752440;
  for (uint32_t c = 0; c < dct.coefficients; ++c) {
    const double scale = c == 0 ? root * kRootOfHalf : root;
    for (uint32_t b = 0; b < dct.bands; ++b) {
      const double cosine = CosineOfTurn(uint64_t{c} * (2 * b + 1) % turn, turn);
      tables[c * dct.bands + b] = static_cast<float>(scale * cosine);
    }
  }
}

template <size_t n>
struct FeatureTables {
  float numbers[n] = {};
};

template <uint32_t... settings>
struct FrameNumbers {
  static constexpr FrameSettings kFrames = {settings...};
  static_assert(kFrames.window >= kLeastWindow && kFrames.window <= kMostWindow,
                "a frame has 8 to 16384 readings");
  static constexpr auto Make() {
    FeatureTables<kFrames.tables()> tables;
    WriteFrameTables(kFrames, tables.numbers);
    return tables;
  }
  static constexpr float kSettings[] = {static_cast<float>(settings)...};
  static constexpr auto kTables = Make();
};

template <uint32_t bands, uint32_t coefficients>
struct DctNumbers {
  static constexpr auto Make() {
    FeatureTables<size_t{coefficients} * bands> tables;
    WriteDctTables({bands, coefficients}, tables.numbers);
    return tables;
  }
  static constexpr float kSettings[] = {bands, coefficients};
  static constexpr auto kTables = Make();
};

}  // namespace internal

// The same tables at run time, for hosts: bit for bit.
//   tables  zeros; [FrameSettings::tables()], [coefficients * bands]
void FillFrameTables(const FrameSettings& settings, Span<float> tables);
void FillDctTables(const DctSettings& settings, Span<float> tables);

// x[t] <- x[t + 1] - x[t]: one reading less. Takes off what is constant, as gravity.
struct Difference {
  static constexpr PreparationStep Step() { return internal::DifferenceStep(); }
};

// Of each axis five numbers of its n readings, [5][axes]:
//   mean, standard deviation (the root of the mean of (x - mean)^2), root mean square,
//   crest factor max |x| / root mean square (0 of zeros),
//   zero crossings: pairs of neighbours of which one alone is below 0, divided by n - 1
struct Stats {
  static constexpr PreparationStep Step() { return internal::StatsStep(); }
};

// The logarithm of a frame's power in `bands` bands of equal width, [frames][bands][axes]: band b
// has P[k] of floor(b H / bands) < k <= floor((b + 1) H / bands), H = N/2. P[0] is not used.
//   bands  at most N/2, and at most hop if there is more than one frame
template <uint32_t window, uint32_t hop, uint32_t bands>
struct Spectrum {
  using Numbers = internal::FrameNumbers<window, hop, bands>;
  static constexpr PreparationStep Step() {
    return internal::SpectrumStep(Numbers::kSettings, Numbers::kTables.numbers);
  }
};

// The logarithm of a frame's power in bands as wide as the ear's, [frames][bands][axes]. Edges e[0]
// = low to e[bands + 1] = high have equal distances on the mel scale, 1127 ln(1 + Hz / 700); band b
// weighs P[k] by a triangle from 0 at e[b] to 1 at e[b + 1] to 0 at e[b + 2].
//   rate       readings a second
//   low, high  Hz; high is at most rate / 2. Each band has a P[k] in it with a weight above 0
template <uint32_t window, uint32_t hop, uint32_t bands, uint32_t rate, uint32_t low, uint32_t high>
struct Mel {
  using Numbers = internal::FrameNumbers<window, hop, bands, rate, low, high>;
  static constexpr PreparationStep Step() {
    return internal::MelStep(Numbers::kSettings, Numbers::kTables.numbers);
  }
};

// The first coefficients of the orthonormal DCT-II along the bands, [frames][coefficients][axes]:
// behind Mel they are MFCCs.
//   bands  that the step takes, as the step before leaves them
template <uint32_t bands, uint32_t coefficients>
struct Dct {
  static_assert(coefficients >= 1 && coefficients <= bands, "at most a coefficient a band");
  using Numbers = internal::DctNumbers<bands, coefficients>;
  static constexpr PreparationStep Step() {
    return internal::DctStep(Numbers::kSettings, Numbers::kTables.numbers);
  }
};

}  // namespace sotto::nn
