// The privacy against the server that a device has spent, counted over resets.
// Part of sotto/client.
//
// Each update with private noise costs a device privacy (client.h). A ledger keeps the total in the
// port's persistent store. Order: the new total is saved before the first byte of the update can
// leave. So after a reset, a lost link or a failed round the ledger may count an update that nobody
// has seen; it never omits one.
//
// The record, in StoreSlot::kClient, little endian:
//
//   bytes 0..3    "SoUp"
//   byte  4       version: 1. A new layout takes the next number, and reads the old ones
//   bytes 5..7    0
//   bytes 8..11   updates with private noise
//   bytes 12..19  their total rho, in units of 2^-32
//   bytes 20..35  the first 16 bytes of SHA-256 of bytes 0..19
//
// A record that is damaged, or of another version, is an error and never a total of zero.
//
// Nothing is allocated. One thread at a time.
#pragma once

#include <cstdint>

#include "sotto/persistent_store.h"
#include "sotto/train_task.h"

namespace sotto {

// The total of a device's updates with private noise, over all jobs and servers.
struct PrivateSpending {
  uint32_t updates = 0;
  // Zero-concentrated differential privacy in units of 2^-32, rounded up; the largest value means
  // "at least". An update of multiplier z costs rho = 1 / (2 z^2) under replace-one adjacency, and
  // rho adds up over updates of different z. A total of rho is (epsilon, delta)-DP for every delta
  // with epsilon = rho + 2 sqrt(rho ln(1 / delta)).  Source: Bun and Steinke, "Concentrated
  // Differential Privacy", 2016, Proposition 1.6, Lemma 1.7 and Proposition 1.3.
  uint64_t rho_q32 = 0;
};

// rho of one update of this task, rounded up: 1 / (2 z^2) for its multiplier z, in integers. The
// largest value if z < 2^-12 (a rho beyond 2^23).
uint64_t PrivateRhoQ32(const TrainTask& task);

// The ledger of a Client. Plain data.
struct UpdateLedger {
  // Reads the total; zeros if there is no record. Returns kOk, kMalformed for a damaged record,
  // kStoreFailed or kCryptoFailed (total unchanged).
  Status (*load)(const PersistentStore& store, PrivateSpending* total) = nullptr;

  // Adds one update of this task to `total` and saves it. Returns kOk once it would survive a
  // reset, or kOutOfRange if no more updates can be counted, kStoreFailed or kCryptoFailed: the
  // update must then not be sent.
  Status (*charge)(const PersistentStore& store, const TrainTask& task,
                   PrivateSpending* total) = nullptr;

  PersistentStore store;

  bool is_there() const { return load != nullptr && charge != nullptr && store.is_there(); }
};

namespace internal {

Status LoadSpending(const PersistentStore& store, PrivateSpending* total);
Status ChargeSpending(const PersistentStore& store, const TrainTask& task, PrivateSpending* total);

}  // namespace internal

// A ledger in this store. A program that does not call it links none of the ledger's code.
inline UpdateLedger LedgerIn(const PersistentStore& store) {
  return {internal::LoadSpending, internal::ChargeSpending, store};
}

}  // namespace sotto
