#include "unit/server/shift_bound.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "certificate/layer_curve.h"

namespace sotto::server {
namespace {

constexpr double kMeanRootStep = 1.5873824298270458;   // E sqrt(w)
constexpr double kMeanSquareStep = 6.429804729494186;  // E w^2
constexpr double kGridMargin = 1.01;                   // for the error of the integrals
constexpr double kPi = 3.14159265358979323846;

struct Minimum {
  double at;
  double value;
};

// The smallest of the values of f that a golden section on [low, high] meets. f has one minimum in
// ln(x).
template <class Function>
Minimum Minimise(double low, double high, int steps, Function f) {
  constexpr double kGolden = 0.6180339887498949;
  double a = std::log(low);
  double b = std::log(high);
  Minimum best = {low, f(low)};
  for (int i = 0; i < steps; ++i) {
    const Minimum left = {b - kGolden * (b - a), f(std::exp(b - kGolden * (b - a)))};
    const Minimum right = {a + kGolden * (b - a), f(std::exp(a + kGolden * (b - a)))};
    const Minimum& better = left.value < right.value ? left : right;
    if (better.value < best.value) best = {std::exp(better.at), better.value};
    if (left.value < right.value) {
      b = right.at;
    } else {
      a = left.at;
    }
  }
  return best;
}

double MeanShiftAt(double lambda, double clip, double coordinates) {
  return lambda * clip * clip +
         kMeanRootStep * std::pow(coordinates, 0.25) / (1.5 * std::sqrt(lambda)) + 1 / (4 * lambda);
}

Minimum BestMean(double clip, double coordinates) {
  return Minimise(1e-9, 1e9, 100,
                  [&](double lambda) { return MeanShiftAt(lambda, clip, coordinates); });
}

// A node of the integral over the cells: both coins.
struct Layer {
  double r;
  double g;
  double mass;
};

// The chi distribution with three degrees of freedom, in steps of ln r.
std::vector<Layer> Layers() {
  constexpr int kSteps = 100;
  constexpr double kLowest = 1e-9;  // there g is above the largest step of the tables
  constexpr double kHighest = 12.0;
  std::vector<Layer> layers;
  const double step = std::log(kHighest / kLowest) / kSteps;
  for (int i = 0; i < kSteps; ++i) {
    const double r = kLowest * std::exp((i + 0.5) * step);
    const double density = std::sqrt(2 / kPi) * r * r * std::exp(-r * r / 2);
    layers.push_back({r, OtherEdge(r), density * r * step});
  }
  return layers;
}

// W - u e: what the crossings are worth that are worth their cost. a: distance to the first edge.
double Crossings(double u, double lambda, double w, double a) {
  // Crossing number k >= 2 is worth its cost while 2 a + (2 k - 3) w < u / lambda.
  const double last = std::floor((u / lambda - 2 * a) / (2 * w) + 1.5);
  const double one = std::max(0.0, u * w - lambda * a * a);
  if (!(last >= 2)) return one;
  const double edge = a + (last - 1) * w;
  return std::max(one, u * last * w - lambda * edge * edge);
}

// K(u) of lemma 5.
double LogMoment(const std::vector<Layer>& layers, double u, double lambda, double t) {
  constexpr int kSteps = 32;
  double sum = 0;
  double mass = 0;
  for (const Layer& layer : layers) {
    const double w = layer.r + layer.g;
    for (int i = 0; i < kSteps; ++i) {
      const double root = (i + 0.5) / kSteps;  // a = w root^2: most nodes are near the edge
      const double a = w * root * root;
      const double weight = layer.mass * root / kSteps;  // of each coin
      const double worth = t * (Crossings(u, lambda, w, a) + u * a);
      sum += weight * (std::exp(worth - t * u * layer.r) + std::exp(worth - t * u * layer.g));
      mass += 2 * weight;
    }
  }
  return std::max(0.0, std::log(sum / mass));
}

// The bound of lemma 6 on sum K(u_j).
class DirectionBound {
 public:
  DirectionBound(const std::vector<Layer>& layers, double lambda, double t, double coordinates)
      : coordinates_(coordinates) {
    constexpr double kRatio = 1.35;
    grid_.push_back({0, 0});
    for (double u = 1 / (8 * std::sqrt(coordinates)); u < 1; u *= kRatio) Add(layers, u, lambda, t);
    Add(layers, 1, lambda, t);
  }

  double Value() const {
    return Minimise(1e-8, 1e8, 60, [this](double s) { return s + coordinates_ * Conjugate(s); })
        .value;
  }

 private:
  struct Point {
    double u;
    double k;
  };

  void Add(const std::vector<Layer>& layers, double u, double lambda, double t) {
    grid_.push_back({u, LogMoment(layers, u, lambda, t)});
  }

  // The largest K(u) - s u^2, with the chords for K.
  double Conjugate(double s) const {
    double largest = 0;
    for (size_t i = 1; i < grid_.size(); ++i) {
      const Point& a = grid_[i - 1];
      const Point& b = grid_[i];
      const double slope = (b.k - a.k) / (b.u - a.u);
      const double u = std::clamp(slope / (2 * s), a.u, b.u);
      largest = std::max(largest, a.k + slope * (u - a.u) - s * u * u);
    }
    return largest;
  }

  double coordinates_;
  std::vector<Point> grid_;
};

}  // namespace

double MeanShift(double clip, double coordinates) { return BestMean(clip, coordinates).value; }

double ShiftQuantile(double clip, double coordinates, double bits) {
  const std::vector<Layer> layers = Layers();
  const double x = bits * std::log(2.0);
  const auto at = [&](double lambda, double t) {
    const DirectionBound directions(layers, lambda, t, coordinates);
    return lambda * clip * clip + (directions.Value() + x) / t;
  };
  // The best lambda is near the best lambda of the mean. Any lambda and t give a bound.
  const double lambda = BestMean(clip, coordinates).at;
  return kGridMargin *
         Minimise(lambda / 8, lambda * 8, 7, [&](double near) {
           return Minimise(0.1, 100.0, 10, [&](double t) { return at(near, t); }).value;
         }).value;
}

double MeanShiftNorm(double clip, double coordinates) {
  return clip + std::sqrt(3.0) * std::cbrt(2.0 / 3 * coordinates * kMeanSquareStep * clip);
}

}  // namespace sotto::server
