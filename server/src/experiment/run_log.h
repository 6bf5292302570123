// The finished runs of an experiment, in a file: an experiment that was interrupted goes on with
// the others. Part of sotto::server/experiment.
//
// The file has a line of JSON for each run. A line is written in one call once the run is done, and
// a line that is not whole, after a crash or a full disk, counts for nothing. A run is found by its
// key, SHA-256 of all that decides its outcome. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "experiment/settings.h"

namespace sotto::server {

// What decides the outcome of a run: its kind, its settings with the seed, the contents of its
// model file, and the version of this program.
//   kind      a name of run_kinds.h
std::string RunKey(const std::string& kind, const Settings& settings);

class RunLogFile {
 public:
  // Reads the runs that are there. Throws std::runtime_error if the file cannot be read.
  explicit RunLogFile(const std::string& path);

  std::optional<Outcome> Find(const std::string& key) const;

  // Appends a run. Throws std::runtime_error if it cannot be written.
  //   seconds  that it took; for people
  void Append(const std::string& key, const std::string& kind, const Settings& settings,
              const Outcome& outcome, double seconds);

  size_t size() const;

 private:
  const std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, Outcome> runs_;
  bool ends_in_line_ = true;
};

}  // namespace sotto::server
