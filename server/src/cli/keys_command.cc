#include <cstdint>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "plans/plan.h"
#include "sotto/key_labels.h"
#include "sotto/posix/files.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/run_key.h"
#include "store/open_store.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSeededNote[] = "seeded: not private";

// The options as the user typed them. Each subcommand uses some of them.
struct KeysOptions {
  std::string store;
  std::string id;
  std::string owner;
  std::optional<uint32_t> count;
  std::optional<std::string> prefix;
  std::string out;
  std::optional<uint64_t> seed;
  bool insecure_seed = false;
  std::optional<double> life_epsilon;
  std::optional<double> life_delta;
  std::string json;
  std::string header;
  std::string key;
};

Key NewSecret(const KeysOptions& o, uint32_t index) {
  // The simulator derives the secrets of its devices in the same way.
  return o.seed ? posix::DeriveKey(posix::RunKey(o.seed), key_label::kDevice, index)
                : posix::RunKey(std::nullopt);
}

std::vector<Device> NewDevices(const KeysOptions& o) {
  if (o.id.empty() == !o.count) {
    throw std::invalid_argument(
        "keys new: name one device with --id, or several with --count and --prefix");
  }
  if (!o.count) return {{o.id, NewSecret(o, 0)}};
  const std::string prefix = o.prefix.value_or(o.seed ? "sim-" : "device-");
  std::vector<Device> devices;
  for (uint32_t i = 0; i < *o.count; ++i) {
    devices.push_back({fmt::format("{}{:06}", prefix, i), NewSecret(o, i)});
  }
  return devices;
}

// The key files in a folder, one for each device. They have no names before Publish(), and are
// removed if one cannot be written or if the store then fails. Without a folder there are none.
class KeyFiles {
 public:
  explicit KeyFiles(const std::string& folder) : folder_(folder) {
    const size_t leftovers = folder.empty() ? 0 : posix::PendingFiles::RemoveLeftovers(folder);
    if (leftovers == 0) return;
    fmt::print(
        stderr,
        "{}: removed {} of a `keys new` that was interrupted; `sotto keys export` writes the "
        "key of a device that is in the store\n",
        folder, Counted(leftovers, "key file"));
  }

  void Write(const std::vector<Device>& devices) {
    if (folder_.empty()) return;
    files_.emplace(folder_);
    for (const Device& device : devices) {
      files_->Add(device.id + ".key", posix::KeyFileText({device.id, device.secret}).text);
    }
  }

  void Publish() {
    if (files_) files_->Publish();
  }

 private:
  const std::string folder_;
  std::optional<posix::PendingFiles> files_;
};

// The life epsilon with which a store is made. The same once more changes nothing: the command may
// have been interrupted.
void SetLifeEpsilon(const KeysOptions& o, size_t devices, Store& store) {
  if (!o.life_epsilon) return;
  const History history = store.ReadHistory();
  const bool is_same = history.life && history.life->epsilon == *o.life_epsilon &&
                       o.life_delta.value_or(history.life->delta) == history.life->delta;
  if (is_same) return;
  if (!history.devices.empty()) {
    throw std::invalid_argument(
        fmt::format("--life-epsilon {}: {} was made before; use `sotto store raise-life-epsilon`",
                    *o.life_epsilon, o.store));
  }
  store.RaiseLifeEpsilon(
      *o.life_epsilon, o.life_delta.value_or(privacy::DefaultDelta(static_cast<int64_t>(devices))));
}

void RunNew(const KeysOptions& o) {
  const std::vector<Device> devices = NewDevices(o);
  const std::unique_ptr<Store> store = OpenStore(o.store, StoreMode::kCreate);
  KeyFiles files(o.out);
  store->RequireNew(devices);
  SetLifeEpsilon(o, devices.size(), *store);
  files.Write(devices);  // takes time; nobody waits for the store meanwhile
  store->AddDevices(devices, o.seed.has_value(), o.owner);
  try {
    files.Publish();
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("{}; the devices are in the store: `sotto keys export {} NAME --key FILE` "
                    "writes the key of each",
                    error.what(), o.store));
  }
  fmt::print("{}: {}, {}{}\n", o.store, Counted(devices.size(), "new device"), devices.front().id,
             devices.size() == 1 ? "" : " to " + devices.back().id);
  if (o.out.empty()) {
    fmt::print("no key files without --out; `sotto keys export` writes one when it is needed\n");
  } else {
    fmt::print("{}: a key file NAME.key for each; move it to its device, keep no copy\n", o.out);
  }
  if (o.seed) fmt::print("{}; whoever knows the seed knows every secret\n", kSeededNote);
}

std::string Time(int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string DescribeDevices(const std::vector<DeviceRecord>& devices) {
  std::string text;
  size_t eligible = 0;
  for (const DeviceRecord& device : devices) {
    std::string state = device.revoked ? "revoked " + Time(*device.revoked) : "eligible";
    if (device.rotated) state += "  new key " + Time(*device.rotated);
    if (!device.owner.empty()) state += "  owner " + device.owner;
    text += fmt::format("{:24}  created {}  {}{}{}\n", device.id, Time(device.created), state,
                        device.seeded ? "  " : "", device.seeded ? kSeededNote : "");
    eligible += device.revoked ? 0 : 1;
  }
  return text + fmt::format("{}, {} eligible\n", Counted(devices.size(), "device"), eligible);
}

Json DevicesToJson(const std::vector<DeviceRecord>& devices) {
  Json list = Json::array();
  for (const DeviceRecord& device : devices) {
    list.push_back({{"id", device.id},
                    {"created", Time(device.created)},
                    {"revoked", device.revoked ? Json(Time(*device.revoked)) : Json(nullptr)},
                    {"rotated", device.rotated ? Json(Time(*device.rotated)) : Json(nullptr)},
                    {"owner", device.owner.empty() ? Json(nullptr) : Json(device.owner)},
                    {"seeded", device.seeded}});
  }
  return {{"devices", std::move(list)}};
}

void RunList(const KeysOptions& o) {
  RequireOutput(o.json, o.store);
  const std::vector<DeviceRecord> devices = OpenStore(o.store)->ListDevices();
  PrintResults(o.json, DescribeDevices(devices), DevicesToJson(devices), Readers::kOwner);
}

void RunRevoke(const KeysOptions& o) {
  OpenStore(o.store)->RevokeDevice(o.id);
  fmt::print("{}: device {} is revoked\n", o.store, o.id);
}

void RunOwner(const KeysOptions& o) {
  OpenStore(o.store)->SetOwner(o.id, o.owner);
  fmt::print(
      "{}: device {} belongs to {}; in later rounds of --sampling passes it never shares a "
      "cohort with another device of that owner\n",
      o.store, o.id, o.owner);
}

// The header is valid in C and C++. The data is `static` so that several files may include the
// header.
posix::SecretText HeaderText(const Device& device) {
  posix::SecretText header;
  header.text.reserve(2048);
  const auto out = std::back_inserter(header.text);
  fmt::format_to(
      out,
      "// SECRET: the key of device {0}. Whoever has it can pose as the device and take the noise\n"
      "// off its updates. Keep it out of version control, and put it on this one device only.\n"
      "#ifndef SOTTO_DEVICE_KEY_H_\n"
      "#define SOTTO_DEVICE_KEY_H_\n\n"
      "#include <stdint.h>\n\n"
      "static const char kSottoDeviceId[] = \"{0}\";\n"
      "static const uint8_t kSottoDeviceSecret[{1}] = {{",
      device.id, kKeySize);
  for (size_t i = 0; i < kKeySize; ++i) {
    fmt::format_to(out, "{}0x{:02x},", i % 8 == 0 ? "\n    " : " ", device.secret.bytes[i]);
  }
  fmt::format_to(out, "\n}};\n\n#endif  // SOTTO_DEVICE_KEY_H_\n");
  return header;
}

void RequireNoStoreFiles(const KeysOptions& o) {
  for (const Output& output : {Output{"--header", o.header}, Output{"--key", o.key}}) {
    if (!output.path.empty()) RequireNoStoreFile(output, o.store);
  }
}

// The files of a device's key. They are whole and durable, but have no names and are not announced
// before Publish(): what they are for must hold first.
class KeyOutputs {
 public:
  KeyOutputs(const KeysOptions& o, const Device& device) {
    if (!o.header.empty()) {
      Add(o.header, HeaderText(device), "a C header with the secret of device " + device.id);
    }
    if (!o.key.empty()) {
      Add(o.key, posix::KeyFileText({device.id, device.secret}),
          "the key file of device " + device.id);
    }
    for (const std::string& left : posix::OtherLeftovers(o.key.empty() ? o.header : o.key)) {
      fmt::print(stderr,
                 "{}: a command that was interrupted left it, maybe with a secret; remove it. "
                 "`sotto keys export` writes the key that a store has\n",
                 left);
    }
  }

  void Publish() {
    for (const KeyOutput& output : outputs_) output.file->Publish();
    for (const KeyOutput& output : outputs_) {
      fmt::print("{}: {}\n", output.file->path(), output.what);
    }
  }

 private:
  struct KeyOutput {
    std::unique_ptr<posix::PendingFile> file;
    std::string what;
  };

  void Add(const std::string& path, const posix::SecretText& content, std::string what) {
    outputs_.push_back({std::make_unique<posix::PendingFile>(path, content.text), std::move(what)});
  }

  std::vector<KeyOutput> outputs_;
};

void RunRotate(const KeysOptions& o) {
  if (o.header.empty() && o.key.empty()) {
    throw std::invalid_argument(
        "keys rotate: say where the new key goes, with --key FILE or --header FILE.h; the old one "
        "opens nothing any more");
  }
  RequireNoStoreFiles(o);
  const std::unique_ptr<Store> store = OpenStore(o.store);
  store->FindDevice(o.id);  // before a file is written
  const Device device = {o.id, posix::RunKey(std::nullopt)};
  // A key that is in the store and nowhere else would shut the device out.
  KeyOutputs outputs(o, device);
  store->RotateDevice(o.id, device.secret);
  fmt::print("{}: device {} has a new key; the old one opens nothing any more\n", o.store, o.id);
  try {
    outputs.Publish();
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("{}; the new key is in the store: `sotto keys export {} {}` writes it, with "
                    "--key FILE or --header FILE.h",
                    error.what(), o.store, o.id));
  }
}

void RunExport(const KeysOptions& o) {
  if (o.header.empty() && o.key.empty()) {
    throw std::invalid_argument("keys export: say where to, with --header FILE.h or --key FILE");
  }
  RequireNoStoreFiles(o);
  KeyOutputs(o, OpenStore(o.store)->FindDevice(o.id)).Publish();
}

using Row = posix::Field<KeysOptions>;
using Fields = std::vector<Row>;

// A command of `sotto keys`: its store, then its own rows.
posix::Command KeysCommandOf(const char* name, const char* help, const Fields& own,
                             void (*run)(const KeysOptions&)) {
  return posix::CommandFor<KeysOptions>(name, help)
      .Takes({StoreRow<KeysOptions>("the server's file of devices, job and ledger")})
      .Takes(own)
      .Runs(run);
}

Fields NewFields() {
  return {
      Row("id", &KeysOptions::id, "name of one device: A-Z a-z 0-9 . _ -"),
      Row("count", &KeysOptions::count, "number of devices, named PREFIX000000 and on")
          .Within({1, 1000000})
          .Excludes("id"),
      Row("prefix", &KeysOptions::prefix, "how the names of these devices begin")
          .Excludes("id")
          .ByDefault("device-; sim- if seeded"),
      Row("out", &KeysOptions::out, "write a key file for each device into this folder"),
      Row("owner", &KeysOptions::owner,
          "the one owner of these devices, whose data they train on, such as household-7: A-Z a-z "
          "0-9 . _ -"),
      Row("seed", &KeysOptions::seed,
          "derive the secrets from a number, as the simulator does; for tests only")
          .Excludes("id")
          .Needs("insecure-seed"),
      Row("insecure-seed", &KeysOptions::insecure_seed,
          "yes, I know that a seeded secret protects nothing")
          .Needs("seed"),
      Row("life-epsilon", &KeysOptions::life_epsilon,
          "of a new store: what the turns of one device in all of its jobs may cost together")
          .Within({1e-6, 1e6})
          .ByDefault("none: a second job of passes is refused"),
      Row("life-delta", &KeysOptions::life_delta, "of that epsilon")
          .Within({1e-300, 0.5})
          .Needs("life-epsilon")
          .ByDefault("min(1e-5, 1/(10 devices))"),
  };
}

Row DeviceRow() { return Row("", &KeysOptions::id, "the device's name").Argument("ID").Required(); }

Fields OwnerFields() {
  return {DeviceRow(), Row("owner", &KeysOptions::owner,
                           "the owner's label, such as household-7: A-Z a-z 0-9 . _ -")
                           .Argument("OWNER")
                           .Required()};
}

// Of one device, and where its key goes.
Fields KeyFields() {
  return {
      DeviceRow(),
      Row("header", &KeysOptions::header, "a new C header for firmware"),
      Row("key", &KeysOptions::key, "a new key file, as `sotto keys new --out` writes it"),
  };
}

}  // namespace

posix::Command KeysCommand() {
  return posix::CommandOf(
      "keys", "register and revoke devices: their secrets, key files, headers for firmware",
      {KeysCommandOf("new", "register devices, each with a secret of its own", NewFields(), RunNew),
       KeysCommandOf("list", "show the devices, never their secrets",
                     {JsonRow<KeysOptions>("the list")}, RunList),
       KeysCommandOf("owner",
                     "say whose data a device trains on; with --sampling passes two devices of one "
                     "owner never share a cohort",
                     OwnerFields(), RunOwner),
       KeysCommandOf("revoke", "shut a device out for good", {DeviceRow()}, RunRevoke),
       KeysCommandOf("rotate",
                     "give a device a new secret; it stays the same device, and its old key opens "
                     "nothing any more",
                     KeyFields(), RunRotate),
       KeysCommandOf("export", "write a device's secret to a file", KeyFields(), RunExport)});
}

}  // namespace sotto::server
