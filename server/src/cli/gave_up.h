// The exit of a command whose job gave up. Part of sotto::server/cli.
#ifndef SOTTO_CLI_GAVE_UP_H_
#define SOTTO_CLI_GAVE_UP_H_

#include <stdexcept>

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

// The last lines of the help of these commands.
constexpr char kJobFooter[] =
    "Any of these options may stand in a TOML file, without dashes: --config FILE\n"
    "Exit status: 0 all rounds are released or the budget is spent, 1 it failed, 2 bad usage,\n"
    "3 the job gave up: too few devices checked in, or training diverged";

}  // namespace sotto::server

#endif  // SOTTO_CLI_GAVE_UP_H_
