// Instructions that a Cortex-M4F spends on nets in float32: a multiply-accumulate of a layer, and a
// training sample of a net.
//
// To be run by `qemu-system-arm -icount shift=0`, where the counter counts instructions;
// tests/size/table.sh does. Prints "NAME: N", N in tenths of an instruction a multiply-accumulate,
// rounded up, for a layer, in instructions a sample for a net; then bytes of RAM.
// Ends with 1 if a training fails.
//
// A layer goes forward, adds its gradient and makes its input's delta; inputs, parameters and
// deltas are random and none is zero, so no kernel skips any. The multiply-accumulates follow from
// the definition: all that the three need, without padding. A net's counts include the whole
// training, as in training.cc; its memory is larger than most boards have (nets/an386.ld).
#include "sotto/client.h"
#include "sotto/conformance/line.h"
#include "sotto/emulated/counter.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/models.h"
#include "sotto/train.h"

namespace sotto {
namespace {

using conformance::Line;

using nn::LayerPlan;

constexpr uint32_t kBatchSize = 10;
constexpr size_t kMaxParameters = ResNet8::kParameters;
constexpr size_t kMaxFloats = nn::TrainingMemory(ResNet8::Plan(), ResNet8::kLoss, kBatchSize);
static_assert(kMaxParameters > LeNet::kParameters);
static_assert(kMaxFloats > nn::TrainingMemory(LeNet::Plan(), LeNet::kLoss, kBatchSize));

float g_base[kMaxParameters];
float g_parameters[kMaxParameters];
float g_memory[kMaxFloats];
uint32_t g_indices[kBatchSize];
uint32_t g_random = 1;

// In [-1/16, 1/16), and never zero.
float Random() {
  g_random = 1664525u * g_random + 1013904223u;
  return static_cast<float>(static_cast<int32_t>(g_random | 0x100)) * 0x1p-35f;
}

void FillAtRandom(size_t n, float* values) {
  for (size_t i = 0; i < n; ++i) values[i] = Random();
}

void Print(const char* name, uint64_t count) {
  Line line;
  line << name << ": " << count << "\n";
  emulated::Print(line.text());
}

uint64_t InstructionsSince(uint32_t start) {
  return uint64_t{emulated::Ticks() - start} * emulated::NanosecondsPerTick();
}

// The calls are what a walker makes, for one sample.
//   products  multiply-accumulates of forward, gradient and input delta
void MeasureLayer(const char* name, const LayerPlan& layer, uint64_t products) {
  float* const input = g_memory;
  float* const output = input + layer.info.input.size();
  float* const kept = output + layer.info.output.size();
  const nn::LayerCall call{layer.info, g_base, input, output, kept, kept + layer.kept};
  FillAtRandom(layer.parameters(), g_base);
  FillAtRandom(layer.info.input.size(), input);
  uint32_t start = emulated::Ticks();
  layer.functions.forward(call);
  uint64_t instructions = InstructionsSince(start);
  FillAtRandom(layer.info.output.size(), output);
  start = emulated::Ticks();
  layer.functions.add_gradient(call, g_parameters);
  instructions += InstructionsSince(start);
  start = emulated::Ticks();
  layer.functions.input_delta(call);
  instructions += InstructionsSince(start);
  Print(name, (instructions * 10 + products - 1) / products);
}

// A layer whose weights are all used once at each position of the output.
void MeasureWindows(const char* name, const LayerPlan& layer) {
  const nn::Shape& out = layer.info.output;
  MeasureLayer(name, layer, uint64_t{3} * layer.weights * out.height * out.width);
}

// At the first step there is no state before: its gradient and delta are not computed.
void MeasureLstm(const char* name, const LayerPlan& layer) {
  const uint64_t steps = layer.info.input.width;
  const uint64_t units = layer.info.output.channels;
  const uint64_t recurrent = 4 * units * units;
  MeasureLayer(name, layer, 3 * layer.weights * steps - 2 * recurrent);
}

Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  g_random = index;
  for (float& feature : features) {
    const float value = Random() * 16;
    feature = value < 0 ? 0 : value;
  }
  *label = index % 10;
  return Status::kOk;
}

Status Train(const ModelInfo& model, uint32_t samples) {
  TrainingOptions options;
  options.local_epochs = 1;
  options.batch_size = samples < kBatchSize ? samples : kBatchSize;
  FillAtRandom(model.parameters, g_base);
  LocalTrainer trainer;
  const SampleSource source{samples, ReadSample, nullptr};
  if (Status s = trainer.Begin(model, options, source, Key(), {g_base, model.parameters},
                               {{g_parameters, model.parameters}}, g_memory, g_indices);
      s != Status::kOk) {
    return s;
  }
  for (bool done = false; !done;) {
    if (Status s = trainer.Step(&done); s != Status::kOk) return s;
  }
  return Status::kOk;
}

bool MeasureNet(const ModelInfo& model, uint32_t samples) {
  const uint32_t start = emulated::Ticks();
  if (Train(model, samples) != Status::kOk) return false;
  const uint64_t instructions = InstructionsSince(start);
  emulated::Print("sample of ");
  Print(model.name, instructions / samples);
  return true;
}

// Of a training: the workspace, and with it the model and the update.
template <class Net>
void PrintMemory(const char* name) {
  constexpr size_t kWorkspace = ClientWorkspaceBytes<Net, kBatchSize>();
  emulated::Print("workspace of ");
  Print(name, kWorkspace);
  emulated::Print("RAM of ");
  Print(name, kWorkspace + 2 * sizeof(float) * Net::kParameters);
}

void MeasureLayers() {
  using nn::ShapeOf;
  MeasureWindows("conv 3x3, 1 channel", nn::Conv2d<8, 3>::Plan(ShapeOf(14, 14, 1)));
  MeasureWindows("conv 5x5, 1 channel", nn::Conv2d<6, 5>::Plan(ShapeOf(14, 14, 1)));
  MeasureWindows("conv 3x3, 3 channels", nn::Conv2d<8, 3>::Plan(ShapeOf(14, 14, 3)));
  MeasureWindows("conv 5x5, 6 channels", nn::Conv2d<16, 5>::Plan(ShapeOf(14, 14, 6)));
  MeasureWindows("conv 3x3, 16 channels", nn::Conv2d<32, 3>::Plan(ShapeOf(12, 12, 16)));
  MeasureWindows("depthwise 3x3, 16 channels", nn::DepthwiseConv2d<3>::Plan(ShapeOf(14, 14, 16)));
  MeasureWindows("dense 400-120", nn::Dense<400, 120>::Plan(ShapeOf(400)));
  MeasureLstm("lstm 8-32, 40 steps", nn::Lstm<32, nn::LstmOutput::kSequence>::Plan(ShapeOf(40, 8)));
}

}  // namespace
}  // namespace sotto

int main(int, char**) {
  using sotto::MakeModelInfo;
  sotto::MeasureLayers();
  const bool ok = sotto::MeasureNet(MakeModelInfo<sotto::LeNet>("lenet"), 20) &&
                  sotto::MeasureNet(MakeModelInfo<sotto::SmallCnn>("small-cnn"), 20) &&
                  sotto::MeasureNet(MakeModelInfo<sotto::ResNet8>("resnet8"), 2);
  sotto::PrintMemory<sotto::LeNet>("lenet");
  sotto::PrintMemory<sotto::ResNet8>("resnet8");
  return ok ? 0 : 1;
}
