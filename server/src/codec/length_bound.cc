#include "codec/length_bound.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "sotto/quantizer.h"
#include "sotto/update_model.h"

namespace sotto::server {
namespace {

constexpr double kSlack = 0x1p-24;       // of U, lemma 3
constexpr double kFairBits = 1.02;       // lemma 2
constexpr double kLargestValue = 1024;   // |v|
constexpr double kGridRatio = 1.05;      // between two points of U
constexpr double kFirstPoint = 0x1p-30;  // of U, above the slack
constexpr double kFirstX = 0.1;          // of lemma 6
constexpr double kStepOfX = 1.2;         // between two x
constexpr double kLeastX = 1e-5;
constexpr double kLargestX = 1;

// A range of t in which the bits depend on m alone: C(t, m) by m.
struct Cell {
  double begin;
  double end;
  std::vector<double> bits;
};

// Lemma 2: a probability as it can be after `decisions` of them.
class Cost {
 public:
  explicit Cost(double decisions) : drift_(std::min(decisions, 0x1p32)) {}

  double One(const AdaptiveBit& bit) const {
    const double least = std::max(0.0, static_cast<double>(bit.p_one) - drift_);
    return -std::log2(std::max(1.0, std::floor(least * 0x1p-16)) * 0x1p-16 * (1 - 0x1p-8));
  }
  double Zero(const AdaptiveBit& bit) const {
    const double most = std::min(0x1p32 - 1, static_cast<double>(bit.p_one) + drift_);
    return -std::log2(1 - std::max(1.0, std::floor(most * 0x1p-16)) * 0x1p-16);
  }

 private:
  double drift_;
};

// Of the gamma code of an excess.
double EscapeBits(uint32_t excess) {
  int length = 0;
  while (excess >> (length + 1) != 0) ++length;
  return kFairBits * (2 * length + 1);
}

// The bits of |m| >= 1 behind `nonzero` and `far`.
double MagnitudeBits(const UpdateModel& model, const Cost& cost, bool is_far, uint32_t m) {
  constexpr uint32_t kUnary = UpdateModel::kUnary;
  double bits = 0;
  for (uint32_t q = 0; q < kUnary && q + 1 < m; ++q) {
    bits += cost.One(model.more(is_far, static_cast<int>(q)));
  }
  if (m > kUnary) return bits + EscapeBits(m - kUnary);
  return bits + cost.Zero(model.more(is_far, static_cast<int>(m - 1)));
}

// The nearer edge of context i is at most this far away, in steps.
double FarthestIn(int context) {
  const double octave = std::ldexp(1.0, -(context / 2) - 1);
  return context % 2 == 0 ? octave : 0.75 * octave;
}

// All cells, for integers up to `most`.
std::vector<Cell> CellsOf(const UpdateModel& model, const Cost& cost, uint32_t most) {
  std::vector<Cell> cells;
  for (int i = 0; i < UpdateModel::kDistances; ++i) {
    const double farthest = FarthestIn(i);
    const double nearest = i + 1 < UpdateModel::kDistances ? FarthestIn(i + 1) : 0.0;
    for (const bool is_far : {false, true}) {
      Cell cell{is_far ? 1 - farthest : nearest, is_far ? 1 - nearest : farthest, {}};
      cell.bits.push_back(cost.Zero(model.nonzero(i)));
      const double side = is_far ? cost.One(model.far(i)) : cost.Zero(model.far(i));
      const double before = cost.One(model.nonzero(i)) + side;
      for (uint32_t m = 1; m <= most; ++m) {
        const double bits = before + MagnitudeBits(model, cost, is_far, m);
        cell.bits.push_back(std::max(cell.bits.back(), bits));
      }
      cells.push_back(cell);
    }
  }
  return cells;
}

// ln G of lemma 4, for one x.
class LogMoment {
 public:
  LogMoment(const std::vector<Cell>& cells, double x) : cells_(cells) {
    for (const Cell& cell : cells) {
      std::vector<double> of_cell;
      of_cell.reserve(cell.bits.size());
      for (const double bits : cell.bits) of_cell.push_back(std::exp(x * bits));
      powers_.push_back(std::move(of_cell));
    }
  }

  //   u  below the largest integer of the cells
  double operator()(double u) const {
    const auto whole = static_cast<size_t>(u);
    const double part = u - std::floor(u);
    double sum = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
      const double size = cells_[i].end - cells_[i].begin;
      const double above = std::clamp(part - cells_[i].begin, 0.0, size);
      sum += above * powers_[i][whole + 1] + (size - above) * powers_[i][whole];
    }
    return std::log(sum);
  }

 private:
  const std::vector<Cell>& cells_;
  std::vector<std::vector<double>> powers_;
};

// An update's coordinates, and its norm over the smallest step.
struct Shape {
  double coordinates;          // n
  double norm;                 // V / w_min + 2^-24 sqrt(n)
  double largest;              // U_max
  std::vector<double> extras;  // their U
};

// Lemma 5 for one y: the maximum over intervals of the grid.
double SumFor(double y, const Shape& shape, const std::vector<double>& points,
              const std::vector<double>& moments) {
  double most = moments[0];
  for (size_t k = 0; k + 1 < points.size(); ++k) {
    most = std::max(most, moments[k + 1] - y * points[k] * points[k]);
  }
  return shape.coordinates * most + y * shape.norm * shape.norm;
}

// The least of a function of ln y that falls and then rises.
template <typename F>
double LeastOf(F f) {
  constexpr double kShorter = 0.618;
  double low = -40;
  double high = 40;
  for (int i = 0; i < 40; ++i) {
    const double left = high - kShorter * (high - low);
    const double right = low + kShorter * (high - low);
    if (f(std::exp(left)) < f(std::exp(right))) {
      high = right;
    } else {
      low = left;
    }
  }
  return f(std::exp((low + high) / 2));
}

// Lemmas 5 and 6: the bits that updates of one scale code exceed with a probability of at most p.
class ChernoffBits {
 public:
  ChernoffBits(const std::vector<Cell>& cells, const Shape& shape, double p)
      : cells_(cells), shape_(shape), log_p_(std::log(p)) {
    points_ = {0.0};
    for (double u = kFirstPoint; kSlack + u < shape.largest; u *= kGridRatio) {
      points_.push_back(kSlack + u);
    }
    points_.push_back(shape.largest);
  }

  // Lemma 8: the least over x, found by steps from *x, or a value that is at most `enough`.
  //   x  receives the x of the result
  double Least(double enough, double* x) const {
    double best = At(*x);
    for (const double factor : {kStepOfX, 1 / kStepOfX}) {
      while (best > enough && *x * factor >= kLeastX && *x * factor <= kLargestX) {
        const double next = At(*x * factor);
        if (!(next < best)) break;
        best = next;
        *x *= factor;
      }
    }
    return best;
  }

 private:
  double At(double x) const {
    const LogMoment moment(cells_, x);
    std::vector<double> moments;
    moments.reserve(points_.size());
    for (const double u : points_) moments.push_back(moment(u));
    double sum = LeastOf([&](double y) { return SumFor(y, shape_, points_, moments); });
    for (const double extra : shape_.extras) sum += moment(extra);
    return (sum - log_p_) / x * (1 + 1e-9);  // for the rounding of these sums
  }

  const std::vector<Cell>& cells_;
  const Shape& shape_;
  double log_p_;
  std::vector<double> points_;
};

double StepOf(DitherKind kind) {
  return (kind == DitherKind::kUniform ? kUniformStepQ27 : kMinStepQ27) * 0x1p-27;
}

// The largest norm of an update in the job's rounds, in deviations of the noise.
double NormOf(const TrainTask& task) {
  return static_cast<double>(task.training.clip_l2) / static_cast<double>(task.quantizer_scale) *
         (1 + 0x1p-20);
}

// Lemma 7, for updates of at most this norm, in deviations of the noise.
double RangeBytesFor(const TrainTask& task, double norm, uint32_t parameters, double p) {
  const double step = StepOf(task.format.dither);
  const double n = parameters;
  Shape shape{n, 0, 0, {}};
  double squares = norm * norm;
  double largest_extra = 0;
  for (const uint32_t extra_q20 : {task.clip_bit_q20, task.accuracy_q20}) {
    if (extra_q20 == 0) continue;
    const double extra = extra_q20 * 0x1p-20;
    shape.extras.push_back(extra / step + kSlack);
    squares += extra * extra;
    largest_extra = std::max(largest_extra, extra);
  }
  const double most_rms = std::min(kLargestValue, 1.05 * std::sqrt(squares / n) + 0x1p-19);
  const uint8_t last = lrq::ScaleCodeFor(static_cast<int32_t>(std::ceil(most_rms * 0x1p20)));
  double most_bits = 0;
  double x = kFirstX;
  for (int h = last; h >= 1; --h) {
    const double rms = lrq::ScaleBoundQ20(static_cast<uint8_t>(h)) * 0x1p-20;
    const double norm_of_h = std::min(norm, 1.05 * (rms + 0x1p-19) * std::sqrt(n));
    shape.norm = norm_of_h / step + kSlack * std::sqrt(n);
    shape.largest = std::min(norm_of_h, kLargestValue) / step + 2 * kSlack;
    const double farthest = std::max(shape.largest, largest_extra / step + kSlack);
    UpdateModel model;
    model.Reset(static_cast<uint8_t>(h), task.format.dither, false);
    const std::vector<Cell> cells =
        CellsOf(model, Cost(n + 2), static_cast<uint32_t>(farthest) + 1);
    most_bits = std::max(most_bits, ChernoffBits(cells, shape, p).Least(most_bits, &x));
  }
  return 6 + std::ceil(most_bits / 8);
}

uint32_t RangeLengthFor(const TrainTask& task, uint32_t parameters, double p) {
  double bytes = RangeBytesFor(task, NormOf(task), parameters, p);
  if (task.clip_bit_q20 + task.accuracy_q20 != 0) {
    bytes = std::max(bytes, RangeBytesFor(task, 0, parameters, 0x1p-20 * p));
  }
  if (bytes > kMaxLength) throw std::invalid_argument("no length in range suffices for this task");
  return static_cast<uint32_t>(bytes);
}

}  // namespace

uint32_t LengthFor(const TrainTask& task, uint32_t parameters, double p) {
  const bool is_coded = task.format.coding != Coding::kFloat32 && task.private_noise_q20 == 0;
  if (!is_coded || parameters == 0 || !(p > 0 && p < 1)) {
    throw std::invalid_argument(
        "one length needs coding range or fixed, no private noise, and a probability in (0, 1)");
  }
  if (task.format.coding == Coding::kRange) return RangeLengthFor(task, parameters, p);
  const double ratio = std::min(kLargestValue, NormOf(task));
  const uint32_t extra = std::max(task.clip_bit_q20, task.accuracy_q20);
  const auto largest =
      std::max(static_cast<int32_t>(std::ceil(ratio * 0x1p20)), static_cast<int32_t>(extra));
  const uint32_t extras = (task.clip_bit_q20 == 0 ? 0 : 1) + (task.accuracy_q20 == 0 ? 0 : 1);
  return static_cast<uint32_t>(
      lrq::FixedCodeSize(parameters + extras, lrq::ScaleCodeFor(largest), task.format.dither));
}

}  // namespace sotto::server
