#include "sotto/posix/record_store.h"

#include <exception>

#include "sotto/posix/files.h"

namespace sotto::posix {
namespace {

// Runs `body`. An exception becomes kStoreFailed, and its message `error`.
template <typename Body>
Status Guarded(std::string& error, const Body& body) noexcept {
  try {
    error.clear();
    body();
    return Status::kOk;
  } catch (const std::exception& exception) {
    try {
      error = exception.what();
    } catch (...) {  // no memory for the message
    }
    return Status::kStoreFailed;
  }
}

}  // namespace

RecordStore::RecordStore(const std::string& prefix)
    : updates_(prefix + ".updates"), peer_(prefix + ".peer") {}

void RecordStore::SetPath(StoreSlot slot, const std::string& path) {
  (slot == StoreSlot::kPeer ? peer_ : updates_) = path;
}

const std::string& RecordStore::path(StoreSlot slot) const {
  return slot == StoreSlot::kPeer ? peer_ : updates_;
}

Status RecordStore::Load(void* self, StoreSlot slot, size_t offset, MutableByteSpan out,
                         size_t* size) {
  auto* const store = static_cast<RecordStore*>(self);
  return Guarded(store->error_, [&] { *size = ReadPrivateFileAt(store->path(slot), offset, out); });
}

Status RecordStore::Save(void* self, StoreSlot slot, Span<const ByteSpan> parts) {
  auto* const store = static_cast<RecordStore*>(self);
  return Guarded(store->error_, [&] {
    size_t size = 0;
    for (const ByteSpan& part : parts) size += part.size();
    SecretText record;
    record.text.reserve(size);
    for (const ByteSpan& part : parts) record.text.append(part.begin(), part.end());
    ReplacePrivateFile(store->path(slot), record.text);
  });
}

}  // namespace sotto::posix
