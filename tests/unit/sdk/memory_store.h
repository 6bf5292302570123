// For tests: a persistent store in memory that survives the objects that use it, and can fail.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "sotto/persistent_store.h"

namespace sotto {

struct MemoryStore {
  std::map<StoreSlot, std::vector<uint8_t>> records;
  int loads = 0;
  int saves = 0;
  int fail_load = -1;         // the load that fails, from 0
  int fail_save = -1;         // the save that fails, from 0
  bool keeps_failed = false;  // a save that fails has replaced the record all the same

  PersistentStore store() { return {Load, Save, this}; }

  static Status Load(void* context, StoreSlot slot, size_t offset, MutableByteSpan out,
                     size_t* size) {
    auto* self = static_cast<MemoryStore*>(context);
    if (self->loads++ == self->fail_load) return Status::kStoreFailed;
    const std::vector<uint8_t>& record = self->records[slot];
    const size_t left = offset < record.size() ? record.size() - offset : 0;
    *size = std::min(left, out.size());
    if (*size > 0) std::copy_n(record.data() + offset, *size, out.begin());
    return Status::kOk;
  }

  static Status Save(void* context, StoreSlot slot, Span<const ByteSpan> parts) {
    auto* self = static_cast<MemoryStore*>(context);
    const bool fails = self->saves++ == self->fail_save;
    if (fails && !self->keeps_failed) return Status::kStoreFailed;
    std::vector<uint8_t>& record = self->records[slot];
    record.clear();
    for (const ByteSpan& part : parts) record.insert(record.end(), part.begin(), part.end());
    return fails ? Status::kStoreFailed : Status::kOk;
  }
};

}  // namespace sotto
