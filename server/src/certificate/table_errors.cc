#include "certificate/table_errors.h"

#include <algorithm>
#include <cmath>

#include "certificate/layer_curve.h"
#include "sotto/layer_tables.h"

namespace sotto::server {
namespace {

using lrq::kDegree;
using lrq::Piece;

constexpr int kNodeBits = 15;  // 2^15 intervals in each piece
constexpr int kNodes = 1 << kNodeBits;
constexpr double kNodeStep = 1.0 / kNodes;
constexpr int kPiecesAnOctave = 1 << lrq::kSubdivisionBits;
constexpr double kNodeArithmetic = 1e-12;
constexpr double kBetweenNodes = 1.01;  // largest growth of a slope between nodes
constexpr double kTUnit = 0x1p-32;      // of s

// Formats of a table: the unit of c, the unit of c0, and the offset that is added to the value on
// purpose.
struct Format {
  double c_unit;
  double c0_unit;
  double bias;
};

constexpr Format kLog2Format = {0x1p-33, 0x1p-56, 0};
constexpr Format kLayerFormat = {0x1p-31, 0x1p-59, 0x1p-28};

// The real polynomial at the middle of all rounding intervals.
double Value(const Piece& piece, const Format& format, double s) {
  double value = piece.c[kDegree - 1];
  for (int i = kDegree - 2; i >= 0; --i) value = value * s + (piece.c[i] - 0.5);
  return value * s * format.c_unit + (static_cast<double>(piece.c0) * format.c0_unit - format.bias);
}

// A bound of the second derivative of the polynomial in s.
double CurvatureBound(const Piece& piece, const Format& format) {
  double sum = 0;
  for (int k = 2; k <= kDegree; ++k) {
    sum += k * (k - 1) * (std::fabs(piece.c[k - 1]) + 1) * std::ldexp(1.0, 2 - k);
  }
  return sum * format.c_unit;
}

double ArithmeticBound(const Format& format) {
  double units = 0;
  for (int k = 1; k < kDegree; ++k) units += std::ldexp(0.5, -k);
  return units * format.c_unit + format.c0_unit;
}

// Compares one polynomial with its function.
class Comparison {
 public:
  Comparison(const Piece& piece, const Format& format, double width)
      : piece_(piece), format_(format), width_(width) {}

  // At s: the function's value, the absolute value of its slope and a bound of its curvature.
  void Add(double s, double value, double slope, double curvature) {
    deviation_ = std::max(deviation_, std::fabs(Value(piece_, format_, s) - value));
    slope_ = std::max(slope_, slope);
    curvature_ = std::max(curvature_, curvature);
  }

  // A bound of the error of the result if the error of the argument, before t cuts it off, is
  // `argument_error`.
  double Bound(double argument_error) const {
    const double curvature = CurvatureBound(piece_, format_) + curvature_ * width_ * width_;
    return ArithmeticBound(format_) + deviation_ + kNodeStep * kNodeStep / 8 * curvature +
           kBetweenNodes * slope_ * (argument_error + width_ * kTUnit / 2) + kNodeArithmetic;
  }

 private:
  Piece piece_;
  Format format_;
  double width_;  // of the piece
  double deviation_ = 0;
  double slope_ = 0;
  double curvature_ = 0;
};

// The argument of the fit at s: the middle of the arguments that t stands for.
double Argument(double low, double width, double s) { return low + width * (s + 0.5 + kTUnit / 2); }

double NodeAt(int i) { return i * kNodeStep - 0.5; }

}  // namespace

TableErrors::TableErrors(const std::function<void(size_t, size_t)>& progress) {
  ExamineLog2();
  const size_t all = 2 * lrq::kLayerPieceCount;
  size_t done = 0;
  const auto step = [&] { progress(++done, all); };
  ExamineHalf(false, step);
  std::reverse(pieces_.begin(), pieces_.end());
  ExamineHalf(true, step);
}

void TableErrors::ExamineLog2() {
  const Span<const Piece> pieces = lrq::Log2Pieces();
  const double width = 1.0 / static_cast<double>(pieces.size());
  for (size_t p = 0; p < pieces.size(); ++p) {
    Comparison comparison(pieces[p], kLog2Format, width);
    for (int i = 0; i <= kNodes; ++i) {
      const double x = Argument(1 + static_cast<double>(p) * width, width, NodeAt(i));
      const double slope = 1 / (x * std::log(2.0));
      comparison.Add(NodeAt(i), std::log2(x), slope, kBetweenNodes * slope / x);
    }
    log2_error_ = std::max(log2_error_, comparison.Bound(0));
    nodes_ += kNodes + 1;
  }
}

void TableErrors::ExamineHalf(bool upper, const std::function<void()>& step) {
  LayerCurve curve(upper);
  for (size_t p = 0; p < lrq::kLayerPieceCount; ++p) {
    const lrq::PiecePair pair = lrq::LayerPieces(upper, p);
    const double octave = std::ldexp(1.0, static_cast<int>(p / kPiecesAnOctave));
    const double width = octave / kPiecesAnOctave;
    const double low = octave + static_cast<double>(p % kPiecesAnOctave) * width;
    Comparison r(pair.r, kLayerFormat, width);
    Comparison g(pair.g, kLayerFormat, width);
    for (int i = 0; i <= kNodes; ++i) {
      const LayerPoint point = curve.At(Argument(low, width, NodeAt(i)));
      r.Add(NodeAt(i), point.r, point.r_slope, point.r_curvature);
      g.Add(NodeAt(i), point.g, point.g_slope, point.g_curvature);
    }
    pieces_.push_back({r.Bound(log2_error_), g.Bound(log2_error_)});
    nodes_ += 2 * (kNodes + 1);
    step();
  }
}

size_t TableErrors::IndexOf(double r) const {
  const size_t half = pieces_.size() / 2;
  const bool upper = r > 1 && UpperTail(r) < 0.5;
  const double u = std::max(1.0, -std::log2(upper ? UpperTail(r) : LowerTail(r)));
  const double octave = std::floor(std::log2(u));
  const double position = kPiecesAnOctave * (octave + u / std::exp2(octave) - 1);
  const size_t piece = std::min(half - 1, static_cast<size_t>(position));
  return upper ? half + piece : half - 1 - piece;
}

EdgeErrors TableErrors::Between(double low, double high) const {
  const size_t first = IndexOf(low);
  const size_t last = IndexOf(high);
  EdgeErrors worst;
  for (size_t i = first == 0 ? 0 : first - 1; i <= std::min(last + 1, pieces_.size() - 1); ++i) {
    worst.r = std::max(worst.r, pieces_[i].r);
    worst.g = std::max(worst.g, pieces_[i].g);
  }
  return worst;
}

EdgeErrors TableErrors::All() const {
  EdgeErrors worst;
  for (const EdgeErrors& errors : pieces_) {
    worst.r = std::max(worst.r, errors.r);
    worst.g = std::max(worst.g, errors.g);
  }
  return worst;
}

}  // namespace sotto::server
