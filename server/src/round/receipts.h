// Receipts: what devices have seen of a store's log, so that an older copy of the store is noticed.
// Part of sotto::server/round.
//
// A device gets a receipt with each task and returns its last one with each Hello. The receipt
// names a committed attempt:
//
//   bytes   0       format, 1
//           1..16   id of the job
//          17..20   round, u32le
//          21..24   attempt, u32le
//          25..32   tag: HMAC-SHA-256 of the attempt's record in the log, cut to 8 bytes
//          33..48   MAC: HMAC-SHA-256 of bytes 0..32, cut to 16 bytes
//
// Both HMACs are under keys that derive from a key in the log. So no device can make a receipt, and
// the tag tells devices nothing about a record, for example about who else was drawn.
//
// Lemma. A genuine receipt whose attempt the log does not hold, or holds with another record, comes
// from another continuation of this log. Proof: the server commits an attempt before it gives the
// attempt's receipt, and records are never changed or removed. So the log that made the receipt
// holds the attempt with the record of the tag. Remark: a chance equality of two tags has
// probability 2^-64, a forged MAC 2^-128 a trial.
//
// All methods are safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "sotto/crypto.h"
#include "sotto/keys.h"
#include "sotto/messages.h"

namespace sotto::server {

constexpr size_t kReceiptSize = 49;
static_assert(kReceiptSize <= kMaxReceiptSize, "a device must be able to keep it");

// A device has seen what the log does not hold.
class StaleLog : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Receipts {
 public:
  // key  of the log; whoever knows it can make receipts
  explicit Receipts(const Key& key);

  // An attempt that the log holds.
  //   job_id  [kJobIdSize]
  //   record  digest of its record
  void Add(ByteSpan job_id, uint32_t round, uint32_t attempt, ByteSpan record);

  // The receipt of an attempt that was added. The bytes live as long as this object.
  ByteSpan Of(ByteSpan job_id, uint32_t round, uint32_t attempt) const;

  // Takes the receipt of a Hello. Counts and ignores one that this log's key did not make, so that
  // no device can stop a server by a made-up one. Throws StaleLog that says which attempt a genuine
  // receipt names if the log does not hold that attempt as it was. An empty receipt is fine.
  void Check(ByteSpan receipt);

  // Receipts that Check() ignored.
  uint64_t ignored() const;

 private:
  struct Attempt {
    std::array<uint8_t, kJobIdSize> job_id;
    uint32_t round;
    uint32_t attempt;
    bool operator<(const Attempt& other) const;
  };
  using Receipt = std::array<uint8_t, kReceiptSize>;

  static Attempt NameOf(ByteSpan job_id, uint32_t round, uint32_t attempt);
  static Attempt NameIn(ByteSpan receipt);
  bool IsKnown(ByteSpan receipt) const;
  void Sign(Receipt& receipt) const;

  const Key tag_key_;
  const Key mac_key_;
  mutable std::mutex mutex_;          // guards the next two members
  std::map<Attempt, Receipt> known_;  // the entries never change
  uint64_t ignored_ = 0;
};

}  // namespace sotto::server
