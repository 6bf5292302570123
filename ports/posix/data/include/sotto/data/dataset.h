// A labelled set of grey images in memory. Part of sotto::data.
//
// Pixels stay bytes until a sample is used: 60,000 images of 28 x 28 take 47 MB; as float32 they
// would take 188 MB. A data set is constant after it was made, so any number of threads may read
// it.
#ifndef SOTTO_DATA_DATASET_H_
#define SOTTO_DATA_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/span.h"

namespace sotto {

struct Dataset {
  std::string name;  // for people: reports and messages
  int rows = 0;      // pixels
  int columns = 0;   // pixels
  int classes = 0;
  std::vector<uint8_t> features;  // [size()][input_size()] row-major, 0 black to 255 white
  std::vector<uint8_t> labels;    // [size()], each < classes

  size_t size() const { return labels.size(); }
  size_t input_size() const { return static_cast<size_t>(rows) * static_cast<size_t>(columns); }

  // Writes the pixels of one sample as byte * (1 / 255), float32 in [0, 1].
  //   index  the caller ensures index < size()
  //   out    [input_size()] float32; the caller ensures the size
  void CopyFeatures(size_t index, Span<float> out) const {
    const uint8_t* pixels = features.data() + index * input_size();
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(pixels[i]) * (1 / 255.F);
  }
};

// The samples for training and the samples for evaluation. Both have the same image size and
// classes.
struct TrainTest {
  Dataset train;
  Dataset test;
};

}  // namespace sotto

#endif  // SOTTO_DATA_DATASET_H_
