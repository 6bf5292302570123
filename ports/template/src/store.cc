#include "sotto/template/port.h"
#include "vendor.h"

namespace sotto::board {
namespace {

static_assert(kStorePageSize % kFlashPageSize == 0, "a stretch is erased by itself");
static_assert(kStorePageSize % kProgramUnit == 0, "a stretch is programmed in whole units");

Status StatusOf(int error) { return error == 0 ? Status::kOk : Status::kStoreFailed; }

uint32_t AddressOf(uint32_t page, size_t offset) {
  return page * kStorePageSize + static_cast<uint32_t>(offset);
}

Status Read(void*, uint32_t page, size_t offset, MutableByteSpan out) {
  const auto size = static_cast<uint32_t>(out.size());
  return StatusOf(vendor_flash_read(AddressOf(page, offset), out.data(), size));
}

Status Erase(void*, uint32_t page) {
  for (uint32_t at = 0; at < kStorePageSize; at += kFlashPageSize) {
    if (vendor_flash_erase(AddressOf(page, at)) != 0) return Status::kStoreFailed;
  }
  return Status::kOk;
}

Status Program(void*, uint32_t page, size_t offset, ByteSpan bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  return StatusOf(vendor_flash_program(AddressOf(page, offset), bytes.data(), size));
}

PagedStore& Pages() {
  static PagedStore store({Read, Erase, Program, nullptr, kStorePageSize, kErasedByte});
  return store;
}

}  // namespace

PersistentStore Store() { return Pages().store(); }

Status FormatStore() {
  const Status status = Pages().Format(StoreSlot::kClient);
  return status == Status::kOk ? Pages().Format(StoreSlot::kPeer) : status;
}

}  // namespace sotto::board
