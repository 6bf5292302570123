// A board that saves records until it is switched off: tests/e2e/board.sh kills QEMU within a save.
//
// A record is a number and 1,200 bytes that follow from it, in three parts. At its start the
// program prints "found N." with the number in the store, 0 if there is none; after each save
// "saved N.". Exit status 1: a record was damaged, or a mixture of two; 2: the store failed. Its
// files are store_check.* in the folder in which QEMU runs.
#include "sotto/bytes.h"
#include "sotto/emulated/record_store.h"
#include "sotto/emulated/semihosting.h"

namespace sotto {
namespace {

constexpr size_t kSize = 4 + 1200;

void Report(const char* what, uint32_t number) {
  emulated::Print(what);
  emulated::Print(number);
  emulated::Print(".\n");
}

void MakeRecord(uint32_t number, uint8_t (&record)[kSize]) {
  StoreU32Le(number, record);
  for (size_t i = 4; i < kSize; ++i) record[i] = static_cast<uint8_t>(number * 31 + i * 7);
}

bool IsWhole(const uint8_t (&record)[kSize]) {
  static uint8_t expected[kSize];
  MakeRecord(LoadU32Le(record), expected);
  return __builtin_memcmp(record, expected, kSize) == 0;
}

int Run() {
  static emulated::RecordStore files("store_check");
  static uint8_t record[kSize];
  const PersistentStore store = files.store();
  size_t size = 0;
  if (store.load(store.context, StoreSlot::kPeer, 0, MutableByteSpan(record), &size) !=
      Status::kOk) {
    return 2;
  }
  if (size != 0 && (size != kSize || !IsWhole(record))) return 1;
  uint32_t number = size == 0 ? 0 : LoadU32Le(record);
  Report("found ", number);
  for (;;) {
    MakeRecord(++number, record);
    const ByteSpan parts[] = {{record, 4}, {record + 4, 7}, {record + 11, kSize - 11}};
    if (store.save(store.context, StoreSlot::kPeer, Span<const ByteSpan>(parts)) != Status::kOk) {
      return 2;
    }
    Report("saved ", number);
  }
}

}  // namespace
}  // namespace sotto

int main(int, char**) { return sotto::Run(); }
