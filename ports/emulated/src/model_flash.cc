#include "sotto/emulated/model_flash.h"

#include <cstring>

#include "host_file.h"

// By the linker script: a multiple of kModelPage.
extern "C" {
extern uint8_t sotto_model_flash_begin[];
extern uint8_t sotto_model_flash_end[];
}

namespace sotto::emulated {
namespace {

using Mode = HostFile::Mode;

constexpr const char* kEnd = ".model";

const char* PrefixOf(void* context) { return static_cast<const char*>(context); }

// Changes memory and file alike.
Status Change(void* context, size_t offset, ByteSpan bytes) {
  const HostFile file(PrefixOf(context), kEnd, Mode::kUpdate);
  if (!file.is_open() || !file.Seek(offset) || !file.Write(bytes)) return Status::kStoreFailed;
  std::memcpy(sotto_model_flash_begin + offset, bytes.data(), bytes.size());
  return Status::kOk;
}

Status ErasePage(void* context, size_t offset) {
  static uint8_t erased[256];
  std::memset(erased, 0xff, sizeof(erased));
  for (size_t at = offset; at < offset + kModelPage; at += sizeof(erased)) {
    if (Status s = Change(context, at, ByteSpan(erased)); s != Status::kOk) return s;
  }
  return Status::kOk;
}

// Whether there is a file now.
bool MakeFile(const char* prefix) {
  const HostFile file(prefix, kEnd, Mode::kTruncate);
  return file.is_open();
}

}  // namespace

ModelFlash OpenModelFlash(const char* prefix) {
  const auto size = static_cast<size_t>(sotto_model_flash_end - sotto_model_flash_begin);
  std::memset(sotto_model_flash_begin, 0xff, size);
  const ModelFlash flash = {sotto_model_flash_begin,  size, kModelPage, ErasePage, Change,
                            const_cast<char*>(prefix)};
  const HostFile file(prefix, kEnd, Mode::kRead);
  if (file.is_missing() && MakeFile(prefix)) return flash;
  const uint32_t kept = file.is_open() ? file.size() : HostFile::kNoSize;
  const bool is_read = kept <= size && file.Read({sotto_model_flash_begin, kept});
  return is_read ? flash : ModelFlash();
}

}  // namespace sotto::emulated
