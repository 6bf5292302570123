// The quantizer on one coordinate, against real arithmetic and at its extremes.
#include "sotto/quantizer.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "device/cells.h"
#include "unit/csv.h"

namespace sotto {
namespace {

constexpr double kQ27 = 1 << 27;
constexpr int64_t kQ20ToQ27 = 128;

struct Coordinate {
  uint32_t j;
  DitherCell cell;
};

// Cells of one key, in order.
std::vector<DitherCell> Cells(const Dither& dither, uint32_t count) {
  std::vector<DitherCell> cells(count);
  for (uint32_t i = 0; i < count; i += kDitherBatch) {
    const uint32_t size = std::min(kDitherBatch, count - i);
    EXPECT_EQ(GenerateCells(dither, i, {cells.data() + i, size}), Status::kOk);
  }
  return cells;
}

Dither TestDither(uint8_t number, DitherKind kind = DitherKind::kGaussian) {
  Key key;
  key.bytes[9] = number;
  return {key, kind};
}

// lrq_double.csv: the quantizer in 50-digit arithmetic (Gau-LRQ, Eqs. (11) and (12)). A cell is
// rounded to Q27 here, so m may differ where the value lies within that rounding of an edge.
TEST(Quantizer, AgreesWithTheRealQuantizer) {
  const Dither dither = TestDither(0);
  int compared = 0;
  for (const auto& row : ReadCsv("lrq_double.csv")) {
    const double sigma = std::stod(row[3]);
    const double v = std::stod(row[0]) / sigma;
    const double left = std::stod(row[4]) / sigma;
    const double step = std::stod(row[6]) / sigma;
    const double offset = std::stod(row[1]) - left;  // x = L + s
    if (std::fabs(v) > 1024 || step * kQ27 > kMaxStepQ27) continue;
    const DitherCell cell = {static_cast<int32_t>(std::lround(step * kQ27)),
                             static_cast<int32_t>(std::lround(left * kQ27)),
                             static_cast<int32_t>(std::lround(offset * kQ27)), 0};
    const auto v_q20 = static_cast<int32_t>(std::lround(v * (1 << 20)));
    int32_t m = 0;
    ASSERT_EQ(Quantize(dither, 0, cell, v_q20, &m), Status::kOk);
    const double position = (v + step - offset) / step;
    const double to_edge = std::fabs(position - std::round(position)) * step;
    if (to_edge < std::fabs(v) * 2e-8 + 2e-6) continue;
    EXPECT_EQ(m, std::stol(row[7])) << "u = " << row[0] << ", x = " << row[1];
    int32_t noisy = 0;
    ASSERT_EQ(Dequantize(dither, 0, cell, m, &noisy), Status::kOk);
    EXPECT_NEAR(noisy / 1048576.0, std::stod(row[8]) / sigma, 2e-6 + 1e-8 * std::fabs(v));
    ++compared;
  }
  EXPECT_GT(compared, 12);
}

// decode(encode(v)) - v is one of the integers L+1 .. L+w of Q27, before rounding to Q20.
TEST(Quantizer, ErrorStaysInTheCellsInterval) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int32_t> any(-kMaxValueQ20, kMaxValueQ20);
  for (const DitherKind kind : {DitherKind::kGaussian, DitherKind::kUniform}) {
    const Dither dither = TestDither(1, kind);
    const auto cells = Cells(dither, 50000);
    for (uint32_t j = 0; j < cells.size(); ++j) {
      const int32_t extremes[] = {0, 1, -1, kMaxValueQ20, -kMaxValueQ20};
      const int32_t v = j % 7 < 5 ? extremes[j % 7] : any(random);
      int32_t m = 0;
      int32_t noisy = 0;
      ASSERT_EQ(Quantize(dither, j, cells[j], v, &m), Status::kOk);
      ASSERT_EQ(Dequantize(dither, j, cells[j], m, &noisy), Status::kOk);
      const int64_t error = (static_cast<int64_t>(noisy) - v) * kQ20ToQ27;
      // Rounding moves the error by at most 64 units up and 63 down.
      EXPECT_GE(error, cells[j].left_q27 + 1 - 64);
      EXPECT_LE(error, static_cast<int64_t>(cells[j].left_q27) + cells[j].step_q27 + 63);
    }
  }
}

// Every layer and dither extreme: the first and the last offsets, cells from the very first to the
// very last layer, both coins.
TEST(Quantizer, ErrorStaysInTheIntervalAtEveryExtreme) {
  const Dither dither = TestDither(2);
  const std::pair<uint32_t, uint64_t> layers[] = {
      {0, 0},          {0, UINT64_MAX},          {1u << 24, 1},   {1u << 31, 5},
      {UINT32_MAX, 0}, {UINT32_MAX, UINT64_MAX}, {0x4cccccccu, 0}};
  for (const auto& [high, low] : layers) {
    const lrq::LayerEdges edges = lrq::LayerFromProbability(high, low);
    const int32_t w = edges.r_q27 + edges.g_q27;
    for (const int32_t left : {-edges.r_q27, -edges.g_q27}) {
      for (const uint32_t t : {0u, 1u, 1u << 26, (1u << 27) - 1}) {
        const uint64_t product = static_cast<uint64_t>(w) * t;
        const DitherCell cell = {w, left, static_cast<int32_t>(product >> 27),
                                 static_cast<uint32_t>(product & 0x7ffffff)};
        int32_t offset = 0;
        ASSERT_EQ(dither.ExactOffset(0, cell, &offset), Status::kOk);
        EXPECT_LT(offset, w);
        for (const int32_t v : {0, 1, -1, 12345, -54321, kMaxValueQ20, -kMaxValueQ20}) {
          int32_t m = 0;
          ASSERT_EQ(Quantize(dither, 0, cell, v, &m), Status::kOk);
          const int64_t point = static_cast<int64_t>(m) * w + offset + left;
          const int64_t error = point - v * kQ20ToQ27;
          EXPECT_GT(error, left);
          EXPECT_LE(error, static_cast<int64_t>(left) + w);
        }
      }
    }
  }
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Values on and just above the edges of cells, where the bits of stream 2 decide about m.
TEST(Quantizer, TheExactOffsetDecidesAtTheEdges) {
  const Dither dither = TestDither(6);
  const auto cells = Cells(dither, 20000);
  int decided = 0;
  for (uint32_t j = 0; j < cells.size(); ++j) {
    const DitherCell& cell = cells[j];
    const int64_t edge = static_cast<int64_t>(j % 200) * cell.step_q27 + cell.offset_q27;
    const int64_t v_q27 = (edge + kQ20ToQ27 - 1) / kQ20ToQ27 * kQ20ToQ27;
    int32_t offset = 0;
    ASSERT_EQ(dither.ExactOffset(j, cell, &offset), Status::kOk);
    const int64_t exact = FloorDivide(v_q27 + cell.step_q27 - offset, cell.step_q27);
    int32_t m = 0;
    ASSERT_EQ(Quantize(dither, j, cell, static_cast<int32_t>(v_q27 / kQ20ToQ27), &m), Status::kOk);
    EXPECT_EQ(m, exact);
    decided += exact != FloorDivide(v_q27 + cell.step_q27 - cell.offset_q27, cell.step_q27);
  }
  EXPECT_GT(decided, 50);
}

// The shortcut of the encoder never contradicts the layer, and is worth having.
TEST(Quantizer, WhatIsZeroInEveryLayerIsZeroInEach) {
  std::mt19937 random(7);
  const Dither dither = TestDither(8);
  int shortcuts = 0;
  int zeros = 0;
  for (uint32_t j = 0; j < 200000; ++j) {
    uint64_t word = static_cast<uint64_t>(random()) << 32 | random();
    if (j % 5 == 0) word &= ~static_cast<uint64_t>(kDitherMask);
    if (j % 5 == 1) word |= kDitherMask;
    const uint32_t t = Dither::Fraction(word);
    DitherCell cell;
    ASSERT_EQ(dither.Select(j, word, &cell), Status::kOk);
    const int32_t half_width = 1 << (1 + random() % 24);
    const auto v = static_cast<int32_t>(random() % (2u * half_width)) - half_width;
    int32_t m = 0;
    ASSERT_EQ(Quantize(dither, j, cell, v, &m), Status::kOk);
    const bool is_shortcut = IsZeroInEveryLayer(DitherKind::kGaussian, t, v);
    if (is_shortcut) {
      ASSERT_EQ(m, 0) << "t = " << t << ", v = " << v;
    }
    shortcuts += is_shortcut;
    zeros += m == 0;
  }
  EXPECT_GT(shortcuts, zeros / 2);
  EXPECT_FALSE(IsZeroInEveryLayer(DitherKind::kUniform, kDitherMask / 2, 0));
}

TEST(Quantizer, SeveralCoordinatesAtOnceAreWhatEachIsAlone) {
  for (const DitherKind kind : {DitherKind::kGaussian, DitherKind::kUniform}) {
    const Dither dither = TestDither(7, kind);
    auto cells = Cells(dither, 20000);
    std::vector<int32_t> m(cells.size());
    const Span<const DitherCell> all(cells.data(), cells.size());
    for (const int32_t v : {0, -1, 1 << 19, -(1 << 22), kMaxValueQ20, -kMaxValueQ20}) {
      ASSERT_EQ(QuantizeAll(dither, 0, all, v, {m.data(), m.size()}), Status::kOk);
      for (uint32_t j = 0; j < cells.size(); ++j) {
        int32_t m_alone = 0;
        ASSERT_EQ(Quantize(dither, j, cells[j], v, &m_alone), Status::kOk);
        ASSERT_EQ(m[j], m_alone);
      }
    }
    EXPECT_EQ(QuantizeAll(dither, 0, all, kMaxValueQ20 + 1, {m.data(), m.size()}),
              Status::kOutOfRange);
  }
}

TEST(Quantizer, BeyondTheFormatIsAnErrorAndNotAWrap) {
  const Dither dither = TestDither(3);
  const auto cells = Cells(dither, 1);
  int32_t m = 77;
  EXPECT_EQ(Quantize(dither, 0, cells[0], kMaxValueQ20 + 1, &m), Status::kOutOfRange);
  EXPECT_EQ(Quantize(dither, 0, cells[0], -kMaxValueQ20 - 1, &m), Status::kOutOfRange);
  EXPECT_EQ(Quantize(dither, 0, cells[0], INT32_MIN, &m), Status::kOutOfRange);
  EXPECT_EQ(m, 77);
}

double GaussianCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Kolmogorov-Smirnov over n = 400,000 errors from a fixed key: sqrt(n) D above 3.1 has probability
// below 2 exp(-2 * 3.1^2) = 1e-8 for the exact Gaussian; it detects a CDF off by 0.005.
TEST(Quantizer, ErrorIsStandardGaussianWhateverTheValue) {
  for (const int32_t v : {0, 300000, -(1 << 26)}) {
    const Dither dither = TestDither(4);
    const auto cells = Cells(dither, 400000);
    std::vector<double> errors;
    for (uint32_t j = 0; j < cells.size(); ++j) {
      int32_t m = 0;
      int32_t noisy = 0;
      ASSERT_EQ(Quantize(dither, j, cells[j], v, &m), Status::kOk);
      ASSERT_EQ(Dequantize(dither, j, cells[j], m, &noisy), Status::kOk);
      errors.push_back((static_cast<double>(noisy) - v) / 1048576.0);
    }
    std::sort(errors.begin(), errors.end());
    const auto n = static_cast<double>(errors.size());
    double distance = 0;
    for (size_t i = 0; i < errors.size(); ++i) {
      const double cdf = GaussianCdf(errors[i]);
      distance = std::max({distance, std::fabs(cdf - static_cast<double>(i) / n),
                           std::fabs(static_cast<double>(i + 1) / n - cdf)});
    }
    EXPECT_LT(std::sqrt(n) * distance, 3.1) << "v = " << v;
  }
}

}  // namespace
}  // namespace sotto
