// A persistent store over pages of flash, or files that stand for them. Part of sotto/store.
//
// A slot has two pages, used in turn:
//
//   page    bytes 0..31   the mark "SoPg", sequence number, size of the record, 20 bytes 0xff
//           from 32 on    the record, filled up with 0xff to a multiple of 32
//           then          32 bytes: SHA-256 of the first 32 bytes and the record
//
// save() erases the page whose record is older, writes the new one there and reads it back. The
// other page stays as it is. So after a reset at any moment one page is whole, and the whole page
// with the higher sequence number is the record. The first record of a slot goes to both pages.
// From then on two pages that are not whole are an error (kStoreFailed) and never count as an empty
// slot. A page that cannot be read counts as damaged.
//
// New memory. Flash is erased when it is new: its store is empty from the first call on. FRAM and
// EEPROM hold arbitrary bytes, which look like two damaged pages: the manufacturer calls Format()
// once, before the first record. PageMemory::erased is the value of an erased byte, 0xff on most
// flash, 0x00 on an STM32L0 or L1. The bytes 0xff of the format above stay 0xff there.
//
// Wear: a save erases one page. A page that stands 10,000 erases stands 20,000 saves.
//
// The object remembers which page is whole: nothing else may write to its pages. Nothing is
// allocated. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/persistent_store.h"

namespace sotto {

// Offsets and sizes of all writes are multiples of this: flash is programmed in units of 1 to 32
// bytes.
constexpr size_t kProgramUnit = 32;

// Pages of the two slots: pages 0 and 1 belong to StoreSlot::kClient, 2 and 3 to kPeer.
//
// StoreSlot::kPersonal has longer records: it takes another PagedStore with two other pages, each
// of at least PersonalRecordBytes() (personal.h) and two program units.
constexpr uint32_t kStorePages = 4;

// The memory: four pages, two for personal layers, or as many as a SampleLog has (sample_log.h).
// Each call returns kOk, or any other status for a failure.
struct PageMemory {
  Status (*read)(void* context, uint32_t page, size_t offset, MutableByteSpan out) = nullptr;
  // Afterwards all bytes of the page read as `erased`. Memory that knows no erasing writes them.
  Status (*erase)(void* context, uint32_t page) = nullptr;
  // Writes to bytes that are erased, from the front of the page to its end; in a SampleLog also a
  // unit that was left out before, for a label that comes later. Once it returns, the bytes survive
  // a reset.
  Status (*program)(void* context, uint32_t page, size_t offset, ByteSpan bytes) = nullptr;
  void* context = nullptr;
  size_t page_size = 0;  // bytes of each page; a multiple of kProgramUnit. A page may consist of
                         // several of the flash's
  uint8_t erased = 0xff;
  // The slot of pages 0 and 1: kClient, and kPeer has 2 and 3; or kPersonal alone. Calls for
  // another slot return kStoreFailed.
  StoreSlot first = StoreSlot::kClient;
};

class PagedStore {
 public:
  explicit PagedStore(const PageMemory& memory) : memory_(memory) {}
  PagedStore(const PagedStore&) = delete;
  PagedStore& operator=(const PagedStore&) = delete;

  // The store of these pages; the object must outlive it. Both functions return kStoreFailed if
  // both pages of the slot are damaged; save() also if the record is longer than MostBytes(). A
  // slot whose pages are damaged takes no record until somebody has erased both pages. Memory that
  // is not erased when it is new needs Format() first.
  PersistentStore store() { return {Load, Save, this}; }

  // Makes the slot empty, once, where the device is made: erases both of its pages, and checks that
  // they are erased. After a reset within the call, call it again. Never call it at each start.
  // Returns
  //   kOk               the slot is empty
  //   kWrongState       a page begins with the mark of a record, whole or damaged. Nothing is
  //                     changed: what a device has spent is not forgotten by a second call
  //   kInvalidArgument  there is no such slot, or a page that was erased does not read as
  //                     PageMemory::erased
  //   kStoreFailed      the memory could not be read or erased
  Status Format(StoreSlot slot);

  // The longest record.
  static constexpr size_t MostBytes(size_t page_size) {
    return page_size < 2 * kProgramUnit ? 0 : page_size - 2 * kProgramUnit;
  }

 private:
  // What the pages of a slot hold.
  struct Slot {
    bool is_known = false;
    bool has_record = false;
    uint32_t page = 0;      // of the record
    uint32_t sequence = 0;  // the same
    uint32_t size = 0;      // the same
  };
  struct Head;
  class Writer;

  static Status Load(void* self, StoreSlot slot, size_t offset, MutableByteSpan out, size_t* size);
  static Status Save(void* self, StoreSlot slot, Span<const ByteSpan> parts);

  Status Find(StoreSlot slot, Slot** found);
  void Look(uint32_t page, Slot* slot, bool* is_blank) const;
  Status EraseNew(uint32_t page) const;
  bool IsWhole(uint32_t page, const Head& head) const;
  Status Replace(Slot* slot, uint32_t page, Span<const ByteSpan> parts) const;

  PageMemory memory_;
  Slot slots_[kStorePages / 2];
};

}  // namespace sotto
