// The closed forms of DP-Fed-LS, for comparison only.
#include "published/closed_forms.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/conversion.h"
#include "unit/csv.h"

namespace sotto::privacy {
namespace {

struct Row {
  ClosedFormRounds rounds;
  double epsilon = 0.0;
  double clip = 0.0;
  std::string value;
};

double NumberAfter(const std::string& note, const std::string& key) {
  return std::stod(note.substr(note.find(key) + key.size()));
}

std::vector<Row> ReadRows(const std::string& mechanism, Sampling sampling) {
  std::vector<Row> rows;
  for (const std::vector<std::string>& cells : ReadCsv("accountant.csv")) {
    if (cells[1] != mechanism) continue;
    rows.push_back({{sampling, std::stod(cells[4]), std::stoll(cells[5]), std::stod(cells[6])},
                    NumberAfter(cells[12], "eps="),
                    NumberAfter(cells[12], "G="),
                    cells[11]});
  }
  return rows;
}

double SumDeviation(const Row& row) {
  return ClosedFormForEpsilon(row.rounds, row.epsilon).noise_multiplier * row.clip *
         SensitivityFactor(PairedAdjacency(row.rounds.sampling));
}

// Both conditions as the theorems print them, in nu, C and tau.
bool HoldsAsPrinted(const ClosedFormRounds& r, double epsilon, double lambda, double nu_over_c) {
  const double log_delta = std::log(1 / r.delta);
  const double alpha = log_delta / ((1 - lambda) * epsilon) + 1;
  const double square = nu_over_c * nu_over_c;
  const bool uniform = r.sampling == Sampling::kUniform;
  const double x = uniform ? square / 4 : square;
  const double least = r.rate / epsilon *
                       std::sqrt((uniform ? 14.0 : 2.0) * static_cast<double>(r.rounds) / lambda *
                                 (log_delta / (1 - lambda) + epsilon));
  const double limit =
      (uniform ? square / 6 : 2 * square / 3) * std::log(1 / (r.rate * alpha * (1 + x)));
  return nu_over_c >= least && x >= (uniform ? 2.0 / 3 : 5.0 / 9) && alpha - 1 <= limit;
}

TEST(ClosedFormsTest, PoissonMatchesEveryIndependentValue) {
  size_t feasible = 0;
  size_t infeasible = 0;
  for (const Row& row : ReadRows("dpfedls_thm2_poisson", Sampling::kPoisson)) {
    SCOPED_TRACE(testing::Message() << "epsilon " << row.epsilon << " q " << row.rounds.rate);
    if (row.value == "infeasible") {
      EXPECT_THROW(SumDeviation(row), InfeasibleClosedForm);
      ++infeasible;
      continue;
    }
    // The rows take the best lambda of a grid, here it is the best of all.
    const double value = std::stod(row.value);
    EXPECT_LE(SumDeviation(row), value * (1 + 1e-12));
    EXPECT_GE(SumDeviation(row), value * (1 - 2e-4));
    ++feasible;
  }
  EXPECT_EQ(feasible, 7u);
  EXPECT_EQ(infeasible, 1u);
}

TEST(ClosedFormsTest, UniformAtThirtyRoundsIsWhatThePaperAsksFor) {
  // T = 30, q = 0.05, N = 1000, delta = N^-1.1, epsilon = 6: nu = 2.69 C.
  const ClosedFormRounds rounds = {Sampling::kUniform, 0.05, 30, std::pow(1000.0, -1.1)};
  EXPECT_NEAR(2 * ClosedFormForEpsilon(rounds, 6).noise_multiplier, 2.69, 0.005);
}

TEST(ClosedFormsTest, NoGridOfLambdasFindsLessNoise) {
  size_t compared = 0;
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    for (const double rate : {0.001, 0.02, 0.05}) {
      for (const int64_t count : {1, 30, 1000}) {
        for (const double epsilon : {0.5, 2.0, 6.0, 20.0}) {
          const ClosedFormRounds rounds = {sampling, rate, count, 1e-5};
          const double factor = SensitivityFactor(PairedAdjacency(sampling));
          double least = std::numeric_limits<double>::infinity();
          for (double lambda = 1e-6; lambda < 1; lambda *= 1.01) {
            for (double z = 0.7; z < std::min(least, 60.0); z *= 1.02) {
              if (HoldsAsPrinted(rounds, epsilon, lambda, z * factor)) least = z;
            }
          }
          SCOPED_TRACE(testing::Message() << Name(sampling) << " q " << rate << " T " << count
                                          << " epsilon " << epsilon);
          if (std::isinf(least)) {
            EXPECT_THROW(ClosedFormForEpsilon(rounds, epsilon), InfeasibleClosedForm);
            continue;
          }
          const double z = ClosedFormForEpsilon(rounds, epsilon).noise_multiplier;
          EXPECT_LE(z, least);
          EXPECT_GE(z, least / 1.03);
          ++compared;
        }
      }
    }
  }
  EXPECT_GE(compared, 20u);
}

TEST(ClosedFormsTest, TheResultSatisfiesTheTheoremAsPrinted) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    const ClosedFormRounds rounds = {sampling, 0.02, 100, 1e-4};
    for (const double epsilon : {6.0, 8.0, 12.0, 30.0}) {
      const ClosedForm form = ClosedFormForEpsilon(rounds, epsilon);
      const double factor = SensitivityFactor(PairedAdjacency(sampling));
      EXPECT_TRUE(HoldsAsPrinted(rounds, epsilon, form.lambda * (1 + 1e-12),
                                 form.noise_multiplier * factor * (1 + 1e-12)));
      EXPECT_NEAR(form.order, -std::log(1e-4) / ((1 - form.lambda) * epsilon) + 1, 1e-9);
    }
  }
}

TEST(ClosedFormsTest, NoiseAndEpsilonAreInverses) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    for (const double epsilon : {5.0, 8.0, 25.0}) {
      const ClosedFormRounds rounds = {sampling, 0.01, 200, 1e-5};
      const ClosedForm form = ClosedFormForEpsilon(rounds, epsilon);
      EXPECT_LE(ClosedFormForNoise(rounds, form.noise_multiplier).epsilon, epsilon * (1 + 1e-9));
    }
  }
}

TEST(ClosedFormsTest, TheAccountantConfirmsEveryFigure) {
  size_t confirmed = 0;
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    for (const double rate : {1e-4, 1e-3, 0.01, 0.05, 0.2}) {
      for (const int64_t count : {1, 30, 1000, 100000}) {
        for (const double epsilon : {0.3, 1.0, 3.0, 10.0, 40.0}) {
          try {
            const ClosedForm form = ClosedFormForEpsilon({sampling, rate, count, 1e-5}, epsilon);
            EXPECT_LE(Epsilon({{sampling, form.noise_multiplier, rate, count}}, 1e-5).unclipped,
                      epsilon)
                << Name(sampling) << " q " << rate << " T " << count;
            ++confirmed;
          } catch (const InfeasibleClosedForm&) {
          }
        }
      }
    }
  }
  EXPECT_GE(confirmed, 50u);
}

TEST(ClosedFormsTest, NoiseRisesWithRoundsAndFallsWithEpsilonAndDelta) {
  const auto noise = [](int64_t count, double epsilon, double delta) {
    return ClosedFormForEpsilon({Sampling::kUniform, 0.01, count, delta}, epsilon).noise_multiplier;
  };
  EXPECT_GE(noise(200, 8, 1e-5), noise(100, 8, 1e-5));
  EXPECT_GE(noise(100, 8, 1e-5), noise(100, 9, 1e-5));
  EXPECT_GE(noise(100, 8, 1e-6), noise(100, 8, 1e-5));
}

TEST(ClosedFormsTest, AnErrorNamesTheConditionThatFails) {
  const auto failed = [](const ClosedFormRounds& rounds, double epsilon) {
    try {
      ClosedFormForEpsilon(rounds, epsilon);
    } catch (const InfeasibleClosedForm& error) {
      EXPECT_NE(std::string(error.what()).find("of DP-Fed-LS does not apply"), std::string::npos);
      return error.failed();
    }
    throw std::logic_error("feasible");
  };
  // Too small an epsilon: alpha is too large for any noise.
  EXPECT_EQ(failed({Sampling::kPoisson, 0.05, 30, 5e-4}, 2), SideCondition::kOrder);
  // At q = 0.7 the order's condition needs 1 + z^2 < 1/0.7, below the floor.
  EXPECT_EQ(failed({Sampling::kPoisson, 0.7, 1, 1e-5}, 1000), SideCondition::kNoiseFloor);
  EXPECT_EQ(failed({Sampling::kUniform, 1.0, 1, 1e-5}, 10), SideCondition::kOrder);
}

TEST(ClosedFormsTest, TooLittleAndTooMuchNoiseAreInfeasible) {
  const ClosedFormRounds rounds = {Sampling::kPoisson, 0.05, 30, 1e-5};
  try {
    ClosedFormForNoise(rounds, 0.7);
    FAIL() << "accepted";
  } catch (const InfeasibleClosedForm& error) {
    EXPECT_EQ(error.failed(), SideCondition::kNoiseFloor);
  }
  try {
    ClosedFormForNoise(rounds, 5);  // q (1 + z^2) > 1
    FAIL() << "accepted";
  } catch (const InfeasibleClosedForm& error) {
    EXPECT_EQ(error.failed(), SideCondition::kOrder);
  }
}

TEST(ClosedFormsTest, BadArgumentsThrow) {
  const ClosedFormRounds good = {Sampling::kPoisson, 0.05, 30, 1e-3};
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(ClosedFormForEpsilon(good, bad), std::invalid_argument);
    EXPECT_THROW(ClosedFormForNoise(good, bad), std::invalid_argument);
    EXPECT_THROW(ClosedFormForEpsilon({Sampling::kPoisson, bad, 30, 1e-3}, 6),
                 std::invalid_argument);
    EXPECT_THROW(ClosedFormForEpsilon({Sampling::kPoisson, 0.05, 30, bad}, 6),
                 std::invalid_argument);
  }
  EXPECT_THROW(ClosedFormForEpsilon({Sampling::kPoisson, 0.05, 0, 1e-3}, 6), std::invalid_argument);
  EXPECT_THROW(ClosedFormForEpsilon({Sampling::kNone, 0.05, 30, 1e-3}, 6), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
