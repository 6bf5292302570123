// An ONNX graph that grows node by node. Part of sotto::server/export; for onnx.cc.
//
// A thin layer over ONNX's protobuf classes. Not thread-safe.
#pragma once

#include <cstdint>
#include <onnx/onnx_pb.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "export/format.h"

namespace sotto::server {

// The opset and the version of the file: of ONNX 1.8 (2020), which every runtime of today reads.
constexpr int64_t kOnnxOpset = 13;
constexpr int64_t kOnnxFileVersion = 7;

using OnnxValue = std::variant<int64_t, float, std::string, std::vector<int64_t>>;
using OnnxAttributes = std::vector<std::pair<const char*, OnnxValue>>;

class OnnxGraph {
 public:
  explicit OnnxGraph(const TrainedModel& model);

  // Adds a node with one output, or with the `output`-th of its outputs; returns that one's name.
  std::string Add(const char* op, const std::vector<std::string>& inputs,
                  const OnnxAttributes& attributes = {}, size_t output = 0);
  // Constants; return their names.
  std::string AddFloats(const std::vector<int64_t>& shape, const std::vector<float>& values);
  std::string AddIntegers(const std::vector<int64_t>& values);

  // The samples come first in every shape, as many as the caller likes.
  //   shape  of one sample
  void AddInput(const std::string& name, bool is_tokens, const std::vector<int64_t>& shape);
  // Gives a value its name for the caller.
  void AddOutput(const std::string& name, const std::string& value,
                 const std::vector<int64_t>& shape);

  std::string Reshape(const std::string& value, std::vector<int64_t> shape);
  std::string Transpose(const std::string& value, const std::vector<int64_t>& axes);

  std::string Bytes() const { return model_.SerializeAsString(); }

 private:
  std::string NewName(const char* kind) {
    return std::string(kind) + "_" + std::to_string(++names_);
  }

  onnx::ModelProto model_;
  onnx::GraphProto& graph_;
  int names_ = 0;
};

}  // namespace sotto::server
