#include "peers/directory_folder.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kFormat = 1;
constexpr char kStateFile[] = "state.json";
constexpr char kKeyFile[] = "directory.key";
constexpr char kPublicationEnd[] = ".pub";
constexpr char kCannotGoOn[] =
    "The directory cannot go on from here: begin a new job, with another --salt and a new folder "
    "to --state";

std::string MakeFolder(const std::string& path) {
  posix::MakePrivateFolder(path);
  return path;
}

void ReadHex(const Json& text, MutableByteSpan out) {
  const std::vector<uint8_t> bytes = FromHex(text.get<std::string>());
  if (bytes.size() != out.size()) throw std::invalid_argument("bytes of another number");
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

Json ToJson(const PeerHead& head) {
  return {{"version", head.version},
          {"publisher", head.publisher},
          {"digest", posix::Hex(head.digest)},
          {"size", head.size}};
}

PeerHead HeadOf(const Json& json) {
  PeerHead head;
  head.version = json.at("version").get<uint32_t>();
  head.publisher = json.at("publisher").get<uint32_t>();
  head.size = json.at("size").get<uint32_t>();
  ReadHex(json.at("digest"), head.digest);
  return head;
}

Json ToJson(const DirectoryNode& node) {
  return {{"id", node.id},
          {"address", node.address},
          {"publications", node.publications},
          {"last", ToJson(node.last)},
          {"finished", node.is_finished},
          {"private_policy", node.has_private_policy}};
}

DirectoryNode NodeOf(const Json& json) {
  DirectoryNode node;
  node.id = json.at("id").get<std::string>();
  node.address = json.at("address").get<std::string>();
  node.publications = json.at("publications").get<uint32_t>();
  node.last = HeadOf(json.at("last"));
  node.is_finished = json.at("finished").get<bool>();
  node.has_private_policy = json.at("private_policy").get<bool>();
  return node;
}

Json ToJson(const DirectoryState& state) {
  Json nodes = Json::array();
  for (const DirectoryNode& node : state.nodes) nodes.push_back(ToJson(node));
  return {{"job", posix::Hex(state.job_id)}, {"relay", state.has_relay},
          {"head", ToJson(state.head)},      {"parent", ToJson(state.parent)},
          {"fences", state.fences},          {"nodes", std::move(nodes)}};
}

DirectoryState StateOf(const Json& json) {
  DirectoryState state;
  ReadHex(json.at("job"), state.job_id);
  state.has_relay = json.at("relay").get<bool>();
  state.head = HeadOf(json.at("head"));
  state.parent = HeadOf(json.at("parent"));
  state.fences = json.at("fences").get<uint32_t>();
  for (const Json& node : json.at("nodes")) state.nodes.push_back(NodeOf(node));
  return state;
}

std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw posix::FileError(
        fmt::format("{}: cannot open it; the state of a directory is whole or of no use: check the "
                    "folder's owner",
                    path));
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string DirectoryStateText(const DirectoryState& state) {
  const Json json = ToJson(state);
  const Json file = {{"format", kFormat}, {"sha256", Sha256Hex(JsonText(json))}, {"state", json}};
  return JsonText(file, 1) + "\n";
}

DirectoryState ParseDirectoryState(const std::string& path, const std::string& text) {
  try {
    const Json file = ParseJson(text);
    const auto format = file.at("format").get<uint32_t>();
    if (format != kFormat) {
      throw posix::FileError(
          fmt::format("{}: it has format {}, and this program knows format {}: use a newer `sotto`",
                      path, format, kFormat));
    }
    const Json& state = file.at("state");
    if (Sha256Hex(JsonText(state)) != file.at("sha256").get<std::string>()) {
      throw std::invalid_argument("checksum");
    }
    return StateOf(state);
  } catch (const posix::FileError&) {
    throw;
  } catch (const std::exception&) {
    throw posix::FileError(fmt::format("{}: it is damaged. {}", path, kCannotGoOn));
  }
}

DirectoryFolder::DirectoryFolder(const std::string& path)
    : path_(MakeFolder(path)), lock_(path_ + "/lock") {}

Key DirectoryFolder::LoadKey() const {
  const std::string path = PathOf(kKeyFile);
  if (!std::filesystem::exists(path)) {
    posix::WriteKeyFile(path, {"directory", posix::RunKey(std::nullopt)});
  }
  return posix::ReadKeyFile(path).secret;
}

DirectoryState DirectoryFolder::LoadState() const {
  const std::string path = PathOf(kStateFile);
  if (!std::filesystem::exists(path)) return {};
  const std::vector<uint8_t> bytes = ReadBytes(path);
  return ParseDirectoryState(path, {bytes.begin(), bytes.end()});
}

std::vector<uint8_t> DirectoryFolder::LoadPublication(const PeerHead& head) const {
  if (head.version == 0) return {};
  const std::string path = PathOf(std::to_string(head.version) + kPublicationEnd);
  std::vector<uint8_t> bytes = ReadBytes(path);
  const auto digest = Sha256Of({bytes.data(), bytes.size()});
  if (bytes.size() != head.size || !std::equal(digest.begin(), digest.end(), head.digest)) {
    throw posix::FileError(fmt::format(
        "{}: it is damaged: these are not the bytes that were published as version {}. {}", path,
        head.version, kCannotGoOn));
  }
  return bytes;
}

// The bytes come before the state that names them, and go after the state that names others.
void DirectoryFolder::Save(const DirectoryState& state, ByteSpan head) {
  if (!head.empty()) {
    posix::ReplacePrivateFile(PathOf(std::to_string(state.head.version) + kPublicationEnd),
                              {head.begin(), head.end()});
  }
  posix::ReplacePrivateFile(PathOf(kStateFile), DirectoryStateText(state));
  if (!head.empty()) RemoveOldPublications(state);
}

void DirectoryFolder::RemoveOldPublications(const DirectoryState& state) const {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() != kPublicationEnd) continue;
    const std::optional<uint64_t> version = posix::ParseCount(file.stem().string());
    if (!version || *version == state.head.version || *version == state.parent.version) continue;
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }
}

}  // namespace sotto::server
