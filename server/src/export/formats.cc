#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "base/bytes.h"
#include "export/format.h"
#include "export/parameters.h"
#include "export/predictor.h"
#include "export/writers.h"
#include "sotto/crypto.h"
#include "sotto/num.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/check.h"
#include "sotto/posix/hex.h"

namespace sotto::server {
namespace {

#if defined(SOTTO_HAS_ONNX)
constexpr auto kWriteOnnx = WriteOnnx;
#else
constexpr std::string (*kWriteOnnx)(const TrainedModel& model) = nullptr;
#endif

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// safetensors has no magic number: the text's length comes first.
bool IsSafetensors(const std::string& bytes) { return bytes.size() > 8 && bytes[8] == '{'; }

const ExportFormat* FormatOfBytes(const std::string& bytes) {
  for (const ExportFormat& format : ExportFormats()) {
    if (!format.mark.empty() && bytes.compare(0, format.mark.size(), format.mark) == 0) {
      return &format;
    }
  }
  return nullptr;
}

[[noreturn]] void RefuseSize(const ModelInfo& model, uint64_t found) {
  throw std::invalid_argument(
      fmt::format("it has {} bytes, and model {} has {} parameters, {} bytes as float32; take a "
                  "file that `--model-out` or `sotto model export` wrote for this model",
                  found, model.name, model.parameters, 4 * uint64_t{model.parameters}));
}

void RequireDigest(const ModelInfo& model, const Metadata& metadata) {
  const std::string theirs = ValueOf(metadata, "digest");
  if (theirs.empty()) return;
  uint8_t digest[kSha256Size] = {};
  posix::Check(ModelDigest(model, digest), "SHA-256");
  if (theirs == posix::Hex(digest)) return;
  throw std::invalid_argument(
      fmt::format("it is of another net: its digest is {}, and the digest of model {} is {}; name "
                  "the model that it was exported from",
                  theirs, model.name, posix::Hex(digest)));
}

// One vector of all parameters, or the tensors of the layers.
std::vector<float> Parameters(ModelContent content, const ModelInfo& model) {
  RequireDigest(model, content.metadata);
  const bool is_vector = content.tensors.size() == 1 && content.tensors[0].name.empty();
  if (!is_vector) return ImportTensors(model, content.tensors);
  Tensor& all = content.tensors[0];
  if (all.shape == std::vector<uint64_t>{model.parameters}) return std::move(all.values);
  throw std::invalid_argument(
      fmt::format("its array is not [{}], all parameters of model {} as one vector; an array a "
                  "tensor is the format npz",
                  model.parameters, model.name));
}

// A file that says which parameters it has, as `sotto model export` writes it, has those.
void RequireSameParameters(const std::vector<float>& parameters, const Metadata& metadata) {
  const std::string theirs = ValueOf(metadata, "parameters_sha256");
  if (theirs.empty()) return;
  const std::string found = ParametersDigest({parameters.data(), parameters.size()});
  if (found == theirs) return;
  throw std::invalid_argument(fmt::format(
      "its parameters are others than its parameters_sha256 says: their SHA-256 is {}, and "
      "it names {}; "
      "the file is damaged, or another program changed it: export it again, or take "
      "parameters_sha256 out of its metadata if the change is meant",
      found, theirs));
}

void RequireFinite(const std::vector<float>& parameters) {
  const auto bad = std::find_if(parameters.begin(), parameters.end(),
                                [](float value) { return !std::isfinite(value); });
  if (bad == parameters.end()) return;
  throw std::invalid_argument(
      fmt::format("parameter {} of {} is {}, and all must be finite; the file is no model, or its "
                  "training diverged",
                  bad - parameters.begin() + 1, parameters.size(), *bad));
}

}  // namespace

std::string ValueOf(const Metadata& metadata, std::string_view name) {
  for (const auto& [key, value] : metadata) {
    if (key == name) return value;
  }
  return "";
}

std::optional<float> ThresholdIn(const Metadata& metadata) {
  const std::string text = ValueOf(metadata, "threshold");
  if (text.empty()) return std::nullopt;
  const std::optional<double> number = posix::ParseReal(text);
  if (number && IsPositiveNormal(static_cast<float>(*number))) return static_cast<float>(*number);
  throw std::invalid_argument(
      fmt::format("its threshold is \"{}\", which is no number above 0; export it again, or "
                  "take threshold out of its metadata",
                  text));
}

void SetThreshold(float threshold, const ModelInfo& model, Metadata* metadata) {
  if (!HasErrors(model)) {
    throw std::invalid_argument(
        fmt::format("--threshold {:.9g}: model {} tells classes apart; a threshold is for the "
                    "prediction errors of an autoencoder or a regression",
                    threshold, model.name));
  }
  if (!IsPositiveNormal(threshold)) {
    throw std::invalid_argument(fmt::format("--threshold {:.9g}: it must be above 0", threshold));
  }
  const auto is_threshold = [](const auto& item) { return item.first == "threshold"; };
  metadata->erase(std::remove_if(metadata->begin(), metadata->end(), is_threshold),
                  metadata->end());
  // Nine digits give the same float32 back.
  metadata->emplace_back("threshold", fmt::format("{:.9g}", threshold));
}

const std::vector<ExportFormat>& ExportFormats() {
  static const std::vector<ExportFormat> kFormats = {
      {"safetensors", ".safetensors", "", "a tensor a name, for PyTorch and others, with metadata",
       false, WriteSafetensors, ReadSafetensors, "", true},
      {"npz", ".npz", std::string_view("PK\x03\x04", 4), "the same tensors for numpy.load", false,
       WriteNpz, ReadNpz, "", true},
      {"npy", ".npy", "\x93NUMPY", "all parameters as one vector, in Sotto's order", false,
       WriteNpy, ReadNpy},
      {"header", ".h", "",
       "a C++ header for sotto/predict.h, float32 or fixed point; its numbers are C, too", true,
       WriteHeader, nullptr},
      {"onnx", ".onnx", "", "the net itself, opset 13, images as NCHW", true, kWriteOnnx, nullptr,
       "libonnx-dev and libprotobuf-dev"},
  };
  return kFormats;
}

void RequireWriter(const ExportFormat& format) {
  if (format.write != nullptr) return;
  throw std::invalid_argument(
      fmt::format("this program was built without the writer of {}; install {} and build it again, "
                  "or take another format: `sotto model export --help` lists them",
                  format.name, format.packages));
}

const ExportFormat* FindFormat(std::string_view name) {
  for (const ExportFormat& format : ExportFormats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

const ExportFormat* FormatOfFile(std::string_view path) {
  for (const ExportFormat& format : ExportFormats()) {
    if (EndsWith(path, format.ending)) return &format;
  }
  return nullptr;
}

const ExportFormat* FormatOfContent(const std::string& bytes, const ModelInfo& model) {
  if (const ExportFormat* format = FormatOfBytes(bytes)) return format;
  const bool is_raw = bytes.size() == 4 * size_t{model.parameters};
  return !is_raw && IsSafetensors(bytes) ? FindFormat("safetensors") : nullptr;
}

std::string FileOf(const ExportFormat& format, TrainedModel model) {
  if (!model.info.preparation.empty()) {
    model.metadata.emplace_back("samples", format.holds_net ? "raw" : "prepared");
  }
  return format.write(model);
}

std::vector<float> ParametersFromBytes(const std::string& bytes, const ModelInfo& model,
                                       Metadata* metadata) {
  const size_t raw_size = 4 * size_t{model.parameters};
  std::vector<float> parameters;
  const ExportFormat* const format = FormatOfContent(bytes, model);
  if (format != nullptr) {
    ModelContent content = format->read(bytes);
    *metadata = content.metadata;
    parameters = Parameters(std::move(content), model);
    RequireSameParameters(parameters, *metadata);
    static_cast<void>(ThresholdIn(*metadata));
  } else if (bytes.size() == raw_size) {
    parameters = FloatsOf(BytesOf(bytes));
  } else {
    RefuseSize(model, bytes.size());
  }
  RequireFinite(parameters);
  return parameters;
}

void AppendFloats(const std::vector<float>& values, std::string* out) {
  const std::vector<uint8_t> bytes = BytesOf({values.data(), values.size()});
  out->append(bytes.begin(), bytes.end());
}

}  // namespace sotto::server
