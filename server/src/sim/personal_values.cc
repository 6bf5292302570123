#include "sim/personal_values.h"

#include <algorithm>

#include "sotto/personal.h"

namespace sotto::server {

PersonalValues::PersonalValues(const ModelInfo& model, uint32_t devices, uint64_t most_in_memory)
    : record_bytes_(PersonalRecordBytes(model.personal)) {
  const uint64_t size = uint64_t{devices} * record_bytes_;
  if (size > most_in_memory) {
    file_.emplace(size);
  } else {
    memory_.resize(size);
  }
}

bool PersonalValues::Read(uint64_t at, MutableByteSpan out) const {
  if (file_) return file_->Read(at, out);
  std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
  return true;
}

bool PersonalValues::Write(uint64_t at, ByteSpan bytes) {
  if (file_) return file_->Write(at, bytes);
  std::copy_n(bytes.begin(), bytes.size(), memory_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

// A device that has saved nothing yet has zeros, which are no record.
Status PersonalValues::Device::Load(void* self, StoreSlot, size_t offset, MutableByteSpan out,
                                    size_t* size) {
  const auto& device = *static_cast<const Device*>(self);
  const size_t bytes = device.all_.record_bytes_;
  *size = offset < bytes ? std::min(out.size(), bytes - offset) : 0;
  const uint64_t at = uint64_t{device.index_} * bytes + offset;
  return device.all_.Read(at, out.first(*size)) ? Status::kOk : Status::kStoreFailed;
}

Status PersonalValues::Device::Save(void* self, StoreSlot, Span<const ByteSpan> parts) {
  const auto& device = *static_cast<const Device*>(self);
  uint64_t at = uint64_t{device.index_} * device.all_.record_bytes_;
  for (const ByteSpan& part : parts) {
    if (!device.all_.Write(at, part)) return Status::kStoreFailed;
    at += part.size();
  }
  return Status::kOk;
}

}  // namespace sotto::server
