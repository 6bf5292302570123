// Gradient clips and the proximal term, against plain loops in double.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "nn/gradient_norm.h"
#include "unit/sdk/trainings.h"

namespace sotto {
namespace {

constexpr ModelInfo kBranches = MakeModelInfo<
    nn::Sequential<nn::Input<6, 6, 1>, nn::Conv2d<2, 3>, nn::Tanh, nn::Fork<1>,
                   nn::Conv2d<2, 3, 1, 1>, nn::Tanh, nn::Swap<1>, nn::Conv2d<2, 1>, nn::Add<1>,
                   nn::Dense<32, 20>, nn::Fork<1>, nn::Tanh, nn::Add<1>, nn::Dense<20, 3>>>(
    "branches");

// The gradient of one sample at w, from a plain step of rate 1: exact up to float32 rounding.
std::vector<double> GradientAt(const ModelInfo& model, Samples* data, const std::vector<float>& w,
                               uint32_t index) {
  std::vector<float> after = w;
  std::vector<float> scratch(model.training_floats(model, 1));
  const SampleSource source = data->source();
  float loss = 0;
  SgdStep step;
  step.learning_rate = 1;
  EXPECT_EQ(model.train_batch(model, {&source, {&index, 1}}, step, {{after.data(), after.size()}},
                              {scratch.data(), scratch.size()}, &loss),
            Status::kOk);
  std::vector<double> gradient(w.size());
  for (size_t i = 0; i < w.size(); ++i) gradient[i] = double{w[i]} - after[i];
  return gradient;
}

double NormOf(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

void Clip(double most, std::vector<double>* v) {
  const double factor = 1 / std::max(1.0, NormOf(*v) / most);
  for (double& x : *v) x *= factor;
}

// The formulas of SgdStep in double.
void ReferenceStep(const ModelInfo& model, Samples* data, const std::vector<uint32_t>& batch,
                   const SgdStep& step, std::vector<float>* w, std::vector<double>* v) {
  std::vector<double> g(w->size());
  for (const uint32_t index : batch) {
    std::vector<double> of_sample = GradientAt(model, data, *w, index);
    if (step.gradient_clip > 0 && step.gradient_clip_of == GradientClipOf::kSample) {
      Clip(static_cast<double>(step.gradient_clip), &of_sample);
    }
    for (size_t i = 0; i < g.size(); ++i) g[i] += of_sample[i] / static_cast<double>(batch.size());
  }
  if (step.gradient_clip > 0 && step.gradient_clip_of == GradientClipOf::kBatch) {
    Clip(static_cast<double>(step.gradient_clip), &g);
  }
  const double decay = static_cast<double>(step.weight_decay);
  const double alpha = static_cast<double>(step.proximal);
  for (size_t i = 0; i < g.size(); ++i) {
    const double x = static_cast<double>((*w)[i]);
    (*v)[i] = static_cast<double>(step.momentum) * (*v)[i] + decay * x +
              alpha * (x - static_cast<double>(step.base[i])) + g[i];
    (*w)[i] = static_cast<float>(x - static_cast<double>(step.learning_rate) * (*v)[i]);
  }
}

struct Method {
  GradientClipOf clip_of;
  float clip;
  float proximal;
  float momentum;
  float weight_decay;
};

// Three batches that begin away from base.
void ExpectReference(const ModelInfo& model, const Method& method) {
  SCOPED_TRACE(testing::Message() << model.name << " V " << method.clip << " alpha "
                                  << method.proximal << " momentum " << method.momentum);
  Samples data(model.inputs, 12);
  const std::vector<float> base = RandomVector(model.parameters, 1, 0.3f);
  std::vector<float> w = RandomVector(model.parameters, 2, 0.3f);
  std::vector<float> expected = w;
  std::vector<float> velocity(w.size());
  std::vector<double> expected_velocity(w.size());
  std::vector<float> gradient(w.size(), 7.0f);
  std::vector<float> scratch(model.training_floats(model, 4));
  const SampleSource source = data.source();
  const SgdStep step = {0.1f,           method.weight_decay, method.momentum,           method.clip,
                        method.clip_of, method.proximal,     {base.data(), base.size()}};
  for (uint32_t first = 0; first < 12; first += 4) {
    const std::vector<uint32_t> batch = {first, first + 1, first + 2, first + 3};
    float loss = 0;
    ASSERT_EQ(model.train_batch(model, {&source, {batch.data(), batch.size()}}, step,
                                {{w.data(), w.size()},
                                 {velocity.data(), velocity.size()},
                                 {gradient.data(), gradient.size()}},
                                {scratch.data(), scratch.size()}, &loss),
              Status::kOk);
    ReferenceStep(model, &data, batch, step, &expected, &expected_velocity);
    for (size_t i = 0; i < w.size(); ++i) ASSERT_NEAR(w[i], expected[i], 3e-6) << first << ' ' << i;
    w = expected;
  }
}

TEST(GradientClip, ClipsAndProximalTermAreTheFormulasOfSgdStep) {
  for (const ModelInfo* model : {&kSoftmax, &kNet, &kBranches}) {
    for (const GradientClipOf of : {GradientClipOf::kBatch, GradientClipOf::kSample}) {
      for (const float clip : {0.05f, 1.5f, 1000.0f}) {
        ExpectReference(*model, {of, clip, 0, 0, 0});
        ExpectReference(*model, {of, clip, 0.5f, 0.9f, 0.01f});
      }
    }
    ExpectReference(*model, {GradientClipOf::kBatch, 0, 0.5f, 0, 0});
    ExpectReference(*model, {GradientClipOf::kBatch, 0, 0.5f, 0, 0.01f});
    ExpectReference(*model, {GradientClipOf::kBatch, 0, 0.5f, 0.9f, 0});
  }
}

// The velocity after a first step is the clipped gradient.
TEST(GradientClip, NoClippedGradientIsLongerThanItsBound) {
  for (const ModelInfo* model : {&kSoftmax, &kNet, &kBranches}) {
    Samples data(model->inputs, 60);
    const SampleSource source = data.source();
    std::vector<float> gradient(model->parameters);
    std::vector<float> scratch(model->training_floats(*model, 1));
    int clipped = 0;
    for (uint32_t index = 0; index < 60; ++index) {
      for (const GradientClipOf of : {GradientClipOf::kBatch, GradientClipOf::kSample}) {
        SgdStep step;
        step.momentum = 0.5f;
        step.gradient_clip = 0.9f;
        step.gradient_clip_of = of;
        std::vector<float> w = RandomVector(model->parameters, index, 0.3f);
        std::vector<float> v(w.size());
        float loss = 0;
        ASSERT_EQ(
            model->train_batch(
                *model, {&source, {&index, 1}}, step,
                {{w.data(), w.size()}, {v.data(), v.size()}, {gradient.data(), gradient.size()}},
                {scratch.data(), scratch.size()}, &loss),
            Status::kOk);
        const double norm = NormOf({v.begin(), v.end()});
        EXPECT_LE(norm, double{0.9f});
        clipped += norm > 0.8998 ? 1 : 0;
      }
    }
    EXPECT_GT(clipped, 20);
    EXPECT_LT(clipped, 120);
  }
}

TEST(GradientNorm, TheFactorNeverExceedsTheBoundAndLosesLittle) {
  for (const size_t n : {1u, 7u, 8u, 512u, 513u, 20000u}) {
    const std::vector<float> g = RandomVector(n, static_cast<uint32_t>(n));
    double squares = 0;
    for (const float x : g) squares += double{x} * x;
    for (const float most : {1e-9f, 0.1f, 3.0f, 1e9f}) {
      nn::GradientNorm norm;
      norm.Add(g.data(), n);
      float factor = 0;
      ASSERT_EQ(norm.FactorFor(most, &factor), Status::kOk);
      const double length = std::sqrt(squares) * factor;
      EXPECT_LE(length, double{most} * (1 - 10 * 0x1p-24) + (factor == 1 ? 1e-30 : 0)) << n;
      const double exact = std::min(1.0, most / std::sqrt(squares));
      EXPECT_GE(factor, exact * (1 - 0x1p-24 * (static_cast<double>(n) / 256 + 200))) << n;
    }
  }
  nn::GradientNorm norm;
  const float huge = 1e30f;
  norm.Add(&huge, 1);
  float factor = 0;
  EXPECT_EQ(norm.FactorFor(1, &factor), Status::kNotFinite);
}

TEST(GradientClip, AWideClipAndNoProximalTermChangeNothing) {
  for (const ModelInfo* model : {&kSoftmax, &kNet, &kBranches}) {
    Training plain(*model, 11);
    plain.Run();
    for (const GradientClipOf of : {GradientClipOf::kBatch, GradientClipOf::kSample}) {
      Training clipped(*model, 11);
      clipped.options.gradient_clip = 1e6f;
      clipped.options.gradient_clip_of = of;
      clipped.Run();
      for (size_t i = 0; i < plain.trained.size(); ++i) {
        EXPECT_NEAR(clipped.trained[i], plain.trained[i], 1e-5);
      }
    }
  }
}

// With V and K steps of rate eta no training leaves the ball of radius K eta V; with alpha
// eta <= 1 none leaves the ball of radius V / alpha.
TEST(GradientClip, ClippedStepsStayInTheBallOfTheirRates) {
  for (const float proximal : {0.0f, 4.0f}) {
    Training training(kSoftmax, 9);
    training.options.gradient_clip = 0.2f;
    training.options.gradient_clip_of = GradientClipOf::kSample;
    training.options.proximal = proximal;
    training.options.local_steps = 40;
    training.Run();
    double squares = 0;
    for (size_t i = 0; i < training.base.size(); ++i) {
      squares += std::pow(double{training.trained[i]} - training.base[i], 2);
    }
    const double radius = proximal > 0 ? 0.2 / 4 : 40 * 0.1 * 0.2;
    EXPECT_LE(std::sqrt(squares), radius * 1.00001);
    EXPECT_GT(std::sqrt(squares), 0.2 * radius);
  }
}

TEST(GradientClip, FixedPointHasNoGradientClipAndNoProximalTerm) {
  for (const ModelInfo* model : {&kFixed, &kFixedNet}) {
    EXPECT_FALSE(model->has_gradient_options);
    Training clipped(*model, 3);
    clipped.options.gradient_clip = 1;
    EXPECT_EQ(clipped.Begin(), Status::kInvalidArgument);
    Training proximal(*model, 3);
    proximal.options.proximal = 0.1f;
    EXPECT_EQ(proximal.Begin(), Status::kInvalidArgument);
  }
}

// A softmax regression needs the gradient's memory for batches, other nets need it for samples.
TEST(GradientClip, OneOfTheTwoClipsNeedsMemory) {
  for (const ModelInfo* model : {&kSoftmax, &kNet, &kBranches}) {
    for (const GradientClipOf of : {GradientClipOf::kBatch, GradientClipOf::kSample}) {
      Training training(*model, 5);
      training.options.gradient_clip = 1;
      training.options.gradient_clip_of = of;
      training.gradient.clear();
      const bool needs = (of == GradientClipOf::kBatch) == (model == &kSoftmax);
      EXPECT_EQ(training.Begin(), needs ? Status::kBufferTooSmall : Status::kOk);
      EXPECT_EQ(model->gradient_for == of, needs);
    }
  }
}

}  // namespace
}  // namespace sotto
