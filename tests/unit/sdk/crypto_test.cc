// Derivation of keys, their labels, device ids, and random streams.
#include "sotto/crypto.h"

#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "sotto/hello_token.h"
#include "sotto/key_labels.h"
#include "sotto/keys.h"
#include "sotto/random.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

std::string Keystream(const Key& key, uint32_t stream, uint32_t block, size_t size) {
  std::vector<uint8_t> out(size);
  EXPECT_EQ(ChaCha20Keystream(key, stream, block, {out.data(), out.size()}), Status::kOk);
  return ToHex(View(out));
}

// RFC 8439, appendix A.1, test vectors 1, 2 and 4.
TEST(ChaCha20, MatchesTheRfc) {
  Key key;
  EXPECT_EQ(Keystream(key, 0, 0, 64),
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586");
  EXPECT_EQ(Keystream(key, 0, 1, 64),
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
            "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f");
  key.bytes[1] = 0xff;
  EXPECT_EQ(Keystream(key, 0, 2, 64),
            "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
            "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096");
}

TEST(ChaCha20, AnyRangeCanBeGeneratedAlone) {
  Key key;
  key.bytes[0] = 1;
  const std::string whole = Keystream(key, 7, 0, 256);
  EXPECT_EQ(Keystream(key, 7, 2, 128), whole.substr(256));
  EXPECT_EQ(Keystream(key, 7, 3, 10), whole.substr(384, 20));
  EXPECT_NE(Keystream(key, 8, 0, 64), whole.substr(0, 128));
  EXPECT_EQ(ChaCha20Keystream(key, 7, 0, {}), Status::kOk);
}

// FIPS 180-4 example; then the object starts anew.
TEST(Sha256, MatchesTheStandardAndStartsAnew) {
  Sha256 hash;
  uint8_t digest[kSha256Size];
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(hash.Update(View(std::string("a"))), Status::kOk);
    ASSERT_EQ(hash.Update(View(std::string("bc"))), Status::kOk);
    ASSERT_EQ(hash.Finish(digest), Status::kOk);
    EXPECT_EQ(ToHex(digest), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  }
  uint8_t at_once[kSha256Size];
  ASSERT_EQ(Sha256Digest(View(std::string("abc")), at_once), Status::kOk);
  EXPECT_EQ(ToHex(at_once), ToHex(digest));
}

std::string Hmac(const std::vector<uint8_t>& key, const std::string& data) {
  HmacSha256 hmac(View(key));
  uint8_t tag[kSha256Size] = {};
  EXPECT_EQ(hmac.Update(View(data)), Status::kOk);
  EXPECT_EQ(hmac.Finish(tag), Status::kOk);
  return ToHex(tag);
}

// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
TEST(HmacSha256, MatchesTheRfc) {
  EXPECT_EQ(Hmac(std::vector<uint8_t>(20, 0x0b), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(Hmac({'J', 'e', 'f', 'e'}, "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Hmac(std::vector<uint8_t>(131, 0xaa),
                 "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// RFC 5869, test cases 1 and 3; the first 32 bytes of the output key material.
TEST(HkdfSha256, MatchesTheRfc) {
  const std::vector<uint8_t> secret(22, 0x0b);
  Key key;
  ASSERT_EQ(HkdfSha256(View(secret), View(FromHex("000102030405060708090a0b0c")),
                       View(FromHex("f0f1f2f3f4f5f6f7f8f9")), &key),
            Status::kOk);
  EXPECT_EQ(ToHex(key.bytes), "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
  ASSERT_EQ(HkdfSha256(View(secret), {}, {}, &key), Status::kOk);
  EXPECT_EQ(ToHex(key.bytes), "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

struct IdentityBytes {
  std::vector<uint8_t> job = std::vector<uint8_t>(kJobIdSize, 0x11);
  std::string device = "pump-7";
  std::vector<uint8_t> nonce = std::vector<uint8_t>(kNonceSize, 0x22);
  uint32_t round = 3;
  uint32_t attempt = 1;

  UpdateIdentity identity() const { return {View(job), View(device), round, attempt, View(nonce)}; }
};

std::string RoundKeyOf(const IdentityBytes& bytes, const Key& secret) {
  Key key;
  EXPECT_EQ(DeriveRoundKey(secret, bytes.identity(), &key), Status::kOk);
  return ToHex(key.bytes);
}

// The layout is part of the protocol, so it is spelled out here once more, byte by byte.
TEST(RoundKey, IsTheDocumentedHkdf) {
  const IdentityBytes bytes;
  Key secret;
  secret.bytes[31] = 9;
  std::vector<uint8_t> info;
  for (const char c : std::string("sotto lrq 1pump-7")) info.push_back(static_cast<uint8_t>(c));
  for (const int b : {3, 0, 0, 0, 1, 0, 0, 0}) info.push_back(static_cast<uint8_t>(b));
  info.insert(info.end(), kNonceSize, 0x22);
  Key expected;
  ASSERT_EQ(HkdfSha256(secret.bytes, View(bytes.job), View(info), &expected), Status::kOk);
  EXPECT_EQ(RoundKeyOf(bytes, secret), ToHex(expected.bytes));
}

TEST(RoundKey, HasAnotherLabelAndTheSaltAtItsEndIfThereIsOne) {
  const IdentityBytes bytes;
  const std::vector<uint8_t> salt(kSaltSize, 0x44);
  Key secret;
  secret.bytes[31] = 9;
  std::vector<uint8_t> info;
  for (const char c : std::string("sotto lrq 2pump-7")) info.push_back(static_cast<uint8_t>(c));
  for (const int b : {3, 0, 0, 0, 1, 0, 0, 0}) info.push_back(static_cast<uint8_t>(b));
  info.insert(info.end(), kNonceSize, 0x22);
  info.insert(info.end(), kSaltSize, 0x44);
  Key expected;
  ASSERT_EQ(HkdfSha256(secret.bytes, View(bytes.job), View(info), &expected), Status::kOk);
  UpdateIdentity identity = bytes.identity();
  identity.salt = View(salt);
  Key key;
  ASSERT_EQ(DeriveRoundKey(secret, identity, &key), Status::kOk);
  EXPECT_EQ(ToHex(key.bytes), ToHex(expected.bytes));
  EXPECT_EQ(DeriveOrderKey(secret, identity, &key), Status::kInvalidArgument);
  identity.salt = View(salt).first(kSaltSize - 1);
  EXPECT_EQ(DeriveRoundKey(secret, identity, &key), Status::kInvalidArgument);
}

TEST(RoundKey, DependsOnEveryPartOfTheIdentity) {
  Key secret;
  const std::string base = RoundKeyOf({}, secret);
  IdentityBytes other;
  other.job[0] ^= 1;
  EXPECT_NE(RoundKeyOf(other, secret), base);
  other = {};
  other.device = "pump-8";
  EXPECT_NE(RoundKeyOf(other, secret), base);
  other = {};
  other.nonce[15] ^= 1;
  EXPECT_NE(RoundKeyOf(other, secret), base);
  other = {};
  other.round = 4;
  EXPECT_NE(RoundKeyOf(other, secret), base);
  other = {};
  other.attempt = 2;
  EXPECT_NE(RoundKeyOf(other, secret), base);
  secret.bytes[0] = 1;
  EXPECT_NE(RoundKeyOf({}, secret), base);
}

TEST(Keys, TlsRoundAndOrderKeysDiffer) {
  Key secret;
  Key tls;
  Key round;
  Key order;
  const IdentityBytes bytes;
  ASSERT_EQ(DeriveTlsKey(secret, &tls), Status::kOk);
  ASSERT_EQ(DeriveRoundKey(secret, bytes.identity(), &round), Status::kOk);
  ASSERT_EQ(DeriveOrderKey(secret, bytes.identity(), &order), Status::kOk);
  EXPECT_NE(ToHex(tls.bytes), ToHex(round.bytes));
  EXPECT_NE(ToHex(order.bytes), ToHex(round.bytes));
}

// The tokens were computed with Python's hmac module.
TEST(HelloTokenTest, IsDerivedFromThePreSharedKeyAndWrittenAsAProtocolName) {
  Key psk;
  for (uint8_t i = 0; i < kKeySize; ++i) psk.bytes[i] = i;
  const auto name_with = [&](uint8_t first) {
    uint8_t random[kHelloRandomSize] = {first};
    HelloToken token;
    EXPECT_EQ(DeriveHelloToken(psk, random, &token), Status::kOk);
    char text[kHelloTokenTextSize + 1];
    WriteHelloToken(token, text);
    return std::string(text);
  };
  EXPECT_EQ(name_with(0), "sotto/c76732eeb36f8c96631974ed2c9ee76731c2706d4e23521b");
  EXPECT_EQ(name_with(1), "sotto/c76732eeb36f8c968ea85b23ec6fd33c4617ebf7d44364e9");
}

TEST(Keys, RefuseIdentitiesOutOfRange) {
  Key key;
  IdentityBytes bytes;
  bytes.job.pop_back();
  EXPECT_EQ(DeriveRoundKey(Key(), bytes.identity(), &key), Status::kInvalidArgument);
  bytes = {};
  bytes.nonce.push_back(0);
  EXPECT_EQ(DeriveRoundKey(Key(), bytes.identity(), &key), Status::kInvalidArgument);
  bytes = {};
  bytes.device = "";
  EXPECT_EQ(DeriveRoundKey(Key(), bytes.identity(), &key), Status::kInvalidArgument);
}

TEST(DeviceId, AllowsOneTo64SafeCharacters) {
  EXPECT_TRUE(IsValidDeviceId(View(std::string("A-z_0.9"))));
  EXPECT_TRUE(IsValidDeviceId(View(std::string(64, 'x'))));
  EXPECT_FALSE(IsValidDeviceId(View(std::string(65, 'x'))));
  EXPECT_FALSE(IsValidDeviceId({}));
  EXPECT_FALSE(IsValidDeviceId(View(std::string("a b"))));
  EXPECT_FALSE(IsValidDeviceId(View(std::string("a/b"))));
  EXPECT_FALSE(IsValidDeviceId(View(std::string("\xc3\xa9"))));
}

TEST(RandomStream, RepeatsUnderTheSameKeyAndStream) {
  Key key;
  RandomStream a(key, 1);
  RandomStream b(key, 1);
  RandomStream c(key, 2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint32_t value = a.NextU32();
    EXPECT_EQ(value, b.NextU32());
    differs = differs || value != c.NextU32();
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(a.status(), Status::kOk);
}

// Chi-square with 6 degrees of freedom over 700,000 draws from a fixed key: above 47 with
// probability below 2e-8 for a uniform source; a bias of 1 % in one value adds about 10 to it.
TEST(RandomStream, BelowIsUniform) {
  RandomStream random(Key(), 3);
  constexpr uint32_t kBound = 7;
  constexpr int kDraws = 700000;
  double counts[kBound] = {};
  for (int i = 0; i < kDraws; ++i) counts[random.Below(kBound)] += 1;
  double chi_square = 0;
  for (const double count : counts) {
    const double difference = count - static_cast<double>(kDraws) / kBound;
    chi_square += difference * difference / (static_cast<double>(kDraws) / kBound);
  }
  EXPECT_LT(chi_square, 47.0);
}

TEST(RandomStream, BelowOneIsZero) {
  RandomStream random(Key(), 4);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.Below(1), 0u);
}

TEST(KeyLabels, EveryPurposeHasALabelOfItsOwn) {
  std::set<std::string> labels;
  for (const char* label : key_label::kAll) EXPECT_TRUE(labels.insert(label).second) << label;
  EXPECT_GE(labels.size(), 16U);
}

TEST(DeriveKey, IsHkdfUnderTheLabelSaltedWithTheNumbers) {
  Key parent;
  parent.bytes[0] = 7;
  const uint8_t salt[12] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
  const uint8_t info[] = {'s', 'o', 't', 't', 'o', ' ', 'j', 'o', 'b'};
  Key expected;
  Key derived;
  ASSERT_EQ(HkdfSha256(parent.bytes, salt, info, &expected), Status::kOk);
  ASSERT_EQ(DeriveKey(parent, key_label::kJob, 1, 2, 3, &derived), Status::kOk);
  EXPECT_EQ(ToHex(derived.bytes), ToHex(expected.bytes));
}

}  // namespace
}  // namespace sotto
