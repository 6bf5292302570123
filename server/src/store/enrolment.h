// What goes to new devices: their names from a file, their kits, key files and headers for
// firmware. Part of sotto::server/store.
//
// All files have mode 0600, and have their names once the store has what is in them. Not safe from
// several threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "round/devices.h"
#include "sotto/options/kit_file.h"
#include "sotto/posix/files.h"
#include "store/records.h"
#include "store/store.h"

namespace sotto::server {

// The devices that a text names, one a line: NAME, or NAME,OWNER. Their secrets are zeros. Empty
// lines, lines that begin with # and a first line `name` or `name,owner` are skipped. Throws a
// FileError that names the line.
std::vector<Registration> ReadNames(const std::string& path);

// The digest of the model that the store's last job trains. Empty: there is no job.
std::string ModelOfLastJob(const History& history);

// The settings of a device's kit: what it said before, with those that are given in their place. A
// device that has none yet gets what the store's last kit said, without --samples and a model.
//   id    empty: of a new device
//   file  that has the device's kit and is to be replaced; empty: none. Its settings count
posix::KitSettings KitOf(const std::string& id, const posix::KitSettings& given, Store& store,
                         const std::string& file = "");

// The settings as a kit has them: if they name no model, with the last job's. Throws
// std::invalid_argument, which says what to add, if there is none, or no server.
posix::KitSettings WithModel(posix::KitSettings settings, const History& history);

// What a store refuses of new devices, for one that is not there yet. Throws std::invalid_argument.
void RequireNames(const std::vector<Registration>& devices);

// Whether this is a key file, or a kit, with exactly one of these keys.
bool HoldsKey(const std::string& path, const std::vector<Device>& keys);

// The keys that this device had before the one that the store has now.
std::vector<Device> ReplacedKeysOf(const std::string& id, Store& store);

// The header of a firmware, valid in C and C++: name and secret; and of the settings, if they are
// there, the server's host and port and the first model that is accepted.
posix::SecretText HeaderText(const Device& device, const posix::KitSettings& settings);

// One file for each new device, in a folder. They have no names before Publish(), and are removed
// if one cannot be written or if the store then fails. Without a folder there are none.
class DeviceFiles {
 public:
  // Removes what an interrupted command left.
  DeviceFiles(std::string folder, const char* ending);

  void Add(const std::string& id, const posix::SecretText& content);
  void Publish();

 private:
  const std::string folder_;
  const char* ending_;
  std::unique_ptr<posix::PendingFiles> files_;
};

// Where a device's key goes. Empty: no such file.
struct KeyPaths {
  std::string header;
  std::string key;
  std::string kit;
};

// The files of a device's key. They are whole and durable, but have no names and are not announced
// before Publish(): what they are for must hold first.
class KeyOutputs {
 public:
  //   settings  of its kit; if they name no model, they get the last job's
  //   replaced  keys that open nothing any more: files with one of them are replaced, no others
  KeyOutputs(const KeyPaths& to, const Device& device, posix::KitSettings settings, Store& store,
             std::vector<Device> replaced);

  void Publish();

 private:
  struct KeyOutput {
    std::unique_ptr<posix::PendingFile> file;
    std::string what;
  };

  void Add(const std::string& path, const posix::SecretText& content, std::string what);

  const std::vector<Device> replaced_;
  std::vector<KeyOutput> outputs_;
};

}  // namespace sotto::server
