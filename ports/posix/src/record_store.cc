#include "sotto/posix/record_store.h"

#include <exception>
#include <optional>

#include "sotto/posix/files.h"

namespace sotto::posix {
namespace {

// Runs `body`. An exception becomes kStoreFailed and is kept.
template <typename Body>
Status Guarded(std::exception_ptr& error, const Body& body) noexcept {
  error = nullptr;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  return error ? Status::kStoreFailed : Status::kOk;
}

size_t IndexOf(StoreSlot slot) { return static_cast<size_t>(slot) - 1; }

// A file that a crash of its file system has emptied is no slot without a record.
size_t ReadRecord(const std::string& path, size_t offset, MutableByteSpan out) {
  const std::optional<size_t> size = ReadPrivateFileAt(path, offset, out);
  if (size && *size == 0 && offset == 0 && !out.empty()) {
    throw FileError(path + ": it is empty, and no record is; it was damaged, or is another file");
  }
  return size.value_or(0);
}

}  // namespace

RecordStore::RecordStore(const std::string& prefix)
    : paths_{prefix + ".updates", prefix + ".peer", prefix + ".personal"} {}

void RecordStore::SetPath(StoreSlot slot, const std::string& path) {
  RemoveLeftovers(path);
  paths_[IndexOf(slot)] = path;
}

const std::string& RecordStore::path(StoreSlot slot) const { return paths_[IndexOf(slot)]; }

std::string RecordStore::error() const {
  if (!error_) return {};
  try {
    ThrowError();
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

Status RecordStore::Load(void* self, StoreSlot slot, size_t offset, MutableByteSpan out,
                         size_t* size) {
  auto* const store = static_cast<RecordStore*>(self);
  return Guarded(store->error_, [&] { *size = ReadRecord(store->path(slot), offset, out); });
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
