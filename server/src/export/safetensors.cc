#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "export/writers.h"
#include "sotto/bytes.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLengthSize = 8;
constexpr size_t kTensorAlignment = 8;  // of the first tensor
constexpr char kMetadata[] = "__metadata__";

void AppendLength(uint64_t length, std::string* out) {
  for (size_t i = 0; i < kLengthSize; ++i) out->push_back(static_cast<char>(length >> (8 * i)));
}

uint64_t LengthOf(const std::string& bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthSize; ++i) {
    length |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return length;
}

[[noreturn]] void RefuseFile(const std::string& why) {
  throw std::invalid_argument(
      why +
      "; it is no whole safetensors file: copy or save it again (safetensors.torch.save_file)");
}

Json HeaderOf(const std::string& bytes) {
  if (bytes.size() < kLengthSize) RefuseFile(fmt::format("it has {} bytes", bytes.size()));
  const uint64_t length = LengthOf(bytes);
  if (length > bytes.size() - kLengthSize) {
    RefuseFile(
        fmt::format("its header would have {} bytes, and the file has {}", length, bytes.size()));
  }
  Json header = TryParseJson({bytes.data() + kLengthSize, static_cast<size_t>(length)});
  if (!header.is_object()) RefuseFile("its header is not JSON");
  return header;
}

// A list of whole numbers, each below 2^32.
std::vector<uint64_t> Numbers(const std::string& name, const Json& list) {
  std::vector<uint64_t> numbers;
  for (const Json& number : list) {
    if (!number.is_number_unsigned() ||
        number.get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
      RefuseFile(fmt::format("the header's tensor {} has {} where whole numbers are expected", name,
                             JsonText(list)));
    }
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

Tensor TensorOf(const std::string& name, const Json& entry, std::string_view data) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    RefuseFile(fmt::format("the header's tensor {} lacks dtype, shape or data_offsets", name));
  }
  if (entry["dtype"] != "F32") {
    throw std::invalid_argument(
        fmt::format("tensor {} has numbers of type {}; expected F32 (tensor.float() in PyTorch)",
                    name, JsonText(entry["dtype"])));
  }
  Tensor tensor = {name, Numbers(name, entry["shape"]), {}};
  const std::vector<uint64_t> offsets = Numbers(name, entry["data_offsets"]);
  uint64_t bytes = 4;
  for (const uint64_t extent : tensor.shape) {
    bytes = extent > 0 && bytes > data.size() / extent ? data.size() + 1 : bytes * extent;
  }
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size() ||
      offsets[1] - offsets[0] != bytes) {
    RefuseFile(fmt::format("tensor {} has shape {} and the bytes {} of {}", name,
                           JsonText(entry["shape"]), JsonText(entry["data_offsets"]), data.size()));
  }
  tensor.values = FloatsOf(BytesOf(data.substr(offsets[0], bytes)));
  return tensor;
}

Metadata MetadataOf(const Json& entry) {
  Metadata metadata;
  if (!entry.is_object()) RefuseFile("its metadata are no names and texts");
  for (const auto& item : entry.items()) {
    if (item.value().is_string()) metadata.emplace_back(item.key(), item.value());
  }
  return metadata;
}

}  // namespace

std::string WriteSafetensors(const TrainedModel& model) {
  Json header;
  header[kMetadata]["format"] = "pt";  // what readers for PyTorch expect
  for (const auto& [name, value] : model.metadata) header[kMetadata][name] = value;
  std::string data;
  for (const Tensor& tensor : ExportTensors(model.info, model.parameters)) {
    const size_t first = data.size();
    AppendFloats(tensor.values, &data);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {first, data.size()}}};
  }
  std::string text = JsonText(header);
  text.resize((text.size() + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment, ' ');
  std::string file;
  AppendLength(text.size(), &file);
  return file + text + data;
}

ModelContent ReadSafetensors(const std::string& bytes) {
  const Json header = HeaderOf(bytes);
  const std::string_view data = std::string_view(bytes).substr(kLengthSize + LengthOf(bytes));
  ModelContent content;
  for (const auto& item : header.items()) {
    if (item.key() == kMetadata) {
      content.metadata = MetadataOf(item.value());
    } else {
      content.tensors.push_back(TensorOf(item.key(), item.value(), data));
    }
  }
  return content;
}

}  // namespace sotto::server
