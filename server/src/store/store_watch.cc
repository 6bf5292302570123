#include "store/store_watch.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

#include "base/counted.h"
#include "round/job_config.h"

namespace sotto::server {
namespace {

std::string Megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

std::optional<StoreFigures> LookAtStore(const std::string& store) {
  namespace fs = std::filesystem;
  std::error_code error;
  StoreFigures figures;
  figures.bytes = fs::file_size(store, error);
  if (error) return std::nullopt;
  figures.free_bytes = fs::space(store, error).available;
  if (error) return std::nullopt;
  figures.copy = ReadCopyRecord(store);
  figures.looked = std::time(nullptr);
  return figures;
}

uint64_t ReleaseBytes(const JobConfig& job) {
  constexpr uint64_t kRecords = 65536;
  constexpr uint64_t kModelAndState = 12;  // of a parameter: the state of Adam takes most
  return kRecords + kModelAndState * job.model->parameters;
}

int64_t AttemptsBehind(const StoreFigures& store, int64_t attempts) {
  return std::max<int64_t>(attempts - (store.copy ? store.copy->attempts : 0), 0);
}

std::vector<StoreAlarm> StoreAlarms(const std::string& name, const StoreFigures& store,
                                    int64_t attempts, uint64_t release_bytes) {
  std::vector<StoreAlarm> alarms;
  const uint64_t need = std::max(kLeastRoom, kReleasesOfRoom * release_bytes);
  if (store.free_bytes < need) {
    const auto folder = std::filesystem::absolute(name).parent_path().string();
    const std::string needs =
        release_bytes == 0
            ? ""
            : fmt::format(", and a release of this job writes up to {}", Megabytes(release_bytes));
    alarms.push_back(
        {StoreAlarm::Kind::kDisk,
         fmt::format("WARNING: the disk of {} fills: {} are free (`df {}`){}. A server that "
                     "cannot write ends, and goes on when it is started with room again. Make room "
                     "there; or stop the server and start it with --keep-models 1, which deletes "
                     "older models and lets the store grow no further, or move the store to a "
                     "larger disk",
                     folder, Megabytes(store.free_bytes), folder, needs)});
  }
  const int64_t behind = AttemptsBehind(store, attempts);
  if (store.copy && behind > 0 && store.looked - store.copy->made > kOldCopySeconds) {
    alarms.push_back(
        {StoreAlarm::Kind::kCopy,
         fmt::format("WARNING: the newest copy of {} is {} minutes old and does not know the last "
                     "{}: if the disk failed now, the record of their cost would be lost. Find out "
                     "why `sotto store backup` does not run (systemctl status sotto-backup)",
                     name, (store.looked - store.copy->made) / 60, Counted(behind, "attempt"))});
  }
  return alarms;
}

}  // namespace sotto::server
