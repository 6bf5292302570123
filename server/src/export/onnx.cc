// A net as an ONNX graph. Each kind of layer adds its nodes; between layers a value knows its
// order, so transpositions stand only where a consumer needs another one.
#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "export/onnx_features.h"
#include "export/onnx_graph.h"
#include "export/writers.h"
#include "sotto/model/branch_values.h"

namespace sotto::server {
namespace {

using nn::LayerKind;
using nn::LayerPlan;
using nn::Shape;

// What the shape of a value is, behind the axis of the samples.
enum class Form {
  kFlat,      // [size]
  kImage,     // [channels][height][width]
  kSequence,  // [length][channels], or tokens: [length]
};

// A value of the graph.
struct Value {
  std::string name;
  Form form = Form::kFlat;
  TensorOrder order;

  const Shape& shape() const { return order.shape; }
};

// The same numbers in both orders.
bool IsOrderFree(const Shape& shape) {
  return shape.channels == 1 || shape.height * shape.width == 1;
}

class Net {
 public:
  explicit Net(const TrainedModel& model)
      : info_(model.info), graph_(model), tensors_(ExportTensors(model.info, model.parameters)) {}

  std::string Convert() {
    Value value = Prepare(Input());
    for (size_t i = 0; i < info_.layers.size(); ++i) {
      layer_ = &info_.layers[i];
      prefix_ = fmt::format("{}.", i);
      value = branches_.Follow(
          layer_->info, value, [&](const Value& input) { return Layer(input); },
          [&](const Value& input, const Value& branch) { return Sum(input, branch); });
    }
    Outputs(value);
    return graph_.Bytes();
  }

 private:
  Value Input() {
    const Shape shape = info_.SampleShape();
    const bool is_tokens = info_.layers[0].tokens > 0;
    const Value value{"input", FormOf(shape), {shape.height > 1, shape}};
    graph_.AddInput(value.name, is_tokens, AxesOf(value, is_tokens));
    return value;
  }

  // Of a sample, raw or prepared.
  static Form FormOf(const Shape& shape) {
    if (shape.height > 1) return Form::kImage;
    return shape.width > 1 ? Form::kSequence : Form::kFlat;
  }

  // The steps of a prediction on a raw sample.
  Value Prepare(Value value) {
    for (const nn::PreparationStep& step : info_.preparation) {
      if (nn::ChangesShape(step.kind)) {
        value = Features(step, value);
      } else if (!step.is_random) {
        value.name = Prepared(step, value);
      }
    }
    return value;
  }

  Value Features(const nn::PreparationStep& step, const Value& value) {
    const nn::Signal signal = nn::SignalOf(step.input);
    const Shape shape = {step.input.height, signal.length, signal.axes};
    const Value in{AsOwnVector(value).name, Form::kFlat, {false, shape}};
    const Value out{
        AddFeatures(step, AsImage(in, shape).name, &graph_), Form::kImage, {true, step.output}};
    const Form form = FormOf(step.output);
    if (form == Form::kSequence) return AsSequence(out, step.output);
    return form == Form::kFlat ? AsOwnVector(out) : out;
  }

  std::string Prepared(const nn::PreparationStep& step, const Value& value) {
    switch (step.kind) {
      case nn::PreparationKind::kFillMissing: {
        const std::string is_missing = graph_.Add("IsNaN", {value.name});
        return graph_.Add("Where", {is_missing, Numbers(step.first, value), value.name});
      }
      case nn::PreparationKind::kRescale: {
        const std::string scaled = graph_.Add("Mul", {value.name, Numbers(step.first, value)});
        return graph_.Add("Add", {scaled, Numbers(step.second, value)});
      }
      case nn::PreparationKind::kNormalise: {
        const std::string centred = graph_.Add("Sub", {value.name, Numbers(step.first, value)});
        return graph_.Add("Div", {centred, Numbers(step.second, value)});
      }
      case nn::PreparationKind::kUnitNorm: {
        const std::string largest = graph_.Add("Abs", {value.name});
        const std::string scaled = DividedBy("ReduceMax", largest, value);
        return DividedBy("ReduceL2", scaled, {scaled, value.form, value.order});
      }
      default:
        break;
    }
    throw std::logic_error("ONNX lacks a step that prepares samples");
  }

  // value / reduce(of), over a whole sample; zeros stay zeros.
  std::string DividedBy(const char* reduce, const std::string& of, const Value& value) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < AxesOf(value).size(); ++i) axes.push_back(static_cast<int64_t>(i) + 1);
    const std::string divisor =
        graph_.Add(reduce, {of}, {{"axes", axes}, {"keepdims", int64_t{1}}});
    const std::string is_zero = graph_.Add("Equal", {divisor, graph_.AddFloats({1}, {0.0F})});
    const std::string safe = graph_.Add("Where", {is_zero, graph_.AddFloats({1}, {1.0F}), divisor});
    return graph_.Add("Div", {value.name, safe});
  }

  // A step's numbers in the order of the value: one, one a channel, or one a feature.
  std::string Numbers(Span<const float> numbers, const Value& value) {
    const Shape& s = value.shape();
    const std::vector<float> own(numbers.begin(), numbers.end());
    if (own.size() == 1) return graph_.AddFloats({1}, own);
    if (value.form != Form::kImage) {
      return graph_.AddFloats(
          own.size() == s.size() ? AxesOf(value) : std::vector<int64_t>{s.channels}, own);
    }
    if (own.size() == s.channels) return graph_.AddFloats({s.channels, 1, 1}, own);
    std::vector<float> channels_first;
    for (uint32_t c = 0; c < s.channels; ++c) {
      for (uint32_t p = 0; p < s.height * s.width; ++p) {
        channels_first.push_back(own[p * s.channels + c]);
      }
    }
    return graph_.AddFloats(AxesOf(value), channels_first);
  }

  static std::vector<int64_t> AxesOf(const Value& value, bool is_tokens = false) {
    const Shape& s = value.shape();
    if (is_tokens) return {s.width};
    if (value.form == Form::kImage) return {s.channels, s.height, s.width};
    if (value.form == Form::kSequence) return {s.width, s.channels};
    return {s.size()};
  }

  // The tensor of the present layer.
  const Tensor& TensorOf(const std::string& name) const {
    return *std::find_if(tensors_.begin(), tensors_.end(),
                         [&](const Tensor& tensor) { return tensor.name == prefix_ + name; });
  }
  std::string Constant(const std::string& name, const std::vector<int64_t>& shape) {
    return graph_.AddFloats(shape, TensorOf(name).values);
  }

  // Conversions of a value: any order as a vector; Sotto's order as a vector or a sequence; image.
  Value AsVector(Value value) {
    if (value.form != Form::kFlat) value.name = graph_.Reshape(value.name, {value.shape().size()});
    value.form = Form::kFlat;
    return value;
  }
  Value AsOwnVector(Value value) {
    const Shape shape = value.shape();
    if (value.order.is_channels_first && !IsOrderFree(shape)) {
      value = AsImage(value, shape);
      value.name = graph_.Transpose(value.name, {0, 2, 3, 1});
    }
    value.order.is_channels_first = false;
    return AsVector(value);
  }
  Value AsSequence(Value value, const Shape& shape) {
    if (value.form == Form::kSequence && value.shape() == shape) return value;
    value = AsOwnVector(value);
    value.name = graph_.Reshape(value.name, {shape.width, shape.channels});
    return {value.name, Form::kSequence, {false, shape}};
  }
  // A vector is an image of one pixel, a sequence one of one row.
  Value AsImage(Value value, const Shape& shape) {
    const std::vector<int64_t> axes = {shape.channels, shape.height, shape.width};
    const Value image{value.name, Form::kImage, {true, shape}};
    if (value.order.is_channels_first && value.shape() == shape) {
      if (value.form == Form::kImage) return value;
      return {graph_.Reshape(value.name, axes), image.form, image.order};
    }
    if (IsOrderFree(shape)) {
      return {graph_.Reshape(AsOwnVector(value).name, axes), image.form, image.order};
    }
    const std::string own =
        graph_.Reshape(AsOwnVector(value).name, {shape.height, shape.width, shape.channels});
    return {graph_.Transpose(own, {0, 3, 1, 2}), image.form, image.order};
  }
  Value AsInput(const Value& value) { return AsImage(value, layer_->info.input); }

  // A value behind the present layer.
  Value Result(const std::string& name, Form form) const {
    return {name, form, {form == Form::kImage, layer_->info.output}};
  }

  Value Layer(const Value& value) {
    switch (layer_->info.kind) {
      case LayerKind::kDense:
        return Dense(value);
      case LayerKind::kConv2d:
        return Convolution(value, layer_->info.input.channels, 1);
      case LayerKind::kDepthwiseConv2d:
        return Convolution(value, 1, layer_->info.input.channels);
      case LayerKind::kMaxPool2d:
        return Pool("MaxPool", value);
      case LayerKind::kAveragePool2d:
        return Pool("AveragePool", value);
      case LayerKind::kRelu:
        return Elementwise("Relu", value);
      case LayerKind::kTanh:
        return Elementwise("Tanh", value);
      case LayerKind::kSigmoid:
        return Elementwise("Sigmoid", value);
      case LayerKind::kFlatten:
        return AsVector(value);
      case LayerKind::kEmbedding:
        return Embedding(value);
      case LayerKind::kLstm:
        return Lstm(value);
      case LayerKind::kGroupNorm:
        return GroupNorm(value);
      case LayerKind::kLocalResponseNorm:
        return LocalResponseNorm(value);
      case LayerKind::kFork:  // BranchValues follows them
      case LayerKind::kSwap:
      case LayerKind::kAdd:
        break;
    }
    throw std::logic_error("ONNX lacks a kind of layer");
  }

  Value Elementwise(const char* op, Value value) {
    value.name = graph_.Add(op, {value.name});
    return value;
  }

  // Of two values of one shape, in any forms.
  Value Sum(Value a, Value b) {
    const TensorOrder order = OrderOfSum(a.order, b.order);
    if (!(a.order == b.order)) {
      a = AsOwnVector(a);
      b = AsOwnVector(b);
    } else if (a.form != b.form) {
      a = AsVector(a);
      b = AsVector(b);
    }
    return {graph_.Add("Add", {a.name, b.name}), a.form, order};
  }

  // Its columns have the order of the value, whatever that is.
  Value Dense(const Value& value) {
    const int64_t inputs = layer_->info.input.size();
    const int64_t outputs = layer_->info.output.size();
    const std::string weight = Constant("weight", {outputs, inputs});
    const std::string bias = Constant("bias", {outputs});
    return Result(
        graph_.Add("Gemm", {AsVector(value).name, weight, bias}, {{"transB", int64_t{1}}}),
        Form::kFlat);
  }

  OnnxAttributes WindowAttributes() const {
    const nn::Axis& rows = layer_->info.window.rows;
    const nn::Axis& columns = layer_->info.window.columns;
    return {{"kernel_shape", std::vector<int64_t>{rows.extent, columns.extent}},
            {"strides", std::vector<int64_t>{rows.stride, columns.stride}},
            {"pads",
             std::vector<int64_t>{rows.padding, columns.padding, rows.padding, columns.padding}}};
  }

  //   inputs  channels that one output sees
  Value Convolution(const Value& value, int64_t inputs, int64_t groups) {
    const nn::Window& window = layer_->info.window;
    const int64_t outputs = layer_->info.output.channels;
    const std::string weight =
        Constant("weight", {outputs, inputs, window.rows.extent, window.columns.extent});
    OnnxAttributes attributes = WindowAttributes();
    attributes.emplace_back("group", groups);
    return Result(
        graph_.Add("Conv", {AsInput(value).name, weight, Constant("bias", {outputs})}, attributes),
        Form::kImage);
  }

  // Padding takes no part: -infinity for the largest value, not counted for the mean.
  Value Pool(const char* op, const Value& value) {
    return Result(graph_.Add(op, {AsInput(value).name}, WindowAttributes()), Form::kImage);
  }

  Value Embedding(const Value& value) {
    const std::string table = Constant("weight", {layer_->tokens, layer_->info.output.channels});
    return Result(graph_.Add("Gather", {table, value.name}), Form::kSequence);
  }

  // ONNX has the gates i o f g; Sotto and PyTorch have i f g o.
  std::string Gates(const std::string& name, std::vector<int64_t> shape) {
    const std::vector<float>& values = TensorOf(name).values;
    const size_t gate = values.size() / 4;
    std::vector<float> reordered;
    for (const size_t from : {0, 3, 1, 2}) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(from * gate);
      reordered.insert(reordered.end(), first, first + static_cast<std::ptrdiff_t>(gate));
    }
    shape.insert(shape.begin(), 1);  // directions
    return graph_.AddFloats(shape, reordered);
  }

  Value Lstm(const Value& value) {
    const Shape& input = layer_->info.input;
    const int64_t units = layer_->info.output.channels;
    const std::string steps =
        graph_.Transpose(AsSequence(value, input).name, {1, 0, 2});  // ONNX has time first
    const std::string bias =
        graph_.Add("Concat", {Gates("bias_ih_l0", {4 * units}), Gates("bias_hh_l0", {4 * units})},
                   {{"axis", int64_t{1}}});
    const std::vector<std::string> inputs = {steps,
                                             Gates("weight_ih_l0", {4 * units, input.channels}),
                                             Gates("weight_hh_l0", {4 * units, units}), bias};
    const OnnxAttributes attributes = {{"hidden_size", units}};
    if (layer_->info.output.width == 1) {  // [directions][samples][units], of the last step
      const std::string last = graph_.Add("LSTM", inputs, attributes, 1);
      return Result(graph_.Add("Squeeze", {last, graph_.AddIntegers({0})}), Form::kFlat);
    }
    const std::string all = graph_.Add("LSTM", inputs, attributes);
    const std::string one = graph_.Add("Squeeze", {all, graph_.AddIntegers({1})});
    return Result(graph_.Transpose(one, {1, 0, 2}), Form::kSequence);
  }

  // By InstanceNormalization over groups: the operator GroupNormalization came with opset 18.
  Value GroupNorm(const Value& value) {
    const int64_t groups = layer_->info.size;
    const Shape& shape = layer_->info.input;
    const auto count = static_cast<size_t>(groups);
    const std::string ones = graph_.AddFloats({groups}, std::vector<float>(count, 1.0F));
    const std::string zeros = graph_.AddFloats({groups}, std::vector<float>(count, 0.0F));
    const std::string grouped =
        graph_.Reshape(AsInput(value).name, {groups, shape.size() / groups});
    const std::string normalised =
        graph_.Add("InstanceNormalization", {grouped, ones, zeros}, {{"epsilon", 1e-5F}});
    const std::string image =
        graph_.Reshape(normalised, {shape.channels, shape.height, shape.width});
    const std::vector<int64_t> each = {shape.channels, 1, 1};
    const std::string scaled = graph_.Add("Mul", {image, Constant("weight", each)});
    return Result(graph_.Add("Add", {scaled, Constant("bias", each)}), Form::kImage);
  }

  Value LocalResponseNorm(const Value& value) {
    return Result(graph_.Add("LRN", {AsInput(value).name},
                             {{"size", int64_t{layer_->info.size}},
                              {"alpha", 1e-4F},
                              {"beta", 0.75F},
                              {"bias", 1.0F}}),
                  Form::kImage);
  }

  void Outputs(const Value& value) {
    if (info_.loss.target == nn::TargetKind::kInput) return Reconstruction(value);
    const std::string scores = AsOwnVector(value).name;
    const int64_t outputs = info_.outputs;
    if (info_.classes == 0) return graph_.AddOutput("values", scores, {outputs});
    graph_.AddOutput("probabilities", Probabilities(scores), {info_.classes});
    graph_.AddOutput("scores", scores, {outputs});
  }

  std::string Probabilities(const std::string& scores) {
    if (info_.loss.kind == nn::LossKind::kSoftmaxCrossEntropy) {
      return graph_.Add("Softmax", {scores}, {{"axis", int64_t{1}}});
    }
    if (info_.outputs > 1) return graph_.Add("Sigmoid", {scores});
    const std::string second = graph_.Add("Sigmoid", {scores});
    const std::string first = graph_.Add("Sigmoid", {graph_.Add("Neg", {scores})});
    return graph_.Add("Concat", {first, second}, {{"axis", int64_t{1}}});
  }

  // In the shape and order of the input, to compare with it.
  void Reconstruction(const Value& value) {
    const Shape shape = info_.PreparedShape();
    Value own = AsOwnVector(value);
    own.order = {false, shape};
    if (shape.height > 1) own = AsImage(own, shape);
    if (shape.height == 1 && shape.width > 1) own = AsSequence(own, shape);
    graph_.AddOutput("reconstruction", own.name, AxesOf(own));
  }

  const ModelInfo& info_;
  OnnxGraph graph_;
  const std::vector<Tensor> tensors_;
  posix::BranchValues<Value> branches_;
  const LayerPlan* layer_ = nullptr;  // the present one
  std::string prefix_;                // of its tensors' names
};

}  // namespace

std::string WriteOnnx(const TrainedModel& model) { return Net(model).Convert(); }

}  // namespace sotto::server
