#include "sotto/mps2/record_store.h"

#include <cstring>

#include "semihosting_call.h"

namespace sotto::mps2 {
namespace {

constexpr uint32_t kSysOpen = 0x01;
constexpr uint32_t kSysClose = 0x02;
constexpr uint32_t kSysWrite = 0x05;
constexpr uint32_t kSysRead = 0x06;
constexpr uint32_t kSysSeek = 0x0a;
constexpr uint32_t kSysFlen = 0x0c;
constexpr uint32_t kSysErrno = 0x13;
constexpr uint32_t kNoSuchFile = 2;  // ENOENT

// fopen()'s modes, as SYS_OPEN numbers them.
enum class Mode : uint32_t { kRead = 1 /* rb */, kUpdate = 3 /* r+b */, kTruncate = 5 /* wb */ };

uint32_t AddressOf(const void* pointer) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer));
}

// The file that stands for a page; closed by the destructor.
class PageFile {
 public:
  PageFile(const char* prefix, uint32_t page, Mode mode) {
    constexpr const char* kEnds[kStorePages] = {".updates.0", ".updates.1", ".peer.0", ".peer.1"};
    char name[kMaxPrefix + 16];
    const size_t size = std::strlen(prefix);
    if (size > kMaxPrefix) return;
    std::memcpy(name, prefix, size);
    std::strcpy(name + size, kEnds[page]);
    const uint32_t arguments[] = {AddressOf(name), static_cast<uint32_t>(mode),
                                  static_cast<uint32_t>(std::strlen(name))};
    handle_ = SemihostingCall(kSysOpen, arguments);
    is_missing_ = !is_open() && SemihostingCall(kSysErrno, nullptr) == kNoSuchFile;
  }
  ~PageFile() {
    if (is_open()) SemihostingCall(kSysClose, &handle_);
  }
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  bool is_open() const { return handle_ != kNone; }
  bool is_missing() const { return is_missing_; }

  uint32_t size() const { return SemihostingCall(kSysFlen, &handle_); }

  bool Seek(size_t offset) const {
    const uint32_t arguments[] = {handle_, static_cast<uint32_t>(offset)};
    return SemihostingCall(kSysSeek, arguments) == 0;
  }

  // Both move all bytes or return false: the call returns how many it did not move.
  bool Read(MutableByteSpan out) const { return Move(kSysRead, out.data(), out.size()); }
  bool Write(ByteSpan bytes) const { return Move(kSysWrite, bytes.data(), bytes.size()); }

 private:
  static constexpr uint32_t kNone = 0xffffffff;

  bool Move(uint32_t operation, const void* bytes, size_t size) const {
    const uint32_t arguments[] = {handle_, AddressOf(bytes), static_cast<uint32_t>(size)};
    return SemihostingCall(operation, arguments) == 0;
  }

  uint32_t handle_ = kNone;
  bool is_missing_ = false;
};

const char* PrefixOf(void* context) { return static_cast<const char*>(context); }

// What is not in the file is erased.
Status ReadPage(void* context, uint32_t page, size_t offset, MutableByteSpan out) {
  const PageFile file(PrefixOf(context), page, Mode::kRead);
  if (!file.is_open() && !file.is_missing()) return Status::kStoreFailed;
  const uint32_t size = file.is_open() ? file.size() : 0;
  if (size == 0xffffffff) return Status::kStoreFailed;
  const size_t left = offset < size ? size - offset : 0;
  const size_t count = left < out.size() ? left : out.size();
  std::memset(out.data() + count, 0xff, out.size() - count);
  if (count == 0) return Status::kOk;
  return file.Seek(offset) && file.Read(out.first(count)) ? Status::kOk : Status::kStoreFailed;
}

Status ErasePage(void* context, uint32_t page) {
  const PageFile file(PrefixOf(context), page, Mode::kTruncate);
  return file.is_open() ? Status::kOk : Status::kStoreFailed;
}

Status ProgramPage(void* context, uint32_t page, size_t offset, ByteSpan bytes) {
  const PageFile file(PrefixOf(context), page, Mode::kUpdate);
  const bool is_written = file.is_open() && file.Seek(offset) && file.Write(bytes);
  return is_written ? Status::kOk : Status::kStoreFailed;
}

}  // namespace

RecordStore::RecordStore(const char* prefix, size_t page_size)
    : pages_({ReadPage, ErasePage, ProgramPage, const_cast<char*>(prefix), page_size}) {}

}  // namespace sotto::mps2
