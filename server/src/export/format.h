// The formats in which a trained model leaves, one row each. Part of sotto::server/export.
//
// To add a format: its row in formats.cc with its functions, a file beside it, its line in
// server/EXPORT.md and in CMakeLists.txt, a test. Stateless; safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/tensors.h"
#include "sotto/model_info.h"

namespace sotto::server {

// What is said of a model, by name, in the order in which it is written: digest, round, epsilon.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// The value of that name, or empty.
std::string ValueOf(const Metadata& metadata, std::string_view name);

// The threshold for prediction errors that a model comes with, its metadata `threshold`; absent if
// it has none. Throws std::invalid_argument without the file's name if it is no number above 0.
std::optional<float> ThresholdIn(const Metadata& metadata);
// Sets it. Throws std::invalid_argument for a model whose errors are no numbers (HasErrors()), and
// for a threshold that is not above 0.
void SetThreshold(float threshold, const ModelInfo& model, Metadata* metadata);

// A trained model that leaves.
struct TrainedModel {
  const ModelInfo& info;
  Span<const float> parameters;  // [info.parameters]
  Metadata metadata;
};

// What a file of a model holds.
struct ModelContent {
  Metadata metadata;
  std::vector<Tensor> tensors;  // one without a name: all parameters as a vector, in Sotto's order
};

struct ExportFormat {
  const char* name;
  const char* ending;     // of file names, with its dot
  std::string_view mark;  // with which each file begins; empty: files are not read back
  const char* does;
  bool holds_net;  // what prepares samples included: it takes raw ones
  // Null: this program has been built without the packages that it needs.
  std::string (*write)(const TrainedModel& model);
  // The content of a file. Throws std::invalid_argument without the file's name.
  ModelContent (*read)(const std::string& bytes);
  const char* packages = "";    // Debian's names
  bool keeps_metadata = false;  // a file that is read back says what it was written with
};

// Throws std::invalid_argument, with what to do, if the format has no writer.
void RequireWriter(const ExportFormat& format);

const std::vector<ExportFormat>& ExportFormats();

// The format of that name, or of a file of that name; null if there is none.
const ExportFormat* FindFormat(std::string_view name);
const ExportFormat* FormatOfFile(std::string_view path);

// The format of a file's bytes, of those that are read back; null: float32 as --model-out writes
// them, or no such file.
const ExportFormat* FormatOfContent(const std::string& bytes, const ModelInfo& model);

// The content of a file. Its metadata say in `samples` whether the net takes raw samples or
// prepared ones, if its model prepares them.
std::string FileOf(const ExportFormat& format, TrainedModel model);

// The parameters in a file's bytes: of a format that is read back, or float32 as --model-out writes
// them. `metadata` gets what the file says of itself.
// Throws std::invalid_argument without the file's name: for another size, other tensors, another
// digest of the net or of the parameters, a number that is not finite, a threshold that is none.
std::vector<float> ParametersFromBytes(const std::string& bytes, const ModelInfo& model,
                                       Metadata* metadata);

// Adds float32 as they lie in files: little-endian.
void AppendFloats(const std::vector<float>& values, std::string* out);
// The reverse, for bytes of a whole number of floats.

}  // namespace sotto::server
