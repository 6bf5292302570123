// What the columns of a CSV file are. Part of sotto::data.
#ifndef SOTTO_DATA_SRC_CSV_COLUMNS_H_
#define SOTTO_DATA_SRC_CSV_COLUMNS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// A text that commonly stands for a missing value, such as NA.
bool IsMissingMark(std::string_view text);

struct CsvColumns {
  CsvColumns() = default;
  // From the options and the first row. Throws std::invalid_argument for options that do not go
  // with it.
  CsvColumns(const ReadRequest& request, const CsvRow& first);

  // "7 (age)", for messages.
  std::string Describe(size_t column) const;
  // "columns 1 (age), 3 (height)"; of many the first ones.
  std::string DescribeFeatures() const;

  bool has_header = false;
  std::vector<std::string> names;  // of all columns; without a header their numbers
  std::vector<size_t> features;
  std::optional<size_t> label;
  std::vector<size_t> targets;
  std::optional<size_t> group;
};

}  // namespace sotto

#endif  // SOTTO_DATA_SRC_CSV_COLUMNS_H_
