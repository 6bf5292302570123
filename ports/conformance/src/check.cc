#include "sotto/conformance/check.h"

#include <algorithm>
#include <cstring>

#include "sotto/self_test.h"

namespace sotto::conformance {
namespace {

constexpr uint8_t kGuard = 0xa5;
constexpr size_t kLargestRequest = 64;
constexpr size_t kLargestRecord = 200;

bool AllAre(uint8_t value, const uint8_t* bytes, size_t size) {
  return std::all_of(bytes, bytes + size, [=](uint8_t byte) { return byte == value; });
}

// Checks one request at the front of a buffer of twice the largest request's size. The bytes beyond
// the request must not change.
const char* CheckRequest(const Port& port, uint8_t* buffer, size_t size) {
  std::memset(buffer, kGuard, 2 * kLargestRequest);
  if (port.entropy(port.context, {buffer, size}) != Status::kOk) return "entropy: it fails";
  if (!AllAre(kGuard, buffer + size, 2 * kLargestRequest - size)) {
    return "entropy: it writes beyond what was asked for";
  }
  return nullptr;
}

const char* CheckBits(const Port& port, uint8_t* buffer) {
  uint8_t ever_set[kLargestRequest] = {};
  uint8_t always_set[kLargestRequest];
  std::memset(always_set, 0xff, sizeof(always_set));
  for (int draw = 0; draw < 64; ++draw) {
    if (const char* rule = CheckRequest(port, buffer, kLargestRequest)) return rule;
    for (size_t i = 0; i < kLargestRequest; ++i) {
      ever_set[i] = static_cast<uint8_t>(ever_set[i] | buffer[i]);
      always_set[i] = static_cast<uint8_t>(always_set[i] & buffer[i]);
    }
  }
  const bool moves =
      AllAre(0xff, ever_set, kLargestRequest) && AllAre(0, always_set, kLargestRequest);
  return moves ? nullptr : "entropy: a bit is the same in 64 requests in a row";
}

// Sends 4,096 bytes and receives them again.
class Echo {
 public:
  explicit Echo(const TlsIo& io) : io_(io) {}

  bool complete() const { return received_ == kTotal; }

  // Sends a piece of 1 to 61 bytes; the size differs from step to step.
  const char* SendSome() {
    uint8_t piece[kPiece];
    const size_t size = std::min<size_t>(1 + 7 * step_++ % 61, kTotal - sent_);
    if (size == 0) return nullptr;
    for (size_t i = 0; i < size; ++i) piece[i] = ByteAt(sent_ + i);
    const int count = io_.send(io_.context, piece, size);
    if (count < 0) return "link: sending fails";
    if (static_cast<size_t>(count) > size) return "link: more is sent than there is";
    sent_ += static_cast<size_t>(count);
    return nullptr;
  }

  const char* ReceiveSome() {
    uint8_t piece[kPiece + 1];
    std::memset(piece, kGuard, sizeof(piece));
    const size_t size = 1 + 5 * step_ % kPiece;
    const int count = io_.recv(io_.context, piece, size);
    if (count < 0) return "link: receiving fails";
    if (static_cast<size_t>(count) > size || !AllAre(kGuard, piece + size, sizeof(piece) - size)) {
      return "link: more is received than was asked for";
    }
    if (received_ + static_cast<size_t>(count) > sent_) return "link: bytes come that nobody sent";
    for (int i = 0; i < count; ++i) {
      if (piece[i] != ByteAt(received_++)) return "link: a byte is changed, missing or twice there";
    }
    return nullptr;
  }

 private:
  static constexpr size_t kTotal = 4096;
  static constexpr size_t kPiece = 64;

  // The bytes take all values, and no two blocks of 256 bytes are equal.
  static uint8_t ByteAt(size_t i) { return static_cast<uint8_t>(i * 7 + (i >> 8) * 3); }

  const TlsIo& io_;
  size_t step_ = 0;
  size_t sent_ = 0;
  size_t received_ = 0;
};

// A record of the check: byte i of the record with this seed.
uint8_t RecordByte(uint32_t seed, size_t i) { return static_cast<uint8_t>(seed * 37 + i * 11 + 1); }

// Saves `size` bytes, at most kLargestRecord, in four parts, one of them empty.
const char* SaveRecord(const PersistentStore& store, StoreSlot slot, uint32_t seed, size_t size) {
  uint8_t record[kLargestRecord];
  for (size_t i = 0; i < size; ++i) record[i] = RecordByte(seed, i);
  const size_t first = size / 3;
  const ByteSpan parts[] = {
      {record, first}, {record, 0}, {record + first, 1}, {record + first + 1, size - first - 1}};
  return store.save(store.context, slot, Span<const ByteSpan>(parts)) == Status::kOk
             ? nullptr
             : "store: saving fails";
}

// Reads at an offset, in a buffer with room for one byte more than is asked for.
const char* CheckRead(const PersistentStore& store, StoreSlot slot, uint32_t seed, size_t size,
                      size_t offset, size_t asked) {
  uint8_t out[kLargestRecord + 2];
  std::memset(out, kGuard, sizeof(out));
  const size_t left = offset < size ? size - offset : 0;
  const size_t expected = std::min(left, asked);
  size_t count = ~size_t{0};
  if (store.load(store.context, slot, offset, {out, asked}, &count) != Status::kOk) {
    return "store: loading fails";
  }
  if (count != expected) return "store: the number of bytes is wrong";
  for (size_t i = 0; i < count; ++i) {
    if (out[i] != RecordByte(seed, offset + i))
      return "store: a byte is not the one that was saved";
  }
  const bool is_guarded = AllAre(kGuard, out + asked, sizeof(out) - asked);
  return is_guarded ? nullptr : "store: it writes beyond what was asked for";
}

// The slot holds this record, wherever one begins to read; size 0: it is empty.
const char* CheckRecord(const PersistentStore& store, StoreSlot slot, uint32_t seed, size_t size) {
  const size_t offsets[] = {0, 1, size / 2, size, size + 5};
  const size_t sizes[] = {1, size / 2 + 1, size + 1};
  for (const size_t offset : offsets) {
    for (const size_t asked : sizes) {
      if (const char* rule = CheckRead(store, slot, seed, size, offset, asked)) return rule;
    }
  }
  return nullptr;
}

}  // namespace

const char* CheckArithmetic() {
  return SelfTest() == Status::kOk ? nullptr
                                   : "arithmetic: this build computes other bits; compile without "
                                     "-ffast-math, with -ffp-contract=off";
}

const char* CheckClock(const Port& port, void (*sleep_ms)(uint32_t ms)) {
  if (port.now_ms == nullptr) return "clock: there is none";
  uint64_t least_ms = ~uint64_t{0};
  for (int sleep = 0; sleep < 8; ++sleep) {
    const uint64_t begin_ms = port.now_ms(port.context);
    sleep_ms(20);
    const uint64_t end_ms = port.now_ms(port.context);
    if (end_ms < begin_ms) return "clock: it goes back";
    if (end_ms - begin_ms < 19) return "clock: it is slower than milliseconds";
    least_ms = std::min(least_ms, end_ms - begin_ms);
  }
  return least_ms < 10000 ? nullptr : "clock: it is faster than milliseconds";
}

const char* CheckEntropy(const Port& port) {
  if (port.entropy == nullptr) return "entropy: there is none";
  uint8_t buffer[2 * kLargestRequest];
  for (size_t size = 1; size <= kLargestRequest; ++size) {
    if (const char* rule = CheckRequest(port, buffer, size)) return rule;
  }
  return CheckBits(port, buffer);
}

const char* CheckLink(const Port& port, const TlsIo& io, uint32_t timeout_ms) {
  if (io.send == nullptr || io.recv == nullptr) return "link: there is none";
  Echo echo(io);
  const uint64_t begin_ms = port.now_ms(port.context);
  while (!echo.complete()) {
    if (const char* rule = echo.ReceiveSome()) return rule;  // the first time before any sending
    if (const char* rule = echo.SendSome()) return rule;
    if (port.now_ms(port.context) - begin_ms > timeout_ms) return "link: bytes do not come back";
  }
  return nullptr;
}

const char* CheckStore(PersistentStore (*open)()) {
  const StoreSlot slots[] = {StoreSlot::kClient, StoreSlot::kPeer};
  if (!open().is_there()) return "store: there is none";
  size_t sizes[] = {0, 0};
  for (uint32_t step = 0; step < 50; ++step) {
    const PersistentStore store = open();
    for (int i = 0; i < 2; ++i) {
      const uint32_t seed = step + 100 * static_cast<uint32_t>(i);  // of the step before
      if (const char* rule = CheckRecord(store, slots[i], seed, sizes[i])) return rule;
    }
    for (int i = 0; i < 2; ++i) {
      const uint32_t seed = step + 1 + 100 * static_cast<uint32_t>(i);
      sizes[i] = 1 + (step * 71 + 13 * static_cast<size_t>(i)) % (kLargestRecord - 1);
      if (const char* rule = SaveRecord(store, slots[i], seed, sizes[i])) return rule;
      if (const char* rule = CheckRecord(store, slots[i], seed, sizes[i])) return rule;
    }
  }
  return nullptr;
}

}  // namespace sotto::conformance
