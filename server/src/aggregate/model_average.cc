#include "aggregate/model_average.h"

#include <fmt/format.h>
#include <stdexcept>

#include "aggregate/kept_state.h"
#include "sotto/options/numbers.h"

namespace sotto::server {
namespace {

constexpr char kGeometric[] = "geometric:";

class Averaging : public Optimiser {
 public:
  Averaging(double ratio, std::unique_ptr<Optimiser> inner)
      : ratio_(ratio), inner_(std::move(inner)), kept_{{1.0}, {{}}} {}

  bool Step(Span<const float> update, Span<float> parameters) override {
    const std::vector<float> before(parameters.begin(), parameters.end());
    if (!inner_->Step(update, parameters)) return false;
    if (kept_.empty()) kept_.vectors[0].assign(before.begin(), before.end());
    Add(parameters);
    return true;
  }

  std::vector<uint8_t> State() const override {
    std::vector<uint8_t> bytes = kept_.ToBytes(StateOwner::kAverage);
    const std::vector<uint8_t> inner = inner_->State();
    bytes.insert(bytes.end(), inner.begin(), inner.end());
    return bytes;
  }

  void Restore(ByteSpan state) override {
    inner_->Restore(kept_.Restore(StateOwner::kAverage, state));
  }

  std::vector<float> Average() const override {
    std::vector<float> average;
    for (const double value : kept_.vectors[0]) average.push_back(static_cast<float>(value));
    return average;
  }

 private:
  void Add(Span<const float> model) {
    double& weights = kept_.scalars[0];  // A_t
    weights = 1 + weights / ratio_;
    std::vector<double>& average = kept_.vectors[0];
    if (average.size() != model.size()) {
      throw std::invalid_argument("the average belongs to a model of another size");
    }
    for (size_t j = 0; j < model.size(); ++j) {
      average[j] += (static_cast<double>(model[j]) - average[j]) / weights;
    }
  }

  double ratio_;
  std::unique_ptr<Optimiser> inner_;
  KeptState<double> kept_;
};

}  // namespace

std::optional<double> AverageGrowth(const std::string& text) {
  if (text == "none") return std::nullopt;
  if (text == "uniform") return 1.0;
  const std::string prefix = kGeometric;
  if (text.compare(0, prefix.size(), prefix) == 0) {
    const std::optional<double> ratio = posix::ParseReal(text.substr(prefix.size()));
    if (ratio && *ratio >= 1 && *ratio <= kMaxAverageRatio) return ratio;
  }
  throw std::invalid_argument(fmt::format(
      "--average {}: expected is none, uniform, or geometric:RATIO with a ratio of the weights of "
      "one model and the one before it in [1, {}], for example geometric:1.05",
      text, kMaxAverageRatio));
}

std::unique_ptr<Optimiser> MakeAveraging(double ratio, std::unique_ptr<Optimiser> inner) {
  return std::make_unique<Averaging>(ratio, std::move(inner));
}

}  // namespace sotto::server
