// How a command says why it ended early. Part of sotto::server/base.
#pragma once

#include <functional>
#include <string>

namespace sotto::server {

// With the reason and the exit status. Empty: "sotto: REASON" on standard error, as any program has
// it. A command whose log is for machines sets it, so that its last line is for them, too. Of this
// process; one thread at a time.
using LastWords = std::function<void(const std::string& reason, int status)>;

inline LastWords& TheLastWords() {
  static LastWords words;
  return words;
}

}  // namespace sotto::server
