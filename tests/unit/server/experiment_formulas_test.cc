// Tests of an experiment's formulas against known figures.
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "formulas/formulas.h"

namespace sotto::server {
namespace {

double FigureOf(const Settings& settings, const char* figure) {
  return Compute(settings).figures.at(figure);
}

TEST(ExperimentFormulas, TheTheoremsOfDpFedLsAskForTheKnownNoise) {
  const double uniform[] = {2.693, 2.212, 1.940, 1.752};
  const double poisson[] = {1.136, 0.972, 0.866, 0.788};
  for (int i = 0; i < 4; ++i) {
    const std::string epsilon = std::to_string(6 + i);
    Settings settings = {{"formula", "closed-form"}, {"rate", "0.05"},     {"rounds", "30"},
                         {"delta", "5.01187e-4"},    {"epsilon", epsilon}, {"sampling", "uniform"}};
    EXPECT_NEAR(FigureOf(settings, "nu_over_clip"), uniform[i], 6e-4) << epsilon;
    settings["sampling"] = "poisson";
    settings["delta"] = "1.07432e-3";
    EXPECT_NEAR(FigureOf(settings, "nu_over_clip"), poisson[i], 6e-4) << epsilon;
  }
}

// With what the accountants ask for at each of its points a line is checked by hand.
TEST(ExperimentFormulas, TheLinesOfTheTheoremAndItsAccountantAreLeastSquares) {
  Settings settings = {{"formula", "closed-form-line"},
                       {"sampling", "uniform"},
                       {"rate", "0.05"},
                       {"rounds", "1000"},
                       {"delta", "0.00023381211195565519"},
                       {"epsilon-least", "12"},
                       {"epsilon-most", "32"},
                       {"sensitivity", "2"}};
  const Outcome twice = Compute(settings);
  settings["sensitivity"] = "1";
  const Outcome once = Compute(settings);
  // The sensitivity moves a line, and does not turn it.
  EXPECT_NEAR(twice.figures.at("slope_moments"), once.figures.at("slope_moments"), 1e-9);
  EXPECT_NEAR(twice.figures.at("intercept_moments") - once.figures.at("intercept_moments"),
              std::log(2), 1e-9);
  EXPECT_NEAR(once.figures.at("factor") / twice.figures.at("factor"), 2, 1e-9);
  // A line by least squares goes through the means: its points are a geometric sequence.
  Settings point = settings;
  for (const char* name : {"epsilon-least", "epsilon-most", "sensitivity"}) point.erase(name);
  point["formula"] = "closed-form";
  double sum_log = 0;
  double sum = 0;
  for (int i = 0; i < 9; ++i) {
    const double epsilon = 12 * std::pow(32.0 / 12, i / 8.0);
    point["epsilon"] = std::to_string(epsilon);
    sum_log += std::log(epsilon) / 9;
    sum += std::log(Compute(point).figures.at("nu_over_clip")) / 9;
  }
  EXPECT_NEAR(twice.figures.at("intercept") + twice.figures.at("slope") * sum_log, sum, 1e-5);
  settings["epsilon-least"] = "4";
  EXPECT_NE(Compute(settings).note.find("the theorem has no noise"), std::string::npos);
}

TEST(ExperimentFormulas, TheDynamicScheduleHasTheKnownRatioAndCost) {
  Settings settings = {{"formula", "dynamic-noise"},
                       {"rounds", "30"},
                       {"devices", "1920"},
                       {"cohort", "80"},
                       {"clip", "2.1"},
                       {"delta", "1e-5"},
                       {"epsilon", "3"},
                       {"noise-decay", "0.9"}};
  EXPECT_NEAR(FigureOf(settings, "ratio"), 2.147, 1e-3);
  EXPECT_NEAR(FigureOf(settings, "epsilon_lemma4"), 3, 1e-9);
  EXPECT_NEAR(FigureOf(settings, "epsilon_sound"), 13.1, 0.01);
  settings["noise-decay"] = "1";
  EXPECT_NEAR(FigureOf(settings, "epsilon_sound"), 9.715, 0.01);
}

TEST(ExperimentFormulas, ThePrintedMuIsBelowWhatHolds) {
  Settings settings = {{"formula", "f-dp"},     {"method", "constant"}, {"devices", "20"},
                       {"rounds", "40"},        {"local-steps", "5"},   {"learning-rate", "0.1"},
                       {"gradient-clip", "10"}, {"noise-sigma", "3"},   {"smoothness", "1"},
                       {"proximal", "2"},       {"delta", "1e-5"}};
  EXPECT_NEAR(FigureOf(settings, "mu_printed"), 1.541, 1e-3);
  EXPECT_NEAR(FigureOf(settings, "mu_sound"), 4.714, 1e-3);
  settings["method"] = "proximal";
  EXPECT_NEAR(FigureOf(settings, "mu_printed"), 1.291, 1e-3);
  settings["method"] = "quick";
  EXPECT_THROW(Compute(settings), std::invalid_argument);
}

TEST(ExperimentFormulas, SmoothingTakesNoiseOffASine) {
  Settings settings = {
      {"formula", "smooth-sine"}, {"points", "500"}, {"length", "30"}, {"nu", "0.1"}, {"seed", "1"},
      {"smoothing", "0"}};
  EXPECT_EQ(FigureOf(settings, "reduction"), 0);
  settings["smoothing"] = "1";
  EXPECT_GT(FigureOf(settings, "reduction"), 0.6);
  settings["nu"] = "0.001";
  EXPECT_LT(FigureOf(settings, "reduction"), 0);
  settings.erase("points");
  EXPECT_THROW(Compute(settings), std::invalid_argument);
}

TEST(ExperimentFormulas, SmoothingLeavesTheKnownShareOfTheDimension) {
  Settings settings = {
      {"formula", "effective-dimension"}, {"parameters", "4096"}, {"smoothing", "1"}};
  EXPECT_NEAR(FigureOf(settings, "share"), 1 / std::sqrt(5.0), 1e-9);
  EXPECT_NEAR(FigureOf(settings, "share_of_squares"), 3 / std::pow(5.0, 1.5), 1e-9);
  settings["smoothing"] = "0";
  EXPECT_EQ(FigureOf(settings, "share"), 1);
}

TEST(ExperimentFormulas, SmoothedDescentIsSmoother) {
  Settings settings = {
      {"formula", "noisy-descent"}, {"points", "100"}, {"steps", "100"},  {"learning-rate", "0.1"},
      {"gradient-noise", "0.3"},    {"seed", "1"},     {"smoothing", "0"}};
  const Outcome plain = Compute(settings);
  settings["smoothing"] = "1";
  const Outcome smooth = Compute(settings);
  EXPECT_LT(smooth.figures.at("roughness"), plain.figures.at("roughness"));
  EXPECT_EQ(smooth.series.at("w1").size(), 101u);
  EXPECT_LT(smooth.series.at("w1").back(), -0.5);  // the solutions have negative weights
  settings["gradient-noise"] = "0";
  settings["smoothing"] = "0";
  EXPECT_LT(FigureOf(settings, "roughness"), plain.figures.at("roughness") / 10);
}

TEST(ExperimentFormulas, APrintedStepBoundsItsRecursionButForOne) {
  Settings settings = {{"formula", "f-dp-step"}, {"method", "constant"}, {"devices", "20"},
                       {"round", "1"},           {"local-steps", "5"},   {"learning-rate", "0.1"},
                       {"gradient-clip", "10"},  {"smoothness", "1"},    {"proximal", "2"}};
  EXPECT_NEAR(FigureOf(settings, "rho_printed"), 1.61051, 1e-9);
  EXPECT_NEAR(FigureOf(settings, "gamma_printed"), 0.5, 1e-12);
  EXPECT_NEAR(FigureOf(settings, "gamma_ratio"), 1, 1e-12);
  settings["method"] = "continuous";
  EXPECT_GT(FigureOf(settings, "rho_ratio"), 1.16);  // z = 1 is too little for rho
  settings["method"] = "proximal";
  EXPECT_LT(FigureOf(settings, "rho_ratio"), 1);
  settings["proximal"] = "20";
  EXPECT_THROW(Compute(settings), std::invalid_argument);
}

TEST(ExperimentFormulas, ASchedulesRatesFallAsItSays) {
  Settings settings = {{"formula", "rates"},
                       {"method", "continuous"},
                       {"rounds", "2"},
                       {"local-steps", "3"},
                       {"learning-rate", "1"}};
  EXPECT_NEAR(FigureOf(settings, "last"), 1.0 / 6, 1e-12);
  settings["method"] = "stagewise";
  EXPECT_NEAR(FigureOf(settings, "sum"), 4.5, 1e-12);
  settings["method"] = "cyclic";
  EXPECT_NEAR(FigureOf(settings, "last"), 1.0 / 3, 1e-12);
}

}  // namespace
}  // namespace sotto::server
