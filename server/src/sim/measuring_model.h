// A model that measures in place of training: what a simulated device's client runs in a round that
// asks for the histogram of prediction errors. Part of sotto::server/sim.
//
// To the client it is the model itself: same layers, same digest. A training with it leaves the
// round's model plus C times the device's histogram (evaluation/error_histogram.h) in the first
// parameters, a number each bin. So what leaves the device is an update like any other: the SDK
// clips it to C, adds the noise and encodes it. A device without samples sends zeros.
//
// Constant once made: any thread may use it.
#pragma once

#include <vector>

#include "export/predictor.h"
#include "sotto/model_info.h"

namespace sotto::server {

class MeasuringModel : public ModelInfo {
 public:
  //   model       an autoencoder or a regression; outlives the object
  //   weights     [model.parameters] the round's model
  //   edges       rising, fewer than model.parameters
  //   clip_l2     C, the bound on an update's norm in the round
  MeasuringModel(const ModelInfo& model, Span<const float> weights, std::vector<float> edges,
                 float clip_l2);

 private:
  static Status TrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                           const WorkingParameters& working, Span<float> scratch, float* loss);
  Status Measure(const SampleSource& samples, Span<float> histogram) const;

  const Predictor predictor_;
  const std::vector<float> edges_;
  const float clip_l2_;
};

}  // namespace sotto::server
