// A kit: one file with all that sotto-client needs on a device. Part of sotto::options. The host
// writes it with `sotto keys new --kits`; `sotto-client --kit FILE` reads it.
//
//   version = 1
//   device = "pi-7"
//   key = "HEX"                      64 hexadecimal digits: the device's secret
//   server = "fleet.example.org:7177"
//   accept-model = ["DIGEST", ...]   or "any"
//   data = "readings.csv"            and more of KitFields(), as the options of sotto-client
//
// It is TOML, of mode 0600. What stands behind the key are options of sotto-client under their
// names; KitFields() is the list of those that a kit may hold, on both sides. To change the format,
// raise the version in kit_file.cc. To add a setting: its row there, and the option of that name in
// sotto-client.
//
// The secret never reaches the reader of TOML, nor a message. Stateless; safe in any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/options/field.h"
#include "sotto/posix/files.h"
#include "sotto/posix/key_file.h"

namespace sotto::posix {

inline constexpr char kKitEnding[] = ".sotto";
inline constexpr char kEveryModel[] = "any";  // as --accept-model

// The options of sotto-client that a kit may hold. Empty or absent: not in it.
struct KitSettings {
  std::string server;        // ParseServers()
  std::string accept_model;  // kEveryModel, or digests with commas between them
  std::string data;
  std::string labels;
  std::string samples;
  std::string sample_log;
  std::string keep_model;
  std::optional<double> model_memory_mb;
  std::optional<double> round_s;
  std::optional<double> min_private_noise;
  std::optional<uint32_t> max_private_updates;
};

struct Kit {
  DeviceKey key;
  KitSettings settings;
};

// Their rows, also for `sotto keys`.
std::vector<Field<KitSettings>> KitFields();

// What is wrong with an accept-model; empty: nothing.
std::string CheckAcceptModel(const std::string& text);

// The digests of an accept-model, in lower-case digits; none of kEveryModel. Throws
// std::invalid_argument for another text.
std::vector<std::string> AcceptedDigests(const std::string& accept_model);

// Throws where ReadSecretFile() does, and a FileError "PATH: line 3: what is wrong, what to do".
Kit ReadKit(const std::string& path);

// The text of a kit. Throws std::invalid_argument for a bad name or setting.
SecretText KitText(const Kit& kit);

// The settings alone, as in a kit, and back.
//   where  for messages
std::string KitSettingsText(const KitSettings& settings);
KitSettings ParseKitSettings(const std::string& where, std::string_view text);

}  // namespace sotto::posix
