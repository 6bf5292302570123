// The rows of a CSV file. Part of sotto::data.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <csv.h>
#include <exception>
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

// Reads rows with libcsv, a line of the file at a time, so that a row's line is known.
class RowFile {
 public:
  RowFile(const std::string& path, char separator);
  ~RowFile() { csv_free(&parser_); }
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  // The next row; false at the end. Empty lines are no rows, and neither is a first line "sep=;",
  // which says the separator. Throws for a comment at the head: CSV has none.
  bool Next(CsvRow* row);

  // Of the last row's line; see LineFile.
  posix::FileError Defect(const std::string& where, const std::string& what,
                          const std::string& advice) const {
    return lines_.Defect(where, what, advice);
  }

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
