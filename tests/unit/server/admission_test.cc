// Who gets in, who leaves and who may begin a handshake, without sockets.
#include "net/admission.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

namespace sotto::server {
namespace {

using Id = Admission::Id;

Address Ipv4(uint8_t last) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last}; }

const Address kFleet = Ipv4(1);
const Address kAttacker = Ipv4(2);

struct Gate {
  explicit Gate(const AdmissionLimits& limits = {}) : admission(limits) {}

  // As a server does: who has to leave for the newcomer leaves. 0 if there is no room.
  Id Connect(const Address& from, bool is_proxy = false) {
    const Admission::Room room = admission.RoomFor(from, is_proxy, now_ms);
    if (!room.is_there) return 0;
    if (room.leaves != 0) Leave(room.leaves);
    return admission.Enter(from, now_ms);
  }
  Id ConnectAndSpeak(const Address& from, std::optional<uint32_t> device = {}) {
    const Id id = Connect(from);
    if (id != 0) admission.OnClientHello(id, device, now_ms);
    return id;
  }
  void Leave(Id id) {
    left.push_back(id);
    admission.Leave(id, now_ms);
  }
  std::vector<Id> BeginAll() {
    std::vector<Id> begun;
    while (const Id id = admission.NextHandshake(now_ms)) begun.push_back(id);
    return begun;
  }
  // A device proves its key from there and stays.
  Id Prove(const Address& from, uint32_t device) {
    const Id id = ConnectAndSpeak(from);
    EXPECT_EQ(BeginAll(), std::vector<Id>{id});
    admission.OnProof(id, device, now_ms);
    return id;
  }

  uint64_t now_ms = 1000000;
  Admission admission;
  std::vector<Id> left;
};

TEST(Admission, TheOldestSilentStrangerMakesRoom) {
  Gate gate({4, 64, 8});
  const Id first = gate.Connect(kAttacker);
  const Id second = gate.Connect(kAttacker);
  const Id third = gate.Connect(kFleet);
  const Id fourth = gate.Connect(kAttacker);
  gate.admission.OnClientHello(first, {}, gate.now_ms);
  EXPECT_NE(gate.Connect(kFleet), 0u);
  EXPECT_EQ(gate.left, std::vector<Id>{second});
  EXPECT_NE(gate.ConnectAndSpeak(kFleet), 0u);
  EXPECT_NE(gate.ConnectAndSpeak(kFleet), 0u);
  EXPECT_EQ(gate.left, (std::vector<Id>{second, third, fourth}));
  EXPECT_EQ(gate.admission.size(), 4u);
}

TEST(Admission, WhereAllHaveSpokenTheOldestOneThatWaitsMakesRoom) {
  Gate gate({2, 64, 8});
  const Id first = gate.ConnectAndSpeak(kAttacker);
  gate.ConnectAndSpeak(kAttacker);
  EXPECT_NE(gate.Connect(kFleet), 0u);
  EXPECT_EQ(gate.left, std::vector<Id>{first});
}

TEST(Admission, DevicesAndYoungHandshakesNeverMakeRoom) {
  Gate gate({2, 64, 8});
  gate.Prove(kFleet, 0);
  gate.ConnectAndSpeak(kAttacker);
  EXPECT_EQ(gate.BeginAll().size(), 1u);
  EXPECT_EQ(gate.Connect(kAttacker), 0u);
  EXPECT_TRUE(gate.left.empty());
}

TEST(Admission, WhereDevicesAndHandshakesHaveAllConnectionsAStalledHandshakeMakesRoom) {
  Gate gate({2, 64, 8});
  const Id device = gate.Prove(kFleet, 0);
  const Id stranger = gate.ConnectAndSpeak(kFleet);
  EXPECT_EQ(gate.BeginAll(), std::vector<Id>{stranger});
  gate.now_ms += kStallMs - 1;
  EXPECT_EQ(gate.Connect(kFleet), 0u);
  gate.now_ms += 1;
  EXPECT_NE(gate.Connect(kFleet), 0u);
  EXPECT_EQ(gate.left, std::vector<Id>{stranger});
  gate.Leave(device);
}

TEST(Admission, AnAddressFillsNoMoreThanAQuarterAndThenMakesRoomForItself) {
  Gate gate({1000, 64, 8});
  const Id honest = gate.Connect(Ipv4(3));
  for (int i = 0; i < 2000; ++i) gate.Connect(kAttacker);
  EXPECT_EQ(gate.admission.size(), 251u);
  EXPECT_EQ(gate.left.size(), 1750u);
  EXPECT_EQ(gate.left.front(), honest + 1);
}

// A proxy may bring hundreds before it has said of the first one whose it is.
TEST(Admission, AProxysAddressHasAllConnections) {
  Gate gate({1000, 64, 8});
  for (int i = 0; i < 1000; ++i) gate.Connect(kFleet, true);
  EXPECT_EQ(gate.left, std::vector<Id>{});
  gate.Connect(kFleet, true);
  EXPECT_EQ(gate.admission.size(), 1000u);
  EXPECT_EQ(gate.left, std::vector<Id>{1});
}

TEST(Admission, ThereAreSoManyHandshakesAtATimeAndSoManyOfOneAddress) {
  Gate gate({1000, 8, 3});
  for (int i = 0; i < 100; ++i) gate.ConnectAndSpeak(kAttacker);
  EXPECT_EQ(gate.BeginAll().size(), 3u);
  for (uint8_t address = 10; address < 30; ++address) gate.ConnectAndSpeak(Ipv4(address));
  EXPECT_EQ(gate.BeginAll().size(), 1u) << "half of the handshakes are kept";
  EXPECT_EQ(gate.admission.handshakes(), 4u);
}

TEST(Admission, AddressesTakeTurnsAndTheOldestOfAnAddressIsFirst) {
  Gate gate({1000, 4, 2});
  const Id a1 = gate.ConnectAndSpeak(kAttacker);
  const Id a2 = gate.ConnectAndSpeak(kAttacker);
  gate.ConnectAndSpeak(kAttacker);
  const Id b1 = gate.ConnectAndSpeak(kFleet);
  EXPECT_EQ(gate.BeginAll(), (std::vector<Id>{a1, b1}));
  gate.Leave(b1);
  EXPECT_EQ(gate.BeginAll(), (std::vector<Id>{a2}));
}

TEST(Admission, HandshakesAreKeptForAddressesWhereDevicesProvedTheirKeys) {
  Gate gate({1000, 8, 8});
  gate.Leave(gate.Prove(kFleet, 0));
  for (uint8_t address = 10; address < 60; ++address) gate.ConnectAndSpeak(Ipv4(address));
  EXPECT_EQ(gate.BeginAll().size(), 4u);
  for (int i = 0; i < 6; ++i) gate.ConnectAndSpeak(kFleet);
  EXPECT_EQ(gate.BeginAll().size(), 4u);
  EXPECT_EQ(gate.admission.handshakes(), 8u);
}

TEST(Admission, StrangersOfFavouredAddressesComeFirstAndMakeRoomLast) {
  Gate gate({4, 2, 8});
  const Id device = gate.Prove(kFleet, 0);
  const Id silent = gate.Connect(kFleet);
  const Id attacker = gate.ConnectAndSpeak(kAttacker);
  const Id speaker = gate.ConnectAndSpeak(kFleet);
  gate.Connect(kAttacker);
  EXPECT_EQ(gate.left, std::vector<Id>{attacker});
  EXPECT_EQ(gate.BeginAll(), std::vector<Id>{speaker});
  EXPECT_NE(device, 0u);
  EXPECT_NE(silent, 0u);
}

TEST(Admission, FavourEndsAfterItsTimeAndNotWhileADeviceIsThere) {
  Gate gate({1000, 2, 8});
  const Id device = gate.Prove(kFleet, 0);
  gate.now_ms += 10 * kFavourMs;
  EXPECT_TRUE(gate.admission.IsFavoured(gate.Connect(kFleet)));
  gate.Leave(device);
  gate.now_ms += kFavourMs - 1;
  EXPECT_TRUE(gate.admission.IsFavoured(gate.Connect(kFleet)));
  gate.now_ms += 1;
  EXPECT_FALSE(gate.admission.IsFavoured(gate.Connect(kFleet)));
}

TEST(Admission, ADeviceFavoursOneAddressOnly) {
  Gate gate;
  for (uint8_t address = 10; address < 20; ++address) gate.Leave(gate.Prove(Ipv4(address), 7));
  for (uint8_t address = 10; address < 19; ++address) {
    EXPECT_FALSE(gate.admission.IsFavoured(gate.Connect(Ipv4(address)))) << +address;
  }
  EXPECT_TRUE(gate.admission.IsFavoured(gate.Connect(Ipv4(19))));
}

TEST(Admission, FailedHandshakesSlowTheirAddressDownAndNoOther) {
  Gate gate;
  uint64_t failed = 0;
  const uint64_t begin_ms = gate.now_ms;
  for (; gate.now_ms < begin_ms + 10000; ++gate.now_ms) {
    gate.ConnectAndSpeak(kAttacker);
    for (const Id id : gate.BeginAll()) {
      gate.Leave(id);
      ++failed;
    }
  }
  EXPECT_GE(failed, 64u + 78);
  EXPECT_LE(failed, 64u + 81);
  gate.Prove(kFleet, 0);
}

TEST(Admission, ADeviceThatConnectsWithoutEndCountsAsFailing) {
  Gate gate;
  uint64_t proofs = 0;
  const uint64_t begin_ms = gate.now_ms;
  for (; gate.now_ms < begin_ms + 20000; ++gate.now_ms) {
    gate.ConnectAndSpeak(kAttacker);
    for (const Id id : gate.BeginAll()) {
      gate.admission.OnProof(id, 5, gate.now_ms);
      gate.Leave(id);
      ++proofs;
    }
  }
  // 32 and 2 a second are free; 64 and 8 a second count.
  EXPECT_LE(proofs, 32u + 40 + 64 + 160 + 4);
}

TEST(Admission, AStalledHandshakeEndsOnceSomebodyWaitsForItsPlace) {
  Gate gate({1000, 64, 2});
  const Id first = gate.ConnectAndSpeak(kAttacker);
  gate.ConnectAndSpeak(kAttacker);
  EXPECT_EQ(gate.BeginAll().size(), 2u);
  gate.now_ms += kStallMs;
  EXPECT_EQ(gate.admission.Stalled(gate.now_ms), 0u) << "nobody waits";
  const Id third = gate.ConnectAndSpeak(kAttacker);
  EXPECT_EQ(gate.admission.Stalled(gate.now_ms - 1), 0u) << "it has time";
  EXPECT_EQ(gate.admission.Stalled(gate.now_ms), first);
  gate.Leave(first);
  EXPECT_EQ(gate.BeginAll(), std::vector<Id>{third});
  EXPECT_EQ(gate.admission.Stalled(gate.now_ms), 0u);
}

TEST(Admission, AnAnnouncedDeviceBeginsFirstFromAnyAddressAndNeverMakesRoom) {
  Gate gate({100, 8, 2});
  for (uint8_t address = 10; address < 60; ++address) gate.ConnectAndSpeak(Ipv4(address));
  EXPECT_EQ(gate.BeginAll().size(), 4u);
  gate.ConnectAndSpeak(kAttacker);
  const Id device = gate.ConnectAndSpeak(kAttacker, 3);
  for (uint8_t address = 60; address < 200; ++address) gate.ConnectAndSpeak(Ipv4(address));
  EXPECT_EQ(std::count(gate.left.begin(), gate.left.end(), device), 0);
  EXPECT_EQ(gate.BeginAll(), std::vector<Id>{device});
  EXPECT_TRUE(gate.admission.IsFavoured(device));
  gate.admission.OnProof(device, 3, gate.now_ms);
  gate.Leave(device);
}

TEST(Admission, WhereHandshakesAreAllTakenAnAnnouncedDeviceEndsAStalledOne) {
  Gate gate({100, 2, 2});
  const Id first = gate.ConnectAndSpeak(kAttacker, 1);
  gate.ConnectAndSpeak(kAttacker, 1);
  EXPECT_EQ(gate.BeginAll().size(), 2u);
  const Id device = gate.ConnectAndSpeak(kFleet, 2);
  EXPECT_TRUE(gate.BeginAll().empty());
  gate.now_ms += kStallMs;
  EXPECT_EQ(gate.admission.Stalled(gate.now_ms), first);
  gate.Leave(first);
  EXPECT_EQ(gate.BeginAll(), std::vector<Id>{device});
}

TEST(Admission, ATokenAnnouncesFewConnectionsAtATimeAndInTheLongRun) {
  Gate gate({1000, 64, 3});
  const auto announced = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) gate.ConnectAndSpeak(kAttacker, 1);
    std::vector<Id> begun = gate.BeginAll();
    for (const Id id : begun) gate.Leave(id);
    return begun.size();
  };
  EXPECT_EQ(announced(10), kAnnouncedPerDevice + 1) << "and one as a stranger";
  size_t more = 0;
  for (int i = 0; i < 100; ++i) more += announced(1);
  EXPECT_LE(more, kSessionRate.burst + kFailureRate.burst) << "the address fails too often";
  gate.ConnectAndSpeak(kFleet, 2);
  EXPECT_EQ(gate.BeginAll().size(), 1u) << "another device";
}

TEST(Admission, TheOldestWithoutAProofIsOverdueFirst) {
  Gate gate;
  gate.Prove(kFleet, 0);
  const Id first = gate.ConnectAndSpeak(kAttacker);
  EXPECT_EQ(gate.BeginAll().size(), 1u);
  gate.now_ms += 10;
  gate.Connect(kAttacker);
  EXPECT_EQ(gate.admission.Overdue(gate.now_ms - 10), 0u);
  EXPECT_EQ(gate.admission.Overdue(gate.now_ms - 9), first);
}

TEST(Admission, AddressesAreForgotten) {
  Gate gate;
  for (uint8_t i = 0; i < 100; ++i) {
    gate.Leave(gate.Connect(Ipv4(static_cast<uint8_t>(100 + i))));
    gate.Leave(gate.ConnectAndSpeak(Ipv4(i)));
    gate.ConnectAndSpeak(Ipv4(i));
    for (const Id id : gate.BeginAll()) gate.Leave(id);
  }
  gate.Leave(gate.Prove(kFleet, 0));
  EXPECT_EQ(gate.admission.size(), 0u);
  gate.now_ms += 10000;
  const size_t all = gate.admission.addresses();
  gate.admission.Sweep(gate.now_ms, 10);
  EXPECT_EQ(gate.admission.addresses(), all - 10);
  gate.admission.Sweep(gate.now_ms, 1000);
  EXPECT_EQ(gate.admission.addresses(), 1u) << "the favoured one";
  gate.now_ms += kFavourMs;
  gate.admission.Sweep(gate.now_ms, 1000);
  EXPECT_EQ(gate.admission.addresses(), 0u);
}

TEST(Admission, WithOneHandshakeAtATimeEverybodyGetsItsTurn) {
  Gate gate({10, 1, 1});
  for (uint8_t address = 1; address < 6; ++address) gate.ConnectAndSpeak(Ipv4(address));
  for (int i = 0; i < 5; ++i) {
    const std::vector<Id> begun = gate.BeginAll();
    ASSERT_EQ(begun.size(), 1u);
    gate.Leave(begun.front());
  }
}

}  // namespace
}  // namespace sotto::server
