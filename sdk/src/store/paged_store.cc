#include "sotto/paged_store.h"

#include "sotto/bytes.h"
#include "sotto/crypto.h"

namespace sotto {
namespace {

constexpr uint32_t kMark = 0x67506f53;  // "SoPg"
constexpr uint8_t kFiller = 0xff;

// Of a slot's pages, which are twice that and the next one. A slot before the first is beyond all.
uint32_t NumberOf(StoreSlot slot, StoreSlot first) {
  return static_cast<uint32_t>(slot) - static_cast<uint32_t>(first);
}

constexpr size_t RoundUp(size_t bytes) {
  return (bytes + kProgramUnit - 1) / kProgramUnit * kProgramUnit;
}

}  // namespace

struct PagedStore::Head {
  uint8_t bytes[kProgramUnit];

  bool is_marked() const { return LoadU32Le(bytes) == kMark; }
  uint32_t sequence() const { return LoadU32Le(bytes + 4); }
  uint32_t size() const { return LoadU32Le(bytes + 8); }
  bool IsBlank(uint8_t erased) const {
    for (const uint8_t byte : bytes) {
      if (byte != erased) return false;
    }
    return true;
  }
};

// Programs whole units from the front of an erased page on. After a failure it does nothing.
class PagedStore::Writer {
 public:
  Writer(const PageMemory& memory, uint32_t page) : memory_(memory), page_(page) {}

  void Append(ByteSpan bytes) {
    for (const uint8_t byte : bytes) {
      unit_[filled_++] = byte;
      if (filled_ == kProgramUnit) Flush();
    }
  }

  void FillUnit() {
    while (filled_ != 0) Append(ByteSpan(&kFiller, 1));
  }

  Status status() const { return status_; }

 private:
  void Flush() {
    if (status_ == Status::kOk)
      status_ = memory_.program(memory_.context, page_, offset_, ByteSpan(unit_));
    offset_ += kProgramUnit;
    filled_ = 0;
  }

  const PageMemory& memory_;
  uint32_t page_;
  Status status_ = Status::kOk;
  uint8_t unit_[kProgramUnit] = {};
  size_t filled_ = 0;
  size_t offset_ = 0;
};

bool PagedStore::IsWhole(uint32_t page, const Head& head) const {
  if (!head.is_marked() || head.size() > MostBytes(memory_.page_size)) return false;
  Sha256 hash;
  Status status = hash.Update(head.bytes);
  uint8_t piece[2 * kProgramUnit];
  for (size_t at = 0; at < head.size() && status == Status::kOk;) {
    const size_t left = head.size() - at;
    const MutableByteSpan part = {piece, left < sizeof(piece) ? left : sizeof(piece)};
    status = memory_.read(memory_.context, page, kProgramUnit + at, part);
    if (status == Status::kOk) status = hash.Update(part);
    at += part.size();
  }
  uint8_t expected[kSha256Size];
  uint8_t digest[kSha256Size];
  if (status != Status::kOk || hash.Finish(expected) != Status::kOk) return false;
  const size_t end = kProgramUnit + RoundUp(head.size());
  if (memory_.read(memory_.context, page, end, MutableByteSpan(digest)) != Status::kOk)
    return false;
  return ConstantTimeEqual(expected, digest);
}

// Takes a page's record if it is whole and newer than the one in `slot`.
void PagedStore::Look(uint32_t page, Slot* slot, bool* is_blank) const {
  Head head;
  *is_blank = false;
  if (memory_.read(memory_.context, page, 0, MutableByteSpan(head.bytes)) != Status::kOk) return;
  *is_blank = head.IsBlank(memory_.erased);
  const bool is_newer =
      !slot->has_record || static_cast<int32_t>(head.sequence() - slot->sequence) > 0;
  if (is_newer && IsWhole(page, head)) {
    *slot = {false, true, page, head.sequence(), head.size()};
  }
}

// The second page is blank until the first record is whole on the first page.
Status PagedStore::Find(StoreSlot slot, Slot** found) {
  const uint32_t number = NumberOf(slot, memory_.first);
  if (number >= kStorePages / 2) return Status::kStoreFailed;
  Slot& s = slots_[number];
  *found = &s;
  if (s.is_known) return Status::kOk;
  s = {};
  s.page = 2 * number + 1;  // so the first record goes to the first page
  bool is_blank = false;
  Look(2 * number, &s, &is_blank);
  Look(2 * number + 1, &s, &is_blank);
  s.is_known = s.has_record || is_blank;
  return s.is_known ? Status::kOk : Status::kStoreFailed;
}

Status PagedStore::EraseNew(uint32_t page) const {
  if (memory_.erase(memory_.context, page) != Status::kOk) return Status::kStoreFailed;
  Head unit;
  for (size_t at = 0; at < memory_.page_size; at += kProgramUnit) {
    if (memory_.read(memory_.context, page, at, MutableByteSpan(unit.bytes)) != Status::kOk) {
      return Status::kStoreFailed;
    }
    if (!unit.IsBlank(memory_.erased)) return Status::kInvalidArgument;
  }
  return Status::kOk;
}

// The second page last: it is not blank before the first one is.
Status PagedStore::Format(StoreSlot slot) {
  const uint32_t number = NumberOf(slot, memory_.first);
  if (number >= kStorePages / 2) return Status::kInvalidArgument;
  const uint32_t first = 2 * number;
  for (uint32_t page = first; page < first + 2; ++page) {
    Head head;
    if (memory_.read(memory_.context, page, 0, MutableByteSpan(head.bytes)) != Status::kOk) {
      return Status::kStoreFailed;
    }
    if (head.is_marked()) return Status::kWrongState;
  }
  slots_[number] = {};
  if (Status s = EraseNew(first); s != Status::kOk) return s;
  return EraseNew(first + 1);
}

Status PagedStore::Load(void* self, StoreSlot slot, size_t offset, MutableByteSpan out,
                        size_t* size) {
  auto* const store = static_cast<PagedStore*>(self);
  Slot* s = nullptr;
  if (store->Find(slot, &s) != Status::kOk) return Status::kStoreFailed;
  const size_t left = s->has_record && offset < s->size ? s->size - offset : 0;
  const MutableByteSpan part = out.first(left < out.size() ? left : out.size());
  const PageMemory& memory = store->memory_;
  if (!part.empty() &&
      memory.read(memory.context, s->page, kProgramUnit + offset, part) != Status::kOk) {
    return Status::kStoreFailed;
  }
  *size = part.size();
  return Status::kOk;
}

// Writes the record to the slot's other page.
Status PagedStore::Replace(Slot* slot, uint32_t page, Span<const ByteSpan> parts) const {
  size_t size = 0;
  for (const ByteSpan& part : parts) size += part.size();
  if (size > MostBytes(memory_.page_size)) return Status::kStoreFailed;
  Head head;
  for (uint8_t& byte : head.bytes) byte = kFiller;
  StoreU32Le(kMark, head.bytes);
  StoreU32Le(slot->sequence + 1, head.bytes + 4);
  StoreU32Le(static_cast<uint32_t>(size), head.bytes + 8);

  slot->is_known = false;  // until it is written
  Sha256 hash;
  Status status = hash.Update(head.bytes);
  for (const ByteSpan& part : parts) {
    if (status == Status::kOk) status = hash.Update(part);
  }
  uint8_t digest[kSha256Size];
  if (status != Status::kOk || hash.Finish(digest) != Status::kOk) return Status::kStoreFailed;

  if (memory_.erase(memory_.context, page) != Status::kOk) return Status::kStoreFailed;
  Writer writer(memory_, page);
  writer.Append(head.bytes);
  for (const ByteSpan& part : parts) writer.Append(part);
  writer.FillUnit();
  writer.Append(digest);
  if (writer.status() != Status::kOk || !IsWhole(page, head)) return Status::kStoreFailed;
  *slot = {true, true, page, slot->sequence + 1, static_cast<uint32_t>(size)};
  return Status::kOk;
}

Status PagedStore::Save(void* self, StoreSlot slot, Span<const ByteSpan> parts) {
  auto* const store = static_cast<PagedStore*>(self);
  Slot* s = nullptr;
  if (store->Find(slot, &s) != Status::kOk) return Status::kStoreFailed;
  const bool is_first = !s->has_record;
  Status status = store->Replace(s, s->page ^ 1, parts);
  if (status == Status::kOk && is_first) status = store->Replace(s, s->page ^ 1, parts);
  return status;
}

}  // namespace sotto
