// Receipts: what devices have seen of a store's log, so that an older copy of the store is noticed.
// Part of sotto::server/round.
//
// A device gets a receipt with each task and returns its last one with each Hello. The receipt
// names a committed attempt, and the device's turns over the store's life, that attempt included:
//
//   bytes   0       format, 2
//           1..16   id of the job
//          17..20   round, u32le
//          21..24   attempt, u32le
//          25..32   tag: HMAC-SHA-256 of the attempt's record in the log, cut to 8 bytes
//          33..34   turns, u16le; 65535: so many or more
//          35..38   mu^2 of these turns, 39..42 encoded coordinates, 43..46 probability that an
//                   update is too long (privacy::Turns): float32, little-endian, rounded up
//          47..62   MAC: HMAC-SHA-256 of bytes 0..46, cut to 16 bytes
//
// Format 1, of earlier builds, has the MAC at 33..48 and no turns. Both HMACs are under keys that
// derive from a key in the log. So no device can make a receipt, and the tag tells devices nothing
// about a record, for example about who else was drawn.
//
//   Lemma 1. A genuine receipt whose attempt the log does not hold, or holds with another record,
//     comes from another continuation of this log. Proof: the server commits an attempt before it
//     gives the attempt's receipt, and records are never changed or removed. So the log that made
//     the receipt holds the attempt with the record of the tag. Remark: a chance equality of two
//     tags has probability 2^-64, a forged MAC 2^-128 a trial.
//
// An older copy may be recovered (store/device_receipts.h): from then on it asks only devices that
// have settled. A device settles with its receipt, and is charged for what the receipt has above
// the log.
//
//   Lemma 2. Let a device keep its last receipt. On a recovered log it is charged for at least all
//     turns, in any continuation, whose sum holds anything of it. Proof: by induction over its
//     tasks, the last receipt bounds them. The device gets a receipt with each task, before it
//     trains, and the receipt's turns are the log's, which bound those before, and that attempt.
//     Attempts for which it got no task hold nothing of it. When it settles, each of the four
//     numbers of the log becomes the larger one of the log's and the receipt's. So the log bounds
//     them again before the device is asked. Also a receipt of a known attempt is charged: the copy
//     may be from before the attempt's seal. Until it settles on a log it gets no task from it.
//   Remarks. The charge may be too large: for an attempt that was given up, and by the rounding. A
//     device that shows no receipt of format 2 never settles. What a copy released before it was
//     recovered is covered if it was made between two attempts, for devices that kept their
// receipts:
//     the server stops when it sees the first one. Each job charges its turns with as many
//     colluders as it assumes.
//
// All methods are safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "plans/turns.h"
#include "sotto/crypto.h"
#include "sotto/keys.h"
#include "sotto/messages.h"

namespace sotto::server {

constexpr size_t kReceiptSize = 63;
constexpr size_t kFormerReceiptSize = 49;  // of format 1
static_assert(kReceiptSize <= kMaxReceiptSize, "a device must be able to keep it");

// In the text of each StaleLog.
inline constexpr char kOlderCopy[] = "the store is an older copy";

// A device has seen what the log does not hold.
class StaleLog : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Receipts {
 public:
  // key  of the log; a person who knows it can make receipts
  explicit Receipts(const Key& key);

  // An attempt that the log holds.
  //   job_id  [kJobIdSize]
  //   record  digest of its record
  void Add(ByteSpan job_id, uint32_t round, uint32_t attempt, ByteSpan record);

  // The receipt of an attempt that was added, for a device with these turns. The bytes live until
  // the next but one Add().
  //   device  DeviceRegistry::NumberOf()
  ByteSpan Of(ByteSpan job_id, uint32_t round, uint32_t attempt, int64_t device,
              const privacy::Turns& turns);

  // What a receipt says.
  struct Seen {
    bool is_genuine = false;  // this log's key made it
    bool is_known = false;    // the log holds the attempt as it was
    std::string why_stale;    // genuine, and not known: for people
    std::array<uint8_t, kJobIdSize> job_id = {};
    std::optional<privacy::Turns> turns;  // of format 2, if it can say how many they are
  };

  // Counts one that this log's key did not make, so that no device can stop a server by a made-up
  // one. An empty receipt is fine.
  Seen Read(ByteSpan receipt);

  // The same; throws StaleLog that says which attempt a genuine receipt names if the log does not
  // hold that attempt as it was.
  void Check(ByteSpan receipt);

  // Receipts that are not genuine.
  uint64_t ignored() const;

 private:
  struct Attempt {
    std::array<uint8_t, kJobIdSize> job_id;
    uint32_t round;
    uint32_t attempt;
    bool operator<(const Attempt& other) const;
  };
  using Receipt = std::array<uint8_t, kReceiptSize>;
  using Tag = std::array<uint8_t, 8>;
  using Given = std::map<std::pair<Attempt, int64_t>, Receipt>;

  static Attempt NameOf(ByteSpan job_id, uint32_t round, uint32_t attempt);
  static Attempt NameIn(ByteSpan receipt);
  bool IsGenuine(ByteSpan receipt) const;

  const Key tag_key_;
  const Key mac_key_;
  mutable std::mutex mutex_;      // guards the next three members
  std::map<Attempt, Tag> known_;  // the entries never change
  Given given_[2];                // since the last Add(), and between that and the one before
  uint64_t ignored_ = 0;
};

}  // namespace sotto::server
