// A model in flash beside its record: whatever a reset tears, nothing passes for a released model
// but one.
#include "sotto/kept_model.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "sotto/bytes.h"

namespace sotto {
namespace {

constexpr size_t kPage = 256;
constexpr size_t kParameters = 150;  // two whole pages, and a part of a third that is no whole unit
constexpr size_t kSize = ModelFlashBytes(kParameters, kPage);
static_assert(kSize == 4 * kPage);

// Flash that checks how it is used, and whose power can fail within any erase or program.
struct Flash {
  std::vector<float> memory = std::vector<float>(kSize / sizeof(float), FloatFromBits(~0u));
  int calls = 0;
  int erases = 0;
  int cut_at = -1;       // the erase or program, from 0, within which the power fails
  size_t cut_bytes = 0;  // of a program: how many bytes it has written by then
  bool is_off = false;
  bool loses_a_bit = false;  // of all that is programmed, and says nothing

  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(memory.data()); }
  ModelFlash flash() { return {bytes(), kSize, kPage, Erase, Program, this}; }

  // Whether the call is done, cut, or without power.
  enum class Fate { kDone, kCut, kNothing };
  Fate Next() {
    const int call = calls++;
    if (is_off) return Fate::kNothing;
    is_off = call == cut_at;
    return is_off ? Fate::kCut : Fate::kDone;
  }

  static Status Erase(void* context, size_t offset) {
    auto* self = static_cast<Flash*>(context);
    EXPECT_EQ(offset % kPage, 0u);
    const Fate fate = self->Next();
    if (fate == Fate::kNothing) return Status::kStoreFailed;
    ++self->erases;
    std::fill_n(self->bytes() + offset, kPage, fate == Fate::kDone ? 0xff : 0x5f);
    return fate == Fate::kDone ? Status::kOk : Status::kStoreFailed;
  }

  static Status Program(void* context, size_t offset, ByteSpan in) {
    auto* self = static_cast<Flash*>(context);
    EXPECT_EQ(offset % kProgramUnit, 0u);
    EXPECT_EQ(in.size() % kProgramUnit, 0u);
    EXPECT_EQ(offset / kPage, (offset + in.size() - 1) / kPage) << "one page at a time";
    uint8_t* const at = self->bytes() + offset;
    EXPECT_TRUE(std::all_of(at, at + in.size(), [](uint8_t byte) { return byte == 0xff; }));
    const Fate fate = self->Next();
    if (fate == Fate::kNothing) return Status::kStoreFailed;
    const size_t cut = std::min(self->cut_bytes, in.size());
    std::copy_n(in.begin(), fate == Fate::kDone ? in.size() : cut, at);
    if (self->loses_a_bit) *at ^= 1;
    return fate == Fate::kDone ? Status::kOk : Status::kStoreFailed;
  }
};

using Floats = std::vector<float>;

Floats Model(float first) {
  Floats model(kParameters);
  for (size_t i = 0; i < kParameters; ++i) model[i] = first + 0.5f * static_cast<float>(i);
  return model;
}

Floats BaseOf(const KeptModel& kept) { return {kept.base().begin(), kept.base().end()}; }

// A release of so many rounds. The text lives as long as the program.
Release ReleaseOf(uint32_t rounds, const char* claims = "epsilon 1 at delta 1e-05") {
  Release release;
  std::fill_n(release.job_id, kJobIdSize, uint8_t{7});
  release.rounds = rounds;
  release.is_final = rounds > 1;
  release.claims = {reinterpret_cast<const uint8_t*>(claims), std::strlen(claims)};
  return release;
}

std::string Claims(const Release& release) {
  return {reinterpret_cast<const char*>(release.claims.data()), release.claims.size()};
}

Status Write(KeptModel& kept, const Floats& model) {
  const ModelWriter writer = kept.writer();
  return writer.write(writer.context, {model.data(), model.size()});
}

// As the device does after a fetch.
Status WriteAndKeep(Flash& flash, const Floats& model, const Release& release) {
  KeptModel kept(flash.flash(), kParameters);
  const Status status = Write(kept, model);
  return status == Status::kOk ? kept.Keep(release) : status;
}

// The rounds of the release that a device finds after a reset; 0: none. Whatever it finds is whole.
uint32_t RoundsAfterReset(Flash& flash) {
  flash.is_off = false;
  flash.cut_at = -1;
  KeptModel kept(flash.flash(), kParameters);
  EXPECT_EQ(kept.Restore(), Status::kOk);
  if (kept.release() == nullptr) return 0;
  const uint32_t rounds = kept.release()->rounds;
  EXPECT_EQ(BaseOf(kept), Model(static_cast<float>(rounds)));
  return rounds;
}

Floats ModelOf(uint32_t rounds) { return Model(static_cast<float>(rounds)); }

TEST(KeptModel, AReleaseIsThereAfterAReset) {
  Flash flash;
  EXPECT_EQ(RoundsAfterReset(flash), 0u) << "new flash";
  ASSERT_EQ(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2)), Status::kOk);
  KeptModel kept(flash.flash(), kParameters);
  EXPECT_EQ(kept.release(), nullptr) << "nobody has looked";
  ASSERT_EQ(kept.Restore(), Status::kOk);
  ASSERT_NE(kept.release(), nullptr);
  EXPECT_EQ(BaseOf(kept), ModelOf(2));
  EXPECT_EQ(kept.release()->rounds, 2u);
  EXPECT_TRUE(kept.release()->is_final);
  EXPECT_EQ(kept.release()->job_id[kJobIdSize - 1], 7);
  EXPECT_EQ(Claims(*kept.release()), "epsilon 1 at delta 1e-05");
}

TEST(KeptModel, AResetWithinAnyEraseOrProgramLeavesNothingThatPassesForARelease) {
  Flash kept;
  ASSERT_EQ(WriteAndKeep(kept, ModelOf(1), ReleaseOf(1)), Status::kOk);
  Flash whole = kept;
  whole.calls = 0;
  ASSERT_EQ(WriteAndKeep(whole, ModelOf(2), ReleaseOf(2)), Status::kOk);
  ASSERT_EQ(whole.calls, 10) << "four pages, of which two have a last unit";
  int seen[3] = {};
  for (int call = 0; call < whole.calls; ++call) {
    for (size_t bytes = 0; bytes <= kPage; bytes += 8) {
      Flash flash = kept;
      flash.calls = 0;
      flash.cut_at = call;
      flash.cut_bytes = bytes;
      EXPECT_NE(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2)), Status::kOk);
      const uint32_t rounds = RoundsAfterReset(flash);
      ++seen[rounds];
      EXPECT_TRUE(rounds != 2 || call == whole.calls - 1) << "of a record without its end";
      EXPECT_EQ(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2)), Status::kOk) << "it begins anew";
      EXPECT_EQ(RoundsAfterReset(flash), 2u);
    }
  }
  EXPECT_GT(seen[0], 0);
  EXPECT_EQ(seen[1], 0) << "no record of the old model beside a part of the new one";
  EXPECT_GT(seen[2], 0) << "the record's last bytes were written when the power failed";
}

TEST(KeptModel, AModelOfARoundIsNoRelease) {
  Flash flash;
  KeptModel kept(flash.flash(), kParameters);
  ASSERT_EQ(Write(kept, ModelOf(1)), Status::kOk);
  ASSERT_EQ(kept.Keep(ReleaseOf(1)), Status::kOk);
  ASSERT_EQ(Write(kept, ModelOf(9)), Status::kOk);
  EXPECT_EQ(kept.release(), nullptr);
  EXPECT_EQ(BaseOf(kept), ModelOf(9));
  EXPECT_EQ(RoundsAfterReset(flash), 0u);
  ASSERT_EQ(Write(kept, ModelOf(1)), Status::kOk);
  EXPECT_EQ(RoundsAfterReset(flash), 1u) << "it is that model again";
}

TEST(KeptModel, ARecordOfWhichAnyBitIsWrongIsNone) {
  Flash flash;
  ASSERT_EQ(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2)), Status::kOk);
  constexpr size_t kRecord = kSize - kPage;
  constexpr size_t kRecordSize = 36 + kMaxClaimsSize + 8;
  for (size_t bit = 0; bit < 8 * kRecordSize; ++bit) {
    flash.bytes()[kRecord + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_EQ(RoundsAfterReset(flash), 0u) << bit;
    flash.bytes()[kRecord + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  EXPECT_EQ(RoundsAfterReset(flash), 2u);
  flash.bytes()[4 * (kParameters - 1)] ^= 1;
  EXPECT_EQ(RoundsAfterReset(flash), 0u) << "a bit of the model";
}

TEST(KeptModel, FlashThatHoldsOtherBytesThanWereWrittenIsNoticed) {
  Flash flash;
  flash.loses_a_bit = true;
  EXPECT_EQ(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2)), Status::kStoreFailed);
  EXPECT_EQ(RoundsAfterReset(flash), 0u);
}

TEST(KeptModel, WhatStaysIsNotErased) {
  Flash flash;
  ASSERT_EQ(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2)), Status::kOk);
  EXPECT_EQ(flash.erases, 4);
  ASSERT_EQ(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2)), Status::kOk);
  EXPECT_EQ(flash.erases, 4) << "the same model and release";
  Floats other = ModelOf(2);
  other[kParameters - 1] += 1.0f;
  ASSERT_EQ(WriteAndKeep(flash, other, ReleaseOf(2)), Status::kOk);
  EXPECT_EQ(flash.erases, 6) << "the last page, and the record";
}

TEST(KeptModel, ClaimsAreCutToTheirRoom) {
  Flash flash;
  const std::string text(kMaxClaimsSize + 40, 'c');
  ASSERT_EQ(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2, text.c_str())), Status::kOk);
  KeptModel kept(flash.flash(), kParameters);
  ASSERT_EQ(kept.Restore(), Status::kOk);
  ASSERT_NE(kept.release(), nullptr);
  EXPECT_EQ(Claims(*kept.release()), text.substr(0, kMaxClaimsSize));
}

TEST(KeptModel, FlashThatDoesNotSufficeHoldsNothing) {
  Flash flash;
  const ModelFlash right = flash.flash();
  ModelFlash wrong[7] = {right, right, right, right, right, right, right};
  wrong[0].begin = nullptr;
  wrong[1].begin += 2;
  wrong[2].size -= 1;
  wrong[3].page_size = 128;
  wrong[4].page_size = 264;
  wrong[5].erase = nullptr;
  wrong[6].program = nullptr;
  for (const ModelFlash& bad : wrong) {
    KeptModel kept(bad, kParameters);
    EXPECT_TRUE(kept.base().empty());
    EXPECT_EQ(Write(kept, ModelOf(2)), Status::kInvalidArgument);
    EXPECT_EQ(kept.Keep(ReleaseOf(2)), Status::kStoreFailed);
    EXPECT_EQ(kept.Restore(), Status::kOk);
    EXPECT_EQ(kept.release(), nullptr);
  }
  KeptModel kept(right, kParameters);
  EXPECT_EQ(Write(kept, Floats(kParameters - 1)), Status::kInvalidArgument);
  EXPECT_EQ(flash.calls, 0);
}

// 36 bytes, the claims, the sum; in front of that a threshold, if there is one.
TEST(KeptModel, ARecordWithoutAThresholdIsAsBeforeThereWereAny) {
  Flash flash;
  ASSERT_EQ(WriteAndKeep(flash, ModelOf(2), ReleaseOf(2)), Status::kOk);
  const uint8_t* const record = flash.bytes() + kSize - kPage;
  EXPECT_EQ(record[4], 1);
  EXPECT_NE(record[36 + kMaxClaimsSize + 7], 0xff);
  EXPECT_EQ(record[36 + kMaxClaimsSize + 8], 0xff);
  KeptModel kept(flash.flash(), kParameters);
  ASSERT_EQ(kept.Restore(), Status::kOk);
  ASSERT_NE(kept.release(), nullptr);
  EXPECT_EQ(kept.release()->threshold, 0.0f);
}

TEST(KeptModel, AThresholdIsKeptAndAnotherOneReplacesIt) {
  Flash flash;
  Release release = ReleaseOf(2);
  for (const float threshold : {0.25f, 0.5f, 0.0f}) {
    release.threshold = threshold;
    const int erases = flash.erases;
    ASSERT_EQ(WriteAndKeep(flash, ModelOf(2), release), Status::kOk);
    EXPECT_EQ(flash.erases - erases, threshold == 0.25f ? 4 : 1) << "the record alone";
    KeptModel kept(flash.flash(), kParameters);
    ASSERT_EQ(kept.Restore(), Status::kOk);
    ASSERT_NE(kept.release(), nullptr);
    EXPECT_EQ(kept.release()->threshold, threshold);
    EXPECT_EQ(kept.release()->rounds, 2u);
    EXPECT_EQ(Claims(*kept.release()), "epsilon 1 at delta 1e-05");
  }
}

TEST(KeptModel, ARecordWithAThresholdOfWhichAnyBitIsWrongIsNone) {
  Flash flash;
  Release release = ReleaseOf(2);
  release.threshold = 0.25f;
  ASSERT_EQ(WriteAndKeep(flash, ModelOf(2), release), Status::kOk);
  constexpr size_t kRecord = kSize - kPage;
  for (size_t bit = 0; bit < 8 * (36 + kMaxClaimsSize + 4 + 8); ++bit) {
    flash.bytes()[kRecord + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_EQ(RoundsAfterReset(flash), 0u) << bit;
    flash.bytes()[kRecord + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  EXPECT_EQ(RoundsAfterReset(flash), 2u);
}

TEST(KeptModel, AThresholdThatIsNoneIsNotKept) {
  Flash flash;
  Release release = ReleaseOf(2);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float threshold : {-0.25f, kInfinity, kInfinity - kInfinity}) {
    release.threshold = threshold;
    EXPECT_EQ(WriteAndKeep(flash, ModelOf(2), release), Status::kInvalidArgument);
    EXPECT_EQ(RoundsAfterReset(flash), 0u);
  }
}

// A device with two places: rounds write the first one, and each release is copied.
struct TwoPlaces {
  Flash first, second;

  // Whether it ran to its end.
  bool Round(const Floats& model) {
    KeptModel kept(first.flash(), kParameters);
    return Write(kept, model) == Status::kOk;
  }
  bool Fetch(uint32_t rounds) {
    KeptModel kept(first.flash(), kParameters);
    KeptModel copy(second.flash(), kParameters);
    return Write(kept, ModelOf(rounds)) == Status::kOk &&
           kept.Keep(ReleaseOf(rounds)) == Status::kOk &&
           Write(copy, BaseOf(kept)) == Status::kOk && copy.Keep(*kept.release()) == Status::kOk;
  }
  uint32_t RoundsAfterReset() {
    return std::max(sotto::RoundsAfterReset(first), sotto::RoundsAfterReset(second));
  }
};

TEST(KeptModel, WithTwoPlacesThereIsAReleaseAfterAnyReset) {
  for (Flash TwoPlaces::*place : {&TwoPlaces::first, &TwoPlaces::second}) {
    for (int call = 0; call < 20; ++call) {
      TwoPlaces device;
      ASSERT_TRUE(device.Fetch(1));
      (device.*place).calls = 0;
      (device.*place).cut_at = call;
      const bool is_done = device.Round(ModelOf(9)) && device.Fetch(2);
      EXPECT_EQ(is_done, !(device.*place).is_off);
      EXPECT_GE(device.RoundsAfterReset(), is_done ? 2u : 1u) << call;
    }
  }
}

}  // namespace
}  // namespace sotto
