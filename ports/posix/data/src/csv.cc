#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "csv_columns.h"
#include "csv_rows.h"
#include "formats.h"
#include "one_hot.h"
#include "sotto/options/numbers.h"
#include "sotto/span.h"
#include "values.h"

namespace sotto {
namespace {

// Cuts the rows of a file into windows. A window is `length` rows, one behind the other, of one
// series; the next one begins `stride` rows later. A row alone is a window of length 1.
class Windows {
 public:
  // All at least 1.
  Windows(size_t columns, size_t length, size_t stride)
      : columns_(columns), length_(length), stride_(stride), rows_(columns * length) {}

  // Takes the next row. True: a window ends with it.
  //   row     [columns]
  //   begins  the row is the first one of another series
  bool Add(Span<const float> row, bool begins);

  // Appends the window that ends with the last row, and where it begins to *starts. Rows that are
  // there already, as part of the window stored before, are shared.
  void Store(std::vector<float>* numbers, std::vector<size_t>* starts);

 private:
  size_t columns_;
  size_t length_;
  size_t stride_;
  std::vector<float> rows_;  // the last `length` rows; row i of the series is at i % length
  size_t in_series_ = 0;     // rows of the series so far
  size_t stored_ = 0;        // rows of the series up to the end of the last stored window
};

bool Windows::Add(Span<const float> row, bool begins) {
  if (begins) in_series_ = stored_ = 0;
  std::copy_n(row.data(), columns_, rows_.data() + in_series_ % length_ * columns_);
  ++in_series_;
  return in_series_ >= length_ && (in_series_ - length_) % stride_ == 0;
}

void Windows::Store(std::vector<float>* numbers, std::vector<size_t>* starts) {
  const size_t first = in_series_ - length_;
  const size_t shared = stored_ > first ? stored_ - first : 0;
  if (length_ > 1) starts->push_back(numbers->size() - shared * columns_);
  for (size_t row = first + shared; row < in_series_; ++row) {
    const float* const from = rows_.data() + row % length_ * columns_;
    numbers->insert(numbers->end(), from, from + columns_);
  }
  stored_ = in_series_;
}

class TableReader {
 public:
  TableReader(const ReadRequest& request, std::unique_ptr<RowSource> rows)
      : request_(request),
        rows_(std::move(rows)),
        labels_(request.MakeLabels()),
        length_(request.Count("window", 1, 1, 1U << 20)),
        stride_(request.Count("stride", length_, 1, 1U << 20)) {
    for (const std::string& text : request.List("missing")) missing_.push_back(text);
  }

  SharedDataset Read() {
    CsvRow row;
    if (!rows_->Next(&row))
      throw posix::FileError(
          fmt::format("{}: the file has no rows; expected a row a sample", request_.path()));
    columns_ = CsvColumns(request_, row, *rows_);
    advice_ = fmt::format(
        "leave the {} out with drop=, make features of its texts with onehot=, say what stands for "
        "a missing value with missing=, or if the row is no sample, take it out",
        columns_.thing());
    onehot_ = OneHot(request_, columns_, *rows_,
                     [this](std::string_view text) { return IsMissing(text); });
    features_.resize(onehot_.Width(columns_.features));
    targets_.resize(columns_.targets.size());
    RequireNamesOfModel();
    info_ = MakeInfo();
    if (!columns_.note.empty()) info_.notes.push_back(columns_.note);
    Windows windows(features_.size(), length_, stride_);
    if (columns_.has_header && !rows_->Next(&row)) row.clear();
    for (bool is_first = true; row.size() > 0; is_first = false) {
      TakeRow(row, is_first, &windows);
      if (!rows_->Next(&row)) break;
    }
    RequireWindow();
    if (columns_.label) {
      labels_.Finish(fmt::format("{}: {}", request_.path(), columns_.Place(*columns_.label)),
                     &samples_.labels, &info_);
    }
    samples_.group_names = groups_.names();
    return Build(request_, info_, std::move(samples_), seen_);
  }

 private:
  SampleInfo MakeInfo() const {
    SampleInfo info;
    try {
      info = InfoFor(request_, Axes());
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(
          fmt::format("{}; the features are {}; features= takes {}s, drop= leaves some out{}",
                      error.what(), DescribeFeatures(), columns_.thing(),
                      columns_.label ? fmt::format("; the label is {}, label= names another",
                                                   columns_.Place(*columns_.label))
                                     : ""));
    }
    info.targets = static_cast<uint32_t>(columns_.targets.size());
    info.columns = columns_.Names();
    return info;
  }

  std::vector<uint32_t> Axes() const {
    const auto columns = static_cast<uint32_t>(features_.size());
    if (length_ > 1) return {length_, columns};
    const std::vector<uint32_t> axes = columns_.AxesOfFeatures();
    return axes.empty() ? std::vector<uint32_t>{columns} : axes;
  }

  void TakeRow(const CsvRow& row, bool is_first, Windows* windows) {
    is_first_ = is_first;
    if (row.size() != columns_.names.size()) {
      throw rows_->Defect("", row.size() == 1 ? "1 column" : fmt::format("{} columns", row.size()),
                          fmt::format("expected {}, as in the first row{}", columns_.names.size(),
                                      row.size() > 0 && row[0].substr(0, 1) == "#"
                                          ? "; CSV has no comments: take out the lines that begin "
                                            "with #"
                                          : ""));
    }
    TakeFeatures(row);
    for (size_t i = 0; i < targets_.size(); ++i) {
      const size_t column = columns_.targets[i];
      InPlace(row, column, [&] { targets_[i] = TargetOf(Number(row[column])); });
    }
    const uint32_t label = columns_.label ? LabelOf(row, *columns_.label) : 0;
    const uint32_t group = columns_.group ? GroupOf(row, *columns_.group) : 0;
    const bool begins = is_first || label != label_ || group != group_;
    label_ = label;
    group_ = group;
    in_series_ = begins ? 1 : in_series_ + 1;
    longest_ = std::max(longest_, in_series_);
    if (windows->Add({features_.data(), features_.size()}, begins)) TakeSample(windows);
  }

  void TakeFeatures(const CsvRow& row) {
    size_t at = 0;
    for (const size_t column : columns_.features) {
      if (const auto* categories = onehot_.Of(column)) {
        std::fill_n(features_.begin() + static_cast<std::ptrdiff_t>(at), categories->size(), 0.0F);
        if (!IsMissing(row[column])) features_[at + CategoryOf(row, column)] = 1.0F;
        at += categories->size();
        continue;
      }
      InPlace(row, column, [&] { features_[at] = FeatureOf(request_, Number(row[column])); });
      ++at;
    }
  }

  size_t CategoryOf(const CsvRow& row, size_t column) const {
    const std::vector<std::string>& categories = *onehot_.Of(column);
    const auto at = std::lower_bound(categories.begin(), categories.end(), row[column]);
    if (at != categories.end() && *at == row[column]) {
      return static_cast<size_t>(at - categories.begin());
    }
    throw Defect(row, column,
                 fmt::format("expected a category of the file of categories=: {}{}",
                             categories.front(), categories.size() > 1 ? ", ..." : ""));
  }

  // A column of texts becomes features COLUMN=TEXT. A model that names its features has these
  // names, in this order.
  void RequireNamesOfModel() const {
    if (request_.model == nullptr || columns_.onehot.empty() || !columns_.has_header) return;
    std::vector<std::string> names;
    for (const size_t column : columns_.features) {
      const std::string& name = columns_.names[column];
      const std::vector<std::string>* const texts = onehot_.Of(column);
      if (texts == nullptr) names.push_back(name);
      for (size_t i = 0; texts != nullptr && i < texts->size(); ++i) {
        names.push_back(name + "=" + (*texts)[i]);
      }
    }
    const Span<const char* const> wanted = request_.model->feature_names;
    for (size_t i = 0; names.size() == wanted.size() && i < names.size(); ++i) {
      if (names[i] == wanted[i]) continue;
      throw std::invalid_argument(fmt::format(
          "{}: feature {} is {} here and {} in model {}; put the columns into its order, "
          "features=, "
          "and give all devices the same texts, categories=",
          request_.path(), i, Quoted(names[i]), Quoted(wanted[i]), request_.model->name));
    }
  }

  // With what became of texts.
  std::string DescribeFeatures() const {
    std::string text = columns_.DescribeFeatures();
    for (const size_t column : columns_.onehot) {
      const size_t count = onehot_.Of(column)->size();
      text += fmt::format("; of {} there {}", columns_.Describe(column),
                          count == 1 ? "is 1 category" : fmt::format("are {} categories", count));
    }
    return text;
  }

  void TakeSample(Windows* windows) {
    const size_t index = seen_++;
    RequireRoom(request_, samples_, groups_.bytes());
    if (request_.keep && !request_.keep(index)) return;
    windows->Store(&samples_.numbers, &samples_.starts);
    if (columns_.label) samples_.labels.push_back(label_);
    if (columns_.group) samples_.groups.push_back(group_);
    samples_.targets.insert(samples_.targets.end(), targets_.begin(), targets_.end());
  }

  uint32_t LabelOf(const CsvRow& row, size_t column) {
    uint32_t label = 0;
    InPlace(row, column, [&] { label = labels_.Take(WithoutMark(row[column])); });
    return label;
  }

  uint32_t GroupOf(const CsvRow& row, size_t column) {
    uint32_t group = 0;
    InPlace(row, column, [&] { group = groups_.Take(WithoutMark(row[column])); });
    return group;
  }

  double Number(std::string_view text) const { return NumberIn(WithoutMark(text), advice_); }

  // What the rules for labels and numbers refuse is a defect with its place.
  template <class Take>
  void InPlace(const CsvRow& row, size_t column, Take take) const {
    try {
      take();
    } catch (const std::invalid_argument& error) {
      throw Defect(row, column, error.what());
    }
  }

  // Empty for a mark of missing=.
  std::string_view WithoutMark(std::string_view text) const {
    return std::find(missing_.begin(), missing_.end(), text) != missing_.end() ? std::string_view()
                                                                               : text;
  }

  bool IsMissing(std::string_view text) const {
    text = WithoutMark(text);
    return text.empty() || IsMissingMark(text);
  }

  posix::FileError Defect(const CsvRow& row, size_t column, std::string why) const {
    if (is_first_ && !columns_.has_header) {
      why += "; if this row names the columns: header=yes";
      const bool is_guessed = columns_.label && request_.Text("label").empty();
      if (is_guessed && columns_.label != column) {
        why += fmt::format("; if this column is the label: label={}", column + 1);
      }
    }
    return rows_->Defect(columns_.Place(column),
                         row[column].empty() ? "empty" : Quoted(row[column]), why);
  }

  void RequireWindow() const {
    if (seen_ > 0 || longest_ == 0) return;
    throw posix::FileError(fmt::format(
        "{}: no window of {} rows: the longest series has {}; a series ends where label or group "
        "changes, so sort the rows by them, or take a shorter window",
        request_.path(), length_, longest_));
  }

  const ReadRequest& request_;
  std::unique_ptr<RowSource> rows_;
  Labels labels_;
  uint32_t length_;
  uint32_t stride_;
  std::vector<std::string> missing_;
  std::string advice_;  // about a text that is no number
  CsvColumns columns_;
  OneHot onehot_;
  SampleInfo info_;
  Groups groups_;
  StoredSamples samples_;
  std::vector<float> features_;
  std::vector<float> targets_;
  uint32_t label_ = 0;
  uint32_t group_ = 0;
  bool is_first_ = false;  // the row is the first one of the file
  size_t in_series_ = 0;
  size_t longest_ = 0;
  size_t seen_ = 0;
};

}  // namespace

SharedDataset ReadTable(const ReadRequest& request, std::unique_ptr<RowSource> rows) {
  return TableReader(request, std::move(rows)).Read();
}

SharedDataset ReadCsv(const ReadRequest& request) {
  return ReadTable(request,
                   std::make_unique<RowFile>(request.path(), SeparatorOf(request, request.path())));
}

}  // namespace sotto
