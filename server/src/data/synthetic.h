// Generated data sets; they need no download. Part of sotto::server/data.
//
// Two kinds. The stored set has ten classes of 28 x 28 grey images. A class has three prototypes,
// which are smooth random patterns. A sample is a prototype shifted by up to three pixels in each
// direction, with its brightness scaled and noise on every pixel. Classes occur equally often.
// Trained on all 60,000 samples, multinomial logistic regression classifies 87 to 94 % correctly
// (seeds 1 to 8; 89 % for seed 1). Privacy noise can lower this accuracy visibly.
//
// The generated set makes a sample when it is read, of any shape and number of classes; the class
// of a sample is drawn, too. It takes no memory for its samples, so it serves a million devices.
//   images, windows, vectors  as above; along a side of n values a pattern is shifted by up to n /
//   9 tokens                    half of them from a few favourites of the class, half from all
//   targets                   features of ten hidden classes; each target is a sum of all features
//                             with random signs and a little noise
// Features are in [0, 1] but for tokens.
//
// Only integers are used, and for targets one multiplication and one addition of doubles, so the
// same options give the same samples on every platform. A sample depends on the seed, the shape,
// the number of classes and its own number, never on the number of samples: the first 100 samples
// of a large set are the set of 100.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

struct SyntheticOptions {
  size_t train_size = 60000;  // samples, 784 bytes each, >= 0
  size_t test_size = 10000;   // samples, 784 bytes each, >= 0
  uint64_t seed = 1;          // another seed gives other patterns of about the same difficulty
};

// Makes the stored set, at about 5 us a sample. Throws std::bad_alloc when memory runs out.
TrainTest MakeSynthetic(const SyntheticOptions& options = {});

// Makes the generated set.
//   info     shape, tokens, and classes or targets; neither: the features alone
//   options  the test samples are stored
TrainTest GenerateSynthetic(const SampleInfo& info, const SyntheticOptions& options);

// What --data synthetic stands for: data that the model can train with.
//   model    null: 28 x 28 images in ten classes, as for a model of 784 inputs and ten classes
//   samples  that the fleet wants. The stored set serves a model of 784 inputs and ten classes with
//            up to 60,000; else samples are generated, at least 60,000
TrainTest SyntheticFor(const ModelInfo* model, uint64_t samples);

}  // namespace sotto::server
