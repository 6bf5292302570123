// A persistent store in RAM, for simulated nodes. Part of sotto::server/sim.
//
// One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sotto/persistent_store.h"

namespace sotto::server {

class MemoryStore {
 public:
  // Points to this object, which outlives it.
  PersistentStore store() { return {Load, Save, this}; }

 private:
  static Status Load(void* context, StoreSlot slot, size_t offset, MutableByteSpan out,
                     size_t* size) {
    const std::vector<uint8_t>& record = static_cast<MemoryStore*>(context)->records_[slot];
    const size_t first = std::min(offset, record.size());
    *size = std::min(out.size(), record.size() - first);
    std::copy_n(record.data() + first, *size, out.begin());
    return Status::kOk;
  }

  static Status Save(void* context, StoreSlot slot, Span<const ByteSpan> parts) {
    std::vector<uint8_t>& record = static_cast<MemoryStore*>(context)->records_[slot];
    record.clear();
    for (const ByteSpan part : parts) record.insert(record.end(), part.begin(), part.end());
    return Status::kOk;
  }

  std::map<StoreSlot, std::vector<uint8_t>> records_;
};

}  // namespace sotto::server
