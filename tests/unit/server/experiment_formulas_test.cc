// Tests of an experiment's formulas against known figures.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "experiment/formulas.h"

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

}  // namespace
}  // namespace sotto::server
