#include "store/enrolment.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/counted.h"
#include "sotto/keys.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/text.h"
#include "store/history.h"

namespace sotto::server {
namespace {

constexpr char kExpectedName[] =
    "expected NAME or NAME,OWNER, each of 1 to 64 characters of A-Z a-z 0-9 . _ -";

// "    0x01, 0x02, ..." in lines of eight.
void AppendBytes(ByteSpan bytes, std::string* text) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    fmt::format_to(std::back_inserter(*text), "{}0x{:02x},", i % 8 == 0 ? "\n    " : " ", bytes[i]);
  }
}

void AppendServer(const posix::KitSettings& settings, std::string* text) {
  const std::vector<posix::HostPort> servers = posix::ParseServers(settings.server);
  if (servers.empty()) return;
  fmt::format_to(std::back_inserter(*text),
                 "\n// The server, for a board that opens connections itself.\n"
                 "static const char kSottoServerHost[] = \"{}\";\n"
                 "static const uint16_t kSottoServerPort = {};\n",
                 servers.front().host, servers.front().port);
  if (settings.accept_model.empty()) return;
  const std::vector<std::string> digests = posix::AcceptedDigests(settings.accept_model);
  if (digests.empty()) return;
  uint8_t digest[kSha256Size] = {};
  (void)posix::ParseHex(digests.front(), digest);
  fmt::format_to(std::back_inserter(*text),
                 "\n// SHA-256 of the model that the server trains, as sotto::ModelDigest() of the "
                 "board's own gives it.\n"
                 "static const uint8_t kSottoModelDigest[{}] = {{",
                 kSha256Size);
  AppendBytes(digest, text);
  *text += "\n};\n";
}

}  // namespace

std::vector<Registration> ReadNames(const std::string& path) {
  posix::TextLines lines(path);
  std::map<std::string, size_t> found;  // the line of each name
  std::vector<Registration> devices;
  for (std::string line; lines.Next(&line);) {
    if (line.empty() || (lines.is_first() && (line == "name" || line == "name,owner"))) continue;
    const size_t comma = std::min(line.find(','), line.size());
    Registration device = {{line.substr(0, comma), {}}};
    if (comma < line.size()) device.owner = line.substr(comma + 1);
    const bool has_owner = comma == line.size() || IsValidDeviceId(BytesOf(device.owner));
    if (!has_owner || !IsValidDeviceId(BytesOf(device.device.id))) {
      throw lines.Defect(line, kExpectedName);
    }
    const auto [other, is_new] = found.emplace(device.device.id, lines.number());
    if (!is_new) {
      throw lines.Defect(line, fmt::format("{} comes twice, in line {} and here; take one out",
                                           other->first, other->second));
    }
    devices.push_back(std::move(device));
  }
  if (devices.empty()) {
    throw posix::FileError(fmt::format("{}: it names no device; {}", path, kExpectedName));
  }
  return devices;
}

std::string ModelOfLastJob(const History& history) {
  const JobEntry* job = LastJob(history);
  if (job == nullptr) return "";
  const auto configuration = nlohmann::json::parse(job->configuration, nullptr, false);
  return configuration.is_object() ? configuration.value("model_digest", std::string()) : "";
}

posix::KitSettings KitOf(const std::string& id, const posix::KitSettings& given, Store& store,
                         const std::string& file) {
  const std::string held = id.empty() ? "" : store.KitOf(id);
  posix::KitSettings settings;
  if (!file.empty()) {
    settings = posix::ReadKit(file).settings;
  } else if (!held.empty()) {
    settings =
        posix::ParseKitSettings(fmt::format("{}: the kit of device {}", store.name(), id), held);
  } else {
    settings =
        posix::ParseKitSettings(fmt::format("{}: its last kit", store.name()), store.KitOf(""));
    settings.samples.clear();
    if (settings.accept_model != posix::kEveryModel) settings.accept_model.clear();
  }
  for (const auto& row : posix::KitFields()) {
    const posix::Value value = row.get(given);
    if (!posix::ExactText(row, value).empty()) row.set(settings, value);
  }
  return settings;
}

posix::KitSettings WithModel(posix::KitSettings settings, const History& history) {
  if (settings.server.empty()) {
    throw std::invalid_argument(
        "a kit says where its server is: add --server HOST:PORT, and --data with the samples' "
        "place on the device");
  }
  if (settings.accept_model.empty()) {
    settings.accept_model = ModelOfLastJob(history);
  }
  if (!settings.accept_model.empty()) return settings;
  throw std::invalid_argument(
      fmt::format("a kit says which models the device accepts, and {} has no job yet: add --model "
                  "MODEL, or --accept-model any for every model that the server sends",
                  history.store));
}

bool HoldsKey(const std::string& path, const std::vector<Device>& keys) {
  const auto has = [&](auto&& read) {
    try {
      const posix::DeviceKey key = read();
      return std::any_of(keys.begin(), keys.end(), [&](const Device& device) {
        return key.device_id == device.id &&
               std::equal(key.secret.bytes, key.secret.bytes + kKeySize, device.secret.bytes);
      });
    } catch (const std::exception&) {
      return false;  // another file, or none
    }
  };
  return has([&] { return posix::ReadKeyFile(path); }) ||
         has([&] { return posix::ReadKit(path).key; });
}

void RequireNames(const std::vector<Registration>& devices) {
  for (const Registration& each : devices) {
    for (const std::string& name : {each.device.id, each.owner}) {
      if (name.empty() || IsValidDeviceId(BytesOf(name))) continue;
      throw std::invalid_argument(
          fmt::format("keys new: name '{}': use 1 to 64 characters of A-Z a-z 0-9 . _ -", name));
    }
    if (each.device.id.empty()) throw std::invalid_argument("keys new: a device needs a name");
  }
}

std::vector<Device> ReplacedKeysOf(const std::string& id, Store& store) {
  std::vector<Device> keys;
  for (const FormerKey& former : store.LoadFormerKeys()) {
    if (former.id == id) keys.push_back({id, former.secret});
  }
  return keys;
}

posix::SecretText HeaderText(const Device& device, const posix::KitSettings& settings) {
  posix::SecretText header;
  header.text.reserve(4096);
  const auto out = std::back_inserter(header.text);
  // The data is `static` so that several files may include the header.
  fmt::format_to(
      out,
      "// SECRET: the key of device {0}. A person who has it can pose as the device, and its\n"
      "// updates have no epsilon against that person. Keep it out of version control, and put it\n"
      "// on this one device only.\n"
      "#ifndef SOTTO_DEVICE_KEY_H_\n"
      "#define SOTTO_DEVICE_KEY_H_\n\n"
      "#include <stdint.h>\n\n"
      "static const char kSottoDeviceId[] = \"{0}\";\n"
      "static const uint8_t kSottoDeviceSecret[{1}] = {{",
      device.id, kKeySize);
  AppendBytes(device.secret.bytes, &header.text);
  header.text += "\n};\n";
  AppendServer(settings, &header.text);
  header.text += "\n#endif  // SOTTO_DEVICE_KEY_H_\n";
  return header;
}

DeviceFiles::DeviceFiles(std::string folder, const char* ending)
    : folder_(std::move(folder)), ending_(ending) {
  if (folder_.empty()) return;
  const size_t leftovers = posix::PendingFiles::RemoveLeftovers(folder_);
  if (leftovers == 0) return;
  fmt::print(stderr,
             "{}: removed {} of a `keys new` that was interrupted; `sotto keys export` writes the "
             "key of a device that is in the store\n",
             folder_, Counted(leftovers, "key file"));
}

void DeviceFiles::Add(const std::string& id, const posix::SecretText& content) {
  if (folder_.empty()) return;
  if (files_ == nullptr) files_ = std::make_unique<posix::PendingFiles>(folder_);
  files_->Add(id + ending_, content.text);
}

void DeviceFiles::Publish() {
  if (files_ != nullptr) files_->Publish();
}

KeyOutputs::KeyOutputs(const KeyPaths& to, const Device& device, posix::KitSettings settings,
                       Store& store, std::vector<Device> replaced)
    : replaced_(std::move(replaced)) {
  const posix::DeviceKey key = {device.id, device.secret};
  if (!to.kit.empty()) {
    settings = WithModel(std::move(settings), store.ReadHistory());
    Add(to.kit, posix::KitText({key, settings}), "the kit of device " + device.id);
  }
  if (!to.header.empty()) {
    if (settings.accept_model.empty()) {
      settings.accept_model = ModelOfLastJob(store.ReadHistory());
    }
    Add(to.header, HeaderText(device, settings),
        "a C header with the secret of device " + device.id);
  }
  if (!to.key.empty()) Add(to.key, posix::KeyFileText(key), "the key file of device " + device.id);
  for (const std::string& left : posix::OtherLeftovers(outputs_.back().file->path())) {
    fmt::print(stderr,
               "{}: a command that was interrupted left it, maybe with a secret; remove it. "
               "`sotto keys export` writes the key that a store has\n",
               left);
  }
}

void KeyOutputs::Publish() {
  for (const KeyOutput& output : outputs_) output.file->Publish();
  for (const KeyOutput& output : outputs_) fmt::print("{}: {}\n", output.file->path(), output.what);
}

void KeyOutputs::Add(const std::string& path, const posix::SecretText& content, std::string what) {
  const auto taken = HoldsKey(path, replaced_) ? posix::Taken::kReplaced : posix::Taken::kRefused;
  outputs_.push_back(
      {std::make_unique<posix::PendingFile>(path, content.text, taken), std::move(what)});
}

}  // namespace sotto::server
