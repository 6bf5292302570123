#include "backends/postgres.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <postgresql/libpq-fe.h>
#include <stdexcept>
#include <utility>

#include "backends/sql_tables.h"
#include "sotto/bytes.h"
#include "store/store.h"

namespace sotto::server {
namespace {

// OIDs of PostgreSQL's catalogue, pg_type.dat.
constexpr Oid kBool = 16;
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;
constexpr Oid kFloat8 = 701;
constexpr Oid kVarchar = 1043;

std::string BigEndian(uint64_t value) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (56 - 8 * i));
  return bytes;
}

uint64_t FromBigEndian(const char* bytes, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// Question marks outside of quotes become $1, $2 and so on.
std::string WithNumbers(const std::string& sql) {
  std::string numbered;
  int next = 0;
  bool is_quoted = false;
  for (const char c : sql) {
    if (c == '\'') is_quoted = !is_quoted;
    if (c == '?' && !is_quoted) {
      numbered += fmt::format("${}", ++next);
    } else {
      numbered += c;
    }
  }
  return numbered;
}

// The first line, without what follows: a detail may name values.
std::string MessageOf(const pg_result* result) {
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return primary != nullptr ? primary : "no reason is given";
}

// Whether the connection, or the server that it leads to, is gone, or gave up what was under way: a
// later connection may be good.
bool IsAway(const pg_conn* connection, const char* state) {
  if (PQstatus(connection) != CONNECTION_OK) return true;
  if (state == nullptr) return true;
  const std::string code = state;
  constexpr const char* kBeginAnew[] = {
      "57014",  // somebody cancelled a statement
      "40001", "40P01",
      "25P03",  // a transaction was open for too long
      "25006",  // the database is a standby now
  };
  return code.rfind("08", 0) == 0 || code.rfind("57P", 0) == 0 ||
         std::find(std::begin(kBeginAnew), std::end(kBeginAnew), code) != std::end(kBeginAnew);
}

const char* Advice(const std::string& state) {
  if (state == "55P03") return "another process has kept it locked for a minute: stop that one";
  if (state.rfind("53", 0) == 0 || state.rfind("58", 0) == 0) {
    return "free space on its disk or repair the disk, and start again: what was committed is kept";
  }
  if (state.rfind("42501", 0) == 0 || state.rfind("28", 0) == 0) {
    return "check the role's rights in this database";
  }
  if (state.rfind("XX001", 0) == 0 || state.rfind("XX002", 0) == 0) return kDamagedAdvice;
  return "check that its tables were written by this program alone";
}

// Each run of blanks is one space.
std::string OneLine(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!is_blank) line += c;
    if (is_blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

class PostgresStatement final : public Prepared {
 public:
  PostgresStatement(PostgresDatabase& database, const std::string& sql)
      : database_(database), sql_(WithNumbers(sql)) {}
  ~PostgresStatement() override { Wipe(); }
  PostgresStatement(const PostgresStatement&) = delete;
  PostgresStatement& operator=(const PostgresStatement&) = delete;

  void BindNull() override { parameters_.push_back({}); }
  void BindInteger(int64_t value) override {
    parameters_.push_back({kInt8, BigEndian(static_cast<uint64_t>(value))});
  }
  void BindReal(double value) override {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    parameters_.push_back({kFloat8, BigEndian(bits)});
  }
  void BindText(const std::string& value) override { parameters_.push_back({kText, value}); }
  void BindBlob(ByteSpan value) override {
    parameters_.push_back({kBytea, {value.begin(), value.end()}});
  }
  void BindSecret(ByteSpan value) override {
    const std::vector<uint8_t> wrapped = database_.Wrap(value);
    BindBlob({wrapped.data(), wrapped.size()});
  }

  bool Step() override {
    Wipe();
    return ++row_ < PQntuples(Ran());
  }
  void Reset() override {
    Wipe();
    result_.reset();
    row_ = -1;
    parameters_.clear();
  }

  int columns() const override { return PQnfields(Ran()); }
  std::string name(int column) const override { return PQfname(Ran(), column); }
  ValueType Type(int column) const override {
    if (PQgetisnull(result_.get(), row_, column) != 0) return ValueType::kNull;
    switch (PQftype(result_.get(), column)) {
      case kFloat8:
        return ValueType::kReal;
      case kText:
      case kVarchar:
        return ValueType::kText;
      case kBytea:
        return ValueType::kBlob;
      default:
        return ValueType::kInteger;
    }
  }
  int64_t Integer(int column) const override {
    if (PQgetisnull(result_.get(), row_, column) != 0) return 0;
    const char* bytes = PQgetvalue(result_.get(), row_, column);
    switch (PQftype(result_.get(), column)) {
      case kInt8:
        return static_cast<int64_t>(FromBigEndian(bytes, PQgetlength(result_.get(), row_, column)));
      case kInt4:
        return static_cast<int32_t>(FromBigEndian(bytes, 4));
      case kInt2:
        return static_cast<int16_t>(FromBigEndian(bytes, 2));
      case kBool:
        return bytes[0] != 0 ? 1 : 0;
      case kFloat8:
        return static_cast<int64_t>(Real(column));
      default:
        return 0;
    }
  }
  double Real(int column) const override {
    if (PQftype(result_.get(), column) != kFloat8) return static_cast<double>(Integer(column));
    if (PQgetisnull(result_.get(), row_, column) != 0) return 0;
    const uint64_t bits = FromBigEndian(PQgetvalue(result_.get(), row_, column), 8);
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  ByteSpan Blob(int column) const override {
    const auto* bytes = reinterpret_cast<const uint8_t*>(PQgetvalue(result_.get(), row_, column));
    const ByteSpan held = {bytes, static_cast<size_t>(PQgetlength(result_.get(), row_, column))};
    if (held.empty() || !database_.IsSecret(result_.get(), column)) return held;
    std::vector<uint8_t>& secret = secrets_[column];
    if (secret.empty()) secret = database_.Unwrap(held);
    return {secret.data(), secret.size()};
  }

 private:
  // The result, of a first Step(), or of a question what columns it has.
  const PGresult* Ran() const {
    if (result_ == nullptr) result_ = database_.Execute(sql_, parameters_);
    return result_.get();
  }
  void Wipe() {
    for (auto& [column, secret] : secrets_) SecureWipe(secret.data(), secret.size());
    secrets_.clear();
  }

  PostgresDatabase& database_;
  const std::string sql_;
  std::vector<PostgresDatabase::Parameter> parameters_;
  mutable PostgresDatabase::Result result_{nullptr, PQclear};
  int row_ = -1;
  mutable std::map<int, std::vector<uint8_t>> secrets_;  // of the row, by column
};

// Frees what libpq allocated.
struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

}  // namespace

PostgresName ParsePostgresName(const std::string& where) {
  PostgresName name{where, where.substr(0, where.find('?')), kDefaultKeyFile, ""};
  std::string rest = where.size() > name.uri.size() ? where.substr(name.uri.size() + 1) : "";
  char separator = '?';
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string each = rest.substr(0, end);
    rest.erase(0, std::min(end + 1, rest.size()));
    if (each.rfind("key=", 0) == 0) {
      name.key_file = each.substr(4);
    } else {
      name.uri += std::exchange(separator, '&') + each;
    }
  }
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(name.uri.c_str(), &error));
  if (options == nullptr) {
    const std::string why = error != nullptr ? OneLine(error) : "out of memory";
    PQfreemem(error);
    // What libpq quotes may be a password.
    const bool may_tell =
        name.uri.find('@') == std::string::npos && name.uri.find("password") == std::string::npos;
    throw std::invalid_argument(
        fmt::format("--store: {}; write postgresql://USER@HOST/DATABASE or postgresql:///DATABASE",
                    may_tell ? why : "no name that libpq reads"));
  }
  for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each) {
    if (each->val == nullptr) continue;
    if (std::string(each->keyword) == "dbname") name.database = each->val;
    if (each->dispchar[0] == '*') {  // a value that nobody shall see: a password, also of a key
      throw std::invalid_argument(
          "--store: a password in a store's name is read by everybody who lists processes; put it "
          "in ~/.pgpass (mode 0600) or in the file that PGPASSFILE names");
    }
  }
  return name;
}

PostgresDatabase::PostgresDatabase(const PostgresName& name, Access access, const char* what)
    : Database(name.text) {
  // The name may say otherwise: it comes last.
  const char* const keywords[] = {
      "fallback_application_name", "client_encoding",  "connect_timeout", "keepalives_idle",
      "keepalives_interval",       "tcp_user_timeout", "dbname",          nullptr};
  const char* const values[] = {what, "UTF8", "5", "5", "2", "10000", name.uri.c_str(), nullptr};
  connection_ = PQconnectdbParams(keywords, values, 1);
  try {
    if (PQstatus(connection_) != CONNECTION_OK) FailConnection("reach it");
    PQsetNoticeReceiver(
        connection_,
        [](void* database, const PGresult* notice) {
          const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
          if (severity == nullptr || std::strcmp(severity, "WARNING") != 0) return;
          static_cast<PostgresDatabase*>(database)->has_warned_ = true;
        },
        this);
    SetUp(access);
  } catch (...) {
    PQfinish(connection_);
    throw;
  }
}

PostgresDatabase::~PostgresDatabase() { PQfinish(connection_); }

void PostgresDatabase::SetUp(Access access) {
  Run(fmt::format("SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {}; "
                  "SET statement_timeout = 0; SET client_min_messages = warning",
                  kMostWaitMs, kMostIdleMs)
          .c_str());
  if (access == Access::kRead) Run("SET default_transaction_read_only = on");
  // A commit is durable when it returns, whatever the database's default.
  Run("SELECT set_config('synchronous_commit', 'on', false) "
      "WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')");
}

void PostgresDatabase::FailConnection(const char* what) {
  throw StoreLost(fmt::format("{}: cannot {}: {}; check that PostgreSQL runs and is reached",
                              name(), what, OneLine(PQerrorMessage(connection_))));
}

void PostgresDatabase::Check(const pg_result* result, const char* what) {
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (IsAway(connection_, state)) FailConnection(what);
  throw std::runtime_error(
      fmt::format("{}: cannot {}: {}; {}", name(), what, MessageOf(result), Advice(state)));
}

void PostgresDatabase::Run(const char* sql) {
  const Result result(PQexec(connection_, sql), PQclear);
  Check(result.get(), "use it");
}

void PostgresDatabase::Begin(Kind kind) {
  is_in_transaction_ = true;
  try {
    if (kind == Kind::kRead) {
      Run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    } else {
      Run(fmt::format("BEGIN ISOLATION LEVEL READ COMMITTED; "
                      "SELECT pg_advisory_xact_lock(hashtext(current_schema()), {})",
                      static_cast<int>(kWriters))
              .c_str());
    }
  } catch (...) {
    End();
    throw;
  }
}

// PostgreSQL answers ROLLBACK to the COMMIT of a transaction in which something failed; and it
// warns if somebody ended the wait for its standbys, which may lack the commit then.
void PostgresDatabase::Commit() {
  has_warned_ = false;
  const Result result(PQexec(connection_, "COMMIT"), PQclear);
  Check(result.get(), "commit");
  is_in_transaction_ = false;
  if (has_warned_) {
    throw StoreLost(name() + ": a commit is not on its standbys: the wait for them was ended");
  }
  if (std::strcmp(PQcmdStatus(result.get()), "COMMIT") != 0) {
    throw std::runtime_error(name() + ": a commit was refused; nothing was written");
  }
}

void PostgresDatabase::End() noexcept {
  if (!std::exchange(is_in_transaction_, false)) return;
  PQclear(PQexec(connection_, "ROLLBACK"));
}

std::unique_ptr<Prepared> PostgresDatabase::Prepare(const std::string& sql) {
  return std::make_unique<PostgresStatement>(*this, sql);
}

PostgresDatabase::Result PostgresDatabase::Execute(const std::string& sql,
                                                   const std::vector<Parameter>& parameters) {
  constexpr int kBinary = 1;
  const auto count = static_cast<int>(parameters.size());
  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  std::string key = sql;
  for (const Parameter& each : parameters) {
    types.push_back(each.type);
    values.push_back(each.type == 0 ? nullptr : each.bytes.data());
    lengths.push_back(static_cast<int>(each.bytes.size()));
    formats.push_back(kBinary);
    key += fmt::format(" {}", each.type);
  }
  const auto found = prepared_.find(key);
  std::string statement;
  if (found != prepared_.end()) {
    statement = found->second;
  } else {
    statement = fmt::format("s{}", prepared_.size());
    const Result made(PQprepare(connection_, statement.c_str(), sql.c_str(), count, types.data()),
                      PQclear);
    Check(made.get(), "use it");
    prepared_[key] = statement;
  }
  Result result(PQexecPrepared(connection_, statement.c_str(), count, values.data(), lengths.data(),
                               formats.data(), kBinary),
                PQclear);
  Check(result.get(), "use it");
  return result;
}

bool PostgresDatabase::IsSecret(const pg_result* result, int column) const {
  if (PQftype(result, column) != kBytea || PQftable(result, column) == InvalidOid) return false;
  const std::vector<std::string>& secrets = SecretColumns();
  return std::find(secrets.begin(), secrets.end(), PQfname(result, column)) != secrets.end();
}

std::vector<uint8_t> PostgresDatabase::Wrap(ByteSpan secret) const { return key_->Wrap(secret); }

std::vector<uint8_t> PostgresDatabase::Unwrap(ByteSpan wrapped) const {
  return key_->Unwrap(wrapped);
}

}  // namespace sotto::server
