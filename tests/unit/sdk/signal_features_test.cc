// Features of a signal against their definitions in double, and nets on them.
#include <algorithm>
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

#include "sotto/blocks.h"
#include "sotto/nn.h"
#include "sotto/predict.h"

namespace sotto::nn {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr double kTurn = 6.283185307179586476925;
constexpr double kFloor = 0x1p-20;

// A sum of sines of each axis with noise.
Floats Signal(uint32_t length, uint32_t axes, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.3f);
  Floats signal;
  for (uint32_t t = 0; t < length; ++t) {
    for (uint32_t axis = 0; axis < axes; ++axis) {
      const double wave = std::sin(kTurn * (axis + 3.7) * t / 50) + 0.2 * axis;
      signal.push_back(static_cast<float>(wave) + normal(random));
    }
  }
  return signal;
}

template <class... Steps>
Floats Prepared(Floats signal, const Shape& shape) {
  std::vector<PreparationStep> steps;
  Shape reaches = shape;
  for (const PreparationStep& step : {Steps::Step()...}) {
    EXPECT_TRUE(FitsPreparation(step, reaches));
    steps.push_back(PlacedStep(step, reaches));
    reaches = steps.back().output;
  }
  const Span<const PreparationStep> all{steps.data(), steps.size()};
  signal.resize(PreparationFloats(all, shape), std::nanf(""));
  Prepare(all, signal.data());
  signal.resize(reaches.size());
  return signal;
}

Doubles AxisOf(const Floats& signal, uint32_t axes, uint32_t axis) {
  Doubles x;
  for (size_t i = axis; i < signal.size(); i += axes) x.push_back(double{signal[i]});
  return x;
}

// P[k] of the frame that begins at `first`, by the definition.
Doubles PowersByDefinition(const Doubles& x, const FrameSettings& frames, size_t first) {
  const uint32_t n = frames.transform();
  const auto begin = x.begin() + static_cast<ptrdiff_t>(first);
  const double all = std::accumulate(begin, begin + frames.window, 0.0);
  const double level = frames.is_level() ? all / frames.window : 0;
  Doubles powers;
  for (uint32_t k = 0; k <= n / 2; ++k) {
    std::complex<double> sum = 0;
    for (uint32_t t = 0; t < frames.window; ++t) {
      const double window = 0.5 - 0.5 * std::cos(kTurn * t / frames.window);
      const uint64_t turn = uint64_t{k} * t % n;
      sum +=
          (x[first + t] - level) * window * std::polar(1.0, -kTurn * static_cast<double>(turn) / n);
    }
    powers.push_back(16.0 / (3.0 * n * frames.window) * std::norm(sum));
  }
  return powers;
}

double SpectrumBand(const Doubles& powers, const FrameSettings& frames, uint32_t b) {
  const uint32_t half = frames.transform() / 2;
  double sum = 0;
  for (uint32_t k = b * half / frames.bands + 1; k <= (b + 1) * half / frames.bands; ++k) {
    sum += powers[k];
  }
  return sum;
}

double MelBand(const Doubles& powers, const FrameSettings& mel, uint32_t b) {
  const auto to_mel = [](double hz) { return 1127 * std::log(1 + hz / 700); };
  const auto edge = [&](uint32_t i) {
    const double part = static_cast<double>(i) / (mel.bands + 1);
    const double at = to_mel(mel.low) + part * (to_mel(mel.high) - to_mel(mel.low));
    return 700 * (std::exp(at / 1127) - 1);
  };
  double sum = 0;
  for (uint32_t k = 0; k < powers.size(); ++k) {
    const double hz = static_cast<double>(k) * mel.rate / mel.transform();
    const double rising = (hz - edge(b)) / (edge(b + 1) - edge(b));
    const double falling = (edge(b + 2) - hz) / (edge(b + 2) - edge(b + 1));
    sum += std::max(0.0, std::min(rising, falling)) * powers[k];
  }
  return sum;
}

template <class Step, class Band>
void ExpectFrames(uint32_t length, uint32_t axes, const FrameSettings& frames, const Band& band) {
  const Floats signal = Signal(length, axes, length + axes);
  const Floats features = Prepared<Step>(signal, {1, length, axes});
  ASSERT_EQ(features.size(), size_t{frames.frames(length)} * frames.bands * axes);
  for (uint32_t axis = 0; axis < axes; ++axis) {
    const Doubles x = AxisOf(signal, axes, axis);
    for (uint32_t f = 0; f < frames.frames(length); ++f) {
      const Doubles powers = PowersByDefinition(x, frames, size_t{f} * frames.hop);
      for (uint32_t b = 0; b < frames.bands; ++b) {
        const double expected = std::log(band(powers, frames, b) + kFloor);
        const size_t at = (size_t{f} * frames.bands + b) * axes + axis;
        EXPECT_NEAR(double{features[at]}, expected, 1e-5) << axis << " " << f << " " << b;
      }
    }
  }
}

TEST(SignalFeatures, SpectrumIsItsDefinition) {
  ExpectFrames<Spectrum<256, 256, 32>>(256, 3, {256, 256, 32}, SpectrumBand);
  ExpectFrames<Spectrum<200, 100, 13>>(1000, 2, {200, 100, 13}, SpectrumBand);
  ExpectFrames<Spectrum<8, 5, 4>>(50, 1, {8, 5, 4}, SpectrumBand);
  ExpectFrames<Spectrum<9, 8, 8>>(30, 1, {9, 8, 8}, SpectrumBand);
}

TEST(SignalFeatures, MelIsItsDefinition) {
  ExpectFrames<Mel<512, 320, 40, 16000, 60, 8000>>(4000, 1, {512, 320, 40, 16000, 60, 8000},
                                                   MelBand);
  ExpectFrames<Mel<400, 160, 20, 16000, 100, 7000>>(1500, 2, {400, 160, 20, 16000, 100, 7000},
                                                    MelBand);
}

// A sine of height 1 in the middle of a band.
TEST(SignalFeatures, ABandHasTheMeanSquareOfItsSine) {
  Floats sine;
  for (int t = 0; t < 1024; ++t)
    sine.push_back(static_cast<float>(std::sin(kTurn * 48 * t / 1024)));
  const Floats features = Prepared<Spectrum<1024, 1024, 16>>(sine, {1, 1024, 1});
  EXPECT_NEAR(std::exp(double{features[1]}), 0.5, 1e-5);
  EXPECT_NEAR(std::exp(double{features[9]}), kFloor, 1e-8);
}

// Of a sensor that lies on its side, for example.
TEST(SignalFeatures, SpectrumTakesNoNoticeOfAnOffset) {
  Floats signal = Signal(256, 1, 3);
  const Floats before = Prepared<Spectrum<256, 256, 32>>(signal, {1, 256, 1});
  for (float& reading : signal) reading += 9.81f;
  const Floats after = Prepared<Spectrum<256, 256, 32>>(signal, {1, 256, 1});
  for (size_t b = 0; b < before.size(); ++b) EXPECT_NEAR(after[b], before[b], 1e-4) << b;
}

TEST(SignalFeatures, StatsAreTheirDefinitions) {
  constexpr uint32_t kLength = 3000;
  constexpr uint32_t kAxes = 2;
  const Floats signal = Signal(kLength, kAxes, 5);
  const Floats features = Prepared<Stats>(signal, {1, kLength, kAxes});
  ASSERT_EQ(features.size(), 5 * kAxes);
  for (uint32_t axis = 0; axis < kAxes; ++axis) {
    const Doubles x = AxisOf(signal, kAxes, axis);
    double mean = 0;
    double square = 0;
    double most = 0;
    double crossings = 0;
    for (size_t t = 0; t < x.size(); ++t) {
      mean += x[t] / kLength;
      square += x[t] * x[t] / kLength;
      most = std::max(most, std::abs(x[t]));
      crossings += t > 0 && (x[t] < 0) != (x[t - 1] < 0) ? 1.0 / (kLength - 1) : 0;
    }
    const double expected[] = {mean, std::sqrt(square - mean * mean), std::sqrt(square),
                               most / std::sqrt(square), crossings};
    for (uint32_t i = 0; i < 5; ++i)
      EXPECT_NEAR(double{features[i * kAxes + axis]}, expected[i], 1e-6);
  }
  EXPECT_EQ(Prepared<Stats>(Floats(8, 0.0f), ShapeOf(8)), Floats(5, 0.0f));
}

TEST(SignalFeatures, DifferenceTakesOffWhatIsConstant) {
  EXPECT_EQ(Prepared<Difference>({1, 10, 3, 10, 2, 15}, {1, 3, 2}), (Floats{2, 0, -1, 5}));
  EXPECT_EQ(Prepared<Difference>({1, 3, 2}, ShapeOf(3)), (Floats{2, -1}));
}

TEST(SignalFeatures, DctIsOrthonormal) {
  const Floats bands = Signal(40, 2, 9);  // a frame
  const Floats features = Prepared<Dct<40, 13>>(bands, {1, 40, 2});
  ASSERT_EQ(features.size(), 26U);
  for (uint32_t c = 0; c < 13; ++c) {
    for (uint32_t axis = 0; axis < 2; ++axis) {
      double sum = 0;
      for (uint32_t b = 0; b < 40; ++b) {
        sum += double{bands[b * 2 + axis]} * std::cos(kTurn / 4 * c * (2 * b + 1) / 40);
      }
      sum *= std::sqrt((c == 0 ? 1.0 : 2.0) / 40);
      EXPECT_NEAR(double{features[c * 2 + axis]}, sum, 1e-5);
    }
  }
}

TEST(SignalFeatures, RowsOfFramesHaveTheirOwnCoefficients) {
  using Log = Mel<256, 128, 20, 8000, 60, 4000>;
  const Floats signal = Signal(1000, 1, 4);
  const Floats mel = Prepared<Log>(signal, {1, 1000, 1});
  const Floats both = Prepared<Log, Dct<20, 10>>(signal, {1, 1000, 1});
  ASSERT_EQ(both.size(), mel.size() / 2);
  for (size_t f = 0; f < both.size() / 10; ++f) {
    const Floats row(mel.begin() + static_cast<long>(20 * f),
                     mel.begin() + static_cast<long>(20 * f + 20));
    const Floats own = Prepared<Dct<20, 10>>(row, {1, 20, 1});
    EXPECT_EQ(own, Floats(both.begin() + static_cast<long>(10 * f),
                          both.begin() + static_cast<long>(10 * f + 10)));
  }
}

// A vector is a signal of one axis.
TEST(SignalFeatures, OneAxisNeedsNoSecond) {
  const Floats signal = Signal(64, 1, 2);
  using Step = Spectrum<32, 16, 8>;
  EXPECT_EQ(Prepared<Step>(signal, ShapeOf(64)), Prepared<Step>(signal, ShapeOf(64, 1)));
}

TEST(SignalFeatures, HostsMakeTheTablesOfFirmware) {
  using Log = Mel<400, 160, 20, 16000, 100, 7000>;
  const Span<const float> flash = Log::Step().second;
  Floats tables(flash.size());
  FillFrameTables(FrameSettingsOf(Log::Step()), {tables.data(), tables.size()});
  EXPECT_EQ(tables, Floats(flash.begin(), flash.end()));
  const Span<const float> cosines = Dct<40, 13>::Step().second;
  Floats dct(cosines.size());
  FillDctTables({40, 13}, {dct.data(), dct.size()});
  EXPECT_EQ(dct, Floats(cosines.begin(), cosines.end()));
}

TEST(SignalFeatures, StepsThatDoNotFitAreRefused) {
  const auto fits = [](const PreparationStep& step, const Shape& shape) {
    return FitsPreparation(step, shape);
  };
  EXPECT_TRUE(fits(Spectrum<64, 32, 32>::Step(), {1, 640, 1}));
  EXPECT_FALSE(fits(Spectrum<64, 32, 32>::Step(), {1, 63, 1}));
  EXPECT_FALSE(fits(Spectrum<64, 16, 32>::Step(), {1, 640, 1}));  // more bands than a hop
  EXPECT_TRUE(fits(Spectrum<64, 16, 32>::Step(), {1, 64, 1}));    // one frame
  EXPECT_FALSE(fits(Spectrum<64, 64, 33>::Step(), {1, 64, 1}));
  EXPECT_FALSE(fits(Spectrum<64, 32, 32>::Step(), {2, 640, 1}));
  EXPECT_FALSE((fits(Mel<256, 128, 80, 16000, 20, 8000>::Step(), {1, 256, 1})));  // an empty band
  // The first band has a power at its lower edge alone, where its weight is 0.
  EXPECT_FALSE((fits(Mel<512, 320, 95, 16000, 125, 4000>::Step(), {1, 512, 1})));
  EXPECT_TRUE((fits(Mel<512, 320, 40, 16000, 0, 8000>::Step(), {1, 512, 1})));
  EXPECT_FALSE((fits(Mel<256, 128, 10, 16000, 20, 8001>::Step(), {1, 256, 1})));
  EXPECT_FALSE((fits(Dct<20, 10>::Step(), {1, 21, 1})));
  EXPECT_FALSE(fits(Stats::Step(), {1, 4, 1}));
}

// Nets.

constexpr float kMean[] = {-3};
constexpr float kDeviation[] = {2};
template <class... Layers>
using OnBands =
    Sequential<Input<256, 2>, Spectrum<128, 128, 16>, Normalise<kMean, kDeviation>, Layers...>;
template <class... Layers>
using Plain = Sequential<Input<2, 16, 2>, Layers...>;

struct Recordings {
  std::vector<Floats> features;
  uint32_t classes;
  SampleSource source() { return {static_cast<uint32_t>(features.size()), Read, this}; }
  static Status Read(void* self, uint32_t index, Span<float> features, uint32_t* label) {
    const auto& samples = *static_cast<Recordings*>(self);
    const Floats& from = samples.features[index];
    EXPECT_EQ(features.size(), from.size());
    std::copy(from.begin(), from.end(), features.begin());
    *label = samples.classes == 0 ? 0 : index % samples.classes;
    return Status::kOk;
  }
};

Floats Trained(const ModelInfo& model, Recordings samples) {
  Floats base(model.parameters);
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 0.1f);
  for (float& w : base) w = normal(random);
  Floats working(model.parameters);
  Floats scratch(model.training_floats(model, 4), std::nanf(""));
  const WorkingParameters parameters = {{working.data(), working.size()}};
  const Span<const float> from{base.data(), base.size()};
  EXPECT_EQ(model.begin_training(from, parameters), Status::kOk);
  const SampleSource source = samples.source();
  const uint32_t indices[] = {0, 1, 2, 3};
  SgdStep step;
  step.learning_rate = 0.1f;
  float loss = 0;
  for (int i = 0; i < 3; ++i) {
    const Status status = model.train_batch(model, {&source, indices}, step, parameters,
                                            {scratch.data(), scratch.size()}, &loss);
    EXPECT_EQ(status, Status::kOk);
  }
  model.end_training(from, parameters);
  return working;
}

Floats Outputs(const ModelInfo& model, const Floats& parameters, const Floats& features) {
  Floats scratch(model.predict_floats(model), std::nanf(""));
  Floats outputs(model.outputs);
  EXPECT_EQ(Predict(model, Span<const float>(parameters.data(), parameters.size()),
                    {features.data(), features.size()}, {scratch.data(), scratch.size()},
                    {outputs.data(), outputs.size()}),
            Status::kOk);
  return outputs;
}

Floats ByBlocks(const ModelInfo& model, const Floats& parameters, const std::vector<Floats>& all) {
  Floats scratch(BlockPredictor::ScratchFloats(model, all.size()), std::nanf(""));
  BlockPredictor predictor(model, {parameters.data(), parameters.size()}, all.size(),
                           {scratch.data(), scratch.size()});
  for (size_t s = 0; s < all.size(); ++s) {
    std::copy(all[s].begin(), all[s].end(), predictor.features(s).begin());
  }
  predictor.Run(all.size());
  Floats outputs;
  for (size_t s = 0; s < all.size(); ++s) {
    outputs.insert(outputs.end(), predictor.outputs(s).begin(), predictor.outputs(s).end());
  }
  return outputs;
}

// A net with features in it has the bits of the net without them on features.
template <class Raw, class Features>
void ExpectAlike() {
  const ModelInfo raw = MakeModelInfo<Raw>("raw");
  const ModelInfo plain = MakeModelInfo<Features>("plain");
  EXPECT_EQ(raw.inputs, 512U);
  Recordings samples = {{}, raw.classes};
  Recordings prepared = {{}, raw.classes};
  for (uint32_t s = 0; s < 4; ++s) {
    samples.features.push_back(Signal(256, 2, s));
    prepared.features.push_back(Prepared<Spectrum<128, 128, 16>, Normalise<kMean, kDeviation>>(
        Signal(256, 2, s), {1, 256, 2}));
  }
  const Floats trained = Trained(raw, samples);
  EXPECT_EQ(trained, Trained(plain, prepared));
  EXPECT_EQ(trained, Trained(WithBlocks(raw), samples));
  Floats outputs;
  for (size_t s = 0; s < 4; ++s) {
    const Floats own = Outputs(raw, trained, samples.features[s]);
    EXPECT_EQ(own, Outputs(plain, trained, prepared.features[s]));
    outputs.insert(outputs.end(), own.begin(), own.end());
  }
  EXPECT_EQ(outputs, ByBlocks(raw, trained, samples.features));
}

TEST(SignalFeatures, NetsTrainAndPredictOnThem) {
  ExpectAlike<OnBands<Conv2d<4, 2>, Relu, Dense<60, 3>>, Plain<Conv2d<4, 2>, Relu, Dense<60, 3>>>();
  ExpectAlike<OnBands<Dense<64, 3>>, Plain<Dense<64, 3>>>();
  ExpectAlike<OnBands<Dense<64, 5>, Tanh, Dense<5, 64>, MeanSquaredError<TargetKind::kInput>>,
              Plain<Dense<64, 5>, Tanh, Dense<5, 64>, MeanSquaredError<TargetKind::kInput>>>();
  ExpectAlike<FixedPoint<OnBands<Dense<64, 6>, Relu, Dense<6, 3>>>,
              FixedPoint<Plain<Dense<64, 6>, Relu, Dense<6, 3>>>>();
  ExpectAlike<FixedPoint<OnBands<Dense<64, 3>>>, FixedPoint<Plain<Dense<64, 3>>>>();
}

TEST(SignalFeatures, TheDigestCoversSettingsAndTheSignal) {
  const auto digest = [](const ModelInfo& model) {
    std::vector<uint8_t> bytes(kSha256Size);
    uint8_t sum[kSha256Size];
    EXPECT_EQ(ModelDigest(model, sum), Status::kOk);
    std::copy(sum, sum + kSha256Size, bytes.begin());
    return bytes;
  };
  using One = Sequential<Input<256, 1>, Spectrum<128, 64, 8>, Dense<24, 2>>;
  using Longer = Sequential<Input<257, 1>, Spectrum<128, 64, 8>, Dense<24, 2>>;
  using Hop = Sequential<Input<256, 1>, Spectrum<128, 60, 8>, Dense<24, 2>>;
  EXPECT_NE(digest(MakeModelInfo<One>("a")), digest(MakeModelInfo<Longer>("a")));
  EXPECT_NE(digest(MakeModelInfo<One>("a")), digest(MakeModelInfo<Hop>("a")));
}

}  // namespace
}  // namespace sotto::nn
