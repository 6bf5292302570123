// Tests of the certificate: its layer curve, its table errors, and the bounds that it proves on the
// noise.
#include "certificate/certificate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "certificate/layer_curve.h"
#include "sotto/certificate.h"
#include "sotto/dither.h"
#include "sotto/layer_tables.h"
#include "sotto/num.h"
#include "unit/csv.h"

namespace sotto::server {
namespace {

__extension__ using Wide128 = unsigned __int128;

constexpr double kUnit = 0x1p-27;

const TableErrors& Errors() {
  static const TableErrors* const kErrors = new TableErrors([](size_t, size_t) {});
  return *kErrors;
}

struct Row {
  Wide128 p96;
  double r;
  double g;

  bool upper() const { return p96 >> 95 != 0; }
  Wide128 distance() const {  // Y of 2^97
    return 2 * (upper() ? ~p96 & ((Wide128{1} << 96) - 1) : p96) + 1;
  }
};

// layers.csv: computed with 50 digits at all scales, from both ends of the 2^96 layers.
std::vector<Row> Rows() {
  std::vector<Row> rows;
  for (const auto& row : ReadCsv("layers.csv")) {
    const Wide128 high = std::stoull(row[0].substr(0, 8), nullptr, 16);
    rows.push_back({high << 64 | std::stoull(row[0].substr(8), nullptr, 16), std::stod(row[1]),
                    std::stod(row[2])});
  }
  return rows;
}

TEST(LayerCurve, IsTheLayersRealFunctions) {
  for (const bool upper : {false, true}) {
    auto rows = Rows();
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [&](const Row& row) { return row.upper() != upper; }),
               rows.end());
    ASSERT_GT(rows.size(), 50u);
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return a.distance() > b.distance(); });
    LayerCurve curve(upper);
    double u = 1;
    for (const Row& row : rows) {
      const double target = 97 - std::log2(static_cast<double>(row.distance()));
      for (; u < target; u += 0.01) curve.At(u);
      const LayerPoint point = curve.At(target);
      EXPECT_NEAR(point.r, row.r, 1e-13 * std::max(1.0, row.r)) << target;
      EXPECT_NEAR(point.g, row.g, 1e-13 * std::max(1.0, row.g)) << target;
    }
  }
}

TEST(LayerCurve, CurvaturesBoundTheSecondDifferences) {
  for (const bool upper : {false, true}) {
    LayerCurve curve(upper);
    constexpr double kStep = kCurvatureReach;
    LayerPoint before = curve.At(1);
    LayerPoint at = curve.At(1 + kStep);
    for (double u = 1 + 2 * kStep; u < 98; u += kStep) {
      const LayerPoint after = curve.At(u);
      // 1e-14: the functions' own rounding.
      const double noise = 1e-14 / kStep / kStep;
      const double r = std::fabs(before.r - 2 * at.r + after.r) / kStep / kStep;
      const double g = std::fabs(before.g - 2 * at.g + after.g) / kStep / kStep;
      ASSERT_LE(r, at.r_curvature + noise) << u;
      ASSERT_LE(g, at.g_curvature + noise) << u;
      before = at;
      at = after;
    }
  }
}

int64_t Evaluate(const lrq::Piece& piece, int64_t t, int shift) {
  int64_t acc = piece.c[lrq::kDegree - 1];
  for (int i = lrq::kDegree - 2; i >= 0; --i) acc = piece.c[i] + ((acc * t) >> 32);
  return piece.c0 + ((acc * t) >> shift);
}

// r' and g' of a layer: the tables' values before the cut to Q27, as sdk/LRQ.md has them.
struct Uncut {
  explicit Uncut(const Row& row) {
    int bits = 0;
    while (row.distance() >> bits != 0) ++bits;
    const auto m = static_cast<uint64_t>(row.distance() << (96 - bits) >> 32);
    const int64_t log2 = Evaluate(lrq::Log2Pieces()[m >> 60 & 7], Fraction(m), 9);
    const auto u = static_cast<uint64_t>((static_cast<int64_t>(98 - bits) << 56) - log2);
    const int zeros = CountLeadingZeros(std::max(u, uint64_t{1} << 56));
    const uint64_t normal = std::max(u, uint64_t{1} << 56) << zeros;
    const size_t piece = 8 * static_cast<size_t>(7 - zeros) + (normal >> 60 & 7);
    const lrq::PiecePair pair = lrq::LayerPieces(row.upper(), piece);
    r_q59 = Evaluate(pair.r, Fraction(normal), 4);
    g_q59 = Evaluate(pair.g, Fraction(normal), 4);
  }

  static int64_t Fraction(uint64_t m) {
    return static_cast<int64_t>(m >> 28 & 0xffffffff) - (int64_t{1} << 31);
  }
  static double Real(int64_t q59) { return std::ldexp(static_cast<double>(q59), -59) - kUnit / 2; }

  int64_t r_q59;
  int64_t g_q59;
};

TEST(TableErrors, NoLayerIsFurtherFromTheRealFunctionsThanProved) {
  double closest = 1;  // what is left of a bound
  for (const Row& row : Rows()) {
    const Uncut uncut(row);
    const lrq::LayerEdges edges = lrq::LayerFromProbability(static_cast<uint32_t>(row.p96 >> 64),
                                                            static_cast<uint64_t>(row.p96));
    ASSERT_EQ(uncut.r_q59 >> 32, edges.r_q27);
    ASSERT_EQ(uncut.g_q59 >> 32, edges.g_q27);
    const EdgeErrors bounds = Errors().Between(row.r, row.r);
    const double r_error = std::fabs(Uncut::Real(uncut.r_q59) - row.r);
    const double g_error = std::fabs(Uncut::Real(uncut.g_q59) - row.g);
    EXPECT_LE(r_error, bounds.r) << row.r;
    EXPECT_LE(g_error, bounds.g) << row.r;
    closest = std::min({closest, 1 - r_error / bounds.r, 1 - g_error / bounds.g});
  }
  EXPECT_LT(closest, 0.7) << "the bounds say next to nothing";
}

// The probability of one released integer by adding up layers, with none of the certificate's
// arguments: where layers are not extended every one whose edge lies in the cell, 2^15 of them
// where they are, and the sum of 1 / w further out over 2^13 layers an octave. The middle rule and
// the rounding of w leave an error below kDirectError.
constexpr double kDirectError = 2e-10;

class DirectSum {
 public:
  DirectSum() {
    for (const bool upper : {false, true}) {
      // [k]: the layers nearer to this end than 2^k.
      std::vector<double>& sums = octaves_[upper ? 1 : 0];
      sums.push_back(SumOfInverseSteps(upper, 0, 1));
      for (int k = 0; k < 95; ++k) {
        sums.push_back(sums.back() +
                       SumOfInverseSteps(upper, Wide128{1} << k, Wide128{1} << (k + 1)));
      }
    }
  }

  // Pr[e = k / 2^20] * 2^20, k >= 1.
  double Density(int64_t k) const {
    return std::ldexp(0.5, 20) * (Reaching(true, k) + Reaching(false, k));
  }

 private:
  // The layer at a position counted from an end, in [0, 2^96).
  static lrq::LayerEdges LayerAt(bool upper, Wide128 position) {
    Wide128 p96 = upper ? kAll - 1 - position : position;
    if (!IsExtended(p96)) p96 = (p96 >> 60 << 60) | Wide128{1} << 59;
    return lrq::LayerFromProbability(static_cast<uint32_t>(p96 >> 64), static_cast<uint64_t>(p96));
  }

  static bool IsExtended(Wide128 p96) { return p96 >> 88 == 0 || p96 >> 88 == 0xff; }

  // Positions of the middles of `count` equal parts of [from, to).
  static Wide128 Middle(Wide128 from, Wide128 to, uint64_t i, uint64_t count) {
    return from + (to - from) * (2 * i + 1) / (2 * count);
  }

  // Sum over [from, to) of 2^-96 / w.
  static double SumOfInverseSteps(bool upper, Wide128 from, Wide128 to) {
    const auto count = static_cast<uint64_t>(std::min<Wide128>(to - from, 1 << 13));
    if (count == 0) return 0;
    double sum = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const lrq::LayerEdges layer = LayerAt(upper, Middle(from, to, i, count));
      sum += 1.0 / (layer.r_q27 + layer.g_q27);
    }
    return std::ldexp(static_cast<double>(to - from) / static_cast<double>(count) * sum, -96);
  }

  // The same over all positions below `end`.
  double SumBelow(bool upper, Wide128 end) const {
    if (end == 0) return 0;
    if (end > kAll / 2) {
      return octaves_[0].back() + octaves_[1].back() - SumBelow(!upper, kAll - end);
    }
    int k = 0;
    while (end >> (k + 1) != 0) ++k;
    return octaves_[upper ? 1 : 0][static_cast<size_t>(k)] +
           SumOfInverseSteps(upper, Wide128{1} << k, end);
  }

  // How many of the integers 128 k - 63 ... 128 k + 64 an edge reaches, times 2^-96 / w, summed
  // over all layers. r falls with the position from the upper end, g with that from the lower end.
  double Reaching(bool r, int64_t k) const {
    const auto edge = [r](const lrq::LayerEdges& e) { return r ? e.r_q27 : e.g_q27; };
    const auto end_of = [&](int64_t least) {
      Wide128 low = 0;
      Wide128 high = kAll;
      while (low < high) {
        const Wide128 middle = (low + high) / 2;
        if (edge(LayerAt(r, middle)) >= least) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    };
    const Wide128 full = end_of(128 * k + 64);
    const Wide128 some = end_of(128 * k - 63);
    auto count = static_cast<uint64_t>(std::min<Wide128>(some - full, 1 << 15));
    if (count > 0 && !IsExtended(full)) count = static_cast<uint64_t>((some - full) >> 60);
    double sum = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const lrq::LayerEdges layer = LayerAt(r, Middle(full, some, i, count));
      const auto reached = std::clamp<int64_t>(edge(layer) - (128 * k - 64), 0, 128);
      sum += static_cast<double>(reached) / (layer.r_q27 + layer.g_q27);
    }
    if (count > 0) sum *= static_cast<double>(some - full) / static_cast<double>(count);
    return 128 * SumBelow(r, full) + std::ldexp(sum, -96);
  }

  static constexpr Wide128 kAll = Wide128{1} << 96;

  std::vector<double> octaves_[2];
};

TEST(Certificate, BoundsTheProbabilitiesThatSummingTheLayersGives) {
  const DirectSum direct;
  double largest = 0;
  for (int i = 0; i < 40; ++i) {
    const auto k = static_cast<int64_t>((0.013 + 0.2482 * i) * 1048576);
    const double x = std::ldexp(static_cast<double>(k), -20);
    const double ratio = std::log(direct.Density(k)) + MinusLogGaussian(x);
    EXPECT_LE(std::fabs(ratio), LogRatioBound(Errors(), x, x) + kDirectError) << x;
    largest = std::max(largest, std::fabs(ratio));
  }
  EXPECT_GT(largest, kDirectError) << "the comparison sees nothing but its own error";
}

TEST(Certificate, TheConstantsAreProved) {
  size_t last = 0;
  const Certificate certificate = ProveCertificate(kDitherRange, [&](size_t done, size_t all) {
    EXPECT_EQ(done, last + 1);
    EXPECT_LE(done, all);
    last = done;
  });
  EXPECT_GT(last, 0u);
  EXPECT_LE(certificate.eta, kDitherEta);
  EXPECT_LE(certificate.tau, kDitherTau);
  EXPECT_LE(certificate.variance_error, 2 * kDitherEta);
  EXPECT_LE(certificate.kurtosis_error, 10 * kDitherEta);
}

TEST(Certificate, TheMassOutsideIsTheGaussianTail) {
  for (const double range : {8.0, 9.0, 9.7}) {
    const double tail = std::erfc(range / std::sqrt(2.0));
    EXPECT_GT(OutsideBound(Errors(), range), tail);
    EXPECT_LT(OutsideBound(Errors(), range), 1.03 * tail);
  }
}

TEST(Certificate, NothingIsPromisedWhereTheLayersEnd) {
  EXPECT_GT(LogRatioBound(Errors(), 10.99, 11), 1e-5);
  for (const double range : {7.9, 11.1, std::nan("")}) {
    EXPECT_THROW(ProveCertificate(range, [](size_t, size_t) {}), std::invalid_argument);
  }
}

}  // namespace
}  // namespace sotto::server
