#include "spec/inputs.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "data/catalog.h"
#include "sotto/crypto.h"
#include "sotto/data/source.h"
#include "sotto/posix/check.h"
#include "sotto/posix/hex.h"

namespace sotto::server {
namespace {

// The source that a text of --data, of --partition or of another option names, or nothing.
std::optional<DataSource> SourceOf(const std::string& text) {
  constexpr std::string_view kPartitionFile = "file:";
  if (text.empty() || text == "synthetic") return std::nullopt;
  if (text == "fashion-mnist") return DataSource{kFashionMnistFolder};
  if (text.compare(0, kPartitionFile.size(), kPartitionFile) == 0) {
    return DataSource{text.substr(kPartitionFile.size())};
  }
  try {
    return ParseDataSource(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;  // what opens it says why
  }
}

}  // namespace

std::string FileSha256(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 hash;
  std::vector<char> piece(size_t{1} << 18);
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto size = static_cast<size_t>(file.gcount());
    posix::Check(hash.Update({reinterpret_cast<const uint8_t*>(piece.data()), size}), "SHA-256");
  }
  if (!file.eof()) {
    throw std::runtime_error(
        fmt::format("{}: {}; name a file that you may read", path, std::strerror(errno)));
  }
  uint8_t digest[kSha256Size] = {};
  posix::Check(hash.Finish(digest), "SHA-256");
  return posix::Hex(digest);
}

std::vector<std::string> FilesNamedBy(const std::string& text) {
  const std::optional<DataSource> source = SourceOf(text);
  if (!source) return {};
  return FilesIn(*source);
}

std::vector<std::string> TextsOf(const std::vector<NamedInput>& inputs) {
  std::vector<std::string> texts;
  for (const NamedInput& input : inputs) texts.push_back(input.text);
  return texts;
}

nlohmann::ordered_json InputsToJson(const InputDigests& inputs) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [option, input] : inputs) {
    json[option] = {{"text", input.text}, {"sha256", input.sha256}};
  }
  return json;
}

InputDigests InputsFromJson(const nlohmann::ordered_json& json) {
  InputDigests inputs;
  for (const auto& item : json.items()) {
    inputs[item.key()] = {item.value().at("text").get<std::string>(),
                          item.value().at("sha256").get<std::string>()};
  }
  return inputs;
}

const std::string& InputReader::DigestOf(const std::string& path) {
  const auto found = digests_.find(path);
  if (found != digests_.end()) return found->second;
  return digests_.emplace(path, FileSha256(path)).first->second;
}

InputDigests InputReader::Read(const std::vector<NamedInput>& inputs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  InputDigests digests;
  for (const NamedInput& input : inputs) {
    const std::vector<std::string> files = FilesNamedBy(input.text);
    if (files.empty()) continue;
    std::string lines;
    for (const std::string& file : files) lines += DigestOf(file) + "\n";
    digests[input.option] = {input.text,
                             files.size() == 1 ? DigestOf(files.front()) : Sha256Hex(lines)};
  }
  return digests;
}

std::string ChangedInput::Describe() const {
  return fmt::format("--{} {} has another content: its SHA-256 was {} and is {}", option, is.text,
                     was.sha256, is.sha256);
}

std::optional<ChangedInput> FirstChangedInput(const InputDigests& was, const InputDigests& is) {
  for (const auto& [option, now] : is) {
    const auto then = was.find(option);
    if (then == was.end() || then->second.sha256 == now.sha256) continue;
    return ChangedInput{option, then->second, now};
  }
  return std::nullopt;
}

}  // namespace sotto::server
