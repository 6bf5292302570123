// From arrays of samples, labels and groups to a data set. Part of sotto::data.
#pragma once

#include <memory>

#include "formats.h"
#include "npy.h"

namespace sotto {

struct Arrays {
  std::unique_ptr<NpyArray> x;      // [samples][...]
  std::unique_ptr<NpyArray> y;      // [samples] labels, or [samples][targets]; may be null
  std::unique_ptr<NpyArray> group;  // [samples]; may be null
};

SharedDataset ReadArrays(const ReadRequest& request, const Arrays& arrays);

}  // namespace sotto
