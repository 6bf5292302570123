// Fuzzes the readers of users' files: a key file and IDX files. Any content is either read or
// refused with a std::runtime_error. And a board's reader of shards: with the right checksum any
// head is refused, or every sample is within the file.
//
// Input: which reader (byte: key file, images, labels, shard); the file's content.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "fuzz/input.h"
#include "sotto/data/idx.h"
#include "sotto/keys.h"
#include "sotto/nn.h"
#include "sotto/posix/key_file.h"
#include "sotto/shard.h"

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

// A text as ReadKeyFile() takes it: without what editors add, such as blanks behind a line, and
// with the end of its last line.
std::string Cleaned(std::string text) {
  if (text.rfind("\xef\xbb\xbf", 0) == 0) text.erase(0, 3);
  if (text.empty() || text.back() != '\n') text += '\n';
  for (size_t at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n", at)) {
    text.erase(at, 1);
  }
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) text.erase(--at, 1);
  }
  return text;
}

// Digits of the secret may be of either case; the rest of a key file is fixed.
void CheckKeyFile(const std::string& path, ByteSpan content) {
  const posix::DeviceKey key = posix::ReadKeyFile(path);
  Require(IsValidDeviceId(
              {reinterpret_cast<const uint8_t*>(key.device_id.data()), key.device_id.size()}),
          "a key file's device has a valid name");
  std::string text = Cleaned({content.begin(), content.end()});
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

using Words = nn::Sequential<nn::Tokens<3>, nn::Embedding<5, 2>, nn::Flatten, nn::Dense<6, 2>>;
using Lines = nn::Sequential<nn::Dense<3, 2>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
using Coder = nn::Sequential<nn::Dense<3, 3>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
constexpr ModelInfo kModels[] = {
    MakeModelInfo<nn::Sequential<nn::Dense<3, 2>>>("classes"),
    MakeModelInfo<nn::Sequential<nn::Dense<3, 300>>>("many classes"),
    MakeModelInfo<Words>("words"),
    MakeModelInfo<Lines>("lines"),
    MakeModelInfo<Coder>("coder"),
};

// In memory of the shard's own size: a read beyond it is a sanitizer's finding.
void CheckShard(std::vector<uint8_t> bytes) {
  const bool has_head = bytes.size() >= kShardHeadSize;
  for (const bool mends : {false, true}) {
    if (mends && has_head) {
      Sha256 hash;
      uint8_t sum[kSha256Size];
      Require(hash.Update({bytes.data(), 48}) == Status::kOk &&
                  hash.Update(ByteSpan(bytes.data(), bytes.size()).subspan(kShardHeadSize)) ==
                      Status::kOk &&
                  hash.Finish(sum) == Status::kOk,
              "SHA-256 works");
      std::copy_n(sum, 16, bytes.begin() + 48);
    }
    for (const ModelInfo& model : kModels) {
      Shard shard;
      const ShardStatus status = shard.Open({bytes.data(), bytes.size()}, model);
      const SampleSource source = shard.source();
      Require(status == ShardStatus::kOk || source.count == 0, "what is refused is not read");
      Require(source.count <= bytes.size(), "a sample has bytes");
      float features[3], target[2];
      uint32_t label = 0;
      for (uint32_t i = 0; i < source.count; ++i) {
        Require((model.loss.target == nn::TargetKind::kVector
                     ? source.read_vector(source.context, i, features, target)
                     : source.read(source.context, i, features, &label)) == Status::kOk,
                "a shard that was opened is read");
      }
    }
  }
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sotto::fuzz;
  static ScratchFile file;
  Input input(data, size);
  const uint8_t reader = input.TakeByte() % 4;
  if (reader == 3) {
    CheckShard({input.rest().begin(), input.rest().end()});
    return 0;
  }
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
