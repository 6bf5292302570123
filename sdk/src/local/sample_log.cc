#include "sotto/sample_log.h"

#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/num.h"

namespace sotto {
namespace {

constexpr uint32_t kLogMark = 0x674c6f53;  // "SoLg"
constexpr uint8_t kLogVersion = 1;
constexpr uint8_t kLogFiller = 0xff;
constexpr size_t kLapAt = 24;
constexpr size_t kHeadSumAt = 28;
constexpr size_t kLabelAt = kProgramUnit;  // of a slot
constexpr size_t kSumAt = kLabelAt + 4;
constexpr size_t kRawAt = kSumAt + 4;

// Eight steps of the polynomial 0xedb88320 in two halves.
constexpr uint32_t kCrcTable[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

}  // namespace

class SampleLog::Crc {
 public:
  void Add(ByteSpan bytes) {
    for (const uint8_t byte : bytes) {
      crc_ ^= byte;
      crc_ = crc_ >> 4 ^ kCrcTable[crc_ & 15];
      crc_ = crc_ >> 4 ^ kCrcTable[crc_ & 15];
    }
  }
  void Add(uint32_t number) {
    uint8_t bytes[4];
    StoreU32Le(number, bytes);
    Add(ByteSpan(bytes));
  }
  uint32_t sum() const { return ~crc_; }

 private:
  uint32_t crc_ = 0xffffffff;
};

struct SampleLog::Head {
  uint8_t bytes[kProgramUnit];

  uint32_t lap() const { return LoadU32Le(bytes + kLapAt); }
  uint32_t Sum() const {
    Crc crc;
    crc.Add({bytes, kHeadSumAt});
    return crc.sum();
  }
  bool IsWhole() const {
    return LoadU32Le(bytes) == kLogMark && LoadU32Le(bytes + kHeadSumAt) == Sum();
  }
  // Whether both are of logs that agree in everything but the lap.
  bool IsLike(const Head& other) const { return __builtin_memcmp(bytes, other.bytes, kLapAt) == 0; }
};

bool SampleLog::IsUsable() const {
  const bool has_memory =
      memory_.read != nullptr && memory_.erase != nullptr && memory_.program != nullptr;
  const bool has_shape = config_.Elements() > 0 && config_.Elements() <= UINT32_MAX / 8;
  const bool is_known = config_.element == SampleElement::kByte ||
                        config_.element == SampleElement::kInt16 ||
                        config_.element == SampleElement::kFloat32;
  const bool has_pages =
      config_.pages >= 2 && config_.pages <= 0xffff && config_.reserve_pages <= config_.pages - 2;
  return has_memory && has_shape && is_known && has_pages && config_.scale > 0 &&
         IsFinite(config_.scale) && config_.held_out.IsValid() &&
         memory_.page_size % kProgramUnit == 0 && config_.SlotsOf(memory_.page_size) > 0;
}

SampleLog::Head SampleLog::HeadOf(uint32_t lap) const {
  Head head = {};
  StoreU32Le(kLogMark, head.bytes);
  head.bytes[4] = kLogVersion;
  head.bytes[5] = static_cast<uint8_t>(config_.element);
  head.bytes[6] = static_cast<uint8_t>(config_.pages);
  head.bytes[7] = static_cast<uint8_t>(config_.pages >> 8);
  StoreU32Le(config_.shape.height, head.bytes + 8);
  StoreU32Le(config_.shape.width, head.bytes + 12);
  StoreU32Le(config_.shape.channels, head.bytes + 16);
  StoreU32Le(FloatBits(config_.scale), head.bytes + 20);
  StoreU32Le(lap, head.bytes + kLapAt);
  StoreU32Le(head.Sum(), head.bytes + kHeadSumAt);
  return head;
}

// A page whose erasure was cut may still have its head. It is then the oldest one, and what is left
// of its samples has checksums.
Status SampleLog::FindNewestPage() {
  const Head like = HeadOf(0);
  bool is_readable = false;
  for (uint32_t page = 0; page < config_.pages; ++page) {
    Head head;
    if (ReadAt(page, 0, MutableByteSpan(head.bytes)) != Status::kOk) continue;
    is_readable = true;
    if (!head.IsWhole()) continue;
    if (!head.IsLike(like) || head.lap() % config_.pages != page) return Status::kMismatch;
    if (!has_page_ || head.lap() > lap_) lap_ = head.lap();
    has_page_ = true;
  }
  return is_readable ? Status::kOk : Status::kStoreFailed;
}

Status SampleLog::Open() {
  if (held_from_ != kNoLap) return Status::kWrongState;
  is_open_ = has_page_ = false;
  lap_ = slot_ = 0;
  if (!IsUsable()) return Status::kInvalidArgument;
  slots_ = static_cast<uint32_t>(config_.SlotsOf(memory_.page_size));
  if (Status s = FindNewestPage(); s != Status::kOk) {
    has_page_ = false;
    return s;
  }
  is_open_ = true;
  if (!has_page_) return Status::kOk;
  // A torn sample takes its place, too: behind the last bytes that are not erased.
  slot_ = slots_;
  const size_t size = config_.SlotBytes();
  while (slot_ > 0 && IsBlank(lap_ % config_.pages, kProgramUnit + (slot_ - 1) * size, size)) {
    --slot_;
  }
  return Status::kOk;
}

Status SampleLog::Format() {
  if (held_from_ != kNoLap) return Status::kWrongState;
  is_open_ = false;
  if (!IsUsable()) return Status::kInvalidArgument;
  for (uint32_t page = 0; page < config_.pages; ++page) {
    if (memory_.erase(memory_.context, page) != Status::kOk) return Status::kStoreFailed;
  }
  return Open();
}

bool SampleLog::IsBlank(uint32_t page, size_t offset, size_t size) const {
  uint8_t piece[2 * kProgramUnit];
  for (size_t at = 0; at < size;) {
    const size_t left = size - at;
    const MutableByteSpan part = {piece, left < sizeof(piece) ? left : sizeof(piece)};
    if (ReadAt(page, offset + at, part) != Status::kOk) return false;
    for (const uint8_t byte : part) {
      if (byte != memory_.erased) return false;
    }
    at += part.size();
  }
  return true;
}

bool SampleLog::HasPage(uint32_t lap) const {
  const Head expected = HeadOf(lap);
  Head head;
  return ReadAt(lap % config_.pages, 0, MutableByteSpan(head.bytes)) == Status::kOk &&
         __builtin_memcmp(head.bytes, expected.bytes, sizeof(head.bytes)) == 0;
}

bool SampleLog::Exists(uint32_t sequence) const {
  return sequence >= begin() && sequence < end() && HasPage(sequence / slots_);
}

// Erases the oldest page and makes it the newest one. Only its head makes it one, so that after a
// reset it is erased once more. A page that fails counts as full: the next call takes the next one.
Status SampleLog::StartPage() {
  const uint32_t lap = has_page_ ? lap_ + 1 : 0;
  if (lap >= config_.pages && lap - config_.pages >= held_from_) return Status::kWrongState;
  if (uint64_t{lap + 1} * slots_ > UINT32_MAX) return Status::kOutOfRange;
  const uint32_t page = lap % config_.pages;
  const Head head = HeadOf(lap);
  has_page_ = true;
  lap_ = lap;
  slot_ = slots_;
  if (memory_.erase(memory_.context, page) != Status::kOk ||
      memory_.program(memory_.context, page, 0, ByteSpan(head.bytes)) != Status::kOk ||
      !HasPage(lap)) {
    return Status::kStoreFailed;
  }
  slot_ = 0;
  return Status::kOk;
}

// Whole units from the first one on, but for the one of a later label.
Status SampleLog::WriteSample(uint32_t sequence, uint32_t label, ByteSpan raw) const {
  Crc crc;
  crc.Add(sequence);
  crc.Add(label);
  crc.Add(raw);
  uint8_t unit[kProgramUnit];
  StoreU32Le(label, unit);
  StoreU32Le(crc.sum(), unit + 4);
  size_t filled = kRawAt - kLabelAt;
  size_t next = 0;
  const size_t begin = OffsetOf(sequence) + kLabelAt;
  const size_t end = OffsetOf(sequence) + config_.SlotBytes();
  for (size_t at = begin; at < end; at += kProgramUnit) {
    for (size_t i = filled; i < kProgramUnit; ++i) {
      unit[i] = next < raw.size() ? raw[next] : kLogFiller;
      ++next;
    }
    const Status s = memory_.program(memory_.context, PageOf(sequence), at, ByteSpan(unit));
    if (s != Status::kOk) return Status::kStoreFailed;
    filled = 0;
  }
  return Status::kOk;
}

bool SampleLog::IsWhole(uint32_t sequence, uint32_t* label) const {
  const uint32_t page = PageOf(sequence);
  const size_t offset = OffsetOf(sequence);
  uint8_t head[8];
  if (ReadAt(page, offset + kLabelAt, MutableByteSpan(head)) != Status::kOk) return false;
  Crc crc;
  crc.Add(sequence);
  crc.Add({head, 4});
  uint8_t piece[2 * kProgramUnit];
  for (size_t at = 0; at < config_.SampleBytes();) {
    const size_t left = config_.SampleBytes() - at;
    const MutableByteSpan part = {piece, left < sizeof(piece) ? left : sizeof(piece)};
    if (ReadAt(page, offset + kRawAt + at, part) != Status::kOk) return false;
    crc.Add(part);
    at += part.size();
  }
  if (crc.sum() != LoadU32Le(head + 4)) return false;
  *label = LoadU32Le(head);
  if (*label == kUnlabelled) *label = LateLabel(sequence);
  return true;
}

uint32_t SampleLog::LateLabel(uint32_t sequence) const {
  uint8_t bytes[8];
  if (ReadAt(PageOf(sequence), OffsetOf(sequence), MutableByteSpan(bytes)) != Status::kOk) {
    return kUnlabelled;
  }
  Crc crc;
  crc.Add(sequence);
  crc.Add({bytes, 4});
  return crc.sum() == LoadU32Le(bytes + 4) ? LoadU32Le(bytes) : kUnlabelled;
}

Status SampleLog::Append(ByteSpan raw, uint32_t* sequence) {
  if (!is_open_) return Status::kWrongState;
  if (raw.size() != config_.SampleBytes()) return Status::kInvalidArgument;
  if (!has_page_ || slot_ == slots_) {
    if (Status s = StartPage(); s != Status::kOk) return s;
  }
  const uint32_t number = lap_ * slots_ + slot_++;
  const uint32_t label = labels_left_ > 0 ? label_ : kUnlabelled;
  if (Status s = WriteSample(number, label, raw); s != Status::kOk) return s;
  uint32_t read_label = kUnlabelled;
  if (!IsWhole(number, &read_label) || read_label != label) return Status::kStoreFailed;
  if (labels_left_ > 0) --labels_left_;
  if (sequence != nullptr) *sequence = number;
  return Status::kOk;
}

void SampleLog::LabelNext(uint32_t label, uint32_t count) {
  label_ = label;
  labels_left_ = count;
}

Status SampleLog::Label(uint32_t sequence, uint32_t label) {
  if (!is_open_) return Status::kWrongState;
  if (label == kUnlabelled) return Status::kInvalidArgument;
  uint32_t had = kUnlabelled;
  if (!Exists(sequence) || !IsWhole(sequence, &had)) return Status::kOutOfRange;
  const uint32_t page = PageOf(sequence);
  const size_t offset = OffsetOf(sequence);
  if (had != kUnlabelled || !IsBlank(page, offset, kProgramUnit)) return Status::kWrongState;
  uint8_t unit[kProgramUnit];
  for (uint8_t& byte : unit) byte = kLogFiller;
  Crc crc;
  crc.Add(sequence);
  crc.Add(label);
  StoreU32Le(label, unit);
  StoreU32Le(crc.sum(), unit + 4);
  if (memory_.program(memory_.context, page, offset, ByteSpan(unit)) != Status::kOk) {
    return Status::kStoreFailed;
  }
  return LateLabel(sequence) == label ? Status::kOk : Status::kStoreFailed;
}

Status SampleLog::Read(uint32_t sequence, MutableByteSpan raw, uint32_t* label) const {
  if (!is_open_) return Status::kWrongState;
  if (raw.size() != config_.SampleBytes()) return Status::kInvalidArgument;
  uint32_t found = kUnlabelled;
  if (!Exists(sequence) || !IsWhole(sequence, &found)) return Status::kOutOfRange;
  const Status s = ReadAt(PageOf(sequence), OffsetOf(sequence) + kRawAt, raw);
  if (s != Status::kOk) return Status::kStoreFailed;
  *label = found;
  return Status::kOk;
}

}  // namespace sotto
