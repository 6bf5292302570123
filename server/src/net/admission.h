// Who may connect, and who may begin a handshake: bookkeeping for strangers. Part of
// sotto::server/net.
//
//   silent --OnClientHello()--> waiting --NextHandshake()--> handshake --OnProof()--> proved
//      any stage --Leave()--> gone
//
// A stranger is a connection that has not proved a device's key yet. Until then the server knows
// little more of it than the address from which it comes. So limits and turns go by address:
//
//   1. There are at most `connections`. When all are taken, the oldest silent stranger makes room
//      for the next one, and the oldest waiting stranger where all have spoken. Handshakes make
//      room by rule 7 alone, devices never.
//   2. One address has at most a quarter of the connections for its silent and waiting strangers.
//      Beyond that its own oldest one makes room. A proxy's address has no such limit: its
//      strangers are others', who enter from their own address as soon as the proxy has named it.
//   3. There are at most `handshakes` at a time, and `handshakes_per_address` of one address.
//      Addresses take turns; within one address the oldest stranger is first.
//   4. A stranger that says the token of a device (hello_tokens.h) is announced. It never makes
//      room, and its handshake begins before all others, as soon as there is a place; its address
//      does not matter. A device has at most kAnnouncedPerDevice such connections at a time, and
//      kSessionRate of them, in case it is dishonest or somebody else has read its token. Further
//      ones are strangers like others.
//   5. Half of the handshakes are kept for favoured addresses: those where a device is, or was
//      within the last kFavourMs. Strangers of favoured addresses come first, and make room
//      last. Each device favours one address, the one where it was last; so a dishonest device
//      cannot favour many.
//   6. A handshake that makes no proof counts against its address: kFailureRate. A device that
//      connects more often than kSessionRate counts in the same way.
//   7. A handshake that takes longer than kStallMs ends when another stranger waits for its place,
//      or comes while devices and handshakes have all connections.
//
// All steps take logarithmic time. An address is forgotten once nothing of it matters any more. The
// caller owns the connections, and closes the ones that this class names. One thread at a time. The
// caller passes the time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/rates.h"

namespace sotto::server {

// An IPv6 network of 64 bits, or an IPv4 address in its IPv6 form.
using Address = std::array<uint8_t, 16>;

struct AdmissionLimits {
  size_t connections = 4096;
  size_t handshakes = 64;
  size_t handshakes_per_address = 8;
};

constexpr uint64_t kFavourMs = 3600 * 1000;
constexpr uint64_t kStallMs = 3000;
constexpr size_t kAnnouncedPerDevice = 2;
constexpr Rate kFailureRate = {125, 64};  // handshakes of one address: 8 a second
constexpr Rate kSessionRate = {500, 32};  // connections of one device: 2 a second

class Admission {
 public:
  // A connection. Identifiers ascend in the order in which connections enter; 0 is none.
  using Id = uint64_t;

  explicit Admission(const AdmissionLimits& limits);

  // Whether another connection from this address may enter, and who leaves for it first.
  //   is_proxy  a proxy has the address, and the operator has named it
  struct Room {
    bool is_there = false;
    Id leaves = 0;
  };
  Room RoomFor(const Address& from, bool is_proxy, uint64_t now_ms) const;

  // A silent stranger enters. Throws std::bad_alloc; nothing has then changed.
  Id Enter(const Address& from, uint64_t now_ms);

  // The stranger has sent a whole ClientHello, with the token of `device` if there is one.
  void OnClientHello(Id id, std::optional<uint32_t> device, uint64_t now_ms);

  // The waiting stranger whose handshake begins now; 0 if none may begin.
  Id NextHandshake(uint64_t now_ms);

  // The handshake is complete: the connection is that device's.
  void OnProof(Id id, uint32_t device, uint64_t now_ms);

  // The connection is closed.
  void Leave(Id id, uint64_t now_ms);

  // The newest connection that entered.
  Id newest() const { return last_id_; }

  // A handshake that must end for somebody who waits; 0: none.
  Id Stalled(uint64_t now_ms) const;

  // The oldest connection without a proof that entered before `before_ms`; 0: none.
  Id Overdue(uint64_t before_ms) const;

  // The stranger that makes room first, for a server that can open no more files; 0: none.
  Id OldestSilent() const { return evictable_.empty() ? 0 : evictable_.begin()->second; }

  // Whether its handshake comes before the handshakes of other strangers.
  bool IsFavoured(Id id) const { return entries_.at(id).favoured; }

  // Forgets at most this many addresses that no longer matter. Call it now and then.
  void Sweep(uint64_t now_ms, size_t most);

  const AdmissionLimits& limits() const { return limits_; }
  size_t size() const { return entries_.size(); }
  size_t handshakes() const { return handshakes_.size(); }
  size_t addresses() const { return sources_.size(); }

 private:
  enum class Stage : uint8_t { kSilent, kWaiting, kHandshake, kProved };
  // The list in which an address stands. The first two are turns.
  enum class List : uint8_t { kFavoured, kStrangers, kPenalised, kForgotten, kNone };

  struct Source {
    std::set<Id> silent;
    std::set<Id> waiting;
    size_t connections = 0;
    size_t handshakes = 0;
    size_t proved = 0;
    Bucket failures;
    std::set<uint32_t> devices;      // that favour this address
    uint64_t favoured_until_ms = 0;  // if proved is 0
    List list = List::kNone;
    uint64_t key = 0;  // in the list: a turn, or a time
  };
  using Sources = std::map<Address, Source>;

  struct Entry {
    Sources::iterator source;
    uint64_t entered_ms = 0;
    uint64_t handshake_ms = 0;  // when its handshake began
    Stage stage = Stage::kSilent;
    bool favoured = false;              // announced, or by its address when it entered
    std::optional<uint32_t> announced;  // as this device, until its proof
  };

  struct Announcements {
    size_t open = 0;  // connections that wait or are in their handshake
    Bucket rate;
  };

  struct Device {
    Address address;
    Bucket sessions;
  };

  static bool IsFavoured(const Source& source, uint64_t now_ms);
  static std::pair<int, Id> RankOf(const Entry& entry, Id id);
  std::set<std::pair<uint64_t, Address>>& Queue(List list) {
    return lists_[static_cast<int>(list)];
  }
  const std::set<std::pair<uint64_t, Address>>& Queue(List list) const {
    return lists_[static_cast<int>(list)];
  }
  bool HasPlaceFor(List list) const;
  List ListFor(const Source& source, uint64_t now_ms, uint64_t* time_ms) const;
  void Place(Sources::iterator source, uint64_t now_ms);
  bool Announce(Id id, Entry& entry, uint32_t device, uint64_t now_ms);
  Id BeginAnnounced(uint64_t now_ms);
  Id Begin(List list, uint64_t now_ms);
  void StartHandshake(Id id, Entry& entry, uint64_t now_ms);
  void EndHandshake(Id id, Entry& entry);
  void EndAnnouncement(Id id, Entry& entry);
  void Favour(Sources::iterator source, uint32_t device, uint64_t now_ms);

  const AdmissionLimits limits_;
  const size_t strangers_per_address_;
  const size_t kept_;  // handshakes for favoured addresses

  Id last_id_ = 0;
  uint64_t last_turn_ = 0;
  std::unordered_map<Id, Entry> entries_;
  Sources sources_;
  std::unordered_map<uint32_t, Device> devices_;  // as in Source::devices
  std::set<std::pair<int, Id>> evictable_;        // silent and waiting, the first to leave first
  std::set<Id> announced_;                        // that wait
  std::unordered_map<uint32_t, Announcements> announced_of_;  // by device
  std::set<Id> unproved_;
  std::vector<Id> handshakes_;  // in the order in which they began
  size_t stranger_handshakes_ = 0;
  std::set<std::pair<uint64_t, Address>> lists_[4];  // by List
};

}  // namespace sotto::server
