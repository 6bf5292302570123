// The persistent store of a POSIX system: a file for each record. Part of sotto/posix.
//
// save() writes a new file, makes it durable and gives it the record's name, so a killed process or
// a power failure leaves the old record or the new one. Files belong to their owner alone; one that
// others may read or write is refused, and an empty one: no record is empty. No exception leaves
// the two functions. One process at a time uses the files; one thread at a time the object.
#pragma once

#include <exception>
#include <string>

#include "sotto/persistent_store.h"

namespace sotto::posix {

class RecordStore {
 public:
  // The records are PREFIX.updates, PREFIX.peer and PREFIX.personal, in a folder that exists.
  explicit RecordStore(const std::string& prefix);
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // Keeps the record of a slot in this file instead. Removes what a killed program left beside it.
  void SetPath(StoreSlot slot, const std::string& path);
  const std::string& path(StoreSlot slot) const;

  // The store of these files; the object must outlive it.
  PersistentStore store() { return {Load, Save, this}; }

  // Why the last call failed: a sentence that names the file and the remedy. Empty: it did not.
  std::string error() const;
  // Throws that reason as files.h does, a FileError if only the file's owner can help. The last
  // call failed.
  [[noreturn]] void ThrowError() const { std::rethrow_exception(error_); }

 private:
  static Status Load(void* self, StoreSlot slot, size_t offset, MutableByteSpan out, size_t* size);
  static Status Save(void* self, StoreSlot slot, Span<const ByteSpan> parts);

  std::string paths_[3];  // in the order of the slots
  std::exception_ptr error_;
};

}  // namespace sotto::posix
