#include "formulas/spectra.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>

#include "aggregate/spectrum.h"
#include "aggregate/tensors.h"
#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

constexpr char kLayers[] = "spectrum-layers";
constexpr char kOrders[] = "spectrum-orders";
constexpr char kPermutations[] = "spectrum-permutations";

constexpr char kLast[] = "last";
constexpr int kBandsOfAnOctave = 4;
constexpr size_t kEigenvectors = 100;
constexpr double kNoFrequency = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> Parts(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

uint32_t SmallCount(const char* name, const std::string& text) {
  const std::optional<uint64_t> count = posix::ParseCount(text);
  if (count && *count <= 1000) return static_cast<uint32_t>(*count);
  throw std::invalid_argument(fmt::format("--{} {}: expected a count up to 1000", name, text));
}

std::string TextIn(const Settings& settings, const char* name, const char* otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() ? otherwise : found->second;
}

// Bands of frequencies k / n, for all tensors the same: band b begins at 2^((b - bands) / 4).
class Bands {
 public:
  // longest  the size of the largest tensor
  explicit Bands(size_t longest)
      : octaves_(static_cast<int>(std::ceil(std::log2(static_cast<double>(longest))))) {}

  size_t size() const { return static_cast<size_t>((octaves_ - 1) * kBandsOfAnOctave) + 1; }

  size_t Of(double frequency) const {
    const double band = std::floor((std::log2(frequency) + octaves_) * kBandsOfAnOctave);
    return std::min(static_cast<size_t>(std::max(band, 0.0)), size() - 1);
  }

  std::vector<double> Middles() const {
    std::vector<double> middles;
    for (size_t b = 0; b < size(); ++b) {
      middles.push_back(std::exp2((static_cast<double>(b) + 0.5) / kBandsOfAnOctave - octaves_));
    }
    return middles;
  }

 private:
  int octaves_;
};

// magnitudes  of the frequencies k = 0 ... n / 2; the mean, frequency 0, is left out
std::vector<double> InBands(const Bands& bands, const std::vector<float>& magnitudes, size_t n) {
  std::vector<double> sums(bands.size(), 0.0);
  std::vector<double> counts(bands.size(), 0.0);
  for (size_t k = 1; k < magnitudes.size(); ++k) {
    const size_t band = bands.Of(static_cast<double>(k) / static_cast<double>(n));
    sums[band] += double{magnitudes[k]} / static_cast<double>(n);
    counts[band] += 1;
  }
  for (size_t b = 0; b < sums.size(); ++b)
    sums[b] = counts[b] > 0 ? sums[b] / counts[b] : kNoFrequency;
  return sums;
}

// Least squares of log10 y over log10 x; NaN with fewer than two points.
double SlopeOf(const std::vector<double>& x, const std::vector<double>& y) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(y[i] > 0)) continue;
    const double u = std::log10(x[i]);
    const double v = std::log10(y[i]);
    n += 1, sx += u, sy += v, sxx += u * u, sxy += u * v;
  }
  return n < 2 ? kNoFrequency : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

// |<v, e_i>| for i = 0, 1, ..., of eigenvalues that fall from the highest frequency on.
std::vector<double> Projections(const std::vector<float>& magnitudes, size_t n) {
  std::vector<double> projections;
  for (size_t k = magnitudes.size(); k-- > 0 && projections.size() < kEigenvectors;) {
    const bool is_pair = k > 0 && 2 * k != n;
    const double projection = double{magnitudes[k]} / std::sqrt(static_cast<double>(n));
    projections.insert(projections.end(), is_pair ? 2 : 1, projection);
  }
  projections.resize(std::min(projections.size(), kEigenvectors));
  return projections;
}

double MeanSquareOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum / static_cast<double>(values.size());
}

// The tensor's outputs, which lie one after the other, in a random order.
std::vector<float> WithShuffledOutputs(Span<const float> values, const TrainedTensor& tensor,
                                       std::mt19937_64* random) {
  const size_t outputs = tensor.Extent('O');
  const size_t size = values.size() / outputs;
  std::vector<size_t> order(outputs);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = outputs; i > 1; --i) std::swap(order[i - 1], order[(*random)() % i]);
  std::vector<float> shuffled;
  for (const size_t output : order) {
    const Span<const float> block = values.subspan(output * size, size);
    shuffled.insert(shuffled.end(), block.begin(), block.end());
  }
  return shuffled;
}

class Spectra {
 public:
  Spectra(const SpectraOptions& options, const Bands& bands, Outcome* outcome)
      : options_(options), bands_(bands), middles_(bands.Middles()), outcome_(outcome) {
    outcome_->series["frequency"] = middles_;
    for (size_t i = 0; i < kEigenvectors; ++i) {
      outcome_->series["eigenvector"].push_back(static_cast<double>(i));
    }
  }

  // All ways to flatten one tensor of one round, "round50", or of the last one, "last".
  void Put(const std::string& layer, const std::string& round, Span<const float> values,
           const TrainedTensor& tensor) {
    slopes_.clear();
    for (const std::string& order : options_.orders) {
      PutOne(NameOf(layer, order, round), SpectrumOf(values, tensor, order), values);
    }
    std::mt19937_64 random(options_.seed);  // the same permutations in all rounds
    for (uint32_t i = 1; i <= options_.permutations; ++i) {
      const std::vector<float> shuffled = WithShuffledOutputs(values, tensor, &random);
      const Span<const float> span = {shuffled.data(), shuffled.size()};
      PutOne(NameOf(layer, fmt::format("permuted{}", i), round),
             SpectrumOf(span, tensor, options_.orders.front()), span);
    }
    const auto [least, most] = std::minmax_element(slopes_.begin(), slopes_.end());
    if (round == kLast && least != slopes_.end())
      PutFigure("slope_spread_" + layer, *most - *least);
  }

 private:
  static std::string NameOf(const std::string& layer, const std::string& way,
                            const std::string& round) {
    return fmt::format("{}_{}_{}", layer, way, round);
  }

  void PutOne(const std::string& name, const std::vector<float>& magnitudes,
              Span<const float> values) {
    const std::vector<double> in_bands = InBands(bands_, magnitudes, values.size());
    const std::vector<double> projections = Projections(magnitudes, values.size());
    double norm = 0;
    for (const float value : values) norm += double{value} * value;
    outcome_->series[name] = in_bands;
    outcome_->series["projection_" + name] = projections;
    slopes_.push_back(SlopeOf(middles_, in_bands));
    PutFigure("slope_" + name, slopes_.back());
    PutFigure("top_share_" + name,
              MeanSquareOf(projections) / (norm / static_cast<double>(values.size())));
  }

  void PutFigure(const std::string& name, double value) {
    if (std::isfinite(value)) outcome_->figures[name] = value;
  }

  const SpectraOptions& options_;
  const Bands& bands_;
  const std::vector<double> middles_;
  std::vector<double> slopes_;  // of the ways so far
  Outcome* outcome_;
};

// All layers of one update that are asked for.
void PutUpdate(const SpectraOptions& options, const std::vector<TrainedTensor>& tensors,
               const std::vector<float>& update, const std::string& round, Spectra* spectra) {
  size_t first = 0;
  uint32_t layer = 0;
  for (const TrainedTensor& tensor : tensors) {
    const Span<const float> values = {update.data() + first, tensor.size()};
    first += tensor.size();
    if (tensor.extents.size() < 2) continue;  // biases
    ++layer;
    if (!options.layers.empty() && options.layers.count(layer) == 0) continue;
    spectra->Put(fmt::format("layer{}", layer), round, values, tensor);
  }
}

}  // namespace

bool IsSpectraOption(const std::string& name) {
  return name == kLayers || name == kOrders || name == kPermutations;
}

SpectraOptions SpectraOptionsOf(const Settings& settings) {
  SpectraOptions options;
  for (const std::string& layer : Parts(TextIn(settings, kLayers, ""))) {
    options.layers.insert(SmallCount(kLayers, layer));
  }
  options.orders = Parts(TextIn(settings, kOrders, kNaturalOrder));
  if (options.orders.empty()) {
    throw std::invalid_argument(fmt::format("--{}: expected orders such as OIHW,OIWH", kOrders));
  }
  options.permutations = SmallCount(kPermutations, TextIn(settings, kPermutations, "0"));
  const std::optional<uint64_t> seed = posix::ParseCount(TextIn(settings, "seed", "0"));
  options.seed = seed.value_or(0);
  return options;
}

void PutSpectra(const SpectraOptions& options, const SimulationConfig& config,
                const SimulationResult& result, Outcome* outcome) {
  const std::vector<TrainedTensor> tensors =
      TrainedTensors(*config.job.model, config.job.aggregation.smoothing_image);
  size_t longest = 2;
  for (const TrainedTensor& tensor : tensors) longest = std::max(longest, tensor.size());
  const Bands bands(longest);
  Spectra spectra(options, bands, outcome);
  for (const MeanUpdateOfRound& update : result.updates) {
    PutUpdate(options, tensors, update.values, fmt::format("round{}", update.round + 1), &spectra);
  }
  if (!result.updates.empty()) {
    PutUpdate(options, tensors, result.updates.back().values, kLast, &spectra);
  }
}

}  // namespace sotto::server
