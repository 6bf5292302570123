// Small files that are written completely or not at all, and files that hold secrets. Part of
// sotto/posix.
//
// A file written here is complete and durable before its name exists, so neither a killed process
// nor a power failure leaves an incomplete file. A killed process may leave a temporary file
// NAME.XXXXXX.part beside it; RemoveLeftovers() finds those. Files written here have mode 0600.
// Every error is a std::runtime_error that names the file, the failed operation and the remedy,
// never a file's contents. It is a FileError if only the file's owner can help. Stateless; safe in
// any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/span.h"

namespace sotto::posix {

// The most bytes of a file that is read whole; a longer one is an error.
constexpr size_t kMaxSmallFile = 65536;

// A file whose name, owner, mode or contents are wrong: a later try without a change fails, too.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws a FileError with this message; or a plain std::runtime_error if the error is the machine's
// and may pass: a disk that is full or fails, too little memory, too many open files.
//   error  a value of errno
[[noreturn]] void ThrowFileError(const std::string& message, int error);

// What to do about an error, where the error alone says it: about a full disk, a disk that can only
// be read, too many open files.
//   otherwise  the advice for all other errors
const char* AdviceFor(int error, const char* otherwise);

// Text that wipes itself. Reserve the final length before appending: a string that grows does not
// wipe its former memory.
struct SecretText {
  std::string text;

  SecretText() = default;
  SecretText(const SecretText&) = default;
  SecretText& operator=(const SecretText&) = delete;
  ~SecretText();
};

// Throws unless `path` is a regular file without any permission for group and others. The message
// advises `chmod 600`.
void RequirePrivateFile(const std::string& path);

// Throws std::invalid_argument if the path names something else than a regular file, for example a
// folder, or a named pipe, whose opening would wait for its writer. Nothing of this name is fine:
// opening it says so.
void RequireRegularFile(const std::string& path);

// Creates an empty file of mode 0600. False if anything has this name.
bool CreatePrivateFile(const std::string& path);

// Creates a folder of mode 0700, and the folders above it as usual. If it exists, throws unless it
// is a folder that only its owner may change: others could exchange the files in it. The message
// advises `chmod 700`.
void MakePrivateFolder(const std::string& path);

// The contents of a file for which RequirePrivateFile() holds.
SecretText ReadSecretFile(const std::string& path);

// Reads a file for which RequirePrivateFile() holds, of any length, from byte `offset` on. Returns
// how many bytes it wrote to `out`, fewer than out.size() only at the file's end; nothing if there
// is no file.
std::optional<size_t> ReadPrivateFileAt(const std::string& path, size_t offset,
                                        MutableByteSpan out);

// Writes a new file of mode 0600. Throws if the name is taken: a key is never overwritten.
void WriteSecretFile(const std::string& path, const std::string& content);

// What becomes of a file that has the name already.
enum class Taken { kRefused, kReplaced };

// A new file of mode 0600 that is complete and durable before it has its name: until then it is
// NAME.XXXXXX.part in the same folder. So a program can complete related work before anybody finds
// the file. The destructor removes a file that has not got its name; RemoveLeftovers() removes the
// file of a killed process.
class PendingFile {
 public:
  // Throws where WriteSecretFile() does, also for a name that is taken already and not replaced.
  PendingFile(const std::string& path, const std::string& content, Taken taken = Taken::kRefused);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::string& path() const { return path_; }

  // Throws if the name was taken meanwhile.
  void Publish();

 private:
  std::string path_;
  std::string part_;
  Taken taken_;
  int descriptor_ = -1;  // locked: a process writes it
};

// The same for many files of one folder: before they have their names they lie in a folder
// FOLDER/sotto-part.XXXXXX of mode 0700.
class PendingFiles {
 public:
  // Makes the folder as MakePrivateFolder() does.
  explicit PendingFiles(std::string folder);
  ~PendingFiles();
  PendingFiles(const PendingFiles&) = delete;
  PendingFiles& operator=(const PendingFiles&) = delete;

  // Removes the files that killed processes left in the folder, if there is one. Returns their
  // number. A file that a process is writing now is locked, and stays.
  static size_t RemoveLeftovers(const std::string& folder);

  // Throws where WriteSecretFile() does, also for a name that is taken already.
  void Add(const std::string& name, const std::string& content);

  // Gives the files their names, in the order in which they were added. Throws if one was taken
  // meanwhile: the files before it then have theirs.
  void Publish();

 private:
  std::string Target(const std::string& name) const;
  std::string Part(const std::string& name) const;

  const std::string folder_;
  std::string parts_;
  int descriptor_ = -1;             // of parts_, locked
  std::vector<std::string> names_;  // of the files
};

// The contents of a file, or nothing if there is none.
//   most  bytes; a longer file is an error
std::optional<std::string> ReadTextFile(const std::string& path, size_t most = kMaxSmallFile);

// Writes the file, or replaces it: at any moment a reader finds the old contents or the new ones.
// A new file belongs to its owner alone; one that is there keeps its mode. Throws
// std::invalid_argument if it is no regular file.
void ReplaceTextFile(const std::string& path, const std::string& content);

// The same, and then the owner alone can read the file, even if others could read the former one.
void ReplacePrivateFile(const std::string& path, const std::string& content);

// The same, for a file that only one process writes, often, and that is useless after the machine
// goes down: the call does not wait for the disk. Until it is complete the file is NAME.part.
void ReplacePassingFile(const std::string& path, const std::string& content);

// Throws where ReplaceTextFile() and ReplacePrivateFile() would, so a program that writes a file at
// its end finds out at its start. It also removes leftovers.
void RequireReplaceable(const std::string& path);

// Removes the temporary files of this name that killed processes left. A file that a process is
// writing now is locked, and stays. It does nothing in a folder that it may not change.
void RemoveLeftovers(const std::string& path);

// The temporary files that killed processes left in the folder of this file, whatever their names.
// They may hold secrets; but they may be of another program, so only their owner removes them.
std::vector<std::string> OtherLeftovers(const std::string& path);

}  // namespace sotto::posix
