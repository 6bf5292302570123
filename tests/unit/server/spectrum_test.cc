// Tests of the spectra of a simulation's exact updates.
#include "aggregate/spectrum.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/synthetic.h"
#include "sim/simulation_request.h"
#include "sotto/models.h"
#include "views/simulation_csv.h"

namespace sotto::server {
namespace {

// The definition, in double.
std::vector<double> Transformed(const std::vector<float>& v) {
  std::vector<double> magnitudes;
  const auto n = static_cast<double>(v.size());
  for (size_t k = 0; k <= v.size() / 2; ++k) {
    std::complex<double> sum = 0;
    for (size_t j = 0; j < v.size(); ++j) {
      const double angle = -2 * M_PI * static_cast<double>(j * k) / n;
      sum += static_cast<double>(v[j]) * std::polar(1.0, angle);
    }
    magnitudes.push_back(std::abs(sum));
  }
  return magnitudes;
}

TEST(Spectrum, IsTheMagnitudeOfTheFourierTransformInAnyOrderAndAtAnyLength) {
  const std::vector<TrainedTensor> tensors = {
      {"OHWI", {2, 3, 4, 5}}, {"OI", {7, 13}}, {"O", {31}}, {"O", {2}}, {"", {}}};
  for (const TrainedTensor& tensor : tensors) {
    std::vector<float> values(tensor.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 17) - 8;
    for (const char* order : {"natural", "OIHW", "IWHO"}) {
      std::vector<float> flat;
      for (const uint32_t at : Flattened(tensor, order)) flat.push_back(values[at]);
      const std::vector<double> expected = Transformed(flat);
      const std::vector<float> spectrum = SpectrumOf({values.data(), values.size()}, tensor, order);
      ASSERT_EQ(spectrum.size(), values.size() / 2 + 1);
      for (size_t k = 0; k < spectrum.size(); ++k) {
        EXPECT_NEAR(static_cast<double>(spectrum[k]), expected[k], 1e-3) << tensor.axes << order;
      }
    }
  }
  const std::vector<float> none(3);
  EXPECT_THROW(SpectrumOf({none.data(), 3}, tensors[0], "natural"), std::invalid_argument);
}

SimulationRequest SmallRequest() {
  SimulationRequest request;
  request.fleet.devices = 20;
  request.fleet.samples_per_device = 10;
  request.job.plan.sampling = privacy::Sampling::kUniform;
  request.job.plan.cohort = 5;
  request.job.plan.rounds = 3;
  request.job.model = FindModel("softmax-784-10");
  request.job.codec = FindCodec("none");
  request.seed = 3;
  request.spectrum = "spectrum.csv";
  request.spectrum_rounds = "1,3,50";
  request.job.aggregation.grid = 0;  // a released model is then the sum of its steps
  return request;
}

TEST(Spectrum, OfASimulationIsThatOfTheStepsThatItsModelTook) {
  const SimulationConfig config = MakeSimulation(SmallRequest());
  const TrainTest data = MakeSynthetic({300, 100, 1});
  const SimulationResult whole = Simulate(config, data, [](const RoundReport&) {});
  ASSERT_EQ(whole.updates.size(), 2U);
  EXPECT_EQ(whole.updates[0].round, 0U);
  EXPECT_EQ(whole.updates[1].round, 2U);
  // The first model is zeros, so the first update is the model after one round.
  SimulationRequest one = SmallRequest();
  one.job.plan.rounds = 1;
  const SimulationResult first = Simulate(MakeSimulation(one), data, [](const RoundReport&) {});
  EXPECT_EQ(first.parameters, whole.updates[0].values);

  const std::string csv = SpectrumCsv(config, whole);
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "round,tensor,axes,extents,frequency,magnitude");
  // Two rounds, weights and biases.
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * (7840 / 2 + 1 + 10 / 2 + 1));
  EXPECT_NE(csv.find("\n3,2,O,10,5,"), std::string::npos);
}

std::string RefusalOf(const SimulationRequest& request) {
  try {
    MakeSimulation(request);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Spectrum, IsRefusedWhereUpdatesAreToBeProtected) {
  EXPECT_EQ(RefusalOf(SmallRequest()), "");
  for (const std::string& name : CodecNames()) {
    if (name == "none") continue;
    SimulationRequest request = SmallRequest();
    request.job.codec = FindCodec(name);
    EXPECT_NE(RefusalOf(request).find("no epsilon covers"), std::string::npos) << name;
  }
  SimulationRequest unlimited = SmallRequest();
  unlimited.job.codec = FindCodec("gau-lrq");
  unlimited.epsilon = HUGE_VAL;
  EXPECT_NE(RefusalOf(unlimited).find("no epsilon covers"), std::string::npos);
  for (const char* bad : {"", "0", "0-3", "1,1", "x", "2-1"}) {
    SimulationRequest request = SmallRequest();
    request.spectrum_rounds = bad;
    EXPECT_NE(RefusalOf(request), "") << bad;
  }
}

TEST(PowerInBands, OfWhiteNoiseIsItsVarianceAndOfASineIsInOneBand) {
  const std::vector<TrainedTensor> tensors = {{"OI", {100, 97}}, {"O", {5}}};
  std::mt19937 random(1);
  std::normal_distribution<float> noise_of(0, 3);
  std::vector<float> values(9705);
  for (float& value : values) value = noise_of(random);
  const std::vector<float> noise =
      PowerInBands({values.data(), values.size()}, {tensors.data(), tensors.size()}, "natural");
  ASSERT_EQ(noise.size(), kSpectrumBands);
  double mean = 0;
  for (const float power : noise) {
    EXPECT_NEAR(power, 9, 5) << "about 75 frequencies in a band: deviation 9 / sqrt(75)";
    mean += static_cast<double>(power) / kSpectrumBands;
  }
  EXPECT_NEAR(mean, 9, 0.5);
  const double frequency = 20.5 / (2 * kSpectrumBands);  // the middle of band 20
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(2 * M_PI * frequency * static_cast<double>(i)));
  }
  const std::vector<float> sine =
      PowerInBands({values.data(), values.size()}, {tensors.data(), 1}, "natural");
  EXPECT_EQ(std::max_element(sine.begin(), sine.end()) - sine.begin(), 20);
  EXPECT_GT(sine[20], 100 * sine[18]);
}

}  // namespace
}  // namespace sotto::server
