#include "backends/sql.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <stdexcept>

namespace sotto::server {
namespace {

std::string InsertText(const char* table, const std::vector<std::string>& columns) {
  const std::vector<const char*> marks(columns.size(), "?");
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table, fmt::join(columns, ", "),
                     fmt::join(marks, ", "));
}

}  // namespace

void Database::Refuse(const std::string& why) const {
  throw std::runtime_error(name_ + ": " + why);
}

int64_t Database::Integer(const char* sql) {
  Statement statement(*this, sql);
  statement.Step();
  return statement.Integer(0);
}

std::string Database::Text(const char* sql) {
  Statement statement(*this, sql);
  statement.Step();
  return statement.Text(0);
}

void Statement::Run() {
  Step();
  Reset();
}

std::vector<std::string> Statement::names() const {
  std::vector<std::string> names;
  for (int i = 0; i < columns(); ++i) names.push_back(prepared_->name(i));
  return names;
}

double Statement::RealOrInfinity(int column) const {
  return IsNull(column) ? std::numeric_limits<double>::infinity() : Real(column);
}

std::string Statement::Text(int column) const {
  const ByteSpan bytes = Blob(column);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void Statement::BindReal(double value) {
  if (std::isfinite(value)) {
    prepared_->BindReal(value + 0.0);  // SQLite has no negative zero
  } else {
    prepared_->BindNull();
  }
}

int64_t SecondsSince1970() { return static_cast<int64_t>(std::time(nullptr)); }

void Insert(Database& database, const char* table, const std::vector<ColumnValue>& row) {
  std::vector<std::string> columns;
  for (const ColumnValue& cell : row) columns.emplace_back(cell.column);
  Statement insert(database, InsertText(table, columns));
  for (const ColumnValue& cell : row) {
    std::visit([&](const auto& value) { insert.Bind(value); }, cell.value);
  }
  insert.Run();
}

RowCopy::RowCopy(const Statement& row, const char* table, const std::vector<std::string>& secrets,
                 Database& copy)
    : row_(row), insert_(copy, InsertText(table, row.names())) {
  for (const std::string& name : row.names()) {
    is_secret_.push_back(std::find(secrets.begin(), secrets.end(), name) != secrets.end());
  }
}

void RowCopy::CopyRow() {
  for (int i = 0; i < row_.columns(); ++i) {
    switch (row_.Type(i)) {
      case ValueType::kInteger:
        insert_.Bind(row_.Integer(i));
        break;
      case ValueType::kReal:
        insert_.Bind(row_.Real(i));
        break;
      case ValueType::kText:
        insert_.Bind(row_.Text(i));
        break;
      case ValueType::kBlob:
        if (is_secret_[static_cast<size_t>(i)]) {
          insert_.Bind(SecretBytes{row_.Blob(i)});
        } else {
          insert_.Bind(row_.Blob(i));
        }
        break;
      case ValueType::kNull:
        insert_.Bind(std::numeric_limits<double>::infinity());
    }
  }
  insert_.Run();
}

Transaction::Transaction(Database& database, Kind kind)
    : database_(database), is_part_(kind == Kind::kRead && database.is_in_transaction()) {
  if (!is_part_) database_.Begin(kind);
}

Transaction::~Transaction() {
  if (!is_part_) database_.End();
}

}  // namespace sotto::server
