// The exits of a command whose job did not reach its end. Part of sotto::server/base.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/options/exit_status.h"

namespace sotto::server {

// The exit status of `sotto serve` and `sotto simulate` if the job gave up. A script can tell it
// from a failure of the program, 1, and from a wrong option, 2.
constexpr int kExitGaveUp = 3;

// The job gave up (Job::gave_up()). Its results are already written. The message is the job's
// reason.
class GaveUp : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The exit status of `sotto serve` on an older copy of its store (StaleLog): a later start would
// only draw devices that the store knows nothing of.
constexpr int kExitOlderCopy = 4;

// A signal stopped the job after everything that there was to write was written.
class Stopped : public std::runtime_error {
 public:
  Stopped(int signal, const std::string& what) : std::runtime_error(what), signal_(signal) {}
  int exit_status() const { return posix::kExitSignal + signal_; }

 private:
  int signal_;
};

// The last lines of the help of a command whose options a file may have.
//   done  what status 0 means
//   more  statuses beside the ones that every command has
inline std::string JobFooter(const char* done, const std::vector<posix::ExitMeaning>& more = {}) {
  std::vector<posix::ExitMeaning> exits = {
      {0, done}, {posix::kExitFailure, "it failed"}, {posix::kExitUsage, "bad usage"}};
  exits.insert(exits.end(), more.begin(), more.end());
  return "Any of these options may stand in a TOML file, without dashes: --config FILE\n" +
         posix::DescribeExits(exits);
}

}  // namespace sotto::server
