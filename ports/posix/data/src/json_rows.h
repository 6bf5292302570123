// JSON lines as rows: an object a line, its keys are the columns. Part of sotto::data.
//
// One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "byte_file.h"
#include "csv_rows.h"
#include "formats.h"

namespace sotto {

// The first row has the keys of the first line; further lines have these keys in any order. Below a
// key is a number, a text, true, false or null; or an object, whose keys are named KEY.KEY; or an
// array of these of up to three axes, whose elements are named KEY[0], KEY[1] and so on, as many in
// each line. A key that a line lacks, and null, are an empty field.
class JsonRows : public RowSource {
 public:
  // Of a key that the first line lacks: it is refused unless `request` says what has a use.
  JsonRows(const ReadRequest& request, const std::string& path);

  bool Next(CsvRow* row) override;
  posix::FileError Defect(const std::string& where, const std::string& what,
                          const std::string& advice) const override {
    return lines_.Defect(where, what, advice);
  }
  bool has_keys() const override { return true; }
  const std::vector<KeyArray>& arrays() const override { return arrays_; }
  std::unique_ptr<RowSource> Open(const ReadRequest& request,
                                  const std::string& path) const override {
    return std::make_unique<JsonRows>(request, path);
  }

 private:
  // What stands below a key of a line: one value, or the values of an array.
  struct Field {
    std::string name;
    std::vector<uint32_t> axes;  // of an array
    size_t first = 0;            // of its values
    size_t count = 0;
  };
  // Where the values of a key of the first line stand in a row.
  struct Slot {
    size_t first;
    size_t count;
    std::vector<uint32_t> axes;
  };
  class Line;

  bool ReadLine();
  void TakeNames(CsvRow* row);
  void TakeValues(CsvRow* row);
  const Slot* SlotOf(const Field& field) const;

  LineFile lines_;
  const bool ignores_others_;
  std::unordered_set<std::string> ignored_;
  std::string line_;
  std::vector<Field> fields_;  // of the last line
  CsvRow values_;              // of them
  std::unordered_map<std::string, Slot> slots_;
  size_t columns_ = 0;
  std::vector<KeyArray> arrays_;
  std::vector<size_t> places_;  // in values_, of each column; scratch
  bool has_names_ = false;
  bool is_first_kept_ = false;  // the values of the first line are yet to be a row
};

}  // namespace sotto
