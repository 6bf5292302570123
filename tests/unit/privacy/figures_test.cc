// Privacy figures as text for people: rounded so that the text is a bound.
#include "accounting/figures.h"

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

TEST(Figures, WithoutABoundTheTextSaysSo) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(EpsilonText(infinity, 3), "infinite");
}

}  // namespace
}  // namespace sotto::privacy
