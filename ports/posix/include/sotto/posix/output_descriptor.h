// A file that a program writes at its end and opens before its work. Part of sotto/posix.
//
// Opening changes nothing in a file that exists. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace sotto::posix {

// Opens each of the three standard streams that the caller has closed, as one that discards. Else a
// file that the program opens could take the stream's number, and get its text. Call it first.
void OpenStandardStreams();

enum class FileKind {
  kNothing,  // no file has this name
  kBrokenLink,
  kRegular,
  kFolder,
  kNamedPipe,
  kCharacterDevice,
  kOther,  // a socket or a disk
};

// What is there, links followed. Opens nothing: opening a named pipe would wait for a reader.
FileKind KindOfFile(const std::string& path);

// Whether this process may read what is there.
bool MayRead(const std::string& path);

class OutputDescriptor {
 public:
  // Opens the file, or creates it: with mode 0600 if it is `is_private`, else as the umask lets.
  // Throws std::system_error.
  OutputDescriptor(const std::string& path, bool is_private);
  // Removes a file that the constructor created if Replace() was not called.
  ~OutputDescriptor();
  OutputDescriptor(const OutputDescriptor&) = delete;
  OutputDescriptor& operator=(const OutputDescriptor&) = delete;

  // Replaces the contents and closes the file. Call it once. Returns 0, or the number of the error
  // if not all could be written: if the disk has no room, a file that was there has its old
  // contents, after another error it is empty; a new one is removed.
  int Replace(const std::string& contents);

  // True if both are one regular file. Two may share a device such as /dev/null.
  bool IsSameFile(const OutputDescriptor& other) const;

 private:
  int WriteOver(const std::string& contents);

  const std::string path_;
  int descriptor_ = -1;
  bool is_new_ = false;
  bool is_regular_ = false;
  uint64_t device_ = 0;
  uint64_t inode_ = 0;
};

}  // namespace sotto::posix
