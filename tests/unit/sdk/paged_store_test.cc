// A store in two pages of flash a slot: a reset within any call to the flash leaves the old record
// or the new one, and worn-out memory is never an empty slot.
#include "sotto/paged_store.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace sotto {
namespace {

constexpr size_t kPageSize = 256;
constexpr uint8_t kErased = 0xff;
constexpr uint8_t kHalfErased = 0x5f;  // what a cut erase leaves

// Flash that checks how it is used, and whose power can fail within any erase or program.
struct Flash {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kStorePages * kPageSize, kErased);
  int calls = 0;
  int cut_at = -1;       // the erase or program, from 0, within which the power fails
  size_t cut_bytes = 0;  // of a program: how many bytes it has written by then
  bool is_off = false;
  uint32_t unreadable = kStorePages;  // a page
  int fail_at = -1;                   // the erase or program that returns an error, undone
  uint8_t erased = kErased;

  // New memory whose bytes are all of this value, and that erases to `erased_byte`.
  static Flash New(uint8_t fill, uint8_t erased_byte) {
    Flash flash;
    std::fill(flash.bytes.begin(), flash.bytes.end(), fill);
    flash.erased = erased_byte;
    return flash;
  }

  PageMemory memory() { return {Read, Erase, Program, this, kPageSize, erased}; }
  uint8_t* At(uint32_t page, size_t offset) { return bytes.data() + page * kPageSize + offset; }

  // What becomes of a call that changes the flash.
  enum class Fate { kDone, kCut, kNothing };
  Fate Next() {
    const int call = calls++;
    if (is_off || call == fail_at) return Fate::kNothing;
    is_off = call == cut_at;
    return is_off ? Fate::kCut : Fate::kDone;
  }

  static Status Read(void* context, uint32_t page, size_t offset, MutableByteSpan out) {
    auto* self = static_cast<Flash*>(context);
    EXPECT_LE(offset + out.size(), kPageSize);
    if (self->is_off || page == self->unreadable) return Status::kStoreFailed;
    std::copy_n(self->At(page, offset), out.size(), out.begin());
    return Status::kOk;
  }

  static Status Erase(void* context, uint32_t page) {
    auto* self = static_cast<Flash*>(context);
    const Fate fate = self->Next();
    if (fate == Fate::kNothing) return Status::kStoreFailed;
    std::fill_n(self->At(page, 0), kPageSize, fate == Fate::kDone ? self->erased : kHalfErased);
    return fate == Fate::kDone ? Status::kOk : Status::kStoreFailed;
  }

  static Status Program(void* context, uint32_t page, size_t offset, ByteSpan in) {
    auto* self = static_cast<Flash*>(context);
    EXPECT_EQ(offset % kProgramUnit, 0u);
    EXPECT_EQ(in.size() % kProgramUnit, 0u);
    uint8_t* const at = self->At(page, offset);
    EXPECT_TRUE(
        std::all_of(at, at + in.size(), [self](uint8_t byte) { return byte == self->erased; }));
    const Fate fate = self->Next();
    if (fate == Fate::kNothing) return Status::kStoreFailed;
    std::copy_n(in.begin(), fate == Fate::kDone ? in.size() : self->cut_bytes, at);
    return fate == Fate::kDone ? Status::kOk : Status::kStoreFailed;
  }
};

std::vector<uint8_t> Record(uint8_t seed, size_t size) {
  std::vector<uint8_t> record(size);
  for (size_t i = 0; i < size; ++i) record[i] = static_cast<uint8_t>(seed + 7 * i);
  return record;
}

Status Save(PersistentStore store, StoreSlot slot, const std::vector<uint8_t>& record) {
  const ByteSpan parts[] = {{record.data(), record.size()}};
  return store.save(store.context, slot, Span<const ByteSpan>(parts));
}

Status Load(PersistentStore store, StoreSlot slot, std::vector<uint8_t>* record) {
  record->assign(kPageSize, 0);
  size_t size = 0;
  const Status status = store.load(store.context, slot, 0, {record->data(), record->size()}, &size);
  record->resize(size);
  return status;
}

// After a reset.
std::vector<uint8_t> LoadAnew(Flash& flash, StoreSlot slot) {
  PagedStore store(flash.memory());
  std::vector<uint8_t> record;
  EXPECT_EQ(Load(store.store(), slot, &record), Status::kOk);
  return record;
}

// The number of erases and programs of save number `saves`, from 0.
int CallsOfSave(int saves) {
  Flash flash;
  PagedStore store(flash.memory());
  for (int i = 0; i < saves; ++i) {
    EXPECT_EQ(Save(store.store(), StoreSlot::kPeer, Record(1, 50)), Status::kOk);
  }
  const int before = flash.calls;
  EXPECT_EQ(Save(store.store(), StoreSlot::kPeer, Record(2, 90)), Status::kOk);
  return flash.calls - before;
}

TEST(PagedStore, AResetWithinAnyCallLeavesTheOldRecordOrTheNewOne) {
  int old_seen = 0;
  int new_seen = 0;
  for (int saves = 0; saves < 4; ++saves) {
    const int calls = CallsOfSave(saves);
    ASSERT_GE(calls, 5);
    for (int cut = 0; cut < calls; ++cut) {
      for (size_t bytes = 0; bytes <= kProgramUnit; ++bytes) {
        Flash flash;
        std::vector<uint8_t> before;
        {
          PagedStore store(flash.memory());
          for (int i = 0; i < saves; ++i) {
            before = Record(static_cast<uint8_t>(i), 50 + 10 * static_cast<size_t>(i));
            ASSERT_EQ(Save(store.store(), StoreSlot::kPeer, before), Status::kOk);
          }
          flash.cut_at = flash.calls + cut;
          flash.cut_bytes = bytes;
          ASSERT_EQ(Save(store.store(), StoreSlot::kPeer, Record(99, 90)), Status::kStoreFailed);
          ASSERT_TRUE(flash.is_off) << "the fault has fired";
        }
        flash.is_off = false;
        flash.cut_at = -1;
        const std::vector<uint8_t> after = LoadAnew(flash, StoreSlot::kPeer);
        ASSERT_TRUE(after == before || after == Record(99, 90)) << saves << " " << cut;
        (after == before ? old_seen : new_seen)++;
        // And it goes on.
        PagedStore store(flash.memory());
        ASSERT_EQ(Save(store.store(), StoreSlot::kPeer, Record(3, 20)), Status::kOk);
        ASSERT_EQ(LoadAnew(flash, StoreSlot::kPeer), Record(3, 20));
      }
    }
  }
  EXPECT_GT(old_seen, 0);
  EXPECT_GT(new_seen, 0);
}

TEST(PagedStore, ACallThatFailsIsToldAndTheStoreGoesOn) {
  const int calls = CallsOfSave(1);
  for (int fail = 0; fail < calls; ++fail) {
    Flash flash;
    PagedStore store(flash.memory());
    ASSERT_EQ(Save(store.store(), StoreSlot::kClient, Record(1, 50)), Status::kOk);
    flash.fail_at = flash.calls + fail;
    EXPECT_EQ(Save(store.store(), StoreSlot::kClient, Record(2, 90)), Status::kStoreFailed);
    EXPECT_GT(flash.calls, flash.fail_at) << "the fault has fired";
    std::vector<uint8_t> record;
    EXPECT_EQ(Load(store.store(), StoreSlot::kClient, &record), Status::kOk);
    EXPECT_EQ(record, Record(1, 50));
    EXPECT_EQ(Save(store.store(), StoreSlot::kClient, Record(3, 9)), Status::kOk);
    EXPECT_EQ(LoadAnew(flash, StoreSlot::kClient), Record(3, 9));
  }
}

// One page that loses a bit costs at most the last save, two are an error.
TEST(PagedStore, DamageIsNeverAnEmptySlot) {
  for (int saves = 1; saves < 4; ++saves) {
    Flash whole;
    PagedStore store(whole.memory());
    for (int i = 0; i < saves; ++i) {
      ASSERT_EQ(Save(store.store(), StoreSlot::kClient, Record(static_cast<uint8_t>(i), 40)),
                Status::kOk);
    }
    constexpr size_t kUsed = kProgramUnit + 2 * kProgramUnit + kProgramUnit;
    for (size_t byte = 0; byte < kUsed; ++byte) {
      // The mark's filling is part of the digest, the record's is not.
      if (byte >= kProgramUnit + 40 && byte < 3 * kProgramUnit) continue;
      Flash flash = whole;
      *flash.At(1, byte) ^= 1;
      EXPECT_EQ(LoadAnew(flash, StoreSlot::kClient).size(), 40u) << byte;
      *flash.At(0, byte) ^= 0x80;
      PagedStore damaged(flash.memory());
      std::vector<uint8_t> record;
      EXPECT_EQ(Load(damaged.store(), StoreSlot::kClient, &record), Status::kStoreFailed) << byte;
      EXPECT_EQ(Save(damaged.store(), StoreSlot::kClient, Record(9, 5)), Status::kStoreFailed);
      EXPECT_EQ(Load(damaged.store(), StoreSlot::kPeer, &record), Status::kOk) << "the other slot";
      EXPECT_TRUE(record.empty());
    }
  }
}

TEST(PagedStore, APageThatCannotBeReadCountsAsDamaged) {
  Flash flash;
  PagedStore store(flash.memory());
  for (uint8_t i = 0; i < 2; ++i) {
    ASSERT_EQ(Save(store.store(), StoreSlot::kClient, Record(i, 40)), Status::kOk);
  }
  flash.unreadable = 0;  // of the second record
  EXPECT_EQ(LoadAnew(flash, StoreSlot::kClient), Record(0, 40));
  *flash.At(1, 33) ^= 1;
  PagedStore damaged(flash.memory());
  std::vector<uint8_t> record;
  EXPECT_EQ(Load(damaged.store(), StoreSlot::kClient, &record), Status::kStoreFailed);
}

TEST(PagedStore, TheLongestRecordFitsAndALongerOneIsRefused) {
  Flash flash;
  PagedStore store(flash.memory());
  const size_t most = PagedStore::MostBytes(kPageSize);
  EXPECT_EQ(most, kPageSize - 64);
  EXPECT_EQ(Save(store.store(), StoreSlot::kPeer, Record(1, most)), Status::kOk);
  EXPECT_EQ(Save(store.store(), StoreSlot::kPeer, Record(1, most + 1)), Status::kStoreFailed);
  EXPECT_EQ(LoadAnew(flash, StoreSlot::kPeer), Record(1, most));
  EXPECT_EQ(PagedStore::MostBytes(32), 0u);
}

TEST(PagedStore, EachSaveErasesOnePageInTurn) {
  Flash flash;
  PagedStore store(flash.memory());
  ASSERT_EQ(Save(store.store(), StoreSlot::kClient, Record(0, 10)), Status::kOk);
  for (uint8_t i = 1; i < 9; ++i) {
    const std::vector<uint8_t> before = flash.bytes;
    ASSERT_EQ(Save(store.store(), StoreSlot::kClient, Record(i, 10)), Status::kOk);
    const uint32_t page = 1 - i % 2;
    const auto same = [&](uint32_t p) {
      return std::equal(flash.At(p, 0), flash.At(p, 0) + kPageSize, before.data() + p * kPageSize);
    };
    EXPECT_FALSE(same(page));
    EXPECT_TRUE(same(1 - page) && same(2) && same(3));
  }
}

// Flash that erases to 0x00 (STM32L0), and FRAM or EEPROM with anything in it.
TEST(PagedStore, MemoryThatErasesToAnotherValueWorks) {
  Flash flash = Flash::New(0x00, 0x00);
  for (uint8_t i = 0; i < 5; ++i) {
    PagedStore store(flash.memory());
    ASSERT_EQ(Save(store.store(), StoreSlot::kPeer, Record(i, 33)), Status::kOk) << int{i};
    ASSERT_EQ(LoadAnew(flash, StoreSlot::kPeer), Record(i, 33));
  }
  *flash.At(2, 40) ^= 1;
  *flash.At(3, 40) ^= 1;
  PagedStore damaged(flash.memory());
  std::vector<uint8_t> record;
  EXPECT_EQ(Load(damaged.store(), StoreSlot::kPeer, &record), Status::kStoreFailed);
}

TEST(PagedStore, MemoryThatIsNotErasedWhenItIsNewIsFormattedOnce) {
  const std::vector<std::pair<uint8_t, uint8_t>> memories = {
      {0x00, 0xff}, {0xff, 0x00}, {0x5a, 0xff}, {0x5a, 0x00}, {0xff, 0xff}};
  for (const auto& [fill, erased] : memories) {
    Flash flash = Flash::New(fill, erased);
    PagedStore store(flash.memory());
    std::vector<uint8_t> record;
    if (fill != erased) {
      EXPECT_EQ(Load(store.store(), StoreSlot::kClient, &record), Status::kStoreFailed);
      EXPECT_EQ(Save(store.store(), StoreSlot::kClient, Record(1, 9)), Status::kStoreFailed);
    }
    ASSERT_EQ(store.Format(StoreSlot::kClient), Status::kOk);
    EXPECT_EQ(Load(store.store(), StoreSlot::kClient, &record), Status::kOk);
    EXPECT_TRUE(record.empty());
    ASSERT_EQ(store.Format(StoreSlot::kClient), Status::kOk) << "while there is no record";
    ASSERT_EQ(Save(store.store(), StoreSlot::kClient, Record(2, 40)), Status::kOk);
    EXPECT_EQ(LoadAnew(flash, StoreSlot::kClient), Record(2, 40));
    const bool is_other_new = fill == erased;
    EXPECT_EQ(Load(store.store(), StoreSlot::kPeer, &record) == Status::kOk, is_other_new);
  }
}

TEST(PagedStore, FormattingForgetsNoRecordWholeOrDamaged) {
  Flash flash;
  PagedStore store(flash.memory());
  ASSERT_EQ(Save(store.store(), StoreSlot::kClient, Record(1, 40)), Status::kOk);
  *flash.At(0, 33) ^= 1;
  *flash.At(1, 33) ^= 1;
  const std::vector<uint8_t> before = flash.bytes;
  EXPECT_EQ(PagedStore(flash.memory()).Format(StoreSlot::kClient), Status::kWrongState);
  EXPECT_EQ(flash.bytes, before);
  EXPECT_EQ(PagedStore(flash.memory()).Format(StoreSlot::kPeer), Status::kOk);
  EXPECT_EQ(store.Format(static_cast<StoreSlot>(0)), Status::kInvalidArgument);
  EXPECT_EQ(store.Format(static_cast<StoreSlot>(3)), Status::kInvalidArgument);
}

// After a reset or a failure within the call it is called again.
TEST(PagedStore, FormattingThatIsCutIsRepeated) {
  for (int call = 0; call < 2; ++call) {
    for (const bool is_cut : {false, true}) {
      Flash flash = Flash::New(0x5a, 0x00);
      (is_cut ? flash.cut_at : flash.fail_at) = call;
      EXPECT_EQ(PagedStore(flash.memory()).Format(StoreSlot::kPeer), Status::kStoreFailed);
      EXPECT_GT(flash.calls, call) << "the fault has fired";
      flash.is_off = false;
      flash.cut_at = flash.fail_at = -1;
      std::vector<uint8_t> record;
      PagedStore store(flash.memory());
      EXPECT_EQ(Load(store.store(), StoreSlot::kPeer, &record), Status::kStoreFailed);
      EXPECT_EQ(store.Format(StoreSlot::kPeer), Status::kOk);
      EXPECT_EQ(Load(store.store(), StoreSlot::kPeer, &record), Status::kOk);
    }
  }
}

TEST(PagedStore, AWrongErasedValueIsNoticedWhereTheDeviceIsMade) {
  Flash flash = Flash::New(0x00, 0x00);
  PageMemory memory = flash.memory();
  memory.erased = 0xff;
  EXPECT_EQ(PagedStore(memory).Format(StoreSlot::kClient), Status::kInvalidArgument);
}

TEST(PagedStore, ASlotThatDoesNotExistIsRefused) {
  Flash flash;
  PagedStore store(flash.memory());
  std::vector<uint8_t> record;
  for (const int slot : {0, 3}) {
    EXPECT_EQ(Load(store.store(), static_cast<StoreSlot>(slot), &record), Status::kStoreFailed);
    EXPECT_EQ(Save(store.store(), static_cast<StoreSlot>(slot), {1}), Status::kStoreFailed);
  }
}

}  // namespace
}  // namespace sotto
