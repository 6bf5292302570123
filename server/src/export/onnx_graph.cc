#include "export/onnx_graph.h"

#include "sotto/version.h"

namespace sotto::server {
namespace {

using onnx::AttributeProto;

struct SetAttribute {
  AttributeProto& attribute;

  void operator()(int64_t value) const {
    attribute.set_type(onnx::AttributeProto_AttributeType_INT);
    attribute.set_i(value);
  }
  void operator()(float value) const {
    attribute.set_type(onnx::AttributeProto_AttributeType_FLOAT);
    attribute.set_f(value);
  }
  void operator()(const std::string& value) const {
    attribute.set_type(onnx::AttributeProto_AttributeType_STRING);
    attribute.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    attribute.set_type(onnx::AttributeProto_AttributeType_INTS);
    for (const int64_t value : values) attribute.add_ints(value);
  }
};

void Describe(const std::string& name, int32_t type, const std::vector<int64_t>& shape,
              onnx::ValueInfoProto* out) {
  out->set_name(name);
  onnx::TypeProto_Tensor& tensor = *out->mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape()->add_dim()->set_dim_param("N");
  for (const int64_t extent : shape) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
}

}  // namespace

OnnxGraph::OnnxGraph(const TrainedModel& model) : graph_(*model_.mutable_graph()) {
  model_.set_ir_version(kOnnxFileVersion);
  model_.add_opset_import()->set_version(kOnnxOpset);
  model_.set_producer_name("sotto");
  model_.set_producer_version(kVersion);
  graph_.set_name(model.info.name);
  for (const auto& [name, value] : model.metadata) {
    onnx::StringStringEntryProto& entry = *model_.add_metadata_props();
    entry.set_key(name);
    entry.set_value(value);
  }
}

std::string OnnxGraph::Add(const char* op, const std::vector<std::string>& inputs,
                           const OnnxAttributes& attributes, size_t output) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(op);
  node.set_name(NewName(op));
  for (const std::string& input : inputs) node.add_input(input);
  for (size_t i = 0; i < output; ++i) node.add_output("");  // left out
  node.add_output(node.name() + "_out");
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    std::visit(SetAttribute{attribute}, value);
  }
  return node.name() + "_out";
}

std::string OnnxGraph::AddFloats(const std::vector<int64_t>& shape,
                                 const std::vector<float>& values) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(NewName("constant"));
  tensor.set_data_type(onnx::TensorProto_DataType_FLOAT);
  for (const int64_t extent : shape) tensor.add_dims(extent);
  AppendFloats(values, tensor.mutable_raw_data());
  return tensor.name();
}

std::string OnnxGraph::AddIntegers(const std::vector<int64_t>& values) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(NewName("constant"));
  tensor.set_data_type(onnx::TensorProto_DataType_INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor.add_int64_data(value);
  return tensor.name();
}

void OnnxGraph::AddInput(const std::string& name, bool is_tokens,
                         const std::vector<int64_t>& shape) {
  const int32_t type =
      is_tokens ? onnx::TensorProto_DataType_INT64 : onnx::TensorProto_DataType_FLOAT;
  Describe(name, type, shape, graph_.add_input());
}

void OnnxGraph::AddOutput(const std::string& name, const std::string& value,
                          const std::vector<int64_t>& shape) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type("Identity");
  node.set_name(NewName("Identity"));
  node.add_input(value);
  node.add_output(name);
  Describe(name, onnx::TensorProto_DataType_FLOAT, shape, graph_.add_output());
}

std::string OnnxGraph::Reshape(const std::string& value, std::vector<int64_t> shape) {
  shape.insert(shape.begin(), -1);
  return Add("Reshape", {value, AddIntegers(shape)});
}

std::string OnnxGraph::Transpose(const std::string& value, const std::vector<int64_t>& axes) {
  return Add("Transpose", {value}, {{"perm", axes}});
}

}  // namespace sotto::server
