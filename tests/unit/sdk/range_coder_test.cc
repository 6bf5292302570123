// The range coder and the model of an update: round trips, sizes, any bytes.
#include "sotto/range_coder.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "sotto/update_model.h"

namespace sotto {
namespace {

struct Decision {
  bool bit;
  int context;  // -1: equally likely
};

std::vector<uint8_t> TakeAll(RangeEncoder& encoder) {
  std::vector<uint8_t> bytes;
  uint8_t part[3];
  while (!encoder.is_empty()) {
    const size_t count = encoder.Take(part);
    bytes.insert(bytes.end(), part, part + count);
  }
  return bytes;
}

void Append(std::vector<uint8_t>& bytes, const std::vector<uint8_t>& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

std::vector<uint8_t> Encode(const std::vector<Decision>& decisions, int contexts) {
  std::vector<AdaptiveBit> bits(static_cast<size_t>(contexts), AdaptiveBit::Even());
  RangeEncoder encoder;
  std::vector<uint8_t> bytes;
  for (const Decision& d : decisions) {
    if (d.context < 0) {
      encoder.EncodeFair(d.bit);
    } else {
      encoder.Encode(d.bit, &bits[static_cast<size_t>(d.context)]);
    }
    Append(bytes, TakeAll(encoder));
  }
  encoder.Finish();
  Append(bytes, TakeAll(encoder));
  return bytes;
}

void ExpectDecodes(const std::vector<uint8_t>& bytes, const std::vector<Decision>& decisions,
                   int contexts) {
  std::vector<AdaptiveBit> bits(static_cast<size_t>(contexts), AdaptiveBit::Even());
  RangeDecoder decoder({bytes.data(), bytes.size()});
  for (size_t i = 0; i < decisions.size(); ++i) {
    const Decision& d = decisions[i];
    const bool bit = d.context < 0 ? decoder.DecodeFair()
                                   : decoder.Decode(&bits[static_cast<size_t>(d.context)]);
    ASSERT_EQ(bit, d.bit) << "decision " << i;
  }
  EXPECT_GE(decoder.position(), bytes.size()) << "bytes that nothing needed";
}

TEST(RangeCoder, AnyDecisionsComeBack) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 400; ++trial) {
    const double chance = std::pow(0.5, random() % 14);
    std::bernoulli_distribution is_one(trial % 2 == 0 ? chance : 1 - chance);
    std::vector<Decision> decisions(random() % 3000);
    for (Decision& d : decisions) d = {is_one(random), static_cast<int>(random() % 5) - 1};
    ExpectDecodes(Encode(decisions, 4), decisions, 4);
  }
}

TEST(RangeCoder, NoDecisionsAreNoBytes) {
  EXPECT_TRUE(Encode({}, 1).empty());
  ExpectDecodes({}, {}, 1);
}

// Zeros take the upper part of the interval: a long run of them pushes the lower end through bytes
// of 0xff, which a one then resolves by a carry or not.
TEST(RangeCoder, RunsOfHeldBackBytesAreResolved) {
  for (int length = 0; length < 600; ++length) {
    for (const bool last : {false, true}) {
      std::vector<Decision> decisions(static_cast<size_t>(length), {false, -1});
      decisions.push_back({last, -1});
      decisions.push_back({true, -1});
      ExpectDecodes(Encode(decisions, 1), decisions, 1);
    }
  }
}

// The code of n decisions with a fixed probability takes their entropy, and learning it costs about
// log2(n) / 2 bits. The sample is fixed by its seed.
TEST(RangeCoder, SizeIsTheEntropy) {
  std::mt19937 random(2);
  for (const double p : {0.5, 0.1, 0.01, 0.001}) {
    std::bernoulli_distribution is_one(p);
    std::vector<Decision> decisions(100000);
    double ones = 0;
    for (Decision& d : decisions) {
      d = {is_one(random), 0};
      ones += d.bit;
    }
    const double n = static_cast<double>(decisions.size());
    const double q = ones / n;
    const double entropy = -n * (q * std::log2(q) + (1 - q) * std::log2(1 - q));
    const double bits = 8.0 * static_cast<double>(Encode(decisions, 1).size());
    EXPECT_LT(bits, entropy * 1.005 + 120) << "p = " << p;
  }
}

TEST(RangeDecoder, ReadsZerosBeyondTheEnd) {
  const std::vector<uint8_t> bytes = {0x12, 0x34};
  const std::vector<uint8_t> with_zeros = {0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  RangeDecoder short_one({bytes.data(), bytes.size()});
  RangeDecoder long_one({with_zeros.data(), with_zeros.size()});
  for (int i = 0; i < 60; ++i) EXPECT_EQ(short_one.DecodeFair(), long_one.DecodeFair());
}

TEST(UpdateModel, EveryIntegerComesBackFromEveryDistance) {
  for (const uint8_t scale_code : std::vector<uint8_t>{1, 70, 81, 100, 121}) {
    for (const DitherKind kind : {DitherKind::kGaussian, DitherKind::kUniform}) {
      UpdateModel model;
      model.Reset(scale_code, kind);
      RangeEncoder encoder;
      std::vector<uint8_t> bytes;
      std::vector<std::pair<uint32_t, int32_t>> symbols;
      for (int32_t m = 0; m <= UpdateModel::kMaxInteger; m += m < 40 ? 1 : 8) {
        const uint32_t edges[] = {0, 1, kDitherMask / 2, kDitherMask / 2 + 1, kDitherMask};
        for (const uint32_t t : edges) {
          symbols.emplace_back(t, m);
          symbols.emplace_back(t, -m);
        }
      }
      for (const auto& [t, m] : symbols) {
        model.Encode(t, m, &encoder);
        Append(bytes, TakeAll(encoder));
      }
      encoder.Finish();
      Append(bytes, TakeAll(encoder));
      model.Reset(scale_code, kind);
      RangeDecoder decoder({bytes.data(), bytes.size()});
      for (const auto& [t, m] : symbols) {
        int32_t decoded = 0;
        ASSERT_TRUE(model.Decode(t, &decoder, &decoded));
        ASSERT_EQ(decoded, m);
      }
    }
  }
}

TEST(UpdateModel, IntegersBeyondTheFormatAreRefused) {
  // All ones under every probability: the longest escape.
  const std::vector<uint8_t> bytes(4000, 0x00);
  UpdateModel model;
  model.Reset(121, DitherKind::kUniform);
  RangeDecoder decoder({bytes.data(), bytes.size()});
  int32_t m = 0;
  EXPECT_FALSE(model.Decode(kDitherMask / 2, &decoder, &m));
}

TEST(UpdateEncoderState, FitsIntoOneKilobyte) {
  EXPECT_LE(sizeof(UpdateModel) + sizeof(RangeEncoder), 1024u);
}

}  // namespace
}  // namespace sotto
