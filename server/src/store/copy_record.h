// What is known of the newest copy of a store: `sotto store backup` writes it beside the store, in
// STORE.copied, and a server reads it. Part of sotto::server/store.
//
// The file has no secret. It is no record of the store: a copy that changed the store would be
// older than the store at once. Without it, as beside a restored store, no copy is known.
//
// Stateless, safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sotto::server {

struct CopyRecord {
  int64_t attempts = 0;  // of all jobs, that the copy knows
  int64_t made = 0;      // seconds since 1970
};

// Throws as posix::ReplaceTextFile() does.
void WriteCopyRecord(const std::string& store, const CopyRecord& record);

// Absent: there is no such file, or it is not a copy record.
std::optional<CopyRecord> ReadCopyRecord(const std::string& store);

}  // namespace sotto::server
