// The folder of a directory's state, mode 0700. Part of sotto::server/peers.
//
//   lock           one process at a time
//   directory.key  the directory's key (sotto/posix/key_file.h), drawn once
//   state.json     DirectoryState, with its SHA-256; replaced as a whole
//   VERSION.pub    with a relay: the bytes of the head and of its parent
//
// A killed process, or a machine without power, leaves the old state or the new one. A state that
// is damaged is refused, never taken for an empty one. So is one whose publications are missing.
// Never put an older copy back: the head would go back, and nodes would refuse the directory.
//
// To change the format: raise kFormat in directory_folder.cc, and read the older one there.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peers/directory.h"
#include "sotto/posix/lock_file.h"

namespace sotto::server {

class DirectoryFolder final : public DirectoryLog {
 public:
  // Makes the folder if it is not there, and claims it. Throws std::runtime_error if another
  // process has it, or posix::FileError if others than its owner may change it.
  explicit DirectoryFolder(const std::string& path);

  // The directory's key; of a new folder a new one.
  Key LoadKey() const;

  // Throws posix::FileError, which names the file, for damage. A new folder has an empty state.
  DirectoryState LoadState() const;

  // The bytes of a version of the state, none of version 0. Throws as LoadState().
  std::vector<uint8_t> LoadPublication(const PeerHead& head) const;

  void Save(const DirectoryState& state, ByteSpan head) override;

 private:
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }
  void RemoveOldPublications(const DirectoryState& state) const;

  const std::string path_;
  const posix::LockFile lock_;
};

// The state as text, and back. For DirectoryFolder and its tests.
//   path  for messages
std::string DirectoryStateText(const DirectoryState& state);
DirectoryState ParseDirectoryState(const std::string& path, const std::string& text);

}  // namespace sotto::server
