// The chain over the records of a store: it finds any value that is not as it was written.
// Part of sotto::server/backends.
//
// Each record has a row in the table `chain`, in the order in which the records were written:
//
//   hash of record n = SHA-256( label, hash of record n - 1, n, the record's name, its values )
//
// A record's values are all columns of all of its rows, each with its type and its length. The
// first record follows a hash of zeros. The table kRecordKinds in sql_kinds.h lists the kinds of
// records and the columns of each. No record ever changes: a device's revocation is another record.
// A model that is not the newest of its job may be deleted: its record stays in the chain with its
// hash, and the next record's hash covers that hash.
//
// The chain finds damage. It does not find a removed end: an older copy of the store is a valid
// store. Receipts find that (round/receipts.h). It does not stop somebody who may write the file
// and computes the hashes anew: no key is needed for that.
//
// The format belongs to the schema: it changes with kSchemaVersion (sql_tables.h). One thread at
// a time for each database.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/sql.h"
#include "sotto/crypto.h"

namespace sotto::server {

// Names one record. Keys that the kind does not have are 0.
struct RecordName {
  std::string kind;  // of kRecordKinds
  int64_t keys[3] = {};
};

// For people, for example "the release of round 3 of job 1". Rounds and attempts count from 1, as
// in the log of `sotto serve`.
std::string DescribeRecord(const RecordName& name);

// The end of a chain.
struct ChainHead {
  int64_t records = 0;
  RecordName last;
  uint8_t hash[kSha256Size] = {};
};

class Chain {
 public:
  // The database must hold the tables of sql_tables.h, and must outlive the chain.
  explicit Chain(Database& database);
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // Appends a record whose rows were just written, in their transaction.
  //   hash  if not null: gets the record's hash
  void Append(const RecordName& name, uint8_t (*hash)[kSha256Size] = nullptr);

  // Throws std::runtime_error that names the file and the record if the record's rows are not as
  // they were written, or are deleted. Reads the record, its link and the link before it.
  void RequireIntact(const RecordName& name);

  // Reads the whole chain and all rows of the store, one record after the other. Throws
  // std::runtime_error that names the file, the first bad record and the last good one. Throws also
  // if a row belongs to no record, and if the chain ends within a commit: after a release without
  // its model, or after a job or its first model without the list of its devices.
  //
  // Outside a transaction it reads in pieces of some milliseconds, and other processes commit
  // between them. That finds all that one transaction would find: a record never changes, so what
  // was read stays as it was; the last piece reads to the end that the chain then has. Only models
  // may be deleted meanwhile, so the last piece looks at all their rows again.
  ChainHead Verify();

  // Copies all records into a database that has the same tables, all empty, in its transaction that
  // writes, and returns the end of the chain that was copied: the end that it has when the call
  // returns. Verifies nothing. Reads in pieces as Verify() does, so nobody waits long.
  ChainHead CopyTo(Database& copy);

  // The hash of a record, after RequireIntact() or Verify() found it intact.
  void ForEachHash(const std::string& kind,
                   const std::function<void(const RecordName&, ByteSpan hash)>& take);

 private:
  struct Reader;
  struct Link;
  bool VerifyPiece(ChainHead* head);
  bool CopyPiece(Database& copy, ChainHead* head);
  void CopyRecord(Database& copy, const RecordName& name);
  Reader& ReaderOf(const RecordName& name);
  void Hash(const Link& link, uint8_t (&hash)[kSha256Size]);
  bool IsDeleted(const RecordName& name);
  void RequireAllRowsCovered();
  void RequireCovered(const Reader& reader, size_t part);
  void RequireWholeCommit(const ChainHead& head);
  [[noreturn]] void Refuse(const std::string& why) const;

  Database& database_;
  std::vector<std::unique_ptr<Reader>> readers_;  // one for each of kRecordKinds that was used
};

// Writes the first record of a new store, with a fresh key of the receipts that devices get
// (round/receipts.h). In a transaction, into empty tables.
void BeginLog(Database& database);

}  // namespace sotto::server
