// The tables of a model file: the file's own keys, and the keys of each [[prepare]] and [[layer]];
// and the files of float32 that they name. Part of sotto::model_file.
//
// Each reading function refuses a value of another kind. A refusal is a std::invalid_argument,
// "PATH:LINE: what is wrong, and what is expected".
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sotto/model/model_file.h"
#include "sotto/options/toml.h"
#include "sotto/span.h"

namespace sotto::posix {

[[noreturn]] void RefuseLine(const std::string& path, int line, const std::string& why);

// The end of a sentence: "; did you mean NAME?", or a full stop if no name is near.
std::string Suggestion(const std::string& name, const std::vector<std::string>& names);

// The most bytes of a name in a model file.
constexpr size_t kMaxNameLength = 64;

class Table {
 public:
  //   what  for messages: "the model", "layer 3"
  //   line  where it begins
  Table(std::string path, std::string what, int line)
      : path_(std::move(path)), what_(std::move(what)), line_(line) {}

  void Add(const Setting& setting) { settings_.emplace(setting.key, setting); }
  void Rename(const std::string& what) { what_ = what; }

  bool Has(const std::string& key) const { return settings_.count(key) > 0; }
  int line() const { return line_; }
  int LineOf(const std::string& key) const { return Has(key) ? settings_.at(key).line : line_; }

  // Refuses the first key that is not among the names.
  void RequireKnown(const std::vector<std::string>& names) const;

  // Required keys.
  uint32_t Number(const std::string& key, uint32_t least) const;
  std::vector<uint32_t> Numbers(const std::string& key, const std::string& expected) const;
  std::string Text(const std::string& key, const std::string& expected) const;
  std::vector<std::string> Texts(const std::string& key, const std::string& expected) const;
  // One float32, or an array of at least one; all finite.
  std::vector<float> Reals(const std::string& key, const std::string& expected) const;
  bool IsText(const std::string& key) const {
    return Has(key) && settings_.at(key).kind == Setting::Kind::kText;
  }
  // Which of these kinds, by their names, the key "kind" says.
  size_t Kind(const std::vector<std::string>& kinds, const char* example) const;
  // Which of the choices.
  uint32_t Choice(const std::string& key, const std::vector<std::string>& choices) const;

  // Refuses the line of a key; or where the table begins.
  [[noreturn]] void Refuse(const std::string& key, const std::string& why) const;
  [[noreturn]] void Refuse(const std::string& why) const;

 private:
  const Setting& Require(const std::string& key, const std::string& expected) const;
  uint32_t ToNumber(const Setting& setting, const std::string& word, uint32_t least) const;
  float ToReal(const Setting& setting, const std::string& word) const;

  std::string path_;
  std::string what_;
  int line_;
  std::map<std::string, Setting> settings_;
};

// The row of a table of kinds, of layers or of steps, that the key "kind" names.
template <class Row>
const Row& KindIn(const std::vector<Row>& rows, const Table& table, const char* example) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return rows[table.Kind(names, example)];
}

// The table as one of the row's kind, "layer 3 (dense)": it has the row's keys and no others.
template <class Row>
Table TableOf(const Row& row, const Table& table, const char* what, size_t number) {
  std::vector<std::string> keys = {"kind"};
  for (const auto& key : row.keys) keys.emplace_back(key.name);
  Table named = table;
  named.Rename(fmt::format("{} {} ({})", what, number, row.name));
  named.RequireKnown(keys);
  return named;
}

struct Document {
  Table model;                // its own keys
  std::vector<Table> steps;   // [[prepare]], at most kMaxSteps
  std::vector<Table> layers;  // [[layer]], at most kMaxLayers
};

// Throws std::invalid_argument for a table that no model file has, or TomlError.
//   path  for messages
Document ReadTables(const std::string& path, const std::string& text);

// Where the files of float32 are that a model's text names: in the folder of the model file, or
// attached to the text in memory. Attached text never reads from the file system.
struct Beside {
  using Files = std::map<std::string, ByteSpan>;

  std::string path;                 // of the model file; for messages
  const Files* attached = nullptr;  // null: in the folder
};

// ParseModel() of a text whose files are there.
SharedModel ParseModel(const Beside& beside, const std::string& text);

// A file of float32, little-endian, beside a model file.
class FloatFile {
 public:
  // The file that a key names. Refuses the key if there is no such file, or an empty one.
  //   expected  of the key's text
  FloatFile(const Beside& beside, const Table& table, const std::string& key,
            const std::string& expected);

  const std::string& path() const { return path_; }
  uintmax_t bytes() const { return bytes_; }

  // The first numbers, 4 * count <= bytes(). Refuses the key for one that is not finite.
  std::vector<float> Read(size_t count) const;

 private:
  std::vector<uint8_t> Content(size_t bytes) const;

  const Table& table_;
  std::string key_;
  std::string path_;
  ByteSpan attached_;  // empty: a file
  uintmax_t bytes_ = 0;
};

}  // namespace sotto::posix
