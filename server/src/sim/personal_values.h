// The personal layers of all simulated devices (sotto/personal.h). Part of sotto::server/sim.
//
// Each device has a persistent store for one record, as a board has. All records lie in memory, or
// in a temporary file if they take more than a limit; which of the two changes no result. Threads
// may use the stores of different devices at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/model_info.h"
#include "sotto/persistent_store.h"
#include "sotto/posix/temporary_file.h"

namespace sotto::server {

constexpr uint64_t kMostPersonalBytes = uint64_t{1} << 29;  // in memory

class PersonalValues {
 public:
  // No device has a record yet. Throws as posix::TemporaryFile does.
  //   most_in_memory  bytes of all records; more lie in a file
  PersonalValues(const ModelInfo& model, uint32_t devices,
                 uint64_t most_in_memory = kMostPersonalBytes);

  // The store of one device. The object that it is of stays where it is, and outlives it.
  class Device {
   public:
    Device(PersonalValues& all, uint32_t index) : all_(all), index_(index) {}
    PersistentStore store() { return {Load, Save, this}; }

   private:
    static Status Load(void* self, StoreSlot slot, size_t offset, MutableByteSpan out,
                       size_t* size);
    static Status Save(void* self, StoreSlot slot, Span<const ByteSpan> parts);

    PersonalValues& all_;
    const uint32_t index_;
  };

  bool is_in_file() const { return file_.has_value(); }

 private:
  bool Read(uint64_t at, MutableByteSpan out) const;
  bool Write(uint64_t at, ByteSpan bytes);

  const size_t record_bytes_;
  std::vector<uint8_t> memory_;
  std::optional<posix::TemporaryFile> file_;  // in place of memory_
};

}  // namespace sotto::server
