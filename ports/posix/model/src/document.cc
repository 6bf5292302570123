#include "document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sotto/model/model_file.h"
#include "sotto/options/toml.h"
#include "steps.h"

namespace sotto::posix {
namespace {

// The tables of [[prepare]] or of [[layer]]; null for any other name.
std::vector<Table>* TablesOf(const std::string& name, Document* document) {
  if (name == "prepare") return &document->steps;
  return name == "layer" ? &document->layers : nullptr;
}

void AddTable(const std::string& path, const Setting& entry, std::vector<Table>* tables) {
  const std::string& name = entry.section.front();
  const bool is_layer = name == "layer";
  const size_t most = is_layer ? kMaxLayers : kMaxSteps;
  if (tables->size() == most) {
    RefuseLine(path, entry.line,
               fmt::format("more than {} {}", most, is_layer ? "layers" : "steps"));
  }
  tables->emplace_back(path, fmt::format("{} {}", name, entry.entry), entry.line);
}

}  // namespace

Document ReadTables(const std::string& path, const std::string& text) {
  Document document = {Table(path, "the model", 1), {}, {}};
  for (const Setting& setting : ParseToml(text, TomlArrays::kTaken)) {
    std::vector<Table>* const tables = setting.entry > 0 && setting.section.size() == 1
                                           ? TablesOf(setting.section.front(), &document)
                                           : nullptr;
    const bool is_entry = setting.kind == Setting::Kind::kEntry;
    if (tables == nullptr && !setting.section.empty()) {
      RefuseLine(path, setting.line,
                 fmt::format("{} is none of the model's; a model file has keys, then [[prepare]] "
                             "once for each step that prepares samples, then [[layer]] once for "
                             "each layer",
                             is_entry ? fmt::format("[[{}]]", fmt::join(setting.section, "."))
                                      : FullName(setting)));
    }
    if (is_entry) {
      AddTable(path, setting, tables);
    } else {
      (tables == nullptr ? document.model : tables->back()).Add(setting);
    }
  }
  return document;
}

}  // namespace sotto::posix
