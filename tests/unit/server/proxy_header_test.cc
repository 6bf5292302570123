// The header that a proxy sends before a client's first byte, and the addresses of proxies.
#include "net/proxy_header.h"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/sdk/hex.h"

namespace sotto::server {
namespace {

using State = ProxyHeader::State;

const std::string kSignature = "0d0a0d0a000d0a515549540a";

ProxyHeader Read(const std::string& hex) { return ReadProxyHeader(View(FromHex(hex))); }
ProxyHeader ReadAfterSignature(const std::string& hex) { return Read(kSignature + hex); }

std::string FromOf(const ProxyHeader& header) {
  return header.from ? ToHex({header.from->data(), header.from->size()}) : "the proxy";
}

// 198.51.100.7:54321 to 192.0.2.1:7177, as HAProxy sends it.
const std::string kIpv4 = "2111000cc6336407c0000201d4311c09";
const std::string kIpv6 =
    "21210024"
    "20010db8000100020003000400050006"
    "20010db8000000000000000000000001"
    "d4311c09";

TEST(ProxyHeaderTest, ItNamesTheAddressOfTheClient) {
  const ProxyHeader ipv4 = ReadAfterSignature(kIpv4);
  EXPECT_EQ(ipv4.state, State::kWhole);
  EXPECT_EQ(ipv4.size, 28u);
  EXPECT_EQ(FromOf(ipv4), "00000000000000000000ffffc6336407");
  const ProxyHeader ipv6 = ReadAfterSignature(kIpv6);
  EXPECT_EQ(ipv6.state, State::kWhole);
  EXPECT_EQ(ipv6.size, 52u);
  EXPECT_EQ(FromOf(ipv6), "20010db8000100020003000400050006");
}

TEST(ProxyHeaderTest, IsPartialUpToItsLastByteAndWhatFollowsDoesNotMatter) {
  for (const std::string& header : {kIpv4, kIpv6, std::string("20000000")}) {
    std::vector<uint8_t> bytes = FromHex(kSignature + header);
    for (size_t have = 0; have < bytes.size(); ++have) {
      ASSERT_EQ(ReadProxyHeader(View(bytes).first(have)).state, State::kPartial) << have;
    }
    const size_t size = bytes.size();
    bytes.resize(600, 0xff);
    EXPECT_EQ(ReadProxyHeader(View(bytes)).state, State::kWhole);
    EXPECT_EQ(ReadProxyHeader(View(bytes)).size, size);
  }
}

TEST(ProxyHeaderTest, FurtherFieldsAreSkipped) {
  const ProxyHeader header =
      ReadAfterSignature("21110010c6336407c0000201d4311c0904000100");  // PP2_TYPE_NOOP
  EXPECT_EQ(header.state, State::kWhole);
  EXPECT_EQ(header.size, 32u);
  EXPECT_EQ(FromOf(header), "00000000000000000000ffffc6336407");
}

TEST(ProxyHeaderTest, AHealthCheckIsTheProxysOwn) {
  EXPECT_EQ(ReadAfterSignature("20000000").size, 16u);
  // The family is ignored, even one that there is not, and so are addresses.
  for (const std::string& local :
       {std::string("20000000"), std::string("20ff0000"),
        std::string("2011000cc6336407c0000201d4311c09"), std::string("20110001ff")}) {
    EXPECT_EQ(ReadAfterSignature(local).state, State::kWhole) << local;
    EXPECT_EQ(FromOf(ReadAfterSignature(local)), "the proxy") << local;
  }
}

TEST(ProxyHeaderTest, WhatNamesNoAddressOfTcpIsTheProxysOwn) {
  for (const std::string family : {"00", "01", "02", "10", "12", "20", "22", "30", "31", "32"}) {
    const ProxyHeader header = ReadAfterSignature("21" + family + "000cc6336407c0000201d4311c09");
    EXPECT_EQ(header.state, State::kWhole) << family;
    EXPECT_EQ(header.size, 28u) << family;
    EXPECT_EQ(FromOf(header), "the proxy") << family;
  }
}

TEST(ProxyHeaderTest, OtherVersionsAndCommandsAreImpossibleAtOnce) {
  for (const std::string version : {"00", "01", "10", "11", "22", "2f", "30", "31", "ff"}) {
    EXPECT_EQ(ReadAfterSignature(version).state, State::kImpossible) << version;
  }
  EXPECT_EQ(ReadProxyHeader(View(std::string("P"))).state, State::kImpossible);
  EXPECT_EQ(
      ReadProxyHeader(View(std::string("PROXY TCP4 192.0.2.7 192.0.2.1 54321 7177\r\n"))).state,
      State::kImpossible);
}

TEST(ProxyHeaderTest, OtherFamiliesAndTransportsAreImpossible) {
  for (const std::string family : {"03", "13", "1f", "40", "41", "ff"}) {
    EXPECT_EQ(ReadAfterSignature("21" + family + "0000").state, State::kImpossible) << family;
  }
}

TEST(ProxyHeaderTest, AddressesThatTheLengthHasNoRoomForAreImpossible) {
  EXPECT_EQ(ReadAfterSignature("2111000b").state, State::kImpossible);
  EXPECT_EQ(ReadAfterSignature("21210023").state, State::kImpossible);
  EXPECT_EQ(ReadAfterSignature("2111000c").state, State::kPartial);
  EXPECT_EQ(ReadAfterSignature("21210024").state, State::kPartial);
}

TEST(ProxyHeaderTest, OneWrongByteOfTheSignatureIsImpossible) {
  const std::vector<uint8_t> whole = FromHex(kSignature + kIpv4);
  for (size_t at = 0; at < 12; ++at) {
    std::vector<uint8_t> bytes = whole;
    bytes[at] ^= 1;
    EXPECT_EQ(ReadProxyHeader(View(bytes)).state, State::kImpossible) << at;
    EXPECT_EQ(ReadProxyHeader(View(bytes).first(at + 1)).state, State::kImpossible) << at;
  }
}

TEST(ProxyHeaderTest, TheLengthHasALimit) {
  std::vector<uint8_t> bytes = FromHex(kSignature + "21110208");  // 16 + 520: the most
  EXPECT_EQ(ReadProxyHeader(View(bytes)).state, State::kPartial);
  bytes.resize(kMaxProxyHeader);
  EXPECT_EQ(ReadProxyHeader(View(bytes)).state, State::kWhole);
  bytes[15] = 0x09;
  EXPECT_EQ(ReadProxyHeader(View(bytes)).state, State::kImpossible);
  EXPECT_EQ(ReadAfterSignature("2000ffff").state, State::kImpossible);
}

bool AreIn(const std::string& ranges, const std::string& hex) {
  posix::IpAddress address{};
  const std::vector<uint8_t> bytes = FromHex(hex);
  address = posix::IpAddressOf(View(bytes));
  return posix::IsIn(posix::ParseIpRanges(ranges), address);
}

TEST(IpRangesTest, AnAddressIsInItsRangesAlone) {
  EXPECT_FALSE(AreIn("", "7f000001"));
  EXPECT_TRUE(AreIn("127.0.0.1", "7f000001"));
  EXPECT_FALSE(AreIn("127.0.0.1", "7f000002"));
  EXPECT_TRUE(AreIn("10.1.0.0/15,127.0.0.1", "0a00ffff"));
  EXPECT_FALSE(AreIn("10.2.0.0/15", "0a01ffff"));
  EXPECT_TRUE(AreIn("10.2.0.0/15", "0a03ffff"));
  EXPECT_FALSE(AreIn("10.2.0.0/15", "0a04ffff"));
  EXPECT_TRUE(AreIn("0.0.0.0/0", "ffffffff"));
  EXPECT_FALSE(AreIn("0.0.0.0/0", "20010db8000000000000000000000007"));
  EXPECT_TRUE(AreIn("10.0.0.1/32,2001:db8::7", "20010db8000000000000000000000007"));
  EXPECT_FALSE(AreIn("2001:db8::7", "20010db8000000000000000000000008"));
  EXPECT_TRUE(AreIn("2001:db8::/32", "20010db8ffff00000000000000000008"));
  EXPECT_FALSE(AreIn("2001:db8::/32", "20010db9000000000000000000000008"));
  // An IPv4 address has one form.
  EXPECT_TRUE(AreIn("::ffff:127.0.0.1", "7f000001"));
}

TEST(IpRangesTest, OtherTextsAreRefusedWithTheirPart) {
  for (const std::string text :
       {"localhost", "127.0.0", "127.0.0.1:7177", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
        "10.0.0.0/8x", "10.0.0.0/0008", "::1/129", "[::1]", "fe80::1%eth0", " 127.0.0.1"}) {
    for (const std::string& ranges : {text, "127.0.0.1," + text, text + ",127.0.0.1"}) {
      try {
        (void)posix::ParseIpRanges(ranges);
        ADD_FAILURE() << ranges;
      } catch (const std::invalid_argument& error) {
        EXPECT_EQ(std::string(error.what()).find("\"" + text + "\" is no numeric address"), 0u);
      }
    }
  }
  EXPECT_THROW((void)posix::ParseIpRanges("127.0.0.1,"), std::invalid_argument);
  EXPECT_THROW((void)posix::ParseIpRanges(","), std::invalid_argument);
}

// What counts as one address: an IPv6 network of 64 bits, an IPv4 address.
TEST(IpRangesTest, TheNetworkOfAnAddress) {
  const auto network = [](const std::string& hex) {
    const std::vector<uint8_t> bytes = FromHex(hex);
    const posix::NetworkAddress of = posix::NetworkOf(posix::IpAddressOf(View(bytes)));
    return ToHex({of.data(), of.size()});
  };
  EXPECT_EQ(network("20010db8000100020003000400050006"), "20010db8000100020000000000000000");
  EXPECT_EQ(network("c6336407"), "00000000000000000000ffffc6336407");
  EXPECT_EQ(network("00000000000000000000ffffc6336407"), "00000000000000000000ffffc6336407");
}

}  // namespace
}  // namespace sotto::server
