#include "backends/sql_chain.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <iterator>

#include "backends/sql_kinds.h"
#include "backends/sql_tables.h"
#include "sotto/bytes.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

constexpr char kLabel[] = "sotto store record 1";
constexpr auto kPiece = std::chrono::milliseconds(10);  // of a verification

using Kind = RecordKind;

const Kind* FindKind(const std::string& name) {
  const auto found = std::find_if(std::begin(kRecordKinds), std::end(kRecordKinds),
                                  [&](const Kind& kind) { return name == kind.name; });
  return found == std::end(kRecordKinds) ? nullptr : found;
}

// SHA-256 over values of known lengths: two different lists of values never give the same bytes.
class ValueHash {
 public:
  void Add(uint64_t value) {
    uint8_t bytes[8];
    StoreU64Le(value, bytes);
    Update(bytes);
  }
  void Add(ByteSpan bytes) {
    Add(static_cast<uint64_t>(bytes.size()));
    Update(bytes);
  }
  void Add(const char* text) {
    Add(ByteSpan(reinterpret_cast<const uint8_t*>(text), std::strlen(text)));
  }
  void AddColumn(const Statement& row, int column) {
    const ValueType type = row.Type(column);
    Add(static_cast<uint64_t>(type));
    if (type == ValueType::kInteger) Add(static_cast<uint64_t>(row.Integer(column)));
    if (type == ValueType::kReal) Add(Bits(row.Real(column)));
    if (type == ValueType::kText || type == ValueType::kBlob) Add(row.Blob(column));
  }
  void Finish(uint8_t (&digest)[kSha256Size]) { posix::Check(hash_.Finish(digest), kWhat); }

 private:
  static constexpr char kWhat[] = "the hash of a record";

  static uint64_t Bits(double value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  void Update(ByteSpan bytes) { posix::Check(hash_.Update(bytes), kWhat); }

  Sha256 hash_;
};

// Of a piece: a database that sends whole results sends no more than one takes.
constexpr char kNextLinks[] = "WHERE sequence > ? ORDER BY sequence LIMIT 4096";
constexpr int64_t kMostLinks = 4096;

constexpr char kSelectLink[] =
    "SELECT sequence, kind, first_key, second_key, third_key, hash FROM chain ";

}  // namespace

std::string DescribeRecord(const RecordName& name) {
  const Kind* kind = FindKind(name.kind);
  return kind == nullptr ? "a record of an unknown kind" : kind->describe(name.keys);
}

// The statements of one kind.
struct Chain::Reader {
  Reader(Database& database, const Kind& of) : kind(of) {
    for (const RecordPart& part : kind.parts) {
      if (part.table == nullptr) break;
      parts.push_back(std::make_unique<Statement>(database, part.select));
    }
  }
  const Kind& kind;
  std::vector<std::unique_ptr<Statement>> parts;
  int64_t rows[kMaxParts] = {};  // read so far
};

struct Chain::Link {
  int64_t sequence = 0;
  RecordName name;
  uint8_t former[kSha256Size] = {};  // hash of the record before it
};

Chain::Chain(Database& database) : database_(database) {}
Chain::~Chain() = default;

void Chain::Refuse(const std::string& why) const { database_.Refuse(why + "; " + kDamagedAdvice); }

Chain::Reader& Chain::ReaderOf(const RecordName& name) {
  for (const auto& reader : readers_) {
    if (name.kind == reader->kind.name) return *reader;
  }
  const Kind* kind = FindKind(name.kind);
  if (kind == nullptr) Refuse("the chain of its records names a kind that does not exist");
  readers_.push_back(std::make_unique<Reader>(database_, *kind));
  return *readers_.back();
}

// Reads the record's rows. The result is zero, which is no hash, if the first part has no row.
void Chain::Hash(const Link& link, uint8_t (&hash)[kSha256Size]) {
  Reader& reader = ReaderOf(link.name);
  ValueHash values;
  values.Add(kLabel);
  values.Add(ByteSpan(link.former));
  values.Add(static_cast<uint64_t>(link.sequence));
  values.Add(reader.kind.name);
  for (const int64_t key : link.name.keys) values.Add(static_cast<uint64_t>(key));
  for (size_t i = 0; i < reader.parts.size(); ++i) {
    Statement& row = *reader.parts[i];
    for (int key = 0; key < reader.kind.keys; ++key) row.Bind(link.name.keys[key]);
    uint64_t rows = 0;
    for (; row.Step(); ++rows) {
      for (int column = 0; column < row.columns(); ++column) values.AddColumn(row, column);
    }
    row.Reset();
    values.Add(rows);
    reader.rows[i] += static_cast<int64_t>(rows);
    if (i == 0 && rows == 0) {
      std::fill(std::begin(hash), std::end(hash), uint8_t{0});
      return;
    }
  }
  values.Finish(hash);
}

void BeginLog(Database& database) {
  const Key receipt_key = posix::RunKey(std::nullopt);
  Insert(database, "store",
         {{"one", 1},
          {"receipt_key", SecretBytes{receipt_key.bytes}},
          {"created", SecondsSince1970()},
          {"former_version", 0}});
  Chain(database).Append({"store", {1}});
}

void Chain::Append(const RecordName& name, uint8_t (*out)[kSha256Size]) {
  Link link;
  link.name = name;
  {
    Statement last(database_, "SELECT sequence, hash FROM chain ORDER BY sequence DESC LIMIT 1");
    if (last.Step()) {
      link.sequence = last.Integer(0);
      std::copy_n(last.Blob(1).data(), kSha256Size, link.former);
    }
  }
  ++link.sequence;
  uint8_t hash[kSha256Size] = {};
  Hash(link, hash);
  Insert(database_, "chain",
         {{"sequence", link.sequence},
          {"kind", name.kind},
          {"first_key", name.keys[0]},
          {"second_key", name.keys[1]},
          {"third_key", name.keys[2]},
          {"hash", hash}});
  if (out != nullptr) std::copy(std::begin(hash), std::end(hash), *out);
}

namespace {

// The name and the hash in a row of kSelectLink.
RecordName NameIn(const Statement& row) {
  return {row.Text(1), {row.Integer(2), row.Integer(3), row.Integer(4)}};
}

bool IsZero(const uint8_t (&hash)[kSha256Size]) {
  return std::all_of(std::begin(hash), std::end(hash), [](uint8_t b) { return !b; });
}

bool IsHash(const Statement& row, int column, const uint8_t (&hash)[kSha256Size]) {
  const ByteSpan held = row.Blob(column);
  return !IsZero(hash) && held.size() == kSha256Size && std::equal(held.begin(), held.end(), hash);
}

}  // namespace

void Chain::RequireIntact(const RecordName& name) {
  Statement row(database_,
                "SELECT c.sequence, c.hash, p.hash FROM chain c LEFT JOIN chain p "
                "ON p.sequence = c.sequence - 1 WHERE c.kind = ? AND c.first_key = ? AND "
                "c.second_key = ? AND c.third_key = ?");
  row.Bind(name.kind);
  for (const int64_t key : name.keys) row.Bind(key);
  Link link;
  link.name = name;
  uint8_t hash[kSha256Size] = {};
  bool is_intact = row.Step();
  if (is_intact) {
    link.sequence = row.Integer(0);
    if (row.Blob(2).size() == kSha256Size) {
      std::copy_n(row.Blob(2).data(), kSha256Size, link.former);
    }
    Hash(link, hash);
    is_intact = IsHash(row, 1, hash);
  }
  if (!is_intact) Refuse(DescribeRecord(name) + " is not as it was written");
}

// Of a record without rows.
bool Chain::IsDeleted(const RecordName& name) {
  const Kind* kind = FindKind(name.kind);
  if (kind == nullptr || kind->may_be_deleted == nullptr) return false;
  Statement row(database_, kind->may_be_deleted);
  for (int key = 0; key < kind->keys; ++key) row.Bind(name.keys[key]);
  return row.Step() && row.Integer(0) == 1;
}

ChainHead Chain::Verify() {
  readers_.clear();  // their counts begin at zero
  ChainHead head;
  while (!VerifyPiece(&head)) {
  }
  return head;
}

// Goes on behind `head`. Returns true at the end of the chain.
bool Chain::VerifyPiece(ChainHead* head) {
  const bool is_alone = !database_.is_in_transaction();
  const Transaction moment(database_, Transaction::Kind::kRead);
  const auto end = std::chrono::steady_clock::now() + kPiece;
  Link link;
  const int64_t first = head->records;
  link.sequence = first;
  std::copy(std::begin(head->hash), std::end(head->hash), link.former);
  Statement row(database_, std::string(kSelectLink) + kNextLinks);
  row.Bind(head->records);
  while (row.Step()) {
    ++link.sequence;
    link.name = NameIn(row);
    uint8_t hash[kSha256Size] = {};
    if (row.Integer(0) == link.sequence) Hash(link, hash);
    const bool has_hash = row.Blob(5).size() == kSha256Size;
    if (has_hash && IsZero(hash) && IsDeleted(link.name)) {
      std::copy_n(row.Blob(5).data(), kSha256Size, hash);
    }
    if (row.Integer(0) != link.sequence || !IsHash(row, 5, hash)) {
      const std::string good = head->records == 0
                                   ? "no record before it is good"
                                   : fmt::format("the last good record is number {}, {}",
                                                 head->records, DescribeRecord(head->last));
      Refuse(fmt::format("record number {}, {}, is not as it was written; {}", link.sequence,
                         DescribeRecord(link.name), good));
    }
    head->records = link.sequence;
    head->last = link.name;
    std::copy(std::begin(hash), std::end(hash), head->hash);
    std::copy(std::begin(hash), std::end(hash), link.former);
    if (is_alone && std::chrono::steady_clock::now() >= end) return false;
  }
  if (head->records - first == kMostLinks) return false;
  if (head->records == 0) Refuse("it has no records");
  RequireAllRowsCovered();
  RequireWholeCommit(*head);
  return true;
}

void Chain::CopyRecord(Database& copy, const RecordName& name) {
  Reader& reader = ReaderOf(name);
  for (size_t i = 0; i < reader.parts.size(); ++i) {
    Statement& row = *reader.parts[i];
    for (int key = 0; key < reader.kind.keys; ++key) row.Bind(name.keys[key]);
    RowCopy rows(row, reader.kind.parts[i].table, SecretColumns(), copy);
    while (row.Step()) rows.CopyRow();
    row.Reset();
  }
}

// Goes on behind `head`. Returns true at the end of the chain.
bool Chain::CopyPiece(Database& copy, ChainHead* head) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  const auto end = std::chrono::steady_clock::now() + kPiece;
  const int64_t first = head->records;
  Statement row(database_, std::string(kSelectLink) + kNextLinks);
  row.Bind(first);
  RowCopy links(row, "chain", {}, copy);
  while (row.Step()) {
    head->records = row.Integer(0);
    head->last = NameIn(row);
    CopyRecord(copy, head->last);
    links.CopyRow();
    if (row.Blob(5).size() == kSha256Size) std::copy_n(row.Blob(5).data(), kSha256Size, head->hash);
    if (std::chrono::steady_clock::now() >= end) return false;
  }
  if (head->records - first == kMostLinks) return false;
  // Models that were deleted meanwhile.
  Statement held(copy, "SELECT job, round FROM models");
  Statement remove(copy, "DELETE FROM models WHERE job = ? AND round = ?");
  Statement there(database_, "SELECT 1 FROM models WHERE job = ? AND round = ?");
  std::vector<std::pair<int64_t, int64_t>> deleted;
  while (held.Step()) {
    const bool is_there = there.Bind(held.Integer(0), held.Integer(1)).Step();
    if (!is_there) deleted.emplace_back(held.Integer(0), held.Integer(1));
    there.Reset();
  }
  for (const auto& [job, round] : deleted) remove.Bind(job, round).Run();
  return true;
}

ChainHead Chain::CopyTo(Database& copy) {
  ChainHead head;
  while (!CopyPiece(copy, &head)) {
  }
  return head;
}

void Chain::RequireWholeCommit(const ChainHead& head) {
  const char* rest = FindKind(head.last.kind)->rest;
  if (rest == nullptr || database_.Integer(rest) == 0) return;
  Refuse(
      fmt::format("record number {}, {}, is the last one, and the record that was committed "
                  "with it is missing",
                  head.records, DescribeRecord(head.last)));
}

void Chain::RequireAllRowsCovered() {
  for (const Kind& kind : kRecordKinds) {
    const Reader& reader = ReaderOf({kind.name, {}});
    for (size_t i = 0; i < reader.parts.size(); ++i) RequireCovered(reader, i);
  }
}

// Rows that may be deleted are counted now; the others were when their records were read.
void Chain::RequireCovered(const Reader& reader, size_t part) {
  const char* table = reader.kind.parts[part].table;
  const int64_t rows = database_.Integer(fmt::format("SELECT count(*) FROM {}", table).c_str());
  const int64_t covered =
      reader.kind.covered == nullptr ? reader.rows[part] : database_.Integer(reader.kind.covered);
  if (rows == covered) return;
  Refuse(fmt::format("its records have {} rows in the table {}, and the table has {}", covered,
                     table, rows));
}

void Chain::ForEachHash(const std::string& kind,
                        const std::function<void(const RecordName&, ByteSpan)>& take) {
  Statement row(database_, std::string(kSelectLink) + "WHERE kind = ? ORDER BY sequence");
  row.Bind(kind);
  while (row.Step()) take(NameIn(row), row.Blob(5));
}

}  // namespace sotto::server
