#include "sotto/wire.h"

namespace sotto {

MutableByteSpan FrameReader::missing() {
  if (malformed_) return {};
  if (header_filled_ < kFrameHeaderSize) return MutableByteSpan(header_).subspan(header_filled_);
  return buffer_.subspan(filled_, size_ - filled_);
}

Status FrameReader::Received(size_t count) {
  if (malformed_) return Status::kMalformed;
  if (count > missing().size()) return Status::kInvalidArgument;
  if (header_filled_ == kFrameHeaderSize) {
    filled_ += count;
    return Status::kOk;
  }
  header_filled_ += count;
  if (header_filled_ < kFrameHeaderSize) return Status::kOk;
  const size_t size = static_cast<size_t>(header_[0] | header_[1] << 8);
  malformed_ = size == 0 || size > buffer_.size();
  if (malformed_) return Status::kMalformed;
  size_ = size;
  return Status::kOk;
}

Status FrameReader::Feed(ByteSpan bytes, size_t* taken) {
  *taken = 0;
  while (!malformed_ && *taken < bytes.size()) {
    const MutableByteSpan space = missing();
    const size_t left = bytes.size() - *taken;
    const size_t count = left < space.size() ? left : space.size();
    if (count == 0) break;
    __builtin_memcpy(space.data(), bytes.data() + *taken, count);
    *taken += count;
    if (Status s = Received(count); s != Status::kOk) return s;
  }
  return malformed_ ? Status::kMalformed : Status::kOk;
}

void FrameReader::Next() {
  header_filled_ = 0;
  size_ = 0;
  filled_ = 0;
  malformed_ = false;
}

}  // namespace sotto
