// Fuzzes the readers of users' files: a key file and IDX files. Any content is either read or
// refused with a std::runtime_error.
//
// Input: which reader (byte: key file, images, labels); the file's content.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/input.h"
#include "sotto/data/idx.h"
#include "sotto/keys.h"
#include "sotto/posix/key_file.h"

namespace sotto::fuzz {
namespace {

// A file in memory, private to its owner, with other content for each input.
class ScratchFile {
 public:
  ScratchFile() : descriptor_(memfd_create("sotto-fuzz", MFD_CLOEXEC)) {
    Require(descriptor_ >= 0 && fchmod(descriptor_, S_IRUSR | S_IWUSR) == 0,
            "the scratch file can be created");
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  }
  ~ScratchFile() { close(descriptor_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& Fill(ByteSpan content) {
    const auto size = static_cast<ssize_t>(content.size());
    Require(ftruncate(descriptor_, 0) == 0 &&
                pwrite(descriptor_, content.data(), content.size(), 0) == size,
            "the scratch file can be written");
    return path_;
  }

 private:
  int descriptor_;
  std::string path_;
};

std::string Hex(const Key& key) {
  std::string hex;
  for (const uint8_t byte : key.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hex += digits;
  }
  return hex;
}

// Digits of the secret may be of either case; the rest of a key file is fixed.
void CheckKeyFile(const std::string& path, ByteSpan content) {
  const posix::DeviceKey key = posix::ReadKeyFile(path);
  Require(IsValidDeviceId(
              {reinterpret_cast<const uint8_t*>(key.device_id.data()), key.device_id.size()}),
          "a key file's device has a valid name");
  std::string text(content.begin(), content.end());
  const auto secret = static_cast<std::ptrdiff_t>(std::min(text.size(), 2 * kKeySize + 1));
  std::transform(text.end() - secret, text.end(), text.end() - secret,
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  Require(text == "sotto-key 1\ndevice " + key.device_id + "\nsecret " + Hex(key.secret) + "\n",
          "a key file says nothing but what was read from it");
}

void CheckImages(const std::string& path) {
  const IdxSamples images = ReadIdxSamples(path, "", nullptr);
  const size_t pixels = images.samples.bytes.size();
  Require(pixels > 0 && pixels <= kMaxIdxBytes, "images keep their limits");
  Require(pixels == images.count * images.rows * images.columns, "every announced pixel is there");
}

void CheckLabels(const std::string& path) {
  Require(!ReadIdxLabels(path).empty(), "a file without labels is refused");
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sotto::fuzz;
  static ScratchFile file;
  Input input(data, size);
  const uint8_t reader = input.TakeByte() % 3;
  const std::string& path = file.Fill(input.rest());
  try {
    if (reader == 0) CheckKeyFile(path, input.rest());
    if (reader == 1) CheckImages(path);
    if (reader == 2) CheckLabels(path);
  } catch (const std::runtime_error& error) {
    Require(std::string(error.what()).find(path) == 0, "a refusal names the file");
  }
  return 0;
}
