// Tests of Student's t, power and Holm's adjustment against tables and closed forms.
#include "experiment/student.h"

#include <cmath>
#include <gtest/gtest.h>

namespace sotto::server {
namespace {

TEST(Student, QuantilesAreThoseOfTheTables) {
  const struct {
    double probability, freedom, t;
  } kTable[] = {{0.975, 1, 12.706204736}, {0.975, 2, 4.302652730},   {0.975, 3, 3.182446305},
                {0.975, 4, 2.776445105},  {0.975, 5, 2.570581836},   {0.975, 9, 2.262157163},
                {0.975, 11, 2.200985160}, {0.975, 19, 2.093024054},  {0.975, 30, 2.042272456},
                {0.975, 59, 2.000995378}, {0.975, 60, 2.000297822},  {0.975, 1000, 1.962339081},
                {0.95, 1, 6.313751515},   {0.95, 2, 2.919985580},    {0.95, 4, 2.131846786},
                {0.95, 10, 1.812461123},  {0.995, 1, 63.656741162},  {0.9995, 3, 12.923978637},
                {0.95, 120, 1.657650899}, {0.975, 9999, 1.960201263}};
  for (const auto& row : kTable) {
    EXPECT_NEAR(StudentQuantile(row.probability, row.freedom) / row.t, 1, 2e-8)
        << row.probability << " " << row.freedom;
  }
}

// With 1 and 2 degrees of freedom the distribution has closed forms.
TEST(Student, TailsAreThoseOfTheClosedForms) {
  constexpr double kPi = 3.141592653589793;
  for (const double t : {-3.0, -0.5, 0.0, 0.1, 1.0, 4.0, 30.0}) {
    EXPECT_NEAR(StudentTail(t, 1), 0.5 - std::atan(t) / kPi, 1e-11) << t;
    EXPECT_NEAR(StudentTail(t, 2), 0.5 - t / (2 * std::sqrt(2 + t * t)), 1e-11) << t;
  }
  // Between whole degrees of freedom, as Welch's are.
  EXPECT_LT(StudentQuantile(0.975, 4.5), StudentQuantile(0.975, 4));
  EXPECT_GT(StudentQuantile(0.975, 4.5), StudentQuantile(0.975, 5));
}

TEST(Student, PowerIsThatOfTheTables) {
  // Without a difference a test at 5 % is on one side with 2.5 %.
  EXPECT_NEAR(PowerToDiffer(7, 0, 1), 0.025, 1e-8);
  // Cohen (1988), one sample or pairs: d = 0.5 takes 34 for power 0.8, d = 0.8 takes 15, d = 0.2
  // takes 199.
  EXPECT_EQ(SeedsToDiffer(0.5, 1), 34U);
  EXPECT_EQ(SeedsToDiffer(-0.8, 1), 15U);
  EXPECT_EQ(SeedsToDiffer(0.2, 1), 199U);
  EXPECT_EQ(SeedsToDiffer(1e-4, 1), std::nullopt);
  EXPECT_EQ(SeedsToDiffer(0, 1), std::nullopt);
  EXPECT_EQ(SeedsToDiffer(100, 1), 2U);
  // Two one-sided tests: with n large, n = ((1.645 + 1.282) / within)^2.
  const double n = std::pow((1.6449 + 1.2816) / 0.1, 2);
  EXPECT_NEAR(static_cast<double>(SeedsToBeEqual(0.1, 1).value()), n, 3);
  EXPECT_LT(PowerToBeEqual(5, 0.1, 1), 0.01);
}

TEST(Student, HolmRejectsStepByStep) {
  const std::vector<double> adjusted = HolmAdjusted({0.04, 0.01, 0.03, 0.005});
  const std::vector<double> expected = {0.06, 0.03, 0.06, 0.02};
  ASSERT_EQ(adjusted.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
  EXPECT_EQ(HolmAdjusted({0.9, 0.8}), (std::vector<double>{1, 1}));
  EXPECT_TRUE(HolmAdjusted({}).empty());
}

}  // namespace
}  // namespace sotto::server
