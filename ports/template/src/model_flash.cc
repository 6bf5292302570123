#include "sotto/template/port.h"
#include "vendor.h"

namespace sotto::board {
namespace {

constexpr uint32_t kBegin = kStorePages * kStorePageSize;

Status StatusOf(int error) { return error == 0 ? Status::kOk : Status::kStoreFailed; }

Status Erase(void*, size_t offset) {
  return StatusOf(vendor_flash_erase(kBegin + static_cast<uint32_t>(offset)));
}

// A board with a cache in front of its flash invalidates the programmed bytes there.
Status Program(void*, size_t offset, ByteSpan bytes) {
  return StatusOf(vendor_flash_program(kBegin + static_cast<uint32_t>(offset), bytes.data(),
                                       static_cast<uint32_t>(bytes.size())));
}

}  // namespace

ModelFlash FlashOfModel() {
  const auto* const flash = static_cast<const uint8_t*>(vendor_flash_memory());
  return {flash + kBegin, kModelFlashSize, kFlashPageSize, Erase, Program, nullptr};
}

}  // namespace sotto::board
