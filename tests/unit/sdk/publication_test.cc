// Publications: fixed bytes, one form each, and nothing else is accepted.
#include "sotto/publication.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace sotto {
namespace {

PublicationHeader SomeHeader(uint32_t shift) {
  PublicationHeader header;
  for (size_t i = 0; i < kJobIdSize; ++i) header.job_id[i] = static_cast<uint8_t>(i + 1);
  for (size_t i = 0; i < kSha256Size; ++i) header.parent[i] = static_cast<uint8_t>(200 - i);
  header.version = 0x01020304;
  header.node = 7;
  header.shift = shift;
  return header;
}

std::vector<float> SomeParameters(size_t n, uint32_t shift, double deviation, uint32_t seed = 3) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, deviation);
  const double unit = std::ldexp(1.0, static_cast<int>(shift) - 20);
  std::vector<float> parameters(n);
  for (float& x : parameters) {
    const double q = std::round(normal(random) / unit);
    const double most = 16.0 / unit;
    x = static_cast<float>(std::max(-most, std::min(most, q)) * unit);
  }
  return parameters;
}

std::vector<uint8_t> Encode(const PublicationHeader& header, const std::vector<float>& parameters) {
  std::vector<uint8_t> bytes(MaxPublicationBytes(parameters.size()));
  size_t size = 0;
  EXPECT_EQ(EncodePublication(header, {parameters.data(), parameters.size()},
                              {bytes.data(), bytes.size()}, &size),
            Status::kOk);
  bytes.resize(size);
  return bytes;
}

Status Decode(const std::vector<uint8_t>& bytes, std::vector<float>* parameters,
              PublicationHeader* header, float most = kMaxPublishedParameter) {
  return DecodePublication({bytes.data(), bytes.size()}, most, header,
                           {parameters->data(), parameters->size()});
}

TEST(Publication, DecodesToWhatWasEncoded) {
  for (const uint32_t shift : {0u, 1u, 9u, 14u, 23u, 24u}) {
    for (const double deviation : {0.001, 0.5, 6.0, 100.0}) {
      const std::vector<float> parameters = SomeParameters(333, shift, deviation);
      const std::vector<uint8_t> bytes = Encode(SomeHeader(shift), parameters);
      std::vector<float> decoded(parameters.size());
      PublicationHeader header;
      ASSERT_EQ(Decode(bytes, &decoded, &header), Status::kOk) << shift << " " << deviation;
      EXPECT_EQ(decoded, parameters);
      EXPECT_EQ(header.version, 0x01020304u);
      EXPECT_EQ(header.node, 7u);
      EXPECT_EQ(header.shift, shift);
      EXPECT_EQ(header.job_id[15], 16);
      EXPECT_EQ(header.parent[31], 200 - 31);
    }
  }
}

// 510 parameters of deviation 1 beside noise of deviation 2^16 units: a multiple of 2^13 each.
TEST(Publication, OfAModelInNoiseTakesLessThanTwoBytesAParameter) {
  const std::vector<uint8_t> bytes = Encode(SomeHeader(13), SomeParameters(510, 13, 1.0));
  EXPECT_EQ(bytes[61], 1);
  EXPECT_LT(bytes.size(), 64 + 2u * 510);
  EXPECT_GT(bytes.size(), 64 + 510u);  // 8 to 9 bits of entropy
}

TEST(Publication, ThatTheRangeCodeDoesNotShortenIsRaw) {
  std::vector<float> parameters;
  for (int i = 0; i < 4; ++i) parameters.push_back(i % 2 == 0 ? -16.0f : 16.0f);
  const std::vector<uint8_t> bytes = Encode(SomeHeader(0), parameters);
  EXPECT_EQ(bytes[61], 0);
  EXPECT_EQ(bytes.size(), 64u + 16);
  std::vector<float> decoded(4);
  PublicationHeader header;
  EXPECT_EQ(Decode(bytes, &decoded, &header), Status::kOk);
  EXPECT_EQ(decoded, parameters);
}

TEST(Publication, IsRefusedBeyondItsRange) {
  std::vector<float> decoded(2);
  PublicationHeader header;
  const std::vector<uint8_t> bytes = Encode(SomeHeader(0), {8.0f, -8.0f});
  EXPECT_EQ(Decode(bytes, &decoded, &header, 8.0f), Status::kOk);
  EXPECT_EQ(Decode(bytes, &decoded, &header, 7.5f), Status::kMalformed);
  std::vector<uint8_t> out(MaxPublicationBytes(2));
  size_t size = 0;
  for (const float bad : {16.5f, std::nanf(""), INFINITY, 1.0f + 0x1p-21f}) {
    const std::vector<float> parameters = {bad, 0.0f};
    EXPECT_EQ(
        EncodePublication(SomeHeader(0), {parameters.data(), 2}, {out.data(), out.size()}, &size),
        bad > 1.0f && bad < 1.1f ? Status::kInvalidArgument : Status::kInvalidArgument);
  }
  const std::vector<float> odd = {0x1p-20f, 0.0f};  // no multiple of 2^-19
  EXPECT_EQ(EncodePublication(SomeHeader(1), {odd.data(), 2}, {out.data(), out.size()}, &size),
            Status::kInvalidArgument);
  EXPECT_EQ(EncodePublication(SomeHeader(27), {odd.data(), 2}, {out.data(), out.size()}, &size),
            Status::kInvalidArgument);
  EXPECT_EQ(EncodePublication(SomeHeader(0), {odd.data(), 2}, {out.data(), 71}, &size),
            Status::kBufferTooSmall);
}

// A changed bit makes another publication, or none: never the same model under other bytes.
TEST(Publication, HasOneFormOnly) {
  const std::vector<float> parameters = SomeParameters(40, 12, 1.0);
  const std::vector<uint8_t> bytes = Encode(SomeHeader(12), parameters);
  int accepted = 0;
  for (size_t i = 60; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> changed = bytes;
      changed[i] = static_cast<uint8_t>(changed[i] ^ (1 << bit));
      std::vector<float> decoded(parameters.size());
      PublicationHeader header;
      if (Decode(changed, &decoded, &header) != Status::kOk) continue;
      ++accepted;
      EXPECT_NE(decoded, parameters) << i;
      EXPECT_EQ(Encode(header, decoded), changed) << i;
    }
  }
  EXPECT_GT(accepted, 0);
}

// The code has no end mark, so a shorter one may be another model's; it is never the same model's.
TEST(Publication, CutOrLengthenedIsMalformedOrAnotherModel) {
  const std::vector<float> parameters = SomeParameters(40, 12, 1.0);
  const std::vector<uint8_t> bytes = Encode(SomeHeader(12), parameters);
  std::vector<float> decoded(parameters.size());
  PublicationHeader header;
  int malformed = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    if (Decode(cut, &decoded, &header) != Status::kOk) {
      ++malformed;
      continue;
    }
    EXPECT_NE(decoded, parameters) << size;
    EXPECT_EQ(Encode(header, decoded), cut) << size;
  }
  EXPECT_GT(malformed, static_cast<int>(bytes.size()) - 5);
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(Decode(longer, &decoded, &header), Status::kMalformed);
}

TEST(Publication, OfAnotherFormatIsMalformed) {
  const std::vector<uint8_t> bytes = Encode(SomeHeader(12), SomeParameters(5, 12, 1.0));
  std::vector<float> decoded(5);
  PublicationHeader header;
  const std::pair<size_t, uint8_t> wrong[] = {{0, 'X'}, {3, '2'}, {60, 27},
                                              {61, 2},  {62, 1},  {63, 1}};
  for (const auto& [at, value] : wrong) {
    std::vector<uint8_t> changed = bytes;
    changed[at] = value;
    EXPECT_EQ(Decode(changed, &decoded, &header), Status::kMalformed) << at;
  }
  std::vector<uint8_t> first = bytes;
  for (int i = 20; i < 24; ++i) first[static_cast<size_t>(i)] = 0;  // version 0 is never published
  EXPECT_EQ(Decode(first, &decoded, &header), Status::kMalformed);
}

TEST(Publication, RandomBytesAreMalformedOrOfTheOneForm) {
  std::mt19937 random(11);
  for (int n = 0; n < 3000; ++n) {
    std::vector<uint8_t> bytes =
        Encode(SomeHeader(static_cast<uint32_t>(random() % 25)), std::vector<float>(6));
    bytes.resize(64 + random() % 30);
    for (size_t i = 64; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(random());
    std::vector<float> decoded(6);
    PublicationHeader header;
    if (Decode(bytes, &decoded, &header) == Status::kOk) {
      EXPECT_EQ(Encode(header, decoded), bytes);
    }
  }
}

}  // namespace
}  // namespace sotto
