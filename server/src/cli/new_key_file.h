// What a command says of the file with the key of a database's secrets, if it makes one. Part of
// sotto::server/cli.
//
// One thread at a time.
#pragma once

#include <filesystem>
#include <fmt/format.h>
#include <string>

#include "backends/open_store.h"

namespace sotto::server {

class NewKeyFile {
 public:
  // Before the store is made.
  explicit NewKeyFile(const std::string& store)
      : path_(KeyFileOf(store)), is_there_(path_.empty() || std::filesystem::exists(path_)) {}

  // After that.
  void Say() const {
    if (is_there_ || !std::filesystem::exists(path_)) return;
    fmt::print(
        "{}: the new key of the store's secrets: each of its servers needs a copy; keep one apart "
        "from the database, since nobody opens the store without it\n",
        path_);
  }

 private:
  const std::string path_;
  const bool is_there_;
};

}  // namespace sotto::server
