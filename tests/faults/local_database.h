// A database in memory whose statements are prepared once: reading the schema and the statements
// anew would take longer than the rest of a simulation.
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/sqlite.h"

namespace sotto::server {

class LocalDatabase final : public Database {
 public:
  using Image = std::vector<uint8_t>;

  LocalDatabase() : Database("simulated") { real_.Run("PRAGMA foreign_keys = ON"); }

  // All of its bytes, outside of a transaction. Only the bytes of databases with the same tables
  // may come one after the other.
  Image Bytes();
  void Load(const Image& image);

  void Run(const char* sql) override { real_.Run(sql); }
  bool is_in_transaction() const override { return real_.is_in_transaction(); }
  void Begin(Kind kind) override { real_.Begin(kind); }
  void Commit() override { real_.Commit(); }
  void End() noexcept override { real_.End(); }
  std::unique_ptr<Prepared> Prepare(const std::string& sql) override;

  SqliteDatabase& real() { return real_; }

 private:
  friend class KeptStatement;

  SqliteDatabase real_{":memory:"};
  std::map<std::string, std::vector<std::unique_ptr<Prepared>>> idle_;  // by their text
};

}  // namespace sotto::server
