#include "faults/local_database.h"

#include <cstring>
#include <new>
#include <sqlite3.h>

namespace sotto::server {

// Goes back to its database in the end.
class KeptStatement final : public Prepared {
 public:
  KeptStatement(LocalDatabase& database, std::string sql, std::unique_ptr<Prepared> real)
      : database_(database), sql_(std::move(sql)), real_(std::move(real)) {}
  ~KeptStatement() override {
    real_->Reset();
    database_.idle_[sql_].push_back(std::move(real_));
  }
  KeptStatement(const KeptStatement&) = delete;
  KeptStatement& operator=(const KeptStatement&) = delete;

  void BindNull() override { real_->BindNull(); }
  void BindInteger(int64_t value) override { real_->BindInteger(value); }
  void BindReal(double value) override { real_->BindReal(value); }
  void BindText(const std::string& value) override { real_->BindText(value); }
  void BindBlob(ByteSpan value) override { real_->BindBlob(value); }
  void BindSecret(ByteSpan value) override { real_->BindSecret(value); }
  bool Step() override { return real_->Step(); }
  void Reset() override { real_->Reset(); }
  int columns() const override { return real_->columns(); }
  std::string name(int column) const override { return real_->name(column); }
  ValueType Type(int column) const override { return real_->Type(column); }
  int64_t Integer(int column) const override { return real_->Integer(column); }
  double Real(int column) const override { return real_->Real(column); }
  ByteSpan Blob(int column) const override { return real_->Blob(column); }

 private:
  LocalDatabase& database_;
  const std::string sql_;
  std::unique_ptr<Prepared> real_;
};

LocalDatabase::Image LocalDatabase::Bytes() {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(real_.handle(), "main", &size, 0);
  if (bytes == nullptr) throw std::bad_alloc();
  Image image(bytes, bytes + size);
  sqlite3_free(bytes);
  return image;
}

// In place if it can, which leaves SQLite what it knows of the schema.
void LocalDatabase::Load(const Image& image) {
  sqlite3_int64 held_size = 0;
  unsigned char* held =
      sqlite3_serialize(real_.handle(), "main", &held_size, SQLITE_SERIALIZE_NOCOPY);
  if (held != nullptr && static_cast<size_t>(held_size) == image.size()) {
    std::memcpy(held, image.data(), image.size());
    real_.ForgetPages();
    return;
  }
  auto* bytes = static_cast<unsigned char*>(sqlite3_malloc64(image.size()));
  if (bytes == nullptr) throw std::bad_alloc();
  std::memcpy(bytes, image.data(), image.size());
  const auto size = static_cast<sqlite3_int64>(image.size());
  const unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
  if (sqlite3_deserialize(real_.handle(), "main", bytes, size, size, flags) != SQLITE_OK) {
    real_.Fail("load it");
  }
}

std::unique_ptr<Prepared> LocalDatabase::Prepare(const std::string& sql) {
  std::vector<std::unique_ptr<Prepared>>& idle = idle_[sql];
  std::unique_ptr<Prepared> real;
  if (idle.empty()) {
    real = real_.Prepare(sql);
  } else {
    real = std::move(idle.back());
    idle.pop_back();
  }
  return std::make_unique<KeptStatement>(*this, sql, std::move(real));
}

}  // namespace sotto::server
