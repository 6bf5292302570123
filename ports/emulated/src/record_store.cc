#include "sotto/emulated/record_store.h"

#include <cstring>

#include "host_file.h"

namespace sotto::emulated {
namespace {

using Mode = HostFile::Mode;

// The ends of the files' names, by page.
constexpr const char* kEnds[kStorePages] = {".updates.0", ".updates.1", ".peer.0", ".peer.1"};

const char* PrefixOf(void* context) { return static_cast<const char*>(context); }

// What is not in the file is erased.
Status ReadPage(void* context, uint32_t page, size_t offset, MutableByteSpan out) {
  const HostFile file(PrefixOf(context), kEnds[page], Mode::kRead);
  if (!file.is_open() && !file.is_missing()) return Status::kStoreFailed;
  const uint32_t size = file.is_open() ? file.size() : 0;
  if (size == HostFile::kNoSize) return Status::kStoreFailed;
  const size_t left = offset < size ? size - offset : 0;
  const size_t count = left < out.size() ? left : out.size();
  std::memset(out.data() + count, 0xff, out.size() - count);
  if (count == 0) return Status::kOk;
  return file.Seek(offset) && file.Read(out.first(count)) ? Status::kOk : Status::kStoreFailed;
}

Status ErasePage(void* context, uint32_t page) {
  const HostFile file(PrefixOf(context), kEnds[page], Mode::kTruncate);
  return file.is_open() ? Status::kOk : Status::kStoreFailed;
}

Status ProgramPage(void* context, uint32_t page, size_t offset, ByteSpan bytes) {
  const HostFile file(PrefixOf(context), kEnds[page], Mode::kUpdate);
  const bool is_written = file.is_open() && file.Seek(offset) && file.Write(bytes);
  return is_written ? Status::kOk : Status::kStoreFailed;
}

}  // namespace

RecordStore::RecordStore(const char* prefix, size_t page_size)
    : pages_({ReadPage, ErasePage, ProgramPage, const_cast<char*>(prefix), page_size}) {}

}  // namespace sotto::emulated
