#include "json_rows.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "json_events.h"
#include "values.h"

namespace sotto {
namespace {

constexpr size_t kNowhere = static_cast<size_t>(-1);

// "3", or "16 x 3".
std::string AxesText(const std::vector<uint32_t>& axes) {
  return axes.empty() ? "one value" : fmt::format("an array of {}", fmt::join(axes, " x "));
}

// "acc[1][2]": the element of an array at a place in its order.
std::string ElementName(const std::string& name, const std::vector<uint32_t>& axes, size_t at) {
  std::string places;
  for (size_t axis = axes.size(); axis > 0; --axis) {
    places.insert(0, fmt::format("[{}]", at % axes[axis - 1]));
    at /= axes[axis - 1];
  }
  return name + places;
}

}  // namespace

// Collects the fields of a line.
class JsonRows::Line : public JsonVisitor {
 public:
  explicit Line(JsonRows* rows) : rows_(*rows) {}

  void OnNull() override { Add(""); }
  void OnNumber(double, std::string_view text) override { Add(text); }
  void OnText(std::string_view text) override { Add(text); }

  void OnKey(std::string_view key) override {
    name_.resize(prefixes_.back());
    name_ += key;
    if (!seen_.insert(name_).second) {
      throw rows_.Defect("key " + Quoted(name_), "it is there twice", "expected once; rename one");
    }
  }

  void OnBegin(bool is_object) override {
    if (is_object) return BeginObject();
    if (prefixes_.empty()) throw NoObject("an array");
    if (counts_.empty()) {
      rows_.fields_.push_back({name_, {}, rows_.values_.size(), 0});
      leaves_at_ = 0;
    } else {
      CountElement(false);
    }
    counts_.push_back(0);
    if (counts_.size() > kMaxAxes) throw Wrong("more than three brackets", "three axes at most");
  }

  void OnEnd(bool is_object) override {
    if (is_object) {
      prefixes_.pop_back();
      return;
    }
    Field& field = rows_.fields_.back();
    const size_t axis = counts_.size() - 1;
    if (counts_[axis] == 0) throw Wrong("an empty array", "numbers");
    if (field.axes.size() <= axis) field.axes.resize(axis + 1, 0);
    if (field.axes[axis] == 0) field.axes[axis] = counts_[axis];
    if (field.axes[axis] != counts_[axis]) throw Ragged();
    counts_.pop_back();
    if (counts_.empty()) field.count = rows_.values_.size() - field.first;
  }

 private:
  static constexpr size_t kMaxAxes = 3;

  void BeginObject() {
    if (!counts_.empty()) throw Wrong("an object within an array", "numbers");
    prefixes_.push_back(prefixes_.empty() ? 0 : name_.size() + 1);
    if (prefixes_.size() > 1) name_ += '.';
  }

  void Add(std::string_view text) {
    if (prefixes_.empty()) throw NoObject(Quoted(text));
    if (counts_.empty()) {
      rows_.fields_.push_back({name_, {}, rows_.values_.size(), 1});
    } else {
      CountElement(true);
    }
    rows_.values_.Add(text.data(), text.size());
  }

  // All values of an array stand at one depth.
  void CountElement(bool is_value) {
    ++counts_.back();
    if (is_value && leaves_at_ == 0) leaves_at_ = counts_.size();
    const bool is_leaf_depth = leaves_at_ == counts_.size();
    if (leaves_at_ != 0 && is_value != is_leaf_depth) throw Ragged();
  }

  posix::FileError NoObject(const std::string& what) const {
    return rows_.Defect("", what,
                        "expected an object on each line, such as {\"x\": 0.5, \"label\": \"a\"}; "
                        "a JSON file of another kind becomes one: server/YOUR_DATA.md, "
                        "\"Other formats\"");
  }
  posix::FileError Wrong(const std::string& what, const std::string& expected) const {
    return rows_.Defect("key " + Quoted(name_), what,
                        fmt::format("expected {}; or take the key out", expected));
  }
  posix::FileError Ragged() const {
    return Wrong("an array whose rows differ in length", "as many numbers in each row");
  }

  JsonRows& rows_;
  std::string name_;              // of the key, with those around it
  std::vector<size_t> prefixes_;  // their lengths, of the objects that are open
  std::vector<uint32_t> counts_;  // elements so far, of the arrays that are open
  size_t leaves_at_ = 0;          // arrays that are open at a value; 0: no value so far
  std::unordered_set<std::string> seen_;
};

JsonRows::JsonRows(const ReadRequest& request, const std::string& path)
    : lines_(path), ignores_others_(request.Has("features")) {
  for (const std::string& name : request.List("drop")) ignored_.emplace(Trimmed(name));
}

bool JsonRows::ReadLine() {
  fields_.clear();
  values_.clear();
  do {
    if (!lines_.Next(&line_)) return false;
  } while (line_.find_first_not_of(" \t\r") == std::string::npos);
  Line line(this);
  try {
    ParseJson(line_, &line);
  } catch (const JsonFault& fault) {
    const bool is_python = line_.find("NaN") != line_.npos || line_.find("Infinity") != line_.npos;
    throw Defect(fmt::format("column {}", fault.column()), fault.what(),
                 fmt::format("expected an object of JSON on each line{}{}",
                             is_python ? "; JSON has neither NaN nor Infinity: write null" : "",
                             lines_.number() == 1
                                 ? "; if the file is one object of several lines, it is no .jsonl"
                                 : ""));
  }
  return true;
}

bool JsonRows::Next(CsvRow* row) {
  row->clear();
  if (is_first_kept_) {
    is_first_kept_ = false;
    TakeValues(row);
    return true;
  }
  if (!ReadLine()) return false;
  if (has_names_) {
    TakeValues(row);
  } else {
    TakeNames(row);
    has_names_ = is_first_kept_ = true;
  }
  return true;
}

void JsonRows::TakeNames(CsvRow* row) {
  for (const Field& field : fields_) {
    if (columns_ + field.count > kMaxColumns) {
      throw Defect("key " + Quoted(field.name), fmt::format("more than {} values", kMaxColumns),
                   "expected fewer in a line; cut long recordings into lines");
    }
    slots_.emplace(field.name, Slot{columns_, field.count, field.axes});
    if (field.axes.empty()) row->Add(field.name.data(), field.name.size());
    for (size_t i = 0; !field.axes.empty() && i < field.count; ++i) {
      const std::string name = ElementName(field.name, field.axes, i);
      row->Add(name.data(), name.size());
    }
    if (!field.axes.empty()) arrays_.push_back({field.name, field.axes, columns_, field.count});
    columns_ += field.count;
  }
  if (columns_ == 0) throw Defect("", "an object without keys", "expected the keys of a sample");
}

// Null: the field has no use.
const JsonRows::Slot* JsonRows::SlotOf(const Field& field) const {
  const auto at = slots_.find(field.name);
  if (at != slots_.end()) return &at->second;
  if (ignores_others_ || ignored_.count(field.name) > 0) return nullptr;
  throw Defect("key " + Quoted(field.name), "the first line lacks it",
               fmt::format("write it there, too, null if its value is missing; or leave it out, "
                           "drop={}",
                           field.name));
}

void JsonRows::TakeValues(CsvRow* row) {
  places_.assign(columns_, kNowhere);
  for (const Field& field : fields_) {
    const Slot* const slot = SlotOf(field);
    if (slot == nullptr) continue;
    const bool is_missing = field.axes.empty() && values_[field.first].empty();
    if (is_missing) continue;
    if (field.axes != slot->axes) {
      throw Defect("key " + Quoted(field.name), AxesText(field.axes),
                   fmt::format("expected {}, as in the first line", AxesText(slot->axes)));
    }
    for (size_t i = 0; i < field.count; ++i) places_[slot->first + i] = field.first + i;
  }
  for (const size_t place : places_) {
    const std::string_view text = place == kNowhere ? std::string_view() : values_[place];
    row->Add(text.data(), text.size());
  }
}

SharedDataset ReadJsonl(const ReadRequest& request) {
  return ReadTable(request, std::make_unique<JsonRows>(request, request.path()));
}

}  // namespace sotto
