// Tests of what devices download of a job's models: each pair is coded once, and a device that
// takes an offer has the model, bit by bit.
#include "downloads/model_codes.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "round/attempt.h"
#include "sotto/models.h"
#include "sotto/random.h"
#include "unit/server/downloading.h"

namespace sotto::server {
namespace {

std::shared_ptr<const ModelInfo> Model(const char* name) {
  return {std::shared_ptr<void>(), FindModel(name)};
}

// Whose parameters are fewer bytes than any padded code.
std::shared_ptr<const ModelInfo> TinyModel() {
  ModelInfo tiny = *FindModel("softmax-64-10");
  tiny.parameters = 30;
  return std::make_shared<const ModelInfo>(tiny);
}

// On the grid of 2^-8.
std::vector<float> OnGrid(size_t size, uint32_t stream) {
  RandomStream random(Key(), stream);
  std::vector<float> model(size);
  for (float& value : model) {
    value = std::ldexp(static_cast<float>(random.Below(33)) - 16.0F, -8);
  }
  return model;
}

// A job's codes and a device.
struct Downloads {
  explicit Downloads(const char* name, const std::optional<Key>& key = std::nullopt)
      : Downloads(Model(name), key) {}
  explicit Downloads(std::shared_ptr<const ModelInfo> of, const std::optional<Key>& key = {})
      : model(std::move(of)), codes(model, key) {}

  std::vector<float> Released(uint32_t round) const { return OnGrid(model->parameters, round); }
  void Show(std::vector<float> parameters) {
    codes.Prepare(std::make_shared<const std::vector<float>>(std::move(parameters)));
    codes.Publish();
  }
  ModelOffer Take(Holder* device) {
    const ModelOffer offer = codes.Offer(device->held());
    device->Take(offer, [this](const Request& request) { return AnswerCode(request, codes); });
    return offer;
  }

  std::shared_ptr<const ModelInfo> model;
  ModelCodes codes;
  Holder holder{*model};
};

std::optional<int> GridOfAll(std::vector<float> parameters) {
  return GridOf({parameters.data(), parameters.size()});
}

TEST(GridOf, IsTheCoarsestGridOfAllParameters) {
  EXPECT_EQ(GridOfAll({0, 0}), 0);
  EXPECT_EQ(GridOfAll({4, -2, 0}), 0);
  EXPECT_EQ(GridOfAll({4, 0.25F, -0.5F}), -2);
  EXPECT_EQ(GridOfAll({std::ldexp(1.0F, -20)}), -20);
  EXPECT_EQ(GridOfAll({std::ldexp(3.0F, -19), 15.0F}), -19);
  EXPECT_EQ(GridOfAll({16777216.0F, -16777216.0F}), 0);
}

TEST(GridOf, IsAbsentForAllElse) {
  EXPECT_EQ(GridOfAll({std::ldexp(1.0F, -21)}), std::nullopt);
  EXPECT_EQ(GridOfAll({0.1F}), std::nullopt);
  EXPECT_EQ(GridOfAll({16777218.0F}), std::nullopt);
  EXPECT_EQ(GridOfAll({std::ldexp(1.0F, -20), 17.0F}), std::nullopt);  // more than 2^24 units
  EXPECT_EQ(GridOfAll({-0.0F}), std::nullopt);
  EXPECT_EQ(GridOfAll({std::numeric_limits<float>::denorm_min()}), std::nullopt);
  EXPECT_EQ(GridOfAll({std::numeric_limits<float>::infinity()}), std::nullopt);
  EXPECT_EQ(GridOfAll({std::numeric_limits<float>::quiet_NaN()}), std::nullopt);
}

TEST(ModelCodes, ADeviceFollowsTheReleasesByDifferences) {
  Downloads downloads("softmax-784-10");
  for (uint32_t round = 0; round < 4; ++round) {
    downloads.Show(downloads.Released(round));
    const ModelOffer offer = downloads.Take(&downloads.holder);
    EXPECT_EQ(offer.base, round == 0 ? ModelBase::kZeros : ModelBase::kHeld);
    EXPECT_EQ(offer.grid, kGridOffset - 8);
    EXPECT_EQ(downloads.holder.parameters(), downloads.Released(round));
    EXPECT_LT(downloads.holder.bytes(), 8000u);
    EXPECT_EQ(downloads.holder.bytes() % kDownloadPadding, 0u);
  }
}

TEST(ModelCodes, EachPairIsCodedOnce) {
  Downloads downloads("softmax-784-10");
  downloads.Show(downloads.Released(0));
  Holder first(*downloads.model);
  Holder second(*downloads.model);
  downloads.Take(&first);
  downloads.Take(&second);
  EXPECT_EQ(downloads.codes.made(), 1u);
  downloads.Show(downloads.Released(1));  // codes from zeros and from what was offered, beforehand
  EXPECT_EQ(downloads.codes.made(), 3u);
  const ModelOffer offer = downloads.Take(&first);
  EXPECT_EQ(downloads.Take(&second).code, offer.code);
  EXPECT_EQ(downloads.codes.made(), 3u);
}

TEST(ModelCodes, WhatDevicesSayThatTheyHoldIsCodedBeforehand) {
  Downloads downloads("softmax-784-10");
  downloads.Show(downloads.Released(0));
  downloads.Take(&downloads.holder);
  downloads.Show(downloads.Released(1));
  downloads.codes.NoteHeld(downloads.holder.held());
  downloads.Show(downloads.Released(2));
  const uint64_t made = downloads.codes.made();
  EXPECT_EQ(downloads.Take(&downloads.holder).base, ModelBase::kHeld);
  EXPECT_EQ(downloads.codes.made(), made);
}

TEST(ModelCodes, NothingIsCodedWhileNoDeviceTakesDifferences) {
  Downloads downloads("softmax-784-10");
  for (uint32_t round = 0; round < 3; ++round) downloads.Show(downloads.Released(round));
  EXPECT_EQ(downloads.codes.Float32().size(), 4u * 7850);
  EXPECT_EQ(downloads.codes.made(), 0u);
}

TEST(ModelCodes, AnUnknownHeldModelGetsWhatADeviceWithoutOneGets) {
  Downloads downloads("softmax-784-10");
  downloads.Show(downloads.Released(0));
  const ModelOffer none = downloads.codes.Offer({});
  for (const std::vector<uint8_t>& unknown :
       {std::vector<uint8_t>(8, 7), std::vector<uint8_t>(3, 7), std::vector<uint8_t>(16, 7)}) {
    const ModelOffer offer = downloads.codes.Offer({unknown.data(), unknown.size()});
    EXPECT_EQ(offer.base, ModelBase::kZeros);
    EXPECT_EQ(offer.code, none.code);
  }
  EXPECT_EQ(downloads.codes.made(), 1u);
}

TEST(ModelCodes, ADeviceThatHoldsTheNewestModelGetsNothing) {
  Downloads downloads("softmax-784-10");
  downloads.Show(downloads.Released(0));
  downloads.Take(&downloads.holder);
  const ModelOffer again = downloads.Take(&downloads.holder);
  EXPECT_EQ(again.base, ModelBase::kHeld);
  EXPECT_EQ(again.size, 0u);
  EXPECT_EQ(downloads.holder.parameters(), downloads.Released(0));
}

TEST(ModelCodes, TheInitialModelComesFromItsKey) {
  const Key key = {{1, 2, 3}};
  Downloads downloads("small-cnn", key);
  std::vector<float> initial(downloads.model->parameters);
  ASSERT_EQ(InitialWeights(*downloads.model, key, {initial.data(), initial.size()}), Status::kOk);
  downloads.Show(initial);
  const ModelOffer first = downloads.Take(&downloads.holder);
  EXPECT_EQ(first.base, ModelBase::kInitial);
  EXPECT_EQ(first.size, 0u);
  EXPECT_EQ(downloads.holder.parameters(), initial);

  std::vector<float> released = initial;  // near it, on a grid
  for (float& value : released) value = std::ldexp(std::floor(std::ldexp(value, 8) + 0.5F), -8);
  downloads.Show(released);
  Holder late(*downloads.model);
  EXPECT_EQ(downloads.Take(&late).base, ModelBase::kInitial);
  EXPECT_EQ(late.parameters(), released);
  EXPECT_EQ(late.bytes(), 0u);
}

TEST(ModelCodes, TheOfferHasTheKeyWhereItIsTheBase) {
  Downloads downloads("small-cnn", Key{{1}});
  downloads.Show(downloads.Released(0));
  EXPECT_EQ(downloads.Take(&downloads.holder).weights_key.size(), sizeof(Key::bytes));
  downloads.Show(downloads.Released(1));
  EXPECT_TRUE(downloads.codes.Offer(downloads.holder.held()).weights_key.empty());
  EXPECT_EQ(downloads.codes.Offer({}).weights_key.size(), sizeof(Key::bytes));
}

TEST(ModelCodes, AKeyOfZerosIsNotSent) {
  Downloads downloads("softmax-784-10", Key{{1}});
  downloads.Show(std::vector<float>(7850));
  const ModelOffer offer = downloads.Take(&downloads.holder);
  EXPECT_TRUE(offer.weights_key.empty());
  EXPECT_EQ(offer.base, ModelBase::kZeros);
  EXPECT_EQ(offer.size, 0u);
  EXPECT_EQ(downloads.holder.parameters(), std::vector<float>(7850));
}

TEST(ModelCodes, AModelOnNoGridIsFloat32WithACheck) {
  Downloads downloads("softmax-784-10");
  std::vector<float> model = downloads.Released(0);
  model[5] = 0.1F;
  downloads.Show(model);
  const ModelOffer offer = downloads.Take(&downloads.holder);
  EXPECT_EQ(offer.grid, 0u);
  EXPECT_EQ(offer.size, 4u * 7850);
  EXPECT_EQ(downloads.holder.parameters(), model);
  downloads.Show(downloads.Released(1));  // back on a grid: what was held is not kept
  EXPECT_EQ(downloads.Take(&downloads.holder).base, ModelBase::kZeros);
  EXPECT_EQ(downloads.holder.parameters(), downloads.Released(1));
}

TEST(ModelCodes, ACodeLongerThanTheParametersIsNotSent) {
  Downloads downloads(TinyModel());
  std::vector<float> model = downloads.Released(0);
  downloads.Show(model);
  const ModelOffer offer = downloads.Take(&downloads.holder);
  EXPECT_EQ(offer.grid, 0u);
  EXPECT_EQ(offer.size, 4 * downloads.model->parameters);
  EXPECT_EQ(downloads.holder.parameters(), model);
}

// The event loop waits for no code of a large model.
TEST(ModelCodes, ALargeModelIsCodedBeforehandOrNotAtAll) {
  ModelInfo large = *FindModel("softmax-784-10");
  large.parameters = kMostCodedAtOnce + 1;
  Downloads downloads(std::make_shared<const ModelInfo>(large));
  downloads.Show(downloads.Released(0));
  EXPECT_EQ(downloads.Take(&downloads.holder).grid, 0u);
  EXPECT_EQ(downloads.codes.made(), 0u);
  downloads.Show(downloads.Released(1));
  EXPECT_EQ(downloads.Take(&downloads.holder).base, ModelBase::kHeld);
  downloads.Show(downloads.Released(2));
  downloads.Show(downloads.Released(3));  // nobody has said that it holds the one of round 1
  EXPECT_EQ(downloads.Take(&downloads.holder).base, ModelBase::kZeros);
  EXPECT_EQ(downloads.holder.parameters(), downloads.Released(3));
}

TEST(ModelCodes, ADownloadEndsAfterTheNextPublicationAndNotAfterTheOneBehindIt) {
  Downloads downloads("softmax-784-10");
  downloads.Show(downloads.Released(0));
  const uint32_t code = downloads.codes.Offer({}).code;
  const ByteSpan bytes = downloads.codes.Bytes(code);
  const std::vector<uint8_t> before(bytes.begin(), bytes.end());
  downloads.Show(downloads.Released(1));
  const ByteSpan still = downloads.codes.Bytes(code);
  EXPECT_EQ(std::vector<uint8_t>(still.begin(), still.end()), before);
  downloads.Show(downloads.Released(2));
  EXPECT_TRUE(downloads.codes.Bytes(code).empty());
}

TEST(ModelCodes, ModelsOfAnEarlierProcessAreHeld) {
  Downloads former("softmax-784-10");
  former.Show(former.Released(0));
  former.Take(&former.holder);
  Downloads now("softmax-784-10");
  const std::vector<float> released = now.Released(0);
  now.codes.Keep({released.data(), released.size()});
  now.Show(now.Released(1));
  EXPECT_EQ(now.Take(&former.holder).base, ModelBase::kHeld);
  EXPECT_EQ(former.holder.parameters(), now.Released(1));
}

TEST(ModelCodes, OnlyTheLastModelsAreHeld) {
  Downloads downloads("softmax-784-10");
  downloads.Show(downloads.Released(0));
  Holder old(*downloads.model);
  downloads.Take(&old);
  for (uint32_t round = 1; round <= kMostHeldModels + 1; ++round) {
    downloads.Show(downloads.Released(round));
    downloads.Take(&downloads.holder);
  }
  EXPECT_EQ(downloads.Take(&old).base, ModelBase::kZeros);
}

}  // namespace
}  // namespace sotto::server
