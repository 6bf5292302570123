// The rows of a table: of a CSV file, or of JSON lines (json_rows.h). Part of sotto::data.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <csv.h>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "byte_file.h"
#include "formats.h"

namespace sotto {

// The fields of a row.
class CsvRow {
 public:
  void clear() {
    text_.clear();
    ends_.clear();
  }
  void Add(const char* text, size_t size) {
    text_.append(text, size);
    ends_.push_back(text_.size());
  }
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }

 private:
  std::string text_;
  std::vector<size_t> ends_;
};

constexpr size_t kMaxColumns = size_t{1} << 18;

// An array below a key: a column for each of its values.
struct KeyArray {
  std::string name;
  std::vector<uint32_t> axes;
  size_t first;  // of the columns
  size_t count;
};

class RowSource {
 public:
  RowSource() = default;
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  // The next row; false at the end.
  virtual bool Next(CsvRow* row) = 0;
  // Of the last row's line; see LineFile.
  virtual posix::FileError Defect(const std::string& where, const std::string& what,
                                  const std::string& advice) const = 0;
  // Whether columns are keys: the first row has their names, and people name them by these alone.
  virtual bool has_keys() const { return false; }
  // Known after the first row.
  virtual const std::vector<KeyArray>& arrays() const {
    static const std::vector<KeyArray> kNone;
    return kNone;
  }
  // Another file of the same kind, or this one anew.
  virtual std::unique_ptr<RowSource> Open(const ReadRequest& request,
                                          const std::string& path) const = 0;
};

// The samples of a table, by the options of CSV files.
SharedDataset ReadTable(const ReadRequest& request, std::unique_ptr<RowSource> rows);

// Reads rows with libcsv, a line of the file at a time, so that a row's line is known.
class RowFile : public RowSource {
 public:
  RowFile(const std::string& path, char separator);
  ~RowFile() override { csv_free(&parser_); }

  // The next row; false at the end. Empty lines are no rows, and neither is a first line "sep=;",
  // which says the separator. Throws for a comment at the head: CSV has none.
  bool Next(CsvRow* row) override;

  posix::FileError Defect(const std::string& where, const std::string& what,
                          const std::string& advice) const override {
    return lines_.Defect(where, what, advice);
  }

  std::unique_ptr<RowSource> Open(const ReadRequest& request,
                                  const std::string& path) const override;

  size_t line() const { return lines_.number(); }  // of the last row, from 1

 private:
  static void OnField(void* text, size_t size, void* context);
  static void OnRow(int, void* context);
  void RequireNoComment() const;
  [[noreturn]] void Refuse() const;

  LineFile lines_;
  mutable csv_parser parser_{};
  std::string line_;
  CsvRow* row_ = nullptr;
  size_t whole_ = 0;       // rows that ended with the last line
  bool is_begun_ = false;  // a row was there
  size_t bytes_ = 0;       // of the row so far
  std::exception_ptr failure_;
};

// What stands between the fields of the file: the option separator, or what a first line "sep=;"
// says, or of .tsv a tab, or else the one of comma, semicolon, tab and bar that the first line has
// most often. Throws std::invalid_argument for an option that names no separator.
char SeparatorOf(const ReadRequest& request, const std::string& path);

}  // namespace sotto
