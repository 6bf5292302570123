#include "audit/sample_losses.h"

#include <algorithm>

#include "base/parallel.h"
#include "evaluation/evaluation.h"

namespace sotto::server {
namespace {

// Some samples of a data set, without owning it.
class Chosen : public Dataset {
 public:
  Chosen(const Dataset& of, Span<const uint32_t> samples)
      : Dataset(of.name(), of.info()), of_(of), samples_(samples) {}

  size_t size() const override { return samples_.size(); }
  void CopyFeatures(size_t i, Span<float> out) const override {
    of_.CopyFeatures(samples_[i], out);
  }
  uint32_t Label(size_t i) const override { return of_.Label(samples_[i]); }
  void CopyTarget(size_t i, Span<float> out) const override { of_.CopyTarget(samples_[i], out); }
  uint32_t Group(size_t i) const override { return of_.Group(samples_[i]); }
  Span<const uint8_t> Bytes(size_t i) const override { return of_.Bytes(samples_[i]); }

 private:
  const Dataset& of_;
  Span<const uint32_t> samples_;
};

}  // namespace

std::vector<double> SampleLosses(const ModelInfo& model, Span<const float> parameters,
                                 const Dataset& data, Span<const uint32_t> samples, int threads) {
  std::vector<double> losses(samples.size());
  const size_t pieces = (samples.size() + kSamplesPerPiece - 1) / kSamplesPerPiece;
  ParallelFor(threads, pieces, [&](size_t piece, int) {
    const size_t end = std::min((piece + 1) * kSamplesPerPiece, samples.size());
    for (size_t i = piece * kSamplesPerPiece; i < end; ++i) {
      losses[i] = Evaluate(model, parameters, Chosen(data, samples.subspan(i, 1)), 1).loss;
    }
  });
  return losses;
}

}  // namespace sotto::server
