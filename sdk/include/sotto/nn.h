// Nets as types: their dimensions are compile-time constants. Part of sotto/nn.
//
//   using Net = sotto::nn::Sequential<sotto::nn::Dense<784, 10>>;
//   using LeNet = sotto::nn::Sequential<
//       sotto::nn::Input<28, 28, 1>,
//       sotto::nn::Conv2d<6, 5, 1, 2>, sotto::nn::Relu, sotto::nn::MaxPool2d<2>,
//       sotto::nn::Conv2d<16, 5>, sotto::nn::Relu, sotto::nn::MaxPool2d<2>,
//       sotto::nn::Flatten, sotto::nn::Dense<400, 120>, sotto::nn::Relu,
//       sotto::nn::Dense<120, 84>, sotto::nn::Relu, sotto::nn::Dense<84, 10>>;
//
// A net is: the shape of a sample (not needed before Dense), steps that prepare samples
// (preparation.h; none needed), layers, and its loss (loss.h; without one SoftmaxCrossEntropy).
// Layers are in sotto/layers, one file each. A layer that does not fit the previous layer does not
// compile: the message names both shapes. Parameters lie in layer order: of each layer its weights,
// row-major, then its biases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "sotto/layers/average_pool1d.h"
#include "sotto/layers/average_pool2d.h"
#include "sotto/layers/branches.h"
#include "sotto/layers/conv1d.h"
#include "sotto/layers/conv2d.h"
#include "sotto/layers/dense.h"
#include "sotto/layers/depthwise_conv2d.h"
#include "sotto/layers/embedding.h"
#include "sotto/layers/flatten.h"
#include "sotto/layers/group_norm.h"
#include "sotto/layers/local_response_norm.h"
#include "sotto/layers/lstm.h"
#include "sotto/layers/max_pool1d.h"
#include "sotto/layers/max_pool2d.h"
#include "sotto/layers/relu.h"
#include "sotto/layers/sigmoid.h"
#include "sotto/layers/tanh.h"
#include "sotto/loss.h"
#include "sotto/model_info.h"
#include "sotto/net_entries.h"
#include "sotto/net_functions.h"
#include "sotto/net_memory.h"
#include "sotto/net_plans.h"
#include "sotto/preparation.h"

namespace sotto {
namespace nn {

// The shape of a sample, as the first entry of a net: Input<features>, Input<length, channels> or
// Input<height, width, channels>. Memory is in the order of the axes, the last one fastest.
template <uint32_t... axes>
struct Input {
  static_assert(sizeof...(axes) >= 1 && sizeof...(axes) <= 3, "a sample has one to three axes");
  static_assert(((axes >= 1) && ...), "a sample has at least one number");
  static constexpr Shape kShape = ShapeOf(axes...);
};

// A sequence of tokens, for Embedding.
template <uint32_t length>
using Tokens = Input<length, 1>;

// Layers that are constants: the first ones of a net, behind Input. They are neither trained nor
// sent nor noised, and a board reads them from flash. Their tensors still take memory.
//   weights  an array of float32 with static storage: the layers' parameters, one layer after the
//            other; extern const float kWeights[156]; in a header is enough
//
//   using Net = sotto::nn::Sequential<sotto::nn::Input<28, 28, 1>,
//       sotto::nn::Frozen<kWeights, sotto::nn::Conv2d<6, 5, 1, 2>, sotto::nn::Relu>,
//       sotto::nn::MaxPool2d<2>, sotto::nn::Dense<1176, 10>>;
template <const auto& weights, class... Layers>
struct Frozen {};

// Layers that stay on their device: the last ones of a net, before its loss. They are trained and
// neither sent nor noised: see personal.h. Not in fixed point so far.
//
//   using Net = sotto::nn::Sequential<sotto::nn::Input<28, 28, 1>,
//       sotto::nn::Conv2d<6, 5, 1, 2>, sotto::nn::Relu, sotto::nn::MaxPool2d<2>,
//       sotto::nn::Personal<sotto::nn::Dense<1176, 10>>>;
template <class... Layers>
struct Personal {};

// Several entries as one, for a net that repeats them:
//   template <uint32_t channels>
//   using Residual = sotto::nn::Block<sotto::nn::Fork<1>,
//       sotto::nn::Conv2d<channels, 3, 1, 1>, sotto::nn::Relu,
//       sotto::nn::Conv2d<channels, 3, 1, 1>, sotto::nn::Add<1>, sotto::nn::Relu>;
template <class... Entries>
struct Block {};

// The arithmetic that trains a net: see FixedPoint.
enum class Arithmetic : uint8_t { kFloat32, kFixedPoint };

namespace internal {

// The loss of a net's entries.
template <class... Entries>
struct LossOf;
template <class First, class... Rest>
struct LossOf<List<First, Rest...>> : LossOf<List<Rest...>> {
  static_assert(!IsLoss<First>::value, "a loss is the last entry of its net");
};
template <class Last>
struct LossOf<List<Last>> {
  using Type = std::conditional_t<IsLoss<Last>::value, Last, SoftmaxCrossEntropy>;
};

// The layers of Personal among a net's entries.
template <class... Entries>
struct PersonalOf {
  static constexpr bool kIsThere = false;
  static constexpr size_t kLayers = 0;
};
template <class First, class... Rest>
struct PersonalOf<First, Rest...> : PersonalOf<Rest...> {};
template <class... Layers, class... Rest>
struct PersonalOf<Personal<Layers...>, Rest...> {
  static_assert(sizeof...(Rest) <= 1 && (IsLoss<Rest>::value && ...),
                "Personal is the last entry of its net, or stands before the loss");
  static constexpr bool kIsThere = true;
  static constexpr size_t kLayers = Count(typename Flat<List<>, Layers...>::All{});
};

template <class Entry>
struct WithoutPersonal {
  using Type = Entry;
};
template <class... Layers>
struct WithoutPersonal<Personal<Layers...>> {
  using Type = Block<Layers...>;
};

// Entries without Frozen, Personal and Block around them.
template <class... Entries>
struct Unfrozen {
  using All = typename Flat<List<>, typename WithoutPersonal<Entries>::Type...>::All;
  using Personal = PersonalOf<Entries...>;
  static constexpr size_t kFrozenLayers = 0;
  static constexpr Span<const Real> kWeights = {};
};
template <const auto& weights, class... Layers, class... Rest>
struct Unfrozen<Frozen<weights, Layers...>, Rest...> {
  using All = typename Flat<List<>, Layers..., typename WithoutPersonal<Rest>::Type...>::All;
  using Personal = PersonalOf<Rest...>;
  static constexpr size_t kFrozenLayers = Count(typename Flat<List<>, Layers...>::All{});
  static constexpr Span<const Real> kWeights = {weights};
};

template <class EntryList>
struct UnfrozenOf;
template <class... Entries>
struct UnfrozenOf<List<Entries...>> : Unfrozen<Entries...> {};

template <size_t layers>
struct Net {
  static constexpr size_t kLayers = layers;
  LayerPlan plan[layers] = {};

  // Gives the first `count` layers their constants.
  constexpr void Freeze(size_t count, const Real* weights) {
    for (size_t i = 0; i < count; ++i) {
      const uint32_t n = plan[i].parameters();
      if (n > 0) plan[i].frozen = weights;
      weights += n;
    }
  }

  constexpr void KeepOnDevice(size_t count) {
    for (size_t i = layers - count; i < layers; ++i) {
      plan[i].is_personal = plan[i].parameters() > 0;
    }
  }
};

constexpr uint32_t CountTrained(Span<const LayerPlan> plan) {
  uint32_t count = 0;
  for (const LayerPlan& layer : plan) count += layer.trained();
  return count;
}

constexpr uint32_t CountShared(Span<const LayerPlan> plan) {
  uint32_t count = 0;
  for (const LayerPlan& layer : plan) count += layer.shared();
  return count;
}

constexpr uint32_t CountFrozen(Span<const LayerPlan> plan) {
  uint32_t count = 0;
  for (const LayerPlan& layer : plan) count += layer.parameters() - layer.trained();
  return count;
}

template <class Prepared, class Unfrozen, class... Entries>
constexpr auto MakeNet(List<Entries...>) {
  constexpr uint32_t height = Prepared::kPrepared.height;
  constexpr uint32_t width = Prepared::kPrepared.width;
  constexpr uint32_t channels = Prepared::kPrepared.channels;
  Net<(size_t{IsLoss<Entries>::value ? 0 : 1} + ...)> net;
  Plans<Branches<>, height, width, channels, Input<height, width, channels>, Entries...>::Write(
      net.plan);
  net.plan[0].prepared_in = Prepared::kFloats;
  PlaceTensors(net.plan, net.kLayers);
  net.Freeze(Unfrozen::kFrozenLayers, Unfrozen::kWeights.data());
  net.KeepOnDevice(Unfrozen::Personal::kLayers);
  // Softmax regression does not use its layer's functions: a firmware must not link them.
  const LossPlan loss = LossOf<List<Entries...>>::Type::Plan();
  if (nn::IsSoftmaxRegression(net.plan, loss)) net.plan[0].functions = {};
  return net;
}

// A compiler that stops here names the layer or the loss, as a template argument.
template <class Entry, class = void>
struct InFixedPoint {
  static_assert(sizeof(Entry) == 0, "this layer or loss has no functions in fixed point");
};
template <class Layer>
struct InFixedPoint<
    Layer, std::enable_if_t<std::is_same_v<decltype(Layer::FixedPlan(Shape{})), LayerPlan>>> {
  static constexpr void Change(LayerPlan* plan) {
    const LayerPlan before = *plan;
    *plan = Layer::FixedPlan(before.info.input);
    plan->info = before.info;
    plan->prepared_in = before.prepared_in;
    plan->output_at = before.output_at;
    plan->branch_at = before.branch_at;
  }
};
template <class Loss>
struct InFixedPoint<Loss, std::enable_if_t<std::is_same_v<decltype(Loss::FixedPlan()), LossPlan>>> {
  static constexpr LossPlan Plan() { return Loss::FixedPlan(); }
};

template <class Entry, class... Rest>
constexpr void ChangeToFixedPoint(LayerPlan* plan) {
  if constexpr (!IsLoss<Entry>::value) {
    InFixedPoint<Entry>::Change(plan);
    if constexpr (sizeof...(Rest) > 0) ChangeToFixedPoint<Rest...>(plan + 1);
  }
}

template <class Net>
constexpr LossPlan FixedLoss() {
  LossPlan loss = InFixedPoint<typename Net::Loss>::Plan();
  if constexpr (Net::kIsSoftmaxRegression) loss.errors = nullptr;  // not used
  return loss;
}

template <class Net, class... Entries>
constexpr auto MakeFixedNet(List<Entries...>) {
  auto net = Net::kNet;
  if constexpr (!Net::kIsSoftmaxRegression) ChangeToFixedPoint<Entries...>(net.plan);
  return net;
}

constexpr bool OnlyFirstTakesTokens(Span<const LayerPlan> plan) {
  for (const LayerPlan* layer = plan.begin() + 1; layer != plan.end(); ++layer) {
    if (layer->tokens > 0) return false;
  }
  return true;
}

// Whether a layer works in place on the net's first tensor.
constexpr bool OverwritesSample(const LayerPlan& layer) {
  return layer.output_at == 0 && layer.functions.forward != nullptr;
}

// Whether the loss can compare outputs with the sample, which must then still be there.
constexpr bool IsAutoencoder(Span<const LayerPlan> plan) {
  for (const LayerPlan& layer : plan) {
    if (OverwritesSample(layer)) return false;
  }
  return plan[plan.size() - 1].info.output.size() == plan[0].info.input.size();
}

// The members of every net.
template <uint32_t height, uint32_t width, uint32_t channels, class... Entries>
struct NetOf {
 private:
  using Division = Divide<List<>, Entries...>;
  using Unfrozen = UnfrozenOf<typename Division::Others>;
  using Prepared = Preparations<height, width, channels, typename Division::Steps>;

 public:
  using LayersAndLoss = typename Unfrozen::All;
  using Loss = typename LossOf<LayersAndLoss>::Type;
  static constexpr auto kNet = MakeNet<Prepared, Unfrozen>(LayersAndLoss{});
  static constexpr Span<const LayerPlan> Plan() { return kNet.plan; }
  static constexpr LossPlan kLoss = Loss::Plan();
  static constexpr Span<const PreparationStep> Preparation() { return Prepared::All(); }

  static constexpr uint32_t kInputs = height * width * channels;  // of a sample, as it is read
  // Above 0: a sample is tokens, whole numbers below it. A training refuses any other number.
  static constexpr uint32_t kTokens = kNet.plan[0].tokens;
  static constexpr uint32_t kOutputs = Plan()[Plan().size() - 1].info.output.size();
  static constexpr uint32_t kClasses = kLoss.Classes(kOutputs);  // 0: the target is no class
  static constexpr uint32_t kParameters = CountShared(Plan());   // without frozen, personal ones
  static constexpr uint32_t kTrained = CountTrained(Plan());     // with the personal ones
  static constexpr uint32_t kPersonal = kTrained - kParameters;
  static constexpr Arithmetic kArithmetic = Arithmetic::kFloat32;
  static constexpr bool kIsSoftmaxRegression = nn::IsSoftmaxRegression(Plan(), kLoss);

  static_assert(OnlyFirstTakesTokens(Plan()), "Embedding is the first layer of its net");
  static_assert(kTokens == 0 || Preparation().empty(), "tokens are not prepared");
  static_assert(CountRandom(Preparation()) <= kMaxRandomSteps, "a net has at most 8 random steps");
  static_assert(CountFrozen(Plan()) == Unfrozen::kWeights.size(),
                "the array of Frozen has as many numbers as its layers have parameters");
  static_assert(kParameters > 0, "a net has something to train that is sent");
  static_assert(kPersonal > 0 || !Unfrozen::Personal::kIsThere,
                "the layers of Personal have parameters");
  static_assert(kLoss.target != TargetKind::kInput || IsAutoencoder(Plan()),
                "an autoencoder has as many outputs as inputs, counted in a prepared sample, and "
                "none of its layers works in place on the sample");
};

}  // namespace internal

// Input first, or Dense; behind Input steps that prepare samples, or none; then layers; then a
// loss, or none.
template <class First, class... Rest>
struct Sequential {
  static_assert(sizeof(First) == 0, "a net begins with Input<...> or with Dense<inputs, outputs>");
};

template <uint32_t inputs, uint32_t outputs, class... Rest>
struct Sequential<Dense<inputs, outputs>, Rest...>
    : internal::NetOf<1, 1, inputs, Dense<inputs, outputs>, Rest...> {};

template <uint32_t... axes, class... Rest>
struct Sequential<Input<axes...>, Rest...>
    : internal::NetOf<Input<axes...>::kShape.height, Input<axes...>::kShape.width,
                      Input<axes...>::kShape.channels, Rest...> {
  static_assert(sizeof...(Rest) > 0, "a net has at least one layer");
};

// The net `Net`, trained in fixed point. For cores without a floating-point unit: they spend a
// ninth of the instructions that float32 takes. Parameters are float32 before and after a
// training, so models, updates and digests are the same as for Net, and boards of both kinds can
// serve one job. It takes the memory of Net, and more scratch where a Dense keeps a sum of
// gradients: its inputs once more. The bits agree on every CPU.
//
//   using Net = sotto::nn::FixedPoint<sotto::nn::Sequential<sotto::nn::Dense<64, 10>>>;
//
// During a training all numbers are integers that saturate: their magnitude stays below a limit.
//   parameter, velocity   31 bits in units of 2^-24, below 64; a base of 64 or more is refused
//   feature, activation   32 bits in units of 2^-24, below 128
//   delta                 32 bits in units of 2^-28, below 8
//   sum of gradients      31 bits in units of 2^-20, below 1,024: a mean gradient times a batch
// A number that saturates counts in LocalRound::saturated_steps(). Sums of products are exact, and
// a step rounds each parameter once. sdk/TRAINING.md gives the reasons for these formats and
// against stochastic rounding. ModelInfo::predict also computes in integers. It converts the
// parameters in its scratch memory at each call, which takes one more number a parameter.
//
// A lone Dense with softmax and cross-entropy has other formats: a feature's magnitude above 8
// counts as 8, and a step rounds each parameter once a sample. So after n samples a parameter
// differs by at most n * 3e-8 from the result of the same steps without rounding. It has no
// momentum.
template <class Net>
struct FixedPoint : Net {
  static constexpr auto kNet = internal::MakeFixedNet<Net>(typename Net::LayersAndLoss{});
  static constexpr Span<const LayerPlan> Plan() { return kNet.plan; }
  static constexpr LossPlan kLoss = internal::FixedLoss<Net>();
  static constexpr Arithmetic kArithmetic = Arithmetic::kFixedPoint;

  static_assert(internal::CountFrozen(Net::Plan()) == 0, "fixed point has no frozen layers so far");
  static_assert(Net::kPersonal == 0, "fixed point has no personal layers so far");
  static_assert(!Net::kIsSoftmaxRegression || kNet.plan[0].info.input.size() <= 8192,
                "sums of products fit into 64 bits");
  static_assert(Net::kParameters < 1u << 24, "sums of products fit into 64 bits");
};

namespace internal {

// Each function that is named here is linked, so a branch names only what its nets need.
template <class Net, void (*use)(ModelInfo*)>
constexpr void Use(ModelInfo* model) {
  if constexpr (Net::Preparation().empty()) {
    use(model);
  } else {
    UsePrepared<use>(model);
  }
}

}  // namespace internal
}  // namespace nn

// The ModelInfo of a net, for a model of your own:
//   constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("my-model");
template <class Net>
constexpr ModelInfo MakeModelInfo(const char* name) {
  ModelInfo model;
  model.name = name;
  model.layers = Net::Plan();
  model.loss = Net::kLoss;
  model.inputs = Net::kInputs;
  model.outputs = Net::kOutputs;
  model.classes = Net::kClasses;
  model.parameters = Net::kParameters;
  model.preparation = Net::Preparation();
  constexpr bool is_fixed = Net::kArithmetic == nn::Arithmetic::kFixedPoint;
  if constexpr (is_fixed && Net::kIsSoftmaxRegression) {
    nn::internal::Use<Net, nn::internal::UseFixedSoftmaxRegression>(&model);
  } else if constexpr (is_fixed) {
    nn::internal::Use<Net, nn::internal::UseFixedNet>(&model);
  } else if constexpr (Net::kIsSoftmaxRegression) {
    nn::internal::Use<Net, nn::internal::UseSoftmaxRegression>(&model);
  } else {
    nn::internal::Use<Net, nn::internal::UseNet>(&model);
  }
  if constexpr (Net::kPersonal > 0) nn::internal::UsePersonal(Net::kPersonal, &model);
  return model;
}

// The same with names of the classes, which enter the digest:
//   constexpr const char* kClasses[] = {"rest", "walk", "run"};
//   constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("my-model", kClasses);
template <class Net, size_t classes>
constexpr ModelInfo MakeModelInfo(const char* name, const char* const (&class_names)[classes]) {
  static_assert(classes == Net::kClasses, "each class has a name");
  ModelInfo model = MakeModelInfo<Net>(name);
  model.class_names = class_names;
  if constexpr (Net::kPersonal == 0) model.update_digest = nn::internal::UpdatePreparedDigest;
  return model;
}

// What a net's numbers mean; each member may be empty. It enters the digest.
struct ModelDescription {
  Span<const char* const> class_names = {};    // [classes]
  Span<const char* const> feature_names = {};  // [inputs], or of the last axis [channels]
  Span<const char* const> feature_units = {};  // as many, or one for all
  const char* sample_kind = nullptr;
};

namespace nn::internal {

// Whether a description has as many names as the net needs.
template <class Net>
constexpr bool Fits(const ModelDescription& description) {
  const Shape input =
      Net::Preparation().empty() ? Net::Plan()[0].info.input : Net::Preparation()[0].input;
  const size_t names = description.feature_names.size();
  const size_t units = description.feature_units.size();
  const auto fits = [&](size_t count) { return count == input.size() || count == input.channels; };
  return (description.class_names.empty() || description.class_names.size() == Net::kClasses) &&
         (names == 0 || fits(names)) && (units <= 1 || (names == 0 ? fits(units) : units == names));
}

constexpr bool DescribesSamples(const ModelDescription& description) {
  return !description.feature_names.empty() || !description.feature_units.empty() ||
         description.sample_kind != nullptr;
}

}  // namespace nn::internal

// The same with all that a description says:
//   constexpr const char* kFeatures[] = {"x", "y", "z"};
//   constexpr const char* kUnits[] = {"m/s2"};
//   constexpr sotto::ModelDescription kDescription = {
//       kClasses, kFeatures, kUnits, "acceleration of a wrist, 2.56 s"};
//   constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net, kDescription>("my-model");
template <class Net, const ModelDescription& description>
constexpr ModelInfo MakeModelInfo(const char* name) {
  static_assert(nn::internal::Fits<Net>(description), "as many names as the net needs");
  ModelInfo model = MakeModelInfo<Net>(name);
  model.class_names = description.class_names;
  model.feature_names = description.feature_names;
  model.feature_units = description.feature_units;
  model.sample_kind = description.sample_kind;
  if constexpr (Net::kPersonal > 0) {
    // Its digest covers all that the model has.
  } else if constexpr (nn::internal::DescribesSamples(description)) {
    model.update_digest = nn::internal::UpdateDescribedDigest;
  } else if constexpr (!description.class_names.empty()) {
    model.update_digest = nn::internal::UpdatePreparedDigest;
  }
  return model;
}

}  // namespace sotto
