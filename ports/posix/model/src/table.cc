#include "table.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <stdexcept>

#include "sotto/bytes.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_file.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "steps.h"

namespace sotto::posix {
namespace {

// For messages: a value of a hostile file may be long.
std::string Shortened(const std::string& text) {
  return text.size() <= kMaxNameLength ? text : text.substr(0, kMaxNameLength) + "...";
}

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

void RefuseLine(const std::string& path, int line, const std::string& why) {
  throw std::invalid_argument(fmt::format("{}:{}: {}", path, line, why));
}

std::string Suggestion(const std::string& name, const std::vector<std::string>& names) {
  if (name.size() > kMaxNameLength) return ".";
  const std::string nearest = NearestName(name, names);
  return nearest.empty() ? "." : fmt::format("; did you mean {}?", nearest);
}

void Table::RequireKnown(const std::vector<std::string>& names) const {
  const Setting* first = nullptr;
  for (const auto& [key, setting] : settings_) {
    const bool is_known = std::find(names.begin(), names.end(), key) != names.end();
    if (!is_known && (first == nullptr || setting.line < first->line)) first = &setting;
  }
  if (first == nullptr) return;
  RefuseLine(path_, first->line,
             fmt::format("{} has no key {}{} Its keys: {}", what_, Shortened(first->key),
                         Suggestion(first->key, names), fmt::join(names, ", ")));
}

uint32_t Table::Number(const std::string& key, uint32_t least) const {
  const Setting& setting =
      Require(key, fmt::format("a whole number from {} to {}", least, kMaxNumber));
  if (!setting.is_number()) {
    Refuse(key, fmt::format("{} is no number; expected {} = N, without quotes", key, key));
  }
  return ToNumber(setting, setting.value, least);
}

std::vector<uint32_t> Table::Numbers(const std::string& key, const std::string& expected) const {
  const Setting& setting = Require(key, expected);
  if (setting.kind != Setting::Kind::kArray) {
    Refuse(key, fmt::format("{} is no array; expected {}", key, expected));
  }
  std::vector<uint32_t> numbers;
  for (const std::string& item : setting.items) numbers.push_back(ToNumber(setting, item, 1));
  return numbers;
}

std::string Table::Text(const std::string& key, const std::string& expected) const {
  const Setting& setting = Require(key, expected);
  if (setting.kind != Setting::Kind::kText) {
    Refuse(key, fmt::format("{} is no text in quotes; expected {}", key, expected));
  }
  return setting.value;
}

std::vector<std::string> Table::Texts(const std::string& key, const std::string& expected) const {
  const Setting& setting = Require(key, expected);
  if (setting.kind != Setting::Kind::kTexts) {
    Refuse(key, fmt::format("{} is no array of texts in quotes; expected {}", key, expected));
  }
  return setting.items;
}

std::vector<float> Table::Reals(const std::string& key, const std::string& expected) const {
  const Setting& setting = Require(key, expected);
  if (setting.is_number()) return {ToReal(setting, setting.value)};
  if (setting.kind != Setting::Kind::kArray || setting.items.empty()) {
    Refuse(key, fmt::format("{} is no number and no array of numbers; expected {}", key, expected));
  }
  std::vector<float> numbers;
  for (const std::string& item : setting.items) numbers.push_back(ToReal(setting, item));
  return numbers;
}

size_t Table::Kind(const std::vector<std::string>& kinds, const char* example) const {
  const std::string name = Text("kind", example);
  const auto found = std::find(kinds.begin(), kinds.end(), name);
  if (found != kinds.end()) return static_cast<size_t>(found - kinds.begin());
  Refuse("kind",
         fmt::format("there is no kind \"{}\"{} The kinds: {}", name.substr(0, kMaxNameLength),
                     Suggestion(name, kinds), fmt::join(kinds, ", ")));
}

uint32_t Table::Choice(const std::string& key, const std::vector<std::string>& choices) const {
  const std::string expected = fmt::format("\"{}\"", fmt::join(choices, "\" or \""));
  const std::string text = Text(key, expected);
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found == choices.end()) {
    Refuse(key, fmt::format("{} = \"{}\"; expected {}", key, Shortened(text), expected));
  }
  return static_cast<uint32_t>(found - choices.begin());
}

void Table::Refuse(const std::string& key, const std::string& why) const {
  RefuseLine(path_, LineOf(key), fmt::format("{}: {}", what_, why));
}

void Table::Refuse(const std::string& why) const {
  RefuseLine(path_, line_, fmt::format("{}: {}", what_, why));
}

const Setting& Table::Require(const std::string& key, const std::string& expected) const {
  if (!Has(key)) Refuse(fmt::format("{} is missing; expected {}", key, expected));
  return settings_.at(key);
}

uint32_t Table::ToNumber(const Setting& setting, const std::string& word, uint32_t least) const {
  const std::optional<uint64_t> number = ParseCount(word);
  if (!number || *number < least || *number > kMaxNumber) {
    Refuse(setting.key, fmt::format("{}: {} is no whole number from {} to {}", setting.key,
                                    Shortened(word), least, kMaxNumber));
  }
  return static_cast<uint32_t>(*number);
}

float Table::ToReal(const Setting& setting, const std::string& word) const {
  const std::optional<double> number = ParseReal(word);
  const auto real = static_cast<float>(number.value_or(0));
  if (!number || !std::isfinite(real)) {
    Refuse(setting.key, fmt::format("{}: {} is no number that float32 has; expected for example "
                                    "0.1307",
                                    setting.key, Shortened(word)));
  }
  return real;
}

Document ReadTables(const std::string& path, const std::string& text) {
  Document document = {Table(path, "the model", 1), {}, {}};
  for (const Setting& setting : ParseToml(text, TomlArrays::kTaken)) {
    std::vector<Table>* const tables = setting.entry > 0 && setting.section.size() == 1
                                           ? TablesOf(setting.section.front(), &document)
                                           : nullptr;
    const bool is_entry = setting.kind == Setting::Kind::kEntry;
    if (tables == nullptr && !setting.section.empty()) {
      RefuseLine(path, setting.line,
                 fmt::format("{} is not part of a model file; it has keys, then [[prepare]] once "
                             "for each step that prepares samples, then [[layer]] once for each "
                             "layer",
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

namespace fs = std::filesystem;

FloatFile::FloatFile(const Beside& beside, const Table& table, const std::string& key,
                     const std::string& expected)
    : table_(table), key_(key), path_(table.Text(key, expected)) {
  std::error_code error;
  if (beside.attached != nullptr) {
    const auto found = beside.attached->find(path_);
    if (found != beside.attached->end()) attached_ = found->second;
    bytes_ = attached_.size();
  } else {
    path_ = (fs::path(beside.path).parent_path() / path_).string();
    bytes_ = fs::is_regular_file(path_, error) ? fs::file_size(path_, error) : 0;
  }
  if (error || bytes_ == 0) {
    table_.Refuse(key_, fmt::format("{} cannot be read, or is empty", path_));
  }
}

std::vector<uint8_t> FloatFile::Content(size_t bytes) const {
  if (!attached_.empty()) return {attached_.begin(), attached_.begin() + bytes};
  std::vector<uint8_t> content(bytes);
  std::ifstream stream(path_, std::ios::binary);
  stream.read(reinterpret_cast<char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
  if (!stream) table_.Refuse(key_, fmt::format("{} cannot be read", path_));
  return content;
}

std::vector<float> FloatFile::Read(size_t count) const {
  const std::vector<uint8_t> content = Content(4 * count);
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = FloatFromBits(LoadU32Le(content.data() + 4 * i));
    if (std::isfinite(numbers[i])) continue;
    table_.Refuse(key_, fmt::format("{}: number {} is not finite", path_, i + 1));
  }
  return numbers;
}

}  // namespace sotto::posix
