// A model as bytes that need no other file: the text of a model file, then the files of float32
// that the text names. Part of sotto::model_file.
//
// Stores keep a job's model so, and servers send it to devices that ask. One model has one bundle:
//   "sotto-model 1\n\0\0", 16 bytes
//   u32le  bytes of the text
//   u32le  how many files follow it; then of each, u32le, its numbers
//   the text, UTF-8, without a null byte; then the numbers of all files, float32, little-endian
// The text names the files "numbers-1.f32", "numbers-2.f32" and so on, in their order. A change of
// the format takes another number in the first line. Stateless, safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/model/model_file.h"
#include "sotto/span.h"

namespace sotto::posix {

// Limits of a bundle. No model of a file has a longer text.
constexpr size_t kMaxBundleText = size_t{1} << 19;
constexpr size_t kMaxBundle = (size_t{1} << 20) + 4 * (size_t{1} << 25);

// The text of a model file, and the files that it names.
struct ModelFileText {
  struct Numbers {
    std::string name;
    std::vector<float> numbers;
  };

  std::string text;
  std::vector<Numbers> files;  // frozen weights, and numbers of steps that are too many for a text
};

// A file that describes the model: all its keys in one order, numbers such that float32 reads them
// back. Its files are named PREFIX-1.f32, PREFIX-2.f32 and so on.
ModelFileText FileTextOf(const ModelInfo& model, const std::string& prefix);

// Throws std::logic_error for a model that no file describes: one of a C++ type with layers or
// names that files do not have.
std::vector<uint8_t> BundleOf(const ModelInfo& model);

// The model of a bundle, which may be hostile: throws std::invalid_argument, which says why, for
// anything else. Work and memory are bounded by kMaxBundle; the file system is not touched.
SharedModel ParseBundle(ByteSpan bundle);

}  // namespace sotto::posix
