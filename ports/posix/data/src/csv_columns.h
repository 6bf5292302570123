// What the columns of a table are: of a CSV file, or the keys of JSON lines. Part of sotto::data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "csv_rows.h"
#include "formats.h"

namespace sotto {

class ColumnFinder;

struct CsvColumns {
  CsvColumns() = default;
  // From the options and the first row of `rows`. Throws std::invalid_argument for options that do
  // not go with it.
  CsvColumns(const ReadRequest& request, const CsvRow& first, const RowSource& rows);

  // For other files of the same samples.
  ColumnNames Names() const;
  // "7 (age)" or, of a key, "age", for messages; and "column 7 (age)" or "key age".
  std::string Describe(size_t column) const;
  std::string Place(size_t column) const { return thing() + (" " + Describe(column)); }
  const char* thing() const { return has_keys ? "key" : "column"; }
  // As an option names it: "7", or a key.
  std::string Said(size_t column) const {
    return has_keys ? names[column] : std::to_string(column + 1);
  }
  // The axes of the features if they are one array; empty: they are not.
  std::vector<uint32_t> AxesOfFeatures() const;
  // "columns 1 (age), 3 (height)"; of many the first ones.
  std::string DescribeFeatures() const;

  bool has_keys = false;           // they are keys
  std::vector<KeyArray> arrays;    // below keys
  bool has_header = false;         // the first row is one
  bool has_names = false;          // from its header, or from the training file
  std::vector<std::string> names;  // of all columns; without a header their numbers
  std::vector<size_t> features;
  std::vector<size_t> onehot;  // of the features: those with texts
  std::string categories;      // the file that lists these texts
  std::optional<size_t> label;
  std::vector<size_t> targets;
  std::optional<size_t> group;
  std::string note;  // for the owner of the file, or empty

 private:
  void TakeNamesOfModel(const ReadRequest& request);
  const ColumnNames& Like(const ReadRequest& request) const;
  std::vector<size_t> Unclaimed(const ColumnFinder& find) const;
  void TakeNamesLike(const ReadRequest& request);
  void FindLabel(const ReadRequest& request, const ColumnFinder& find);
  size_t UsualLabel(const ColumnFinder& find) const;
  void FindFeatures(const ReadRequest& request, const ColumnFinder& find);
  size_t OnlyLabel(const ColumnFinder& find) const;
  void TakeOtherColumns(const ReadRequest& request, const ColumnFinder& find);
  void TakeColumnsLike(const ColumnNames& like, const ColumnFinder& find);
  void OrderLike(const ColumnNames& like, const ColumnFinder& find);
  void RequireFeatures(const ReadRequest& request) const;

  ColumnNames model_;  // what the model names of a row; without features if it names nothing
};

}  // namespace sotto
