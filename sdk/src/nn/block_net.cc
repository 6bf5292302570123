#include "nn/block_net.h"

#include "base/exact_arithmetic.h"
#include "nn/float_net.h"
#include "nn/kernels.h"
#include "nn/net_batch.h"
#include "sotto/nn.h"

namespace sotto::nn {
namespace {

constexpr size_t Least(size_t a, size_t b) { return a < b ? a : b; }

// The inputs and the output deltas of a block, each row a stride apart.
size_t KeptSize(const LayerPlan& layer, size_t samples) {
  return samples * (BlockStride(layer.info.input.size()) + BlockStride(layer.info.output.size()));
}

// Whether a layer keeps inputs and output deltas of its batch, which is one block then, instead of
// a sum of gradients. Because it does so only where that takes less memory, with the sum of its
// biases in the scratch, a smaller batch never needs more than a larger one.
bool KeepsBlock(const LayerPlan& layer, size_t samples, bool is_one_block) {
  return is_one_block && layer.is_outer_product &&
         KeptSize(layer, samples) + layer.info.output.size() <= layer.trained();
}

// Where the memory of a training lies, from the front: the samples, their targets, gradients or
// what layers keep of the batch, scratch.
struct TrainingLayout {
  TrainingLayout(const ModelInfo& model, size_t batch)
      : stride(BlockStride(NetMemory(model.layers, 0))),
        samples(BlockSamples(stride, batch)),
        is_one_block(samples == batch) {
    const bool has_vectors = model.loss.target == TargetKind::kVector;
    targets = samples * stride;
    gradients = targets + (has_vectors ? samples * model.outputs : 0);
    scratch = gradients;
    size_t most = MostBlockScratch(model.layers, samples);
    for (const LayerPlan& layer : model.layers) {
      scratch += GradientFloats(layer);
      const size_t biases = Keeps(layer) ? layer.info.output.size() : 0;
      most = biases > most ? biases : most;
    }
    size = scratch + most;
  }

  bool Keeps(const LayerPlan& layer) const { return KeepsBlock(layer, samples, is_one_block); }
  size_t GradientFloats(const LayerPlan& layer) const {
    return Keeps(layer) ? KeptSize(layer, samples) : layer.trained();
  }

  const size_t stride;
  const size_t samples;     // of a block
  const bool is_one_block;  // all samples of the batch
  size_t targets;
  size_t gradients;
  size_t scratch;
  size_t size;
};

// One step of SGD.
class BlockTraining {
 public:
  BlockTraining(const BlockKernels& kernels, const ModelInfo& model, const Batch& batch,
                const WorkingParameters& working, Span<float> memory)
      : kernels_(kernels),
        model_(model),
        batch_(batch),
        layout_(model, batch.indices.size()),
        memory_(memory.data()),
        walker_(model.layers, working.memory.data(), memory_, 0) {}

  // Forward and back for all samples.
  Status AddGradients(const SgdStep& step, float* loss) {
    float sum = 0.0f;
    BeginBatch();
    for (size_t first = 0; first < size(); first += layout_.samples) {
      const SampleBlock block = BlockOf(Least(size() - first, layout_.samples));
      if (Status s = Read(first, block.samples); s != Status::kOk) return s;
      ForwardAll(walker_, block, true);
      for (size_t s = 0; s < block.samples; ++s) {
        const Span<Real> outputs{walker_.output().data() + s * layout_.stride, model_.outputs};
        sum += FloatNet::Errors(model_.loss, outputs, targets_[s]);
        ClampErrors(step.error_clip, outputs);
      }
      Backward(block);
    }
    *loss = sum / static_cast<float>(size());
    return Status::kOk;
  }

  // As Walker::Step().
  template <class Arithmetic>
  void Step(Real decay, Real rate, Real* parameters, const Arithmetic&) const {
    Real* gradient = memory_ + layout_.gradients;
    for (const LayerPlan& layer : model_.layers) {
      const size_t n = layer.trained();
      if (n == 0) continue;
      if (layout_.Keeps(layer)) {
        StepAlongKept(layer, gradient, decay, rate, parameters);
      } else {
        DecayAndAdd(decay, rate, gradient, n, parameters);
      }
      gradient += layout_.GradientFloats(layer);
      parameters += n;
    }
  }

 private:
  size_t size() const { return batch_.indices.size(); }
  SampleBlock BlockOf(size_t samples) const {
    return {kernels_, samples, layout_.stride, memory_ + layout_.scratch};
  }

  void BeginBatch() {
    Real* gradient = memory_ + layout_.gradients;
    for (const LayerPlan& layer : model_.layers) {
      if (!layout_.Keeps(layer)) FillZero(layer.trained(), gradient);
      gradient += layout_.GradientFloats(layer);
    }
  }

  Status Read(size_t first, size_t count) {
    for (size_t s = 0; s < count; ++s) {
      const Span<float> features{memory_ + s * layout_.stride, walker_.input().size()};
      float* const vector = memory_ + layout_.targets + s * model_.outputs;
      targets_[s] = {};
      const Status status = ReadSample(model_, batch_, batch_.indices[first + s], FloatNet{},
                                       features, vector, &targets_[s]);
      if (status != Status::kOk) return status;
    }
    return Status::kOk;
  }

  void Backward(const SampleBlock& block) {
    Real* gradient = memory_ + layout_.scratch;
    const LayerPlan* entered = model_.layers.end();
    walker_.ForEachBackward([&](const LayerPlan& layer, const LayerCall& call, bool gives_delta) {
      while (entered != &layer) {
        gradient -= layout_.GradientFloats(*--entered);
      }
      if (layout_.Keeps(layer)) {
        Keep(call, block, gradient);
      } else if (layer.trained() > 0) {
        AddGradientOfBlock(layer, call, block, gradient);
      }
      if (gives_delta) InputDeltaOfBlock(layer, call, block);
    });
  }

  struct KeptRows {
    BlockRows inputs;
    BlockRows deltas;
  };
  KeptRows RowsOf(const LayerInfo& info, Real* kept) const {
    const size_t stride = BlockStride(info.input.size());
    return {{kept, stride}, {kept + layout_.samples * stride, BlockStride(info.output.size())}};
  }

  void Keep(const LayerCall& call, const SampleBlock& block, Real* kept) const {
    const auto [inputs, deltas] = RowsOf(call.info, kept);
    CopyRows(call.input, block.stride, block.samples, call.info.input.size(), inputs.first,
             inputs.stride);
    CopyRows(call.output, block.stride, block.samples, call.info.output.size(), deltas.first,
             deltas.stride);
  }

  void StepAlongKept(const LayerPlan& layer, Real* kept, Real decay, Real rate,
                     Real* parameters) const {
    const size_t n = layer.info.input.size();
    const size_t outputs = layer.info.output.size();
    const auto [inputs, deltas] = RowsOf(layer.info, kept);
    kernels_.dense_step(deltas, outputs, inputs, n, layout_.samples, decay, rate, parameters);
    Real* const sum = memory_ + layout_.scratch;
    FillZero(outputs, sum);
    for (size_t s = 0; s < layout_.samples; ++s) AddScaled(Real{1}, deltas[s], outputs, sum);
    DecayAndAdd(decay, rate, sum, outputs, parameters + n * outputs);
  }

  const BlockKernels& kernels_;
  const ModelInfo& model_;
  const Batch& batch_;
  const TrainingLayout layout_;
  Real* const memory_;
  const Walker walker_;
  Target targets_[kMostSamples];
};

}  // namespace

size_t MostBlockScratch(Span<const LayerPlan> plan, size_t samples) {
  size_t most = 0;
  for (const LayerPlan& layer : plan) {
    const size_t scratch = BlockScratch(layer, samples);
    most = scratch > most ? scratch : most;
  }
  return most;
}

void ForwardAll(const Walker& walker, const SampleBlock& block, bool keeps) {
  walker.ForEachForward([&](const LayerPlan& layer, const LayerCall& call) {
    ForwardBlock(layer, call, block, keeps);
  });
}

size_t BlockTrainingFloats(const ModelInfo& model, uint32_t batch_size) {
  const size_t by_samples = internal::NetTrainingFloats(model, batch_size);
  const size_t by_blocks = TrainingLayout(model, batch_size).size;
  return by_samples > by_blocks ? by_samples : by_blocks;
}

Status TrainBlocks(const BlockKernels& kernels, const ModelInfo& model, const Batch& batch,
                   const SgdStep& step, const WorkingParameters& working, Span<float> scratch,
                   float* loss) {
  const size_t size = batch.indices.size();
  if (size == 0 || step.gradient_clip != 0.0f) {
    return internal::NetTrainBatch(model, batch, step, working, scratch, loss);
  }
  if (scratch.size() < TrainingLayout(model, size).size) return Status::kBufferTooSmall;
  BlockTraining training(kernels, model, batch, working, scratch);
  if (Status s = training.AddGradients(step, loss); s != Status::kOk) return s;
  MoveAlong(training, step, working, static_cast<float>(size), 1.0f, FloatNet{});
  return Status::kOk;
}

}  // namespace sotto::nn
