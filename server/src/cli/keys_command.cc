#include <cstdint>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "base/bytes.h"
#include "base/counted.h"
#include "cli/commands.h"
#include "cli/consent.h"
#include "cli/new_key_file.h"
#include "cli/rows.h"
#include "plans/plan.h"
#include "sotto/key_labels.h"
#include "sotto/keys.h"
#include "sotto/model/model_file.h"
#include "sotto/model/model_text.h"
#include "sotto/options/kit_file.h"
#include "sotto/posix/files.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/run_key.h"
#include "store/enrolment.h"
#include "store/life.h"
#include "views/output_file.h"
#include "views/prices.h"

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
  KeyPaths to;
  std::vector<std::string> names;
  std::string names_file;
  std::string kits;  // a folder
  std::string model;
  posix::KitSettings settings;  // that were given
  Consent consent;
};

Key NewSecret(const KeysOptions& o, uint32_t index) {
  // The simulator derives the secrets of its devices in the same way.
  return o.seed ? posix::DeriveKey(posix::RunKey(o.seed), key_label::kDevice, index)
                : posix::RunKey(std::nullopt);
}

std::vector<Registration> NewDevices(const KeysOptions& o) {
  std::vector<Registration> devices;
  const int ways = (o.id.empty() ? 0 : 1) + (o.names.empty() ? 0 : 1) + (o.count ? 1 : 0) +
                   (o.names_file.empty() ? 0 : 1);
  if (ways != 1) {
    throw std::invalid_argument(
        "keys new: name the devices: NAME [NAME...], or --names FILE, or --count and --prefix");
  }
  if (!o.id.empty()) devices.push_back({{o.id, {}}});
  for (const std::string& name : o.names) devices.push_back({{name, {}}});
  if (!o.names_file.empty()) devices = ReadNames(o.names_file);
  const std::string prefix = o.prefix.value_or(o.seed ? "sim-" : "device-");
  for (uint32_t i = 0; i < o.count.value_or(0); ++i) {
    devices.push_back({{fmt::format("{}{:06}", prefix, i), {}}});
  }
  std::set<std::string> names;
  for (uint32_t i = 0; i < devices.size(); ++i) {
    Registration& each = devices[i];
    if (!names.insert(each.device.id).second) {
      throw std::invalid_argument(
          fmt::format("keys new: {} is named twice; name it once", each.device.id));
    }
    each.device.secret = NewSecret(o, i);
    if (each.owner.empty()) each.owner = o.owner;
  }
  return devices;
}

// Whether the act may be done whose price this is; says it first.
bool Agrees(const KeysOptions& o, const Price& price, const std::string& question) {
  if (!price.text.empty()) fmt::print("{}: {}", o.store, price.text);
  return price.moves ? GoOn(o.consent, question) : MayAct(o.consent);
}

// Of an act on a device of the store that no figure looks at.
bool MayChange(const KeysOptions& o, Store& store) {
  const History history = store.ReadHistory();
  return Agrees(o, PriceOf(history, history), "");
}

bool MayAdd(const KeysOptions& o, size_t devices, Store& store) {
  const History history = store.ReadHistory();
  History after = history;
  AddEligible(static_cast<int64_t>(devices), &after);
  return Agrees(o, PriceOf(history, after), fmt::format("add {}?", Counted(devices, "device")));
}

double LifeDelta(const KeysOptions& o, size_t devices) {
  return o.life_delta.value_or(privacy::DefaultDelta(static_cast<int64_t>(devices)));
}

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
  store.RaiseLifeEpsilon(*o.life_epsilon, LifeDelta(o, devices));
}

// "3 new devices, pi-0 to pi-2", or all their names.
std::string DescribeNew(const KeysOptions& o, const std::vector<Registration>& devices) {
  constexpr size_t kMostNames = 8;
  std::string text = Counted(devices.size(), "new device");
  if (o.count || devices.size() > kMostNames) {
    text += ", " + devices.front().device.id;
    return devices.size() == 1 ? text : text + " to " + devices.back().device.id;
  }
  for (const Registration& each : devices) text += ", " + each.device.id;
  return text;
}

//   given  the settings of their kits: from the options, and from the store's last kit
void PrintNew(const KeysOptions& o, const std::vector<Registration>& devices, bool had_devices,
              const posix::KitSettings& given) {
  fmt::print("{}: {}\n", o.store, DescribeNew(o, devices));
  if (!o.kits.empty()) {
    fmt::print(
        "{}: a kit NAME{} for each; move it to its device, keep no copy: there "
        "`sotto-client --kit NAME{}` needs nothing else\n",
        o.kits, posix::kKitEnding, posix::kKitEnding);
    const std::string text = posix::KitSettingsText(given);
    if (text != posix::KitSettingsText(o.settings)) {
      fmt::print("what no option says is as in the store's last kit; in all:\n{}", text);
    }
  }
  if (!o.out.empty()) {
    fmt::print("{}: a key file NAME.key for each; move it to its device, keep no copy\n", o.out);
  }
  if (o.kits.empty() && o.out.empty()) {
    fmt::print(
        "no key files without --out, no kits without --kits; `sotto keys export` writes one when "
        "it is needed\n");
  }
  if (had_devices) {
    fmt::print(
        "they are new devices, with their own turns and privacy account: a machine that was in the "
        "fleet before keeps its name, and gets a new key from `sotto keys rotate`\n");
  }
  if (o.seed) fmt::print("{}; a person who knows the seed knows every secret\n", kSeededNote);
}

// Before the store is made, which then has this limit for good.
void RequireUsefulLife(const KeysOptions& o, size_t devices) {
  if (!o.life_epsilon) return;
  const double delta = LifeDelta(o, devices);
  if (const std::string why = WhyTooLarge(*o.life_epsilon, delta); !why.empty()) {
    throw std::invalid_argument(fmt::format("--life-epsilon {}: {}", *o.life_epsilon, why));
  }
  const std::string room = DescribeRoomOf(*o.life_epsilon, delta);
  if (!room.empty()) fmt::print(stderr, "note: {}\n", room);
}

// A store is made last: what fails before leaves none.
void RunNew(const KeysOptions& o) {
  std::vector<Registration> devices = NewDevices(o);
  RequireUsefulLife(o, devices.size());
  const bool is_there = StoreExists(o.store);
  if (o.consent.dry_run && !is_there) {
    RequireNames(devices);
    fmt::print("{}: a new store, with {}\n", o.store, Counted(devices.size(), "device"));
    MayAct(o.consent);
    return;
  }
  std::unique_ptr<Store> store;
  History history;
  history.store = o.store;
  posix::KitSettings given = o.settings;
  if (is_there) {
    store = OpenStore(o.store, StoreMode::kCreate);
    std::vector<Device> secrets;
    for (const Registration& each : devices) secrets.push_back(each.device);
    store->RequireNew(secrets);
    if (!MayAdd(o, devices.size(), *store)) return;
    history = store->ReadHistory();
    if (!o.kits.empty()) given = KitOf("", o.settings, *store);
  } else {
    RequireNames(devices);
  }
  DeviceFiles key_files(o.out, ".key");
  DeviceFiles kits(o.kits, posix::kKitEnding);
  const bool had_devices = !history.devices.empty();
  const posix::KitSettings settings =
      o.kits.empty() ? posix::KitSettings() : WithModel(given, history);
  // It takes time; nobody waits for the store meanwhile.
  for (Registration& each : devices) {
    const posix::DeviceKey key = {each.device.id, each.device.secret};
    if (!o.out.empty()) key_files.Add(key.device_id, posix::KeyFileText(key));
    if (o.kits.empty()) continue;
    kits.Add(key.device_id, posix::KitText({key, settings}));
    each.kit = posix::KitSettingsText(given);
  }
  const NewKeyFile key_file(o.store);
  if (store == nullptr) store = OpenStore(o.store, StoreMode::kCreate);
  key_file.Say();
  SetLifeEpsilon(o, devices.size(), *store);
  store->Register(devices, o.seed.has_value());
  try {
    key_files.Publish();
    kits.Publish();
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("{}; the devices are in the store: `sotto keys export {} NAME` writes the "
                    "files of each, with --key FILE or --kit FILE",
                    error.what(), o.store));
  }
  PrintNew(o, devices, had_devices, given);
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
  const std::unique_ptr<Store> store = OpenStore(o.store);
  const History history = store->ReadHistory();
  History after = history;
  if (o.consent.dry_run) store->FindDevice(o.id);
  Revoke(o.id, &after);
  if (!Agrees(o, PriceOf(history, after), fmt::format("revoke {} for good?", o.id))) return;
  store->RevokeDevice(o.id);
  fmt::print("{}: device {} is revoked\n", o.store, o.id);
}

void RunOwner(const KeysOptions& o) {
  const std::unique_ptr<Store> store = OpenStore(o.store);
  if (!MayChange(o, *store)) return;
  store->SetOwner(o.id, o.owner);
  fmt::print(
      "{}: device {} belongs to {}; in later rounds of --sampling passes it never shares a "
      "cohort with another device of that owner\n",
      o.store, o.id, o.owner);
}

void RequireNoStoreFiles(const KeysOptions& o) {
  for (const Output& output :
       {Output{"--header", o.to.header}, Output{"--key", o.to.key}, Output{"--kit", o.to.kit}}) {
    if (!output.path.empty()) RequireNoStoreFile(output, o.store);
  }
}

// Whether an option was given that kits and headers have.
bool HasKitSettings(const KeysOptions& o) { return !posix::KitSettingsText(o.settings).empty(); }

void RequireKeyOutput(const KeysOptions& o, const char* why) {
  const KeyPaths& to = o.to;
  if (!to.header.empty() || !to.key.empty() || !to.kit.empty()) {
    if (HasKitSettings(o) && to.header.empty() && to.kit.empty()) {
      throw std::invalid_argument(
          "--server, --data and the other settings of kits are for --kit and --header: a key file "
          "has none of them");
    }
    return RequireNoStoreFiles(o);
  }
  throw std::invalid_argument(why);
}

void RunRotate(const KeysOptions& o) {
  RequireKeyOutput(o,
                   "keys rotate: say where the new key goes, with --kit FILE, --key FILE or "
                   "--header FILE.h; the "
                   "old one opens nothing any more");
  const std::unique_ptr<Store> store = OpenStore(o.store);
  std::vector<Device> replaced = {store->FindDevice(o.id)};  // before a file is written
  if (!MayChange(o, *store)) return;
  const Device device = {o.id, posix::RunKey(std::nullopt)};
  for (Device& former : ReplacedKeysOf(o.id, *store)) replaced.push_back(std::move(former));
  const bool is_its = !o.to.kit.empty() && HoldsKey(o.to.kit, replaced);
  const posix::KitSettings settings = KitOf(o.id, o.settings, *store, is_its ? o.to.kit : "");
  // A key that is in the store and nowhere else would shut the device out.
  KeyOutputs outputs(o.to, device, settings, *store, std::move(replaced));
  store->RotateDevice(o.id, device.secret);
  fmt::print("{}: device {} has a new key; the old one opens nothing any more\n", o.store, o.id);
  try {
    outputs.Publish();
    if (HasKitSettings(o)) store->SetKit(o.id, posix::KitSettingsText(settings));
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("{}; the new key is in the store: `sotto keys export {} {}` writes it, with "
                    "--kit FILE, --key FILE or --header FILE.h",
                    error.what(), o.store, o.id));
  }
}

void RunExport(const KeysOptions& o) {
  RequireKeyOutput(o, "keys export: say where to, with --kit FILE, --header FILE.h or --key FILE");
  const std::unique_ptr<Store> store = OpenStore(o.store);
  const posix::KitSettings settings = KitOf(o.id, o.settings, *store);
  KeyOutputs outputs(o.to, store->FindDevice(o.id), settings, *store, ReplacedKeysOf(o.id, *store));
  if (HasKitSettings(o)) store->SetKit(o.id, posix::KitSettingsText(settings));
  outputs.Publish();
}

using KeysRow = posix::Field<KeysOptions>;
using KeysFields = std::vector<KeysRow>;

// A command of `sotto keys`: its store, then its own rows.
posix::Command KeysCommandOf(const char* name, const char* help, const KeysFields& own,
                             void (*run)(const KeysOptions&)) {
  return posix::CommandFor<KeysOptions>(name, help)
      .Takes({StoreRow<KeysOptions>("the server's file of devices, job and ledger")})
      .Takes(own)
      .Runs(run);
}

// One that changes the fleet, and so asks.
posix::Command AskingCommandOf(const char* name, const char* help, const KeysFields& own,
                               void (*run)(const KeysOptions&)) {
  return posix::CommandFor<KeysOptions>(name, help)
      .Takes({StoreRow<KeysOptions>("the server's file of devices, job and ledger")})
      .Takes(own)
      .TakesFor(&KeysOptions::consent, ConsentRows())
      .Runs(run);
}

void SetModel(KeysOptions& o, const std::string& model) {
  o.model = model;
  o.settings.accept_model = posix::ModelDigestHex(*posix::OpenModel(model));
}

// What a kit says, beside the key.
//   needs  the option without which they mean nothing; null: RequireKeyOutput() says so
KeysFields KitSettingsFields(const char* needs) {
  KeysFields rows;
  for (const auto& row : posix::KitFields()) rows.push_back(KeysRow(row, &KeysOptions::settings));
  rows.push_back(KeysRow(
                     "model", [](const KeysOptions& o) { return o.model; }, SetModel,
                     "the only model that the devices train: a name, or FILE.toml")
                     .Excludes("accept-model"));
  for (KeysRow& row : rows) {
    if (needs != nullptr) row.Needs(needs);
    if (std::string_view(row.name) == "accept-model")
      row.ByDefault("the model of the store's last job");
  }
  return rows;
}

KeysFields NewFields() {
  return posix::Joined(
      {{
           KeysRow("", &KeysOptions::names, "names of devices: A-Z a-z 0-9 . _ -").Argument("NAME"),
           KeysRow("id", &KeysOptions::id, "register one device of this name"),
           KeysRow("names", &KeysOptions::names_file,
                   "file of the names, one a line; a comma and an owner may follow"),
           KeysRow("count", &KeysOptions::count,
                   "register this many devices, named PREFIX000000 and on")
               .Within({1, 1000000})
               .Excludes("id"),
           KeysRow("prefix", &KeysOptions::prefix, "beginning of the names of --count's devices")
               .Excludes("id")
               .ByDefault("device-; sim- if seeded"),
           KeysRow("kits", &KeysOptions::kits,
                   "write a kit for each device into this folder: all that sotto-client needs"),
           KeysRow("out", &KeysOptions::out, "write a key file for each device into this folder"),
           KeysRow(
               "owner", &KeysOptions::owner,
               "owner of all these devices, whose data they train on, such as household-7: A-Z a-z "
               "0-9 . _ -"),
           KeysRow("seed", &KeysOptions::seed,
                   "derive the secrets from a number, as the simulator does; for tests only")
               .Excludes("id")
               .Needs("insecure-seed"),
           KeysRow("insecure-seed", &KeysOptions::insecure_seed,
                   "confirms --seed: a seeded secret protects nothing")
               .Needs("seed"),
           KeysRow(
               "life-epsilon", &KeysOptions::life_epsilon,
               "for a new store: limit of the epsilon that the turns of one device in all its jobs "
               "may cost together")
               .Within({1e-6, 1e6})
               .ByDefault("none: `sotto job start` asks before a second job of passes"),
           KeysRow("life-delta", &KeysOptions::life_delta, "delta of --life-epsilon")
               .Within({1e-300, 0.5})
               .Needs("life-epsilon")
               .ByDefault("min(1e-5, 1/(10 devices))"),
       },
       posix::Under("Kits", KitSettingsFields("kits"))});
}

KeysRow DeviceRow() {
  return KeysRow("", &KeysOptions::id, "the device's name").Argument("ID").Required();
}

KeysFields OwnerFields() {
  return {DeviceRow(), KeysRow("owner", &KeysOptions::owner,
                               "the owner's label, such as household-7: A-Z a-z 0-9 . _ -")
                           .Argument("OWNER")
                           .Required()};
}

// Of one device, and where its key goes.
KeysFields KeyFields() {
  return posix::Joined(
      {{
           DeviceRow(),
           KeysRow(
               "kit", posix::At(&KeysOptions::to, &KeyPaths::kit),
               "write a kit to this file, as `sotto keys new --kits` does; it has the settings of "
               "the device's last kit, unless they are given"),
           KeysRow("header", posix::At(&KeysOptions::to, &KeyPaths::header),
                   "write a C header for firmware to this file, with the server and the model if "
                   "they are known"),
           KeysRow("key", posix::At(&KeysOptions::to, &KeyPaths::key),
                   "write a key file to this file, as `sotto keys new --out` does"),
       },
       posix::Under("Kits", KitSettingsFields(nullptr))});
}

}  // namespace

posix::Command KeysCommand() {
  return posix::CommandOf(
      "keys", "register and revoke devices: their secrets, key files, headers for firmware",
      {AskingCommandOf("new", "register devices, each with its own secret", NewFields(), RunNew),
       KeysCommandOf("list", "show the devices, never their secrets",
                     {JsonRow<KeysOptions>("the list")}, RunList),
       AskingCommandOf(
           "owner",
           "say whose data a device trains on; with --sampling passes two devices of one "
           "owner never share a cohort",
           OwnerFields(), RunOwner),
       AskingCommandOf("revoke", "shut a device out for good", {DeviceRow()}, RunRevoke),
       AskingCommandOf(
           "rotate",
           "give a device a new secret; it stays the same device, and its old key becomes "
           "useless",
           KeyFields(), RunRotate),
       KeysCommandOf("export", "write a device's secret to a file", KeyFields(), RunExport)});
}

}  // namespace sotto::server
