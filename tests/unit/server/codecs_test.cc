// Tests of the table of codecs: its traits, and that each codec behaves as its row says.
#include "codec/codecs.h"

#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace sotto::server {
namespace {

constexpr size_t kCoordinates = 50;

TrainTask TaskFor(const CodecInfo& codec) {
  TrainTask task;
  task.format = codec.FormatFor(Coding::kRange, 0);
  task.quantizer_scale = 0.125F;
  task.training.clip_l2 = 0.5F;
  return task;
}

std::vector<int64_t> ZeroUpdate(const CodecInfo& codec, const Key& server_key, uint32_t number) {
  Accumulator sum(kCoordinates);
  codec.make(TaskFor(codec))->AddZeroUpdate(server_key, number, sum);
  return {sum.sums().begin(), sum.sums().end()};
}

TEST(Codecs, HaveTheNamesOfOptionsJsonAndLedger) {
  std::vector<std::string> names;
  for (const CodecInfo& codec : Codecs()) names.emplace_back(codec.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"gau-lrq", "uniform-dither", "none", "float32", "qg", "bq"}));
  EXPECT_EQ(CodecNames(), (std::vector<std::string>{"gau-lrq", "none", "float32", "qg", "bq"}));
}

TEST(Codecs, AreFoundByNameAndOthersAreRefusedByName) {
  for (const CodecInfo& codec : Codecs()) {
    EXPECT_EQ(FindCodec(codec.name), &codec);
    EXPECT_EQ(&RequireCodec(codec.name), &codec);
  }
  EXPECT_EQ(FindCodec("gau"), nullptr);
  try {
    RequireCodec("gau");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'gau'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("gau-lrq"), std::string::npos);
  }
}

TEST(Codecs, OnlyGauLrqIsCertified) {
  for (const CodecInfo& codec : Codecs()) {
    EXPECT_EQ(codec.certified, std::string(codec.name) == "gau-lrq") << codec.name;
  }
}

TEST(Codecs, TraitsImplyOneAnother) {
  for (const CodecInfo& codec : Codecs()) {
    EXPECT_TRUE(!codec.certified || codec.accounted) << codec.name;
    EXPECT_TRUE(!codec.accounted || codec.noise) << codec.name;
    EXPECT_TRUE(!codec.certified || codec.servable) << codec.name;
    EXPECT_TRUE(codec.coded || !codec.certified) << codec.name;
  }
}

TEST(Codecs, WithoutNoiseAServableOneTakesThePlace) {
  for (const CodecInfo& codec : Codecs()) {
    if (codec.without_noise == nullptr) continue;
    const CodecInfo* other = FindCodec(codec.without_noise);
    ASSERT_NE(other, nullptr) << codec.name;
    EXPECT_FALSE(other->noise) << codec.name;
    EXPECT_TRUE(other->servable) << codec.name;
    EXPECT_TRUE(codec.noise || other == &codec) << codec.name;
  }
}

TEST(Codecs, OnlyThoseWithNoiseBringSomeInAZeroUpdateAndTheKeyAndNumberDecideIt) {
  Key other_key;
  other_key.bytes[0] = 1;
  for (const CodecInfo& codec : Codecs()) {
    if (!codec.noise) continue;
    const std::vector<int64_t> noise = ZeroUpdate(codec, Key(), 0);
    EXPECT_GT(std::set<int64_t>(noise.begin(), noise.end()).size(), 2U) << codec.name;
    EXPECT_EQ(ZeroUpdate(codec, Key(), 0), noise) << codec.name;
    EXPECT_NE(ZeroUpdate(codec, Key(), 1), noise) << codec.name;
    EXPECT_NE(ZeroUpdate(codec, other_key, 0), noise) << codec.name;
  }
  EXPECT_EQ(ZeroUpdate(RequireCodec("none"), Key(), 0), std::vector<int64_t>(kCoordinates));
}

TEST(Codecs, OnlyThoseThatNoDeviceSpeaksEncodeOnTheServer) {
  const std::vector<int32_t> values(kCoordinates);
  const Span<const int32_t> view(values.data(), values.size());
  for (const CodecInfo& codec : Codecs()) {
    const auto made = codec.make(TaskFor(codec));
    if (codec.servable) {
      EXPECT_THROW(made->Encode(Key(), view), std::logic_error) << codec.name;
    } else {
      EXPECT_LE(made->Encode(Key(), view).size(), made->MaxSize(kCoordinates)) << codec.name;
    }
  }
}

TEST(Codecs, RefuseBytesOfNoUpdateAndLeaveTheSumAlone) {
  const uint8_t id[] = {'a'};
  const uint8_t nonce[kNonceSize] = {};
  for (const CodecInfo& codec : Codecs()) {
    Accumulator sum(kCoordinates);
    const std::vector<uint8_t> bytes(1000, 0xff);
    EXPECT_EQ(
        codec.make(TaskFor(codec))->Add({id, Key(), nonce}, {bytes.data(), bytes.size()}, sum),
        Verdict::kMalformed)
        << codec.name;
    EXPECT_EQ(sum.updates(), 0U) << codec.name;
  }
}

}  // namespace
}  // namespace sotto::server
