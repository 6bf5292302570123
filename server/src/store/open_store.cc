#include "store/open_store.h"

#include "store/sqlite_store.h"

namespace sotto::server {
namespace {

struct Kind {
  const char* prefix;  // of the names of this kind of store; the first match wins
  std::unique_ptr<Store> (*open)(const std::string& where, StoreMode mode);
};

std::unique_ptr<Store> OpenSqlite(const std::string& where, StoreMode mode) {
  return std::make_unique<SqliteStore>(where, mode);
}

constexpr Kind kKinds[] = {
    {"", OpenSqlite},  // any path
};

}  // namespace

std::unique_ptr<Store> OpenStore(const std::string& where, StoreMode mode) {
  for (const Kind& kind : kKinds) {
    if (where.rfind(kind.prefix, 0) == 0) return kind.open(where, mode);
  }
  return nullptr;  // not reached: the last row fits every name
}

}  // namespace sotto::server
