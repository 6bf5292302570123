#include "formulas/smoothing_formulas.h"

#include <array>
#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "aggregate/smoothing.h"
#include "formulas/formula_settings.h"

namespace sotto::server {
namespace {

// Standard normal deviates, the same on every machine: the polar method of Marsaglia.
class Normals {
 public:
  explicit Normals(uint64_t seed) : bits_(seed) {}

  double Next() {
    for (;;) {
      const double a = Uniform();
      const double b = Uniform();
      const double s = a * a + b * b;
      if (s > 0 && s < 1) return a * std::sqrt(-2 * std::log(s) / s);
    }
  }

 private:
  double Uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-52 - 1; }

  std::mt19937_64 bits_;
};

Normals NormalsOf(const Settings& settings) {
  return Normals(static_cast<uint64_t>(CountParameter(settings, "seed")));
}

// A count of things that are kept in memory.
size_t SizeParameter(const Settings& settings, const std::string& name) {
  const int64_t count = CountParameter(settings, name);
  if (count < 2 || count > 1000000) throw std::invalid_argument(name + ": expected 2 to 10^6");
  return static_cast<size_t>(count);
}

double MeanSquare(const std::vector<float>& values, const std::vector<double>& truth) {
  double sum = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    const double error = double{values[i]} - truth[i];
    sum += error * error;
  }
  return sum / static_cast<double>(truth.size());
}

using Point = std::array<double, 2>;

std::vector<Point> PointsAround(double centre, size_t count, Normals* normals) {
  std::vector<Point> points(count);
  for (Point& point : points) point = {centre + normals->Next(), centre + normals->Next()};
  return points;
}

// Mean binary cross entropy, and its gradient, of weights w on points of one label.
double AddLoss(const Point& w, const std::vector<Point>& points, double label, Point* gradient) {
  double loss = 0;
  const auto count = static_cast<double>(points.size());
  for (const Point& x : points) {
    const double z = w[0] * x[0] + w[1] * x[1];
    const double error = 1 / (1 + std::exp(-z)) - label;
    for (size_t i = 0; i < 2; ++i) (*gradient)[i] += error * x[i] / count / 2;
    loss += (std::log1p(std::exp(-std::fabs(z))) + std::fmax(z, 0) - label * z) / count / 2;
  }
  return loss;
}

double SecondDifference(const std::vector<double>& path, size_t i) {
  return path[i + 2] - 2 * path[i + 1] + path[i];
}

// The root mean square over all steps but the last two, and over both weights.
double Roughness(const std::vector<double>& w1, const std::vector<double>& w2) {
  double sum = 0;
  for (size_t i = 0; i + 2 < w1.size(); ++i) {
    sum += std::pow(SecondDifference(w1, i), 2) + std::pow(SecondDifference(w2, i), 2);
  }
  return std::sqrt(sum / (2 * static_cast<double>(w1.size() - 2)));
}

void Smooth(Point* values, double factor) {
  std::array<float, 2> smooth = {static_cast<float>((*values)[0]),
                                 static_cast<float>((*values)[1])};
  SmoothLaplacian({smooth.data(), smooth.size()}, factor);
  *values = {smooth[0], smooth[1]};
}

}  // namespace

Outcome SmoothSine(const Settings& settings) {
  const size_t points = SizeParameter(settings, "points");
  const double step = RealParameter(settings, "length") / static_cast<double>(points - 1);
  const double nu = RealParameter(settings, "nu");
  Normals normals = NormalsOf(settings);
  std::vector<double> truth(points);
  std::vector<float> noisy(points);
  Outcome outcome;
  for (size_t i = 0; i < points; ++i) {
    truth[i] = std::sin(step * static_cast<double>(i));
    noisy[i] = static_cast<float>(truth[i] + nu * normals.Next());
    outcome.series["x"].push_back(step * static_cast<double>(i));
  }
  std::vector<float> smooth = noisy;
  SmoothLaplacian({smooth.data(), smooth.size()}, RealParameter(settings, "smoothing"));
  const double before = MeanSquare(noisy, truth);
  const double after = MeanSquare(smooth, truth);
  outcome.figures["mse_noisy"] = before;
  outcome.figures["mse_smooth"] = after;
  if (before > 0) {
    outcome.figures["reduction"] = (before - after) / before;
    outcome.figures["mse_ratio"] = after / before;
  }
  outcome.series["y"] = truth;
  outcome.series["noisy"].assign(noisy.begin(), noisy.end());
  outcome.series["smooth"].assign(smooth.begin(), smooth.end());
  return outcome;
}

Outcome NoisyDescent(const Settings& settings) {
  const size_t steps = SizeParameter(settings, "steps");
  Normals normals = NormalsOf(settings);
  const size_t count = SizeParameter(settings, "points");
  const std::vector<Point> zeros = PointsAround(1, count, &normals);
  const std::vector<Point> ones = PointsAround(-1, count, &normals);
  Outcome outcome;
  Point w = {0, 0};
  for (size_t step = 0; step <= steps; ++step) {
    outcome.series["step"].push_back(static_cast<double>(step));
    outcome.series["w1"].push_back(w[0]);
    outcome.series["w2"].push_back(w[1]);
    Point gradient = {0, 0};
    outcome.figures["loss"] = AddLoss(w, zeros, 0, &gradient) + AddLoss(w, ones, 1, &gradient);
    for (double& g : gradient) g += RealParameter(settings, "gradient-noise") * normals.Next();
    Smooth(&gradient, RealParameter(settings, "smoothing"));
    for (size_t i = 0; i < 2; ++i) w[i] -= RealParameter(settings, "learning-rate") * gradient[i];
  }
  const double last[] = {outcome.series["w1"].back(), outcome.series["w2"].back()};
  outcome.figures["asymmetry"] = std::fabs(last[0] - last[1]) / std::fabs(last[0] + last[1]);
  outcome.figures["roughness"] = Roughness(outcome.series["w1"], outcome.series["w2"]);
  return outcome;
}

Outcome EffectiveDimension(const Settings& settings) {
  const size_t size = SizeParameter(settings, "parameters");
  const double factor = RealParameter(settings, "smoothing");
  if (factor < 0) throw std::invalid_argument("smoothing: expected 0 or more");
  const double turn = 2 * std::acos(-1.0) / static_cast<double>(size);
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < size; ++i) {
    const double eigenvalue = 1 / (1 + 2 * factor * (1 - std::cos(turn * static_cast<double>(i))));
    sum += eigenvalue;
    squares += eigenvalue * eigenvalue;
  }
  const auto d = static_cast<double>(size);
  return {{{"share", sum / d}, {"share_of_squares", squares / d}}, {}, "", false};
}

}  // namespace sotto::server
