// Privacy figures as text for people: rounded so that the text is a bound.
#include "accounting/figures.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <string>

namespace sotto::privacy {
namespace {

TEST(Figures, ABoundIsStillABoundWhenItIsPrinted) {
  for (double epsilon = 1e-9; epsilon < 1e6; epsilon *= 1.01) {
    for (const int decimals : {3, 4}) {
      const double unit = decimals == 3 ? 1e-3 : 1e-4;
      const double upper = std::stod(EpsilonText(epsilon, decimals));
      EXPECT_GE(upper, epsilon);
      EXPECT_LT(upper, epsilon + 1.001 * unit);
      const double lower = std::stod(LowerBoundText(epsilon, decimals));
      EXPECT_LE(lower, epsilon);
      EXPECT_GT(lower, epsilon - 1.001 * unit);
    }
  }
}

TEST(Figures, WhatHasSoFewDecimalsIsPrintedAsItIs) {
  EXPECT_EQ(EpsilonText(0, 4), "0.0000");
  for (int i = 1; i < 10000; ++i) {
    const std::string text = std::to_string(i / 1000.0).substr(0, 5);
    EXPECT_EQ(EpsilonText(std::stod(text), 3), text);
    EXPECT_EQ(LowerBoundText(std::stod(text), 3), text);
  }
}

// A printed pair of epsilon and delta holds as it is printed only if neither is rounded down.
TEST(Figures, ADeltaIsRoundedUpToThreeDigits) {
  for (double delta = 1e-300; delta < 1; delta *= 1.0173) {
    const std::string text = DeltaText(delta);
    EXPECT_GE(std::stod(text), delta) << text;
    EXPECT_LT(std::stod(text), delta * 1.0101) << text;
  }
  EXPECT_EQ(DeltaText(std::pow(1000.0, -1.1)), "0.000502");  // 5.0119e-4; the nearest is 0.000501
  EXPECT_EQ(DeltaText(9.9901e-5), "0.0001");
  EXPECT_EQ(DeltaText(0.9999), "1");
  EXPECT_GE(std::strtod(DeltaText(5e-324).c_str(), nullptr), 5e-324);
}

TEST(Figures, ADeltaOfThreeDigitsIsPrintedAsItIs) {
  EXPECT_EQ(DeltaText(0), "0");
  EXPECT_EQ(DeltaText(1e-5), "1e-05");
  EXPECT_EQ(DeltaText(5e-4), "0.0005");
  for (int i = 1; i < 1000; ++i) {
    const std::string text = "0." +
                             std::string(i < 10    ? "00"
                                         : i < 100 ? "0"
                                                   : "") +
                             std::to_string(i);
    EXPECT_EQ(std::stod(DeltaText(std::stod(text))), std::stod(text));
  }
}

TEST(Figures, WithoutABoundTheTextSaysSo) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(EpsilonText(infinity, 3), "infinite");
}

}  // namespace
}  // namespace sotto::privacy
