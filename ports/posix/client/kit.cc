#include "kit.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/data/source.h"
#include "sotto/options/kit_file.h"

namespace sotto::posix {
namespace {

using Row = Field<ClientOptions>;

// Whether an option was given, or another one that takes its place or has no use for it.
bool IsGiven(const std::vector<Row>& rows, const ClientOptions& options, const std::string& name) {
  const auto given = [&](const char* other) { return options.given.count(other) > 0; };
  if (given(name.c_str())) return true;
  // A node names its model, has no server that releases one, and no rounds that read a file anew.
  const bool is_of_server = name == "accept-model" || name == "keep-model" || name == "sample-log";
  if (is_of_server && options.peer.is_on) return true;
  // They describe one file, or another one.
  const bool is_of_data = name == "labels" || name == "samples" || name == "sample-log";
  if (is_of_data && given("data")) return true;
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    return given(row.name) && std::any_of(row.excludes.begin(), row.excludes.end(),
                                          [&](const char* other) { return name == other; });
  });
}

// Names of files without / at the beginning are those in the kit's folder.
void ResolveFiles(const std::filesystem::path& folder, KitSettings* settings) {
  for (std::string* name : {&settings->labels, &settings->keep_model, &settings->sample_log}) {
    if (!name->empty()) *name = (folder / *name).string();
  }
  if (settings->data.empty()) return;
  settings->data = FormatDataSource(InFolder(ParseDataSource(settings->data), folder.string()));
}

}  // namespace

ClientOptions WithKit(ClientOptions options) {
  if (options.kit.empty()) {
    for (const auto& [option, text] : {std::pair("key", &options.key), {"data", &options.data}}) {
      const bool is_needed =
          text == &options.key || !(options.fetch_only || !options.sample_log.empty());
      if (!text->empty() || !is_needed) continue;
      throw std::invalid_argument(fmt::format(
          "--{0} is required: name it, or a kit that has it, with --kit; `sotto-client --help` "
          "lists what it takes",
          option));
    }
    return options;
  }
  Kit kit = ReadKit(options.kit);
  const std::filesystem::path folder = std::filesystem::path(options.kit).parent_path();
  ResolveFiles(folder, &kit.settings);
  const std::vector<Row> rows = RowsOfKits();
  for (const Field<KitSettings>& in_kit : KitFields()) {
    const std::string text = ExactText(in_kit, in_kit.get(kit.settings));
    if (text.empty() || IsGiven(rows, options, in_kit.name)) continue;
    for (const Row& row : rows) {
      if (std::string_view(row.name) == in_kit.name) row.set(options, ParseValue(row, text));
    }
  }
  if (options.key.empty()) options.state = (folder / kit.key.device_id).string();
  if (options.data.empty() && options.sample_log.empty() && !options.fetch_only) {
    throw std::invalid_argument(
        fmt::format("{}: this kit does not say where the data lie; name them with --data or "
                    "--sample-log, or in the kit: data = \"FILE\"",
                    options.kit));
  }
  return options;
}

DeviceKey KeyOf(const ClientOptions& options) {
  return options.key.empty() ? ReadKit(options.kit).key : ReadKeyFile(options.key);
}

}  // namespace sotto::posix
