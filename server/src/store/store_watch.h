// Watches the store of a running server: the room on its disk, and how old its newest copy is. Part
// of sotto::server/store.
//
// Stateless, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "round/job_config.h"
#include "store/copy_record.h"

namespace sotto::server {

struct StoreFigures {
  uint64_t bytes = 0;       // of the store's file
  uint64_t free_bytes = 0;  // that its owner may still use on the file system
  std::optional<CopyRecord> copy;
  int64_t looked = 0;  // seconds since 1970
};

// Reads the file system, which may take its time. Absent: it says nothing of this store.
std::optional<StoreFigures> LookAtStore(const std::string& store);

// The most that a release of the job adds to its store: model, optimiser state and journal.
uint64_t ReleaseBytes(const JobConfig& job);

// Attempts of the store that its newest copy does not know: all, if no copy is known. A disk that
// dies takes them along.
//   attempts  of all jobs of the store
int64_t AttemptsBehind(const StoreFigures& store, int64_t attempts);

constexpr uint64_t kReleasesOfRoom = 10;
constexpr uint64_t kLeastRoom = uint64_t{16} << 20;
constexpr int64_t kOldCopySeconds = 3600;

// A fact that needs the operator, with advice. A store that has no copy yet is no alarm.
struct StoreAlarm {
  enum class Kind { kDisk, kCopy };
  Kind kind;
  std::string text;
};
//   release_bytes  ReleaseBytes() of the job that runs; 0: none does
std::vector<StoreAlarm> StoreAlarms(const std::string& name, const StoreFigures& store,
                                    int64_t attempts, uint64_t release_bytes);

}  // namespace sotto::server
