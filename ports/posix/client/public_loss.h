// The loss of a published model on data that everybody may know, for the policy deep-q-public. Part
// of ports/posix/client. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/data/dataset.h"
#include "sotto/data/device_share.h"
#include "sotto/model_info.h"

namespace sotto::posix {

class PublicLossData {
 public:
  // Reads the samples of a data source, as --data names it. Throws where ReadDataset() and
  // RequireFits() do, and std::invalid_argument if there are none.
  //   model  outlives the object
  //   like   the columns of the device's own samples, by whose names columns are found
  PublicLossData(const std::string& source, const ModelInfo& model, const ColumnNames& like);

  // A PublicLoss (sotto/policy/deep_q.h); context is a PublicLossData. Infinite if the model
  // cannot be evaluated.
  static double Loss(void* context, Span<const float> global);

 private:
  const ModelInfo& model_;
  SharedDataset data_;
  std::vector<uint32_t> indices_;
  DeviceShare samples_;
  std::vector<float> working_;
  std::vector<float> scratch_;
};

}  // namespace sotto::posix
