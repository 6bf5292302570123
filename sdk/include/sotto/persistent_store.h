// Small persistent memory of a device, which survives a reset. Part of sotto/base.
//
// A port implements two functions over a file, flash or EEPROM. A slot holds one record. save()
// replaces it as a whole: after a reset at any moment load() gives the old record or the new one,
// never a mixture. Each record has a checksum, so its reader notices worn-out memory. A record
// counts the updates that have left the device. An older copy, for example from a back-up, makes
// the device forget privacy that it has spent: never restore one.
//
// The SDK calls a store in the thread of the object that holds it. Both calls may block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

// One record for each use. Values name files and flash pages: never renumber.
enum class StoreSlot : uint8_t {
  kClient = 1,  // updates sent with private noise (client.h)
  kPeer = 2,    // publications of a node without a server (peer.h)
  // Values of personal layers (personal.h). It counts nothing: an older copy costs rounds of
  // training, and no privacy.
  kPersonal = 3,
};

struct PersistentStore {
  // Reads the record from `offset` on.
  //   out   any size
  //   size  bytes written to `out`: fewer than out.size() only at the record's end. 0 at offset 0:
  //         there is no record
  // Returns kOk, or kStoreFailed if the memory cannot be read.
  Status (*load)(void* context, StoreSlot slot, size_t offset, MutableByteSpan out,
                 size_t* size) = nullptr;

  // Replaces the record by these parts, concatenated. Returns kOk once the new record survives a
  // reset, or kStoreFailed: load() then gives the old record or the new one.
  Status (*save)(void* context, StoreSlot slot, Span<const ByteSpan> parts) = nullptr;

  void* context = nullptr;

  bool is_there() const { return load != nullptr && save != nullptr; }
};

}  // namespace sotto
