// The file that gives a device its name and its secret: three lines of text, mode 0600. Part of
// sotto/posix. Stateless; safe in any thread.
//
//   sotto-key 1
//   device NAME       1 to 64 characters of A-Z a-z 0-9 . _ -
//   secret HEX        64 hexadecimal digits, 32 bytes
//
// Each line ends with a line feed, so a truncated file is detected. The number in the first line is
// the format's version. To change the format, raise the version in key_file.cc; readers refuse
// versions that they do not know.
#pragma once

#include <string>

#include "sotto/crypto.h"
#include "sotto/posix/files.h"

namespace sotto::posix {

struct DeviceKey {
  std::string device_id;
  Key secret;
};

// Throws where ReadSecretFile() does, and a FileError for a file of any other format. The message
// names the file and the remedy, and never holds the file's contents.
DeviceKey ReadKeyFile(const std::string& path);

// The text of a file. Throws std::invalid_argument for a bad name.
SecretText KeyFileText(const DeviceKey& key);

// Writes a new file. Throws std::invalid_argument for a bad name, otherwise as WriteSecretFile().
void WriteKeyFile(const std::string& path, const DeviceKey& key);

}  // namespace sotto::posix
