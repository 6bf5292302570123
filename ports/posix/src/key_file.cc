#include "sotto/posix/key_file.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "sotto/keys.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/text.h"

namespace sotto::posix {
namespace {

constexpr std::string_view kFormat = "sotto-key ";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kDevice = "device ";
constexpr std::string_view kSecret = "secret ";
constexpr char kDigits[] = "0123456789abcdef";

[[noreturn]] void Refuse(const std::string& path, const char* why) {
  throw FileError(path + ": " + why);
}

bool IsDeviceId(std::string_view name) {
  return IsValidDeviceId({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
}

// Takes "KEYWORD value\n" off the front of the text. False if it begins with something else. Blanks
// behind the value, and the end of the last line, are what editors add and take.
bool TakeLine(std::string_view keyword, std::string_view& text, std::string_view& value) {
  if (text.substr(0, keyword.size()) != keyword) return false;
  const size_t end = std::min(text.find('\n'), text.size());
  value = text.substr(keyword.size(), end - keyword.size());
  value = value.substr(0, value.find_last_not_of(" \t") + 1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return true;
}

}  // namespace

DeviceKey ReadKeyFile(const std::string& path) {
  SecretText file = ReadSecretFile(path);
  CleanText(path, &file.text);
  std::string_view rest = file.text;
  std::string_view version;
  std::string_view name;
  std::string_view hex;
  if (!TakeLine(kFormat, rest, version)) Refuse(path, "this is not a key file; name another one");
  if (version != kVersion) {
    Refuse(path,
           "a key file of another version; this program reads version 1: use the one that "
           "wrote it, or export the key again");
  }
  DeviceKey key;
  if (!TakeLine(kDevice, rest, name) || !TakeLine(kSecret, rest, hex) || !rest.empty() ||
      !IsDeviceId(name) || !ParseHex(hex, key.secret.bytes)) {
    Refuse(path, "the key file is damaged; export the key again");
  }
  key.device_id = name;
  return key;
}

SecretText KeyFileText(const DeviceKey& key) {
  if (!IsDeviceId(key.device_id)) {
    throw std::invalid_argument("device name '" + key.device_id +
                                "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
  SecretText file;
  file.text.reserve(256);
  file.text.append(kFormat).append(kVersion).append("\n");
  file.text.append(kDevice).append(key.device_id).append("\n").append(kSecret);
  for (const uint8_t byte : key.secret.bytes) {
    file.text += kDigits[byte >> 4];
    file.text += kDigits[byte & 15];
  }
  file.text += '\n';
  return file;
}

void WriteKeyFile(const std::string& path, const DeviceKey& key) {
  WriteSecretFile(path, KeyFileText(key).text);
}

}  // namespace sotto::posix
