// The finished runs of an experiment, in a file: an experiment that was interrupted goes on with
// the others. Part of sotto::server/experiment.
//
// The file has a line of JSON for each run, whose last field is the SHA-256 of the line without it.
// A line is written in one call once the run is done. A line that is not whole, after a crash or a
// full disk, or not as it was written, counts for nothing. Of two lines of one run the later one
// counts.
//
// Several processes may share a file: each claims a run before it makes it, by a lock that ends
// with the process (sotto/posix/claim_file.h; in FILE.lock for FILE.jsonl), and reads what the
// others have finished. So a run is made once, and a killed process leaves nothing that is taken.
//
// A run is found by its key, SHA-256 of its kind and its settings. Its line also has the digests of
// the files that it read and the program that made it, which the runner compares. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "formulas/settings.h"
#include "sotto/posix/claim_file.h"
#include "spec/inputs.h"

namespace sotto::server {

// What names a run: its kind, its settings with the seed, and the contents of its model file, which
// lies in an output folder.
//   kind      a name of run_kinds.h
std::string RunKey(const std::string& kind, const Settings& settings);

// A run that was made.
struct LoggedRun {
  Outcome outcome;
  InputDigests inputs;  // of the files that it read
  std::string build;    // BuildText() of the program that made it
};

class RunLogFile {
 public:
  // Reads the runs that are there. Throws std::runtime_error if the file cannot be read.
  explicit RunLogFile(const std::string& path);

  // Reads what others have appended since. Throws as the constructor does.
  void Refresh();

  // The right to make a run; absent: another process is at it. The run may be finished by then:
  // Refresh() and Find() tell.
  std::optional<posix::Claim> TryClaim(const std::string& key);

  // Appends the runs of another file of this kind that this one lacks, as they are. Returns how
  // many. Throws std::runtime_error for a file that cannot be read, or is not there.
  size_t Import(const std::string& path);

  std::optional<LoggedRun> Find(const std::string& key) const;

  // Appends a run. Throws std::runtime_error if it cannot be written.
  void Append(const std::string& key, const std::string& kind, const Settings& settings,
              const LoggedRun& run);

  // The time of one core that these runs took, in hours. Absent if a run is not here, or was not
  // measured.
  std::optional<double> CoreHours(const std::vector<std::string>& keys) const;

  size_t size() const;

 private:
  posix::ClaimFile& Claims();  // made when it is needed: who only reads leaves no file
  void ReadOn();
  void Add(const std::string& line);
  void AppendLine(const std::string& line);

  const std::string path_;
  std::optional<posix::ClaimFile> claims_;
  std::once_flag has_claims_;
  mutable std::mutex mutex_;
  std::map<std::string, LoggedRun> runs_;
  int64_t read_ = 0;  // bytes of the file, all of them whole lines
};

}  // namespace sotto::server
