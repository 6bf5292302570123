// The samples of one device, as the SDK reads them. Part of sotto::data.
//
// A device without samples takes part like any other (sotto/local_round.h): whether a device
// reports must not depend on its data.
//
// Constant after it was made; any number of threads may read it.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/data/partition.h"
#include "sotto/data/sample_split.h"
#include "sotto/model_info.h"

namespace sotto {

// Throws std::invalid_argument, which says what the model takes and what the data set has, unless a
// training of the model can read the data set: as many inputs, the same vocabulary, the same
// classes or targets. The inputs' shape may differ.
void RequireFits(const ModelInfo& model, const Dataset& data);

class DeviceShare {
 public:
  // The data set and the indices' memory outlive the share.
  //   held_out  share of the samples that the device does not train on, the last ones of each class
  //             (SplitSamples()); in [0, 1)
  DeviceShare(const Dataset& data, const DeviceIndices& indices, double held_out = 0);

  // Makes generated samples now and once, instead of at every read, if they take at most
  // kMostCopied floats.
  //   memory  of the copies; outlives the share and is not used by anybody else
  void CopyGenerated(std::vector<float>* memory);
  static constexpr size_t kMostCopied = size_t{4} << 20;

  // The samples for training, and those for evaluation, of which there may be none
  // (sotto/held_out.h). The share stays where it is as long as a source is used.
  SampleSource source() const;
  SampleSource held_out_source() const;

 private:
  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static Status ReadHeldOut(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static Status ReadVector(void* context, uint32_t index, Span<float> features, Span<float> target);
  size_t floats_each() const { return data_.input_size() + data_.info().targets; }
  uint32_t TrainingPosition(uint32_t index) const {
    return is_whole_ ? index : parts_.training[index];
  }
  // The sample at this position of indices_.
  void CopySample(uint32_t position, Span<float> features, Span<float> target) const;

  const Dataset& data_;
  const DeviceIndices indices_;
  const bool is_whole_;            // nothing is held out
  SplitParts parts_;               // else
  const float* copies_ = nullptr;  // [samples][floats_each()] features, then the target
};

}  // namespace sotto
