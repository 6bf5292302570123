#include "sotto/options/kit_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "sotto/keys.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "sotto/options/toml.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/text.h"

namespace sotto::posix {
namespace {

constexpr char kVersion[] = "1";
constexpr char kBlanks[] = " \t";
constexpr size_t kHexDigits = 2 * kKeySize;
constexpr char kAgain[] = "write the kit again: `sotto keys export STORE NAME --kit FILE`";

[[noreturn]] void Refuse(const std::string& path, size_t line, const std::string& why) {
  throw FileError(fmt::format("{}: line {}: {}", path, line, why));
}

std::string_view WithoutBlanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

// What stands behind `key =` if the line sets the key, and otherwise nothing.
std::optional<std::string_view> ValueOfKey(std::string_view line) {
  constexpr std::string_view kKey = "key";
  line = WithoutBlanks(line);
  if (line.substr(0, kKey.size()) != kKey) return std::nullopt;
  line = WithoutBlanks(line.substr(kKey.size()));
  if (line.empty() || line.front() != '=') return std::nullopt;
  return WithoutBlanks(line.substr(1));
}

// Takes the secret out of the text: zeros stand in its place.
Key TakeSecret(const std::string& path, std::string* text) {
  Key secret;
  size_t found = 0;  // the line of the key
  for (size_t at = 0, line = 1; at < text->size(); ++line) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const auto value = ValueOfKey(std::string_view(*text).substr(at, end - at));
    at = end + 1;
    if (!value) continue;
    if (found != 0) Refuse(path, line, "key comes twice; take one out");
    found = line;
    const std::string_view hex = value->substr(std::min<size_t>(1, value->size()), kHexDigits);
    const char quote = value->empty() ? ' ' : value->front();
    const std::string_view behind = value->substr(std::min(kHexDigits + 1, value->size()));
    const bool is_quoted =
        (quote == '"' || quote == '\'') && !behind.empty() && behind.front() == quote;
    if (!is_quoted || !ParseHex(hex, secret.bytes)) {
      Refuse(path, line, fmt::format("key: expected {} digits in quotes; {}", kHexDigits, kAgain));
    }
    std::fill_n(text->begin() + (hex.data() - text->data()), kHexDigits, '0');
  }
  if (found != 0) return secret;
  throw FileError(path + (text->compare(0, 10, "sotto-key ") == 0
                              ? ": this is a key file; name it with --key"
                              : std::string(": this is not a kit, it has no key; ") + kAgain));
}

std::string CheckServer(const std::string& text) {
  return ParseServers(text).empty()
             ? "expected HOST:PORT or [ADDRESS]:PORT, or several with commas between them"
             : "";
}

}  // namespace

std::string CheckAcceptModel(const std::string& text) {
  try {
    (void)AcceptedDigests(text);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

namespace {

std::string CheckSamples(const std::string& text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const auto first = ParseCount(std::string_view(text).substr(0, colon));
  const auto count = ParseCount(std::string_view(text).substr(std::min(colon + 1, text.size())));
  return first && count && *count > 0 ? "" : "expected FIRST:COUNT, COUNT at least 1";
}

// A text of TOML.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\u{:04X}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string TextOf(const std::string& where, const Setting& setting, Kind kind = Kind::kText) {
  const bool is_number = kind != Kind::kText;
  if (is_number ? setting.is_number() : setting.kind == Setting::Kind::kText) return setting.value;
  if (setting.kind == Setting::Kind::kTexts && setting.key == "accept-model") {
    return fmt::format("{}", fmt::join(setting.items, ","));
  }
  Refuse(where, static_cast<size_t>(setting.line),
         fmt::format("{}: expected {}", setting.key,
                     is_number ? "a number, without quotes" : "a text in quotes"));
}

// What a kit has beside its settings.
struct Beginning {
  std::string version;
  std::string device;
  bool has_key = false;
};

// Sets what the line sets; with `begin` also what is no option.
void Apply(const std::string& where, const Setting& setting, Beginning* begin,
           KitSettings* settings) {
  const auto line = static_cast<size_t>(setting.line);
  if (!setting.section.empty()) Refuse(where, line, "a kit has no sections; take this one out");
  const std::string& name = setting.key;
  if (begin != nullptr && name == "version") {
    begin->version = setting.value;
    return;
  }
  if (begin != nullptr && (name == "device" || name == "key")) {
    const std::string text = TextOf(where, setting);
    if (name == "device") begin->device = text;
    if (name == "key") begin->has_key = true;
    return;
  }
  std::vector<std::string> names = {"version", "device", "key"};
  for (const Field<KitSettings>& row : KitFields()) {
    names.emplace_back(row.name);
    if (name != row.name) continue;
    const std::string text = TextOf(where, setting, row.kind);
    try {
      row.set(*settings, ParseValue(row, text));
    } catch (const std::invalid_argument& error) {
      Refuse(where, line, fmt::format("{} {}: {}", name, text, error.what()));
    }
    return;
  }
  Refuse(where, line, fmt::format("{} is no key of a kit{}", name, DidYouMean(name, names)));
}

void ApplyAll(const std::string& where, std::string_view text, Beginning* begin,
              KitSettings* settings) {
  try {
    for (const Setting& setting : ParseToml(text, TomlArrays::kTaken)) {
      Apply(where, setting, begin, settings);
    }
  } catch (const TomlError& error) {
    throw FileError(where + ": " + error.what());
  }
}

}  // namespace

std::vector<Field<KitSettings>> KitFields() {
  using Row = Field<KitSettings>;
  return {
      Row("server", &KitSettings::server,
          "HOST:PORT where the devices reach the server, or several, comma-separated")
          .Checked(CheckServer),
      Row("accept-model", &KitSettings::accept_model,
          "models that the devices take from the server: any, or digests, comma-separated")
          .Checked(CheckAcceptModel),
      Row("data", &KitSettings::data,
          "file of the samples on the devices, FILE[:KEY=VALUE,...]; a name without / at the "
          "beginning is relative to the kit's folder"),
      Row("labels", &KitSettings::labels, "IDX file of the labels on the devices"),
      Row("samples", &KitSettings::samples,
          "samples of that file that the devices take, FIRST:COUNT")
          .Checked(CheckSamples),
      Row("sample-log", &KitSettings::sample_log,
          "file on the devices with the samples that they record, instead of data; a name without "
          "/ at the beginning is relative to the kit's folder"),
      Row("keep-model", &KitSettings::keep_model,
          "folder on the devices that keeps the newest released model; a name without / at the "
          "beginning is relative to the kit's folder"),
      Row("model-memory", &KitSettings::model_memory_mb,
          "most memory for an accepted model on a device, MB")
          .Within({1, 1e6}),
      Row("round-seconds", &KitSettings::round_s,
          "most seconds for the training of a round on a device")
          .Within({0, 1e9}),
      Row("min-private-noise", &KitSettings::min_private_noise,
          "least noise that a device adds itself, in units of twice the clipping bound: the "
          "devices refuse a job that asks for less")
          .Within({0, 1e9}),
      Row("max-private-updates", &KitSettings::max_private_updates,
          "most updates with private noise that a device sends in all its jobs")
          .Within({0, 1e9}),
  };
}

std::vector<std::string> AcceptedDigests(const std::string& accept_model) {
  if (accept_model == kEveryModel) return {};
  std::vector<std::string> digests;
  for (size_t at = 0; at <= accept_model.size();) {
    const size_t end = std::min(accept_model.find(',', at), accept_model.size());
    uint8_t bytes[kSha256Size];
    if (!ParseHex(std::string_view(accept_model).substr(at, end - at), bytes)) {
      throw std::invalid_argument(fmt::format(
          "expected {} or digests of {} hexadecimal digits, with commas between them; `sotto model "
          "show MODEL` prints one",
          kEveryModel, 2 * kSha256Size));
    }
    digests.push_back(Hex(bytes));
    at = end + 1;
  }
  return digests;
}

Kit ReadKit(const std::string& path) {
  SecretText file = ReadSecretFile(path);
  CleanText(path, &file.text);
  Kit kit;
  kit.key.secret = TakeSecret(path, &file.text);
  Beginning begin;
  ApplyAll(path, file.text, &begin, &kit.settings);
  if (begin.version != kVersion) {
    throw FileError(fmt::format(
        "{}: expected version = {}, which this program reads; use the program that wrote the kit, "
        "or {}",
        path, kVersion, kAgain));
  }
  const std::string& name = begin.device;
  if (!begin.has_key ||
      !IsValidDeviceId({reinterpret_cast<const uint8_t*>(name.data()), name.size()})) {
    throw FileError(fmt::format("{}: it names no device; {}", path, kAgain));
  }
  kit.key.device_id = name;
  return kit;
}

SecretText KitText(const Kit& kit) {
  const std::string settings = KitSettingsText(kit.settings);
  // Throws for a bad name; its last line ends with the digits of the secret.
  const SecretText key = KeyFileText(kit.key);
  const std::string_view hex(key.text.data() + key.text.size() - 1 - kHexDigits, kHexDigits);
  SecretText file;
  file.text.reserve(settings.size() + 1024);
  fmt::format_to(
      std::back_inserter(file.text),
      "# SECRET: the kit of the device {0}. A person who has it can pose as the device, and its\n"
      "# updates have no epsilon against that person. Move it to this one device, mode 0600, and\n"
      "# keep no copy. There `sotto-client --kit FILE` needs nothing else; what its command line\n"
      "# or --config says wins.\n"
      "version = {1}\n"
      "device = \"{0}\"\n"
      "key = \"{2}\"\n"
      "{3}",
      kit.key.device_id, kVersion, hex, settings);
  return file;
}

std::string KitSettingsText(const KitSettings& settings) {
  std::string text;
  for (const Field<KitSettings>& row : KitFields()) {
    const std::string value = ExactText(row, row.get(settings));
    if (value.empty()) continue;
    (void)ParseValue(row, value);
    std::string shown = row.kind == Kind::kText ? Quoted(value) : value;
    if (row.name == std::string_view("accept-model") && value != kEveryModel) {
      shown = fmt::format("[\"{}\"]", fmt::join(AcceptedDigests(value), "\", \""));
    }
    text += fmt::format("{} = {}\n", row.name, shown);
  }
  return text;
}

KitSettings ParseKitSettings(const std::string& where, std::string_view text) {
  KitSettings settings;
  ApplyAll(where, text, nullptr, &settings);
  return settings;
}

}  // namespace sotto::posix
