// Columns of texts as features: the option onehot of tables. Part of sotto::data.
//
// A column of k categories becomes k features, in the categories' order: 1 for the row's category,
// 0 for the others, and 0 for all if the value is missing. All devices must mean the same by a
// feature, so the categories are read from the whole file, or from one that all devices have
// (categories=), and sorted by their bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "csv_columns.h"
#include "csv_rows.h"
#include "formats.h"

namespace sotto {

class OneHot {
 public:
  using IsMissing = std::function<bool(std::string_view)>;

  // Of no column.
  OneHot() = default;
  // Goes through the file of the categories. Throws std::invalid_argument for columns that are not
  // in it, or that have none or too many of them.
  OneHot(const ReadRequest& request, const CsvColumns& columns, const RowSource& rows,
         const IsMissing& is_missing);

  // The categories of a column; null: it holds numbers.
  const std::vector<std::string>* Of(size_t column) const {
    return column < categories_.size() && !categories_[column].empty() ? &categories_[column]
                                                                       : nullptr;
  }
  // Features of the columns together.
  size_t Width(const std::vector<size_t>& columns) const;

 private:
  std::vector<std::vector<std::string>> categories_;  // [columns]; empty: a column of numbers
};

}  // namespace sotto
