// Copies a store: into a backup, and into another store in which its fleet goes on. Part of
// sotto::server/backends.
//
// The records never change, so a copy of them one by one is a copy of one moment, when the last
// record was written. Its records have the same hashes.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sotto::server {

// The end of a store's log, and so of a copy of it.
struct LogEnd {
  int64_t records = 0;
  std::string last_record;  // for people
  std::string head;         // hash of the last record and so of all, hexadecimal digits
  int64_t attempts = 0;     // of all jobs
  // Of a backup: files in its folder that killed backups left. Each holds every secret.
  std::vector<std::string> leftovers = {};
};

// Files in the folder of a store that killed backups left. Each holds every secret of a store. Call
// it before the store is opened: it opens and closes those files.
std::vector<std::string> BackupLeftovers(const std::string& where);

// Copies a store into a new file of mode 0600, also while other processes use the store: they do
// not wait. The copy is the store at one moment within the call, and verified. Until it is whole it
// is FILE.part; one that a killed backup left is removed. Throws as OpenStore(), and if the file is
// there already.
LogEnd BackUpStore(const std::string& where, const std::string& file);

// Moves a store into a new one, of any kind. No server may run on it, and from the beginning of
// this call on it is written no more: a request of kind kMove, its last record, says where it went.
// The new store has all records, that request, and its answer, and is verified before it is there.
// What was interrupted goes on with a second call of the same names.
//   to  what must not be there yet
// Throws as OpenStore().
LogEnd MoveStore(const std::string& where, const std::string& to);

// Takes back a move that was interrupted before the new store was there; throws
// std::invalid_argument if there is none, or if the new store is there.
void WithdrawMove(const std::string& where);

}  // namespace sotto::server
