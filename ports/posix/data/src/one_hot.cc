#include "one_hot.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "named.h"
#include "sotto/data/foreign.h"
#include "values.h"

namespace sotto {
namespace {

// More are names or sentences.
constexpr size_t kMaxCategories = 1000;

using Texts = std::set<std::string, std::less<>>;

// Collects the categories of some columns from a file.
class Collector {
 public:
  Collector(const ReadRequest& request, const CsvColumns& columns, const RowSource& rows,
            const OneHot::IsMissing& is_missing)
      : request_(request),
        columns_(columns),
        rows_(rows),
        is_missing_(is_missing),
        path_(columns.categories),
        has_header_(path_ == request.path() ? columns.has_header : columns.has_names),
        texts_(columns.names.size()) {}

  std::vector<Texts> Read() {
    const std::unique_ptr<RowSource> file = Open();
    CsvRow row;
    bool is_first = true;
    while (file->Next(&row)) {
      if (is_first) FindColumns(row);
      if (!is_first || !has_header_) TakeRow(row);
      is_first = false;
    }
    for (const size_t column : columns_.onehot) {
      if (texts_[column].empty()) throw Refusal(column, "has no categories; list one a row");
    }
    return std::move(texts_);
  }

 private:
  // The list beside JSON lines may be such lines, too, as the training file is, or a CSV file.
  std::unique_ptr<RowSource> Open() const {
    const bool is_same_kind =
        path_ == request_.path() || !rows_.has_keys() || FirstBytes(path_).substr(0, 1) == "{";
    if (is_same_kind) return rows_.Open(request_, path_);
    return std::make_unique<RowFile>(path_, SeparatorOf(request_, path_));
  }

  // In the file of the categories a column has the same name, or without names the same place.
  void FindColumns(const CsvRow& first) {
    std::vector<std::string> names;
    for (size_t i = 0; i < first.size(); ++i) names.emplace_back(Trimmed(first[i]));
    const Named header(std::move(names), "column");
    for (const size_t column : columns_.onehot) places_.push_back(PlaceOf(column, header));
  }

  size_t PlaceOf(size_t column, const Named& header) const {
    const bool is_named = columns_.has_names && path_ != request_.path();
    if (!is_named && column < header.names().size()) return column;
    std::optional<size_t> place;
    try {
      if (is_named) place = header.Find(columns_.names[column]);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{}: onehot=: {}", path_, error.what()));
    }
    if (place) return *place;
    throw Refusal(column,
                  fmt::format("is not there; the first row names the columns; {}", header.List()));
  }

  void TakeRow(const CsvRow& row) {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] >= row.size()) continue;  // of a ragged row
      const std::string_view text = row[places_[i]];
      Texts& texts = texts_[columns_.onehot[i]];
      if (is_missing_(text) || texts.find(text) != texts.end()) continue;
      texts.emplace(text);
      if (texts.size() > kMaxCategories) {
        throw Refusal(columns_.onehot[i],
                      fmt::format("has more than {} different texts; leave it out with drop=",
                                  kMaxCategories));
      }
    }
  }

  std::invalid_argument Refusal(size_t column, const std::string& why) const {
    return std::invalid_argument(
        fmt::format("{}: onehot=: {} {}", path_, columns_.Place(column), why));
  }

  const ReadRequest& request_;
  const CsvColumns& columns_;
  const RowSource& rows_;
  const OneHot::IsMissing& is_missing_;
  const std::string path_;
  const bool has_header_;
  std::vector<Texts> texts_;    // [columns]
  std::vector<size_t> places_;  // of the columns of onehot in the file
};

}  // namespace

OneHot::OneHot(const ReadRequest& request, const CsvColumns& columns, const RowSource& rows,
               const IsMissing& is_missing) {
  if (columns.onehot.empty()) {
    if (!request.Has("categories")) return;
    throw std::invalid_argument(
        fmt::format("{}: categories= goes with onehot=, the columns of texts", request.path()));
  }
  for (const Texts& texts : Collector(request, columns, rows, is_missing).Read()) {
    categories_.emplace_back(texts.begin(), texts.end());
  }
}

size_t OneHot::Width(const std::vector<size_t>& columns) const {
  size_t width = 0;
  for (const size_t column : columns) width += Of(column) == nullptr ? 1 : Of(column)->size();
  return width;
}

}  // namespace sotto
