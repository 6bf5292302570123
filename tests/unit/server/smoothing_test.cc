// Tests of SmoothLaplacian() against reference vectors, a direct solver in double precision, and
// algebraic identities. There are no statistical claims: every signal is fixed.
#include "aggregate/smoothing.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <unsupported/Eigen/FFT>

namespace sotto::server {
namespace {

using Doubles = std::vector<double>;

// A rough signal in (-1, 1): the high bits of a linear congruential generator.
std::vector<float> RoughSignal(size_t size, uint32_t state = 1) {
  std::vector<float> signal(size);
  for (float& x : signal) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(static_cast<int32_t>(state) >> 8) / 8388608.F;
  }
  return signal;
}

std::vector<float> Smooth(std::vector<float> values, double factor) {
  SmoothLaplacian({values.data(), values.size()}, factor);
  return values;
}

double Norm(const Doubles& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

// ||actual - expected||
double Error(const std::vector<float>& actual, Doubles expected) {
  for (size_t i = 0; i < expected.size(); ++i) expected[i] -= actual[i];
  return Norm(expected);
}

double RelativeError(const std::vector<float>& actual, const Doubles& expected) {
  return Error(actual, expected) / Norm(expected);
}

// The cyclic tridiagonal system, size >= 3, by elimination without pivoting (A is diagonally
// dominant). The Sherman-Morrison formula folds in the two corners.
class DirectSolver {
 public:
  DirectSolver(size_t size, double factor) : off_(-factor), diagonal_(size, 1 + 2 * factor) {
    gamma_ = -diagonal_[0];
    diagonal_.front() -= gamma_;
    diagonal_.back() -= off_ * off_ / gamma_;
  }

  Doubles Solve(const std::vector<float>& v) const {
    Doubles corner(v.size(), 0.0);
    corner.front() = gamma_;
    corner.back() = off_;
    const Doubles y = SolveTridiagonal(Doubles(v.begin(), v.end()));
    const Doubles z = SolveTridiagonal(corner);
    const double ratio = off_ / gamma_;
    const double weight = (y.front() + ratio * y.back()) / (1 + z.front() + ratio * z.back());
    Doubles u(v.size());
    for (size_t i = 0; i < u.size(); ++i) u[i] = y[i] - weight * z[i];
    return u;
  }

 private:
  Doubles SolveTridiagonal(Doubles rhs) const {
    Doubles pivot = diagonal_;
    for (size_t i = 1; i < rhs.size(); ++i) {
      const double multiplier = off_ / pivot[i - 1];
      pivot[i] -= multiplier * off_;
      rhs[i] -= multiplier * rhs[i - 1];
    }
    rhs.back() /= pivot.back();
    for (size_t i = rhs.size() - 1; i-- > 0;) rhs[i] = (rhs[i] - off_ * rhs[i + 1]) / pivot[i];
    return rhs;
  }

  double off_;
  double gamma_;
  Doubles diagonal_;
};

// The paper's formula u = ifft(fft(v) / (1 + 2s (1 - cos(2 pi i / d)))) by another FFT in double.
Doubles SmoothByPaper(const std::vector<float>& v, double factor) {
  Eigen::FFT<double> fft;
  std::vector<std::complex<double>> spectrum;
  fft.fwd(spectrum, Doubles(v.begin(), v.end()));
  const double step = 2 * std::acos(-1.0) / static_cast<double>(v.size());
  for (size_t i = 0; i < spectrum.size(); ++i) {
    spectrum[i] /= 1 + 2 * factor * (1 - std::cos(step * static_cast<double>(i)));
  }
  Doubles u;
  fft.inv(u, spectrum);
  return u;
}

// The columns of vectors/laplace/ls_d<size>.csv: v and u for the factors 0.5, 1, 2, 3.
std::vector<Doubles> ReadVectors(int size) {
  std::ifstream file(std::string(SOTTO_VECTORS) + "/laplace/ls_d" + std::to_string(size) + ".csv");
  std::vector<Doubles> columns(5);
  std::string line;
  std::getline(file, line);  // the column names
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string field;
    for (Doubles& column : columns) {
      std::getline(fields, field, ',');
      column.push_back(std::stod(field));
    }
  }
  return columns;
}

class SmoothingVectors : public testing::TestWithParam<int> {};

TEST_P(SmoothingVectors, AreReproducedInSinglePrecision) {
  const std::vector<Doubles> columns = ReadVectors(GetParam());
  ASSERT_EQ(columns[0].size(), static_cast<size_t>(GetParam()));
  const std::vector<float> v(columns[0].begin(), columns[0].end());
  const double factors[] = {0.5, 1, 2, 3};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_LT(RelativeError(Smooth(v, factors[i]), columns[i + 1]), 1e-6) << factors[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SmoothingVectors, testing::Values(1, 2, 3, 16, 100, 157, 1024));

class SmoothingSize : public testing::TestWithParam<size_t> {};

TEST_P(SmoothingSize, AgreesWithADirectSolverForSmallAndLargeFactors) {
  const std::vector<float> v = RoughSignal(GetParam());
  for (const double factor : {1e-3, 0.5, 1.0, 3.0, 100.0, 1e4, 1e6}) {
    const Doubles expected = DirectSolver(v.size(), factor).Solve(v);
    EXPECT_LT(RelativeError(Smooth(v, factor), expected), 1e-6) << factor;
  }
}

// Primes, numbers with small factors only, the parameters of a 784 -> 10 softmax.
INSTANTIATE_TEST_SUITE_P(Sizes, SmoothingSize,
                         testing::Values(157, 784, 7840, 7850, 7919, 8000, 104729, 104976));

TEST(Smoothing, ItsErrorIsBelow5em7OfTheInputForEverySmallSizeAndFactor) {
  for (size_t size = 3; size <= 64; ++size) {
    const std::vector<float> v = RoughSignal(size, 3);
    const double limit = 5e-7 * Norm(Doubles(v.begin(), v.end()));
    for (const double factor : {1e-300, 1e-3, 0.5, 1.0, 3.0, 100.0, 1e4, 1e6}) {
      const Doubles expected = DirectSolver(size, factor).Solve(v);
      EXPECT_LT(Error(Smooth(v, factor), expected), limit) << size << " " << factor;
    }
  }
}

TEST(Smoothing, AgreesWithThePapersFormulaEvaluatedByAnotherFft) {
  for (const size_t size : {2, 3, 10, 15, 64, 100, 157, 7840}) {
    const std::vector<float> v = RoughSignal(size);
    EXPECT_LT(RelativeError(Smooth(v, 1.5), SmoothByPaper(v, 1.5)), 1e-6) << size;
  }
}

TEST(Smoothing, TheSeamOfAPrimeLengthIsInvisible) {
  // One spike at either end, where the window is cut.
  for (const size_t spike : {size_t{0}, size_t{7918}}) {
    std::vector<float> v(7919, 0.F);
    v[spike] = 1;
    EXPECT_LT(RelativeError(Smooth(v, 3), DirectSolver(v.size(), 3).Solve(v)), 1e-6);
  }
}

TEST(Smoothing, FactorZeroAndSizeOneLeaveTheBytesAlone) {
  std::vector<float> v = RoughSignal(157);
  v[3] = -0.F;
  EXPECT_EQ(std::memcmp(Smooth(v, 0).data(), v.data(), v.size() * sizeof(float)), 0);
  EXPECT_EQ(Smooth({0.1F}, 3), std::vector<float>{0.1F});
  EXPECT_TRUE(Smooth({}, 3).empty());
}

TEST(Smoothing, PreservesTheMean) {
  for (const size_t size : {size_t{2}, size_t{157}, size_t{7919}, size_t{8000}}) {
    std::vector<float> v = RoughSignal(size);
    for (float& x : v) x += 0.25F;
    double before = 0;
    double after = 0;
    for (const float x : v) before += x;
    for (const float x : Smooth(v, 3)) after += x;
    EXPECT_NEAR(after, before, 1e-6 * std::fabs(before)) << size;
  }
}

TEST(Smoothing, IsLinear) {
  for (const size_t size : {size_t{157}, size_t{8000}}) {
    const std::vector<float> a = RoughSignal(size, 1);
    const std::vector<float> b = RoughSignal(size, 2);
    const std::vector<float> smooth_a = Smooth(a, 2);
    const std::vector<float> smooth_b = Smooth(b, 2);
    std::vector<float> combination(size);
    Doubles expected(size);
    for (size_t i = 0; i < size; ++i) {
      combination[i] = 2 * a[i] - 3 * b[i];
      expected[i] = 2.0 * smooth_a[i] - 3.0 * smooth_b[i];
    }
    EXPECT_LT(RelativeError(Smooth(combination, 2), expected), 1e-6) << size;
  }
}

TEST(Smoothing, TheSameCallGivesTheSameBytes) {
  for (const size_t size : {size_t{157}, size_t{8000}}) {
    EXPECT_EQ(Smooth(RoughSignal(size), 1), Smooth(RoughSignal(size), 1));
  }
}

TEST(Smoothing, TheLargestMagnitudeStaysFinite) {
  for (const float x : Smooth(std::vector<float>(7919, kMaxSmoothingMagnitude), 1)) {
    ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(Smoothing, RefusesFactorsOutsideItsRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double factor : {nan, infinity, -infinity, -1e-9, 2 * kMaxSmoothingFactor}) {
    EXPECT_THROW(Smooth(RoughSignal(8), factor), std::invalid_argument) << factor;
  }
}

TEST(Smoothing, RefusesValuesThatAreNotFiniteAndChangesNothing) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 2e28F}) {
    std::vector<float> v = RoughSignal(157);
    v[100] = bad;
    const std::vector<float> before = v;
    EXPECT_THROW(SmoothLaplacian({v.data(), v.size()}, 1), std::invalid_argument);
    EXPECT_EQ(std::memcmp(v.data(), before.data(), v.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace sotto::server
