// Trained nets: each kind of layer, each loss, each step that prepares samples, each way to train,
// frozen layers, and nets of several layers, in float32 and in fixed point.
// A new one is a row of kItems.
#include <type_traits>

#include "golden/check.h"
#include "golden/digests.h"
#include "sotto/initial_weights.h"
#include "sotto/num.h"
#include "sotto/predict.h"
#include "sotto/random.h"
#include "sotto/train.h"

namespace sotto::golden {
namespace {

using namespace sotto::nn;

constexpr uint32_t kSamples = 12;
constexpr uint32_t kBatchSize = 5;  // the last batch of an epoch has two samples
constexpr size_t kMemory = 8000;
float memory[kMemory];

// The layer to test, behind a layer that is trained, so its input delta counts.
template <class Layer>
using OnImage = Sequential<Input<6, 5, 2>, Conv2d<4, 1>, Layer,
                           Dense<Layer::Plan({6, 5, 4}).info.output.size(), 3>>;
template <class Layer>
using OnSequence = Sequential<Input<9, 2>, Conv1d<4, 1>, Layer,
                              Dense<Layer::Plan({1, 9, 4}).info.output.size(), 3>>;

// Of the two layers one keeps its batch, the other a sum (net_memory.h).
using TwoDense = Sequential<Dense<12, 9>, Dense<9, 3>>;
using Tokenized = Sequential<Tokens<7>, Embedding<11, 3>, Dense<21, 4>>;

using OneVsAllOfThree = Sequential<Dense<12, 4>, Tanh, Dense<4, 3>, OneVsAll>;
using OneVsAllOfTwo = Sequential<Dense<12, 4>, Tanh, Dense<4, 1>, OneVsAll>;
using Regression = Sequential<Dense<12, 4>, Tanh, Dense<4, 2>, MeanSquaredError<>>;
using Autoencoder =
    Sequential<Dense<12, 4>, Tanh, Dense<4, 12>, MeanSquaredError<TargetKind::kInput>>;

constexpr float kConstants[] = {0.5f, -0.25f, 0.125f, 1.0f, -0.5f, 0.0625f};
using PartlyFrozen = Sequential<Input<6, 5, 2>, Frozen<kConstants, Conv2d<2, 1>, Relu>,
                                Conv2d<3, 3>, Relu, Dense<36, 3>>;

// The first step makes some of the numbers missing.
constexpr float kHoles[] = {__builtin_nanf(""), 3.0f, 5.0f};
constexpr float kOffset = 0.1f;
constexpr float kMeans[] = {0.1307f, -0.25f, 0.7f};
constexpr float kDeviations[] = {0.3081f, 1.7f, 0.01f};
template <class... Layers>
using Prepared = Sequential<Input<2, 2, 3>, Rescale<kHoles, kOffset>, FillMissing<kOffset>,
                            Normalise<kMeans, kDeviations>, UnitNorm, Layers...>;
template <class Activation>
using PreparedAutoencoder =
    Prepared<Dense<12, 4>, Activation, Dense<4, 12>, MeanSquaredError<TargetKind::kInput>>;
using Moved =
    Sequential<Input<6, 5, 2>, RandomCrop<2>, RandomFlip, Conv2d<3, 3>, Relu, Dense<36, 3>>;

using OfSpectrum = Sequential<Input<64, 3>, Difference, Spectrum<20, 12, 6>,
                              Normalise<kOffset, kDeviations>, Conv2d<3, 2>, Relu, Dense<45, 3>>;
using OfSpeech = Sequential<Input<300>, Mel<128, 64, 12, 8000, 100, 4000>, Dct<12, 6>, Dense<18, 5>,
                            Tanh, Dense<5, 3>>;
using OfStats = Sequential<Input<40, 2>, Stats, Dense<10, 3>>;

using Perceptron = Sequential<Dense<20, 12>, Relu, Dense<12, 8>, Relu, Dense<8, 4>>;
using SmallLeNet =
    Sequential<Input<12, 12, 1>, Conv2d<3, 5, 1, 2>, Relu, MaxPool2d<2>, Conv2d<4, 3>, Relu,
               MaxPool2d<2>, Flatten, Dense<16, 12>, Relu, Dense<12, 4>>;
using Windows = Sequential<Input<24, 3>, Conv1d<6, 5, 2>, Relu, MaxPool1d<2>, Conv1d<8, 3>, Relu,
                           GlobalAverage2d, Dense<8, 4>>;
using Characters = Sequential<Tokens<8>, Embedding<11, 4>, Lstm<6, LstmOutput::kSequence>,
                              Lstm<5, LstmOutput::kLast>, Dense<5, 11>>;

// A block whose shortcut is the tensor itself, and one whose shortcut has a layer; with norms, or
// with none.
template <class... Norm>
using Residual =
    Sequential<Input<6, 5, 2>, Conv2d<4, 3, 1, 1>, Norm..., Relu, Fork<1>, Conv2d<4, 3, 1, 1>,
               Norm..., Relu, Conv2d<4, 3, 1, 1>, Norm..., Add<1>, Relu, Fork<1>,
               Conv2d<6, 3, 2, 1>, Norm..., Relu, Conv2d<6, 3, 1, 1>, Norm..., Swap<1>,
               Conv2d<6, 1, 2>, Add<1>, Relu, GlobalAverage2d, Dense<6, 3>>;
// A tensor that three layers read, the first one of the net.
using ThreeReaders = Sequential<Input<12>, Fork<1>, Fork<2>, Dense<12, 12>, Tanh, Add<2>, Sigmoid,
                                Swap<1>, Dense<12, 12>, Add<1>, Dense<12, 3>>;

using FixedOneVsAll = FixedPoint<Sequential<Dense<12, 4>, Relu, Dense<4, 3>, OneVsAll>>;
using FixedRegression = FixedPoint<Sequential<Dense<12, 4>, Relu, Dense<4, 2>, MeanSquaredError<>>>;
using FixedAutoencoder = FixedPoint<PreparedAutoencoder<Relu>>;

// Numbers are multiples of 1/256 in [-0.5, 0.5), tokens are below the model's vocabulary.
void Fill(const ModelInfo& model, RandomStream* random, Span<float> values) {
  const uint32_t tokens = model.layers[0].tokens;
  for (float& value : values) {
    value = tokens > 0 ? static_cast<float>(random->Below(tokens))
                       : static_cast<float>(static_cast<int32_t>(random->NextU32() >> 24) - 128) *
                             (1.0f / 256);
  }
}

Status ReadSample(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const ModelInfo& model = **static_cast<const ModelInfo* const*>(context);
  RandomStream random(TestKey(9), index);
  *label = model.classes > 0 ? random.Below(model.classes) : 0;
  Fill(model, &random, features);
  return random.status();
}

Status ReadPair(void* context, uint32_t index, Span<float> features, Span<float> target) {
  const ModelInfo& model = **static_cast<const ModelInfo* const*>(context);
  RandomStream random(TestKey(10), index);
  Fill(model, &random, features);
  Fill(model, &random, target);
  return random.status();
}

// A part of the memory.
class Arena {
 public:
  Span<float> Take(size_t size) {
    if (size > left_.size()) return {};
    const Span<float> taken = left_.first(size);
    left_ = left_.subspan(size, left_.size() - size);
    return taken;
  }

 private:
  Span<float> left_ = memory;
};

constexpr TrainingOptions Plain(float momentum = 0.0f) {
  TrainingOptions options;
  options.local_epochs = 2;
  options.batch_size = kBatchSize;
  options.weight_decay = 0.01f;
  options.momentum = momentum;
  return options;
}

// Steps with replacement, at rates that fall.
constexpr TrainingOptions Drawn() {
  TrainingOptions options = Plain();
  options.local_steps = 7;
  options.batches = Batches::kWithReplacement;
  options.rate_first = 3;
  options.rate_power = RatePower::kHalf;
  return options;
}

// Two thirds of the gradients are longer than the clip.
constexpr TrainingOptions Clipped(GradientClipOf of, float momentum) {
  TrainingOptions options = Plain(momentum);
  options.rate_first = 1;
  options.rate_power = RatePower::kOne;
  options.gradient_clip = 0.5f;
  options.gradient_clip_of = of;
  options.proximal = 0.5f;
  return options;
}

Status Train(const ModelInfo& model, const TrainingOptions& options, Span<const float> base,
             const WorkingParameters& working, Span<float> scratch, float* mean_loss) {
  const ModelInfo* context = &model;
  const SampleSource source = {kSamples, ReadSample, &context, ReadPair};
  uint32_t indices[kBatchSize];
  LocalTrainer trainer;
  if (Status s =
          trainer.Begin(model, options, source, TestKey(11), base, working, scratch, indices);
      s != Status::kOk) {
    return s;
  }
  for (bool done = false; !done;) {
    if (Status s = trainer.Step(&done); s != Status::kOk) return s;
  }
  *mean_loss = trainer.mean_loss();
  return Status::kOk;
}

Status PredictFirst(const ModelInfo& model, Span<const float> parameters, Span<float> scratch,
                    Span<float> features, Span<float> outputs) {
  RandomStream random(TestKey(12), 0);
  Fill(model, &random, features);
  model.predict(model, parameters, features, scratch, outputs);
  return random.status();
}

// Initial weights, trained weights, mean loss and the outputs for one more sample.
Status DigestOfTraining(const ModelInfo& model, const TrainingOptions& options, Digest digest) {
  Arena arena;
  const Span<float> base = arena.Take(model.parameters);
  const Span<float> trained = arena.Take(model.parameters);
  const Span<float> velocity = arena.Take(options.momentum > 0 ? model.parameters : 0);
  const Span<float> gradient = arena.Take(options.gradient_clip > 0 ? model.parameters : 0);
  const Span<float> features = arena.Take(model.inputs);
  const Span<float> outputs = arena.Take(model.outputs);
  const size_t to_train = model.training_floats(model, kBatchSize);
  const size_t to_predict = model.predict_floats(model);
  const Span<float> scratch = arena.Take(to_train > to_predict ? to_train : to_predict);
  if (scratch.size() == 0) return Status::kBufferTooSmall;  // raise kMemory
  if (Status s = InitialWeights(model, TestKey(13), base); s != Status::kOk) return s;
  float mean_loss = 0;
  const WorkingParameters working = {trained, velocity, gradient};
  if (Status s = Train(model, options, base, working, scratch, &mean_loss); s != Status::kOk) {
    return s;
  }
  if (Status s = PredictFirst(model, trained, scratch, features, outputs); s != Status::kOk) {
    return s;
  }
  Sha256 hash;
  const Span<const float> results[] = {base, trained, {&mean_loss, 1}, outputs};
  for (const Span<const float>& values : results) {
    if (Status s = HashFloats(values, &hash); s != Status::kOk) return s;
  }
  return hash.Finish(digest);
}

template <class Net>
constexpr ModelInfo kModelOf = MakeModelInfo<Net>("golden");

template <class Net>
Status Trained(Digest digest) {
  return DigestOfTraining(kModelOf<Net>, Plain(), digest);
}

template <class Net>
Status TrainedWithMomentum(Digest digest) {
  return DigestOfTraining(kModelOf<Net>, Plain(0.9f), digest);
}

template <class Net>
Status TrainedInDrawnSteps(Digest digest) {
  return DigestOfTraining(kModelOf<Net>, Drawn(), digest);
}

template <class Net>
Status TrainedWithClippedBatches(Digest digest) {
  return DigestOfTraining(kModelOf<Net>, Clipped(GradientClipOf::kBatch, 0.0f), digest);
}

template <class Net>
Status TrainedWithClippedSamples(Digest digest) {
  return DigestOfTraining(kModelOf<Net>, Clipped(GradientClipOf::kSample, 0.9f), digest);
}

// Parameters of the model's arithmetic, of random weights.
template <class Number>
Number ParameterOf(float value) {
  if constexpr (std::is_same_v<Number, float>) {
    return value;
  } else {
    return FixedParameter::FromFloat(value).raw();
  }
}

// The prediction errors of an autoencoder for all samples.
template <class Net, class Number>
Status ErrorsOf(Digest digest) {
  constexpr ModelInfo kModel = MakePredictionModel<Net>("golden");
  Arena arena;
  const Span<float> weights = arena.Take(kModel.parameters);
  const Span<float> features = arena.Take(kModel.inputs);
  const Span<float> outputs = arena.Take(kModel.outputs);
  const Span<float> scratch = arena.Take(PredictFloats<Net>());
  Number parameters[Net::kParameters];
  if (Status s = InitialWeights(kModelOf<Net>, TestKey(13), weights); s != Status::kOk) return s;
  for (size_t i = 0; i < weights.size(); ++i) parameters[i] = ParameterOf<Number>(weights[i]);
  float errors[kSamples] = {};
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    RandomStream random(TestKey(12), sample);
    Fill(kModel, &random, features);
    if (Status s =
            PredictionError(kModel, parameters, features, {}, scratch, outputs, &errors[sample]);
        s != Status::kOk) {
      return s;
    }
  }
  Sha256 hash;
  if (Status s = HashFloats(errors, &hash); s != Status::kOk) return s;
  return hash.Finish(digest);
}

constexpr DigestItem kItems[] = {
    {"layer: dense", Trained<TwoDense>},
    {"layer: conv2d", Trained<OnImage<Conv2d<3, 3, 2, 1>>>},
    {"layer: conv1d", Trained<OnSequence<Conv1d<3, 3, 2, 1>>>},
    {"layer: depthwise conv2d", Trained<OnImage<DepthwiseConv2d<3, 2, 1>>>},
    {"layer: depthwise conv2d, two channels for one",
     Trained<OnImage<DepthwiseConv2d<3, 1, 1, 2>>>},
    {"layer: max pool", Trained<OnImage<MaxPool2d<2>>>},
    {"layer: max pool, overlapping and padded", Trained<OnImage<MaxPool2d<3, 2, 1>>>},
    {"layer: max pool of sequences", Trained<OnSequence<MaxPool1d<3>>>},
    {"layer: average pool", Trained<OnImage<AveragePool2d<2>>>},
    {"layer: average pool, overlapping and padded", Trained<OnImage<AveragePool2d<3, 2, 1>>>},
    {"layer: average pool of sequences", Trained<OnSequence<AveragePool1d<3, 2>>>},
    {"layer: global average", Trained<OnImage<GlobalAverage2d>>},
    {"layer: relu", Trained<OnImage<Relu>>},
    {"layer: tanh", Trained<OnImage<Tanh>>},
    {"layer: sigmoid", Trained<OnImage<Sigmoid>>},
    {"layer: embedding", Trained<Tokenized>},
    {"layer: lstm, sequence", Trained<OnSequence<Lstm<5, LstmOutput::kSequence>>>},
    {"layer: lstm, last step", Trained<OnSequence<Lstm<5, LstmOutput::kLast>>>},
    {"layer: local response norm", Trained<OnImage<LocalResponseNorm<3>>>},
    {"layer: group norm", Trained<OnImage<GroupNorm<2>>>},
    {"loss: one against all", Trained<OneVsAllOfThree>},
    {"loss: one against all, one output", Trained<OneVsAllOfTwo>},
    {"loss: mean squared error", Trained<Regression>},
    {"loss: mean squared error of an autoencoder", Trained<Autoencoder>},
    {"prediction error", ErrorsOf<PreparedAutoencoder<Tanh>, float>},
    {"momentum", TrainedWithMomentum<TwoDense>},
    {"momentum: softmax regression", TrainedWithMomentum<Sequential<Dense<12, 4>>>},
    {"steps with replacement", TrainedInDrawnSteps<Moved>},
    {"gradient clip of batches", TrainedWithClippedBatches<SmallLeNet>},
    {"gradient clip of batches: softmax regression",
     TrainedWithClippedBatches<Sequential<Dense<12, 4>>>},
    {"gradient clip of samples", TrainedWithClippedSamples<SmallLeNet>},
    {"gradient clip of samples: softmax regression",
     TrainedWithClippedSamples<Sequential<Dense<12, 4>>>},
    {"frozen layers", Trained<PartlyFrozen>},
    {"preparation", Trained<Prepared<Dense<12, 4>, Tanh, Dense<4, 3>>>},
    {"preparation: softmax regression", Trained<Prepared<Dense<12, 3>>>},
    {"preparation: random steps", Trained<Moved>},
    {"signal: differences, spectrum", Trained<OfSpectrum>},
    {"signal: mel, cosine transform", Trained<OfSpeech>},
    {"signal: statistics", Trained<OfStats>},
    {"net: perceptron", Trained<Perceptron>},
    {"net: LeNet, small", Trained<SmallLeNet>},
    {"net: windows of three axes", Trained<Windows>},
    {"net: characters", TrainedWithMomentum<Characters>},
    {"net: residual", TrainedWithMomentum<Residual<GroupNorm<2>>>},
    {"net: residual, gradient clip of samples", TrainedWithClippedSamples<Residual<GroupNorm<2>>>},
    {"net: a tensor that three layers read", Trained<ThreeReaders>},
    {"fixed point: dense", Trained<FixedPoint<TwoDense>>},
    {"fixed point: conv2d", Trained<FixedPoint<OnImage<Conv2d<3, 3, 2, 1>>>>},
    {"fixed point: max pool, overlapping and padded",
     Trained<FixedPoint<OnImage<MaxPool2d<3, 2, 1>>>>},
    {"fixed point: average pool, overlapping and padded",
     Trained<FixedPoint<OnImage<AveragePool2d<3, 2, 1>>>>},
    {"fixed point: one against all", Trained<FixedOneVsAll>},
    {"fixed point: mean squared error", Trained<FixedRegression>},
    {"fixed point: prediction error", ErrorsOf<FixedAutoencoder, int32_t>},
    {"fixed point: momentum", TrainedWithMomentum<FixedPoint<TwoDense>>},
    {"fixed point: steps with replacement", TrainedInDrawnSteps<FixedPoint<TwoDense>>},
    {"fixed point: preparation", Trained<FixedPoint<Prepared<Dense<12, 4>, Relu, Dense<4, 3>>>>},
    {"fixed point: preparation, softmax regression", Trained<FixedPoint<Prepared<Dense<12, 3>>>>},
    {"fixed point: spectrum", Trained<FixedPoint<OfSpectrum>>},
    {"fixed point: random steps", Trained<FixedPoint<Moved>>},
    {"fixed point: LeNet, small", Trained<FixedPoint<SmallLeNet>>},
    {"fixed point: windows of three axes", Trained<FixedPoint<Windows>>},
    {"fixed point: residual", TrainedWithMomentum<FixedPoint<Residual<>>>},
};

}  // namespace

Span<const DigestItem> NetDigestItems() { return kItems; }

}  // namespace sotto::golden
