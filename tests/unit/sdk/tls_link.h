// Two TLS sessions over pipes in memory, which can be narrow, cut or corrupted.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sotto/tls.h"
#include "unit/sdk/hex.h"

namespace sotto {

constexpr size_t kForever = static_cast<size_t>(-1);

// One direction of a link. `capacity` bytes are on the way at most.
struct Pipe {
  size_t capacity = 1000;
  size_t cut_after = kForever;   // the link dies once this many bytes have been sent
  size_t corrupt_at = kForever;  // the byte with this number arrives with a bit flipped
  std::deque<uint8_t> on_the_way;
  std::vector<uint8_t> history;  // as sent

  bool cut() const { return history.size() >= cut_after; }

  int Send(const uint8_t* bytes, size_t size) {
    if (cut()) return -1;
    const size_t room = std::min(capacity - on_the_way.size(), cut_after - history.size());
    const size_t count = std::min(size, room);
    for (size_t i = 0; i < count; ++i) {
      const bool corrupt = history.size() == corrupt_at;
      on_the_way.push_back(static_cast<uint8_t>(bytes[i] ^ (corrupt ? 0x10 : 0)));
      history.push_back(bytes[i]);
    }
    return static_cast<int>(count);
  }

  int Receive(uint8_t* out, size_t size) {
    const size_t count = std::min(size, on_the_way.size());
    if (count == 0) return cut() ? -1 : 0;
    std::copy_n(on_the_way.begin(), count, out);
    on_the_way.erase(on_the_way.begin(), on_the_way.begin() + static_cast<std::ptrdiff_t>(count));
    return static_cast<int>(count);
  }

  // Ends of the TLS records sent so far, as numbers of bytes.
  std::vector<size_t> RecordEnds() const {
    std::vector<size_t> ends;
    for (size_t at = 0; at + 5 <= history.size();) {
      at += 5 + size_t{history[at + 3]} * 256 + history[at + 4];
      ends.push_back(at);
    }
    return ends;
  }
};

// Descriptions of TLS alerts (RFC 5246, section 7.2).
constexpr int kNoAlert = -1;
constexpr int kAlertBadRecordMac = 20;
constexpr int kAlertHandshakeFailure = 40;
constexpr int kAlertProtocolVersion = 70;

// The description of the first fatal alert that was sent unencrypted.
inline int AlertIn(const Pipe& pipe) {
  const std::vector<uint8_t>& bytes = pipe.history;
  size_t begin = 0;
  for (const size_t end : pipe.RecordEnds()) {
    const bool is_alert = bytes[begin] == 21 && end - begin == 7 && end <= bytes.size();
    if (is_alert && bytes[begin + 5] == 2) return bytes[begin + 6];
    begin = end;
  }
  return kNoAlert;
}

// One side's view of the link.
struct LinkEnd {
  Pipe* to;
  Pipe* from;

  TlsIo io() {
    TlsIo io;
    io.context = this;
    io.send = [](void* self, const uint8_t* bytes, size_t size) {
      return static_cast<LinkEnd*>(self)->to->Send(bytes, size);
    };
    io.recv = [](void* self, uint8_t* out, size_t size) {
      return static_cast<LinkEnd*>(self)->from->Receive(out, size);
    };
    return io;
  }
};

struct Link {
  Pipe up;    // client to server
  Pipe down;  // server to client
  LinkEnd client{&up, &down};
  LinkEnd server{&down, &up};

  explicit Link(size_t capacity = 1000) { up.capacity = down.capacity = capacity; }
};

// Entropy with a fixed seed, which can fail, and a clock that stands.
struct TestEntropy {
  std::mt19937 generator{20240607};
  bool fails = false;
  uint64_t now_ms = 1'000'000;

  Port port() {
    Port port;
    port.context = this;
    port.now_ms = [](void* self) { return static_cast<TestEntropy*>(self)->now_ms; };
    port.entropy = [](void* self, MutableByteSpan out) {
      auto* entropy = static_cast<TestEntropy*>(self);
      if (entropy->fails) return Status::kEntropyFailed;
      for (uint8_t& byte : out) byte = static_cast<uint8_t>(entropy->generator());
      return Status::kOk;
    };
    return port;
  }
};

inline Key TestKey(uint8_t fill) {
  Key key;
  std::memset(key.bytes, fill, sizeof(key.bytes));
  return key;
}

// A server's key table; remembers for what names handshakes have asked.
struct TestKeys {
  std::map<std::string, Key> devices{{"pump-7", TestKey(7)}};
  std::vector<std::string> asked;

  Status Find(const std::string& name, Key* psk) const {
    const auto found = devices.find(name);
    if (found == devices.end()) return Status::kMismatch;
    *psk = found->second;
    return Status::kOk;
  }

  PskLookup lookup() {
    PskLookup lookup;
    lookup.context = this;
    lookup.find = [](void* self, ByteSpan identity, Key* psk) {
      const std::string name(identity.begin(), identity.end());
      static_cast<TestKeys*>(self)->asked.push_back(name);
      return static_cast<TestKeys*>(self)->Find(name, psk);
    };
    lookup.find_current = [](void* self, ByteSpan identity, Key* psk) {
      return static_cast<TestKeys*>(self)->Find({identity.begin(), identity.end()}, psk);
    };
    return lookup;
  }
};

// Both sides, ready for the handshake. Members go from what is used to what uses it.
struct TlsPair {
  TestEntropy entropy;
  TestKeys keys;
  Link link;
  TlsContext client_context;
  TlsContext server_context;
  TlsSession client;
  TlsSession server;
  Status client_status = Status::kWouldBlock;  // of the handshake
  Status server_status = Status::kWouldBlock;

  explicit TlsPair(size_t capacity = 1000, const std::string& identity = "pump-7",
                   const Key& psk = TestKey(7), const TlsConfig& config = {})
      : link(capacity) {
    EXPECT_EQ(client_context.InitClient(entropy.port(), View(identity), psk, config), Status::kOk);
    EXPECT_EQ(server_context.InitServer(entropy.port(), keys.lookup()), Status::kOk);
    Start();
  }

  void Start() {
    EXPECT_EQ(client.Start(&client_context, link.client.io()), Status::kOk);
    EXPECT_EQ(server.Start(&server_context, link.server.io()), Status::kOk);
    client_status = server_status = Status::kWouldBlock;
  }

  // One step of one side; a side that fails closes, so that its alert leaves.
  static void Step(TlsSession* session, Status* status) {
    if (*status == Status::kWouldBlock) *status = session->Handshake();
    if (*status != Status::kWouldBlock && *status != Status::kOk) (void)session->Close();
  }

  // Runs the handshake until both sides have their status or nothing moves any more.
  void Handshake() {
    for (int i = 0; i < 20000 && !(Ended(client_status) && Ended(server_status)); ++i) {
      Step(&client, &client_status);
      Step(&server, &server_status);
    }
  }

  static bool Ended(Status status) { return status != Status::kWouldBlock; }

  bool Connected() {
    Handshake();
    return client_status == Status::kOk && server_status == Status::kOk;
  }
};

}  // namespace sotto
