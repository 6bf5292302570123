#include <algorithm>
#include <cmath>
#include <csv.h>
#include <exception>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>

#include "byte_file.h"
#include "csv_columns.h"
#include "formats.h"
#include "sotto/options/numbers.h"
#include "windows.h"

namespace sotto {
namespace {

// Reads rows with libcsv, a line of the file at a time, so that a row's line is known.
class RowFile {
 public:
  RowFile(const std::string& path, char separator) : lines_(path) {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
    csv_set_delim(&parser_, static_cast<unsigned char>(separator));
  }
  ~RowFile() { csv_free(&parser_); }
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  // The next row; false at the end. Empty lines are no rows.
  bool Next(CsvRow* row) {
    row_ = row;
    row_->clear();
    is_whole_ = false;
    while (!is_whole_ && lines_.Next(&line_)) {
      if (lines_.number() == 1 && line_.compare(0, 3, "\xEF\xBB\xBF") == 0) line_.erase(0, 3);
      line_ += '\n';
      bytes_ += line_.size();
      if (csv_parse(&parser_, line_.data(), line_.size(), OnField, OnRow, this) != line_.size()) {
        Refuse();
      }
      if (bytes_ > LineFile::kMaxLine) {
        throw Defect("", "the row is too long", "a quote may be missing in a line above");
      }
    }
    if (!is_whole_ && csv_fini(&parser_, OnField, OnRow, this) != 0) {
      throw Defect("", "the file ends within a quoted field", "end the field with \"");
    }
    if (failure_) std::rethrow_exception(failure_);
    bytes_ = 0;
    return is_whole_;
  }

  posix::FileError Defect(const std::string& where, const std::string& what,
                          const std::string& advice) const {
    return lines_.Defect(where, what, advice);
  }

 private:
  // C code calls these two: they must not throw.
  static void OnField(void* text, size_t size, void* context) {
    auto* self = static_cast<RowFile*>(context);
    try {
      self->row_->Add(static_cast<const char*>(text), size);
    } catch (...) {
      self->failure_ = std::current_exception();
    }
  }
  static void OnRow(int, void* context) { static_cast<RowFile*>(context)->is_whole_ = true; }

  [[noreturn]] void Refuse() const {
    if (csv_error(&parser_) == CSV_EPARSE) {
      throw Defect(fmt::format("column {}", row_->size() + 1), "a quote stands within a field",
                   "put the whole field in quotes, and write a quote in it as \"\"");
    }
    throw std::bad_alloc();
  }

  LineFile lines_;
  mutable csv_parser parser_{};
  std::string line_;
  CsvRow* row_ = nullptr;
  bool is_whole_ = false;
  size_t bytes_ = 0;  // of the row so far
  std::exception_ptr failure_;
};

char SeparatorOf(const ReadRequest& request) {
  const std::string path = request.path();
  const bool is_tsv = path.find(".tsv") != std::string::npos;
  const std::string text = request.Text("separator", is_tsv ? "tab" : "comma");
  for (const auto& [name, separator] : {std::pair<const char*, char>{"comma", ','},
                                        {"semicolon", ';'},
                                        {"tab", '\t'},
                                        {"space", ' '},
                                        {"bar", '|'}}) {
    if (text == name) return separator;
  }
  if (text.size() == 1 && text[0] != '"' && text[0] != '\n') return text[0];
  throw std::invalid_argument(
      fmt::format("{}: separator={}: expected comma, semicolon, tab, space, bar, or one character",
                  request.path(), text));
}

class CsvReader {
 public:
  explicit CsvReader(const ReadRequest& request)
      : request_(request),
        file_(request.path(), SeparatorOf(request)),
        labels_(request.ClassesOption(), request.classes()),
        length_(request.Count("window", 1, 1, 1U << 20)),
        stride_(request.Count("stride", length_, 1, 1U << 20)) {
    for (const std::string& text : request.List("missing")) missing_.push_back(text);
  }

  SharedDataset Read() {
    CsvRow row;
    if (!file_.Next(&row))
      throw file_.Defect("", "the file has no rows", "expected a row a sample");
    columns_ = CsvColumns(request_, row);
    features_.resize(columns_.features.size());
    targets_.resize(columns_.targets.size());
    info_ = MakeInfo();
    Windows windows(columns_.features.size(), length_, stride_);
    if (columns_.has_header && !file_.Next(&row)) row.clear();
    for (bool is_first = true; row.size() > 0; is_first = false) {
      TakeRow(row, is_first, &windows);
      if (!file_.Next(&row)) break;
    }
    RequireWindow();
    if (columns_.label) FinishLabels();
    samples_.group_names = groups_.all();
    return Build(request_, info_, std::move(samples_), seen_);
  }

 private:
  SampleInfo MakeInfo() const {
    const auto columns = static_cast<uint32_t>(columns_.features.size());
    SampleInfo info;
    try {
      info = InfoFor(request_, length_ > 1 ? std::vector<uint32_t>{length_, columns}
                                           : std::vector<uint32_t>{columns});
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(
          fmt::format("{}; the features are {}; features= takes columns, "
                      "drop= leaves some out",
                      error.what(), columns_.DescribeFeatures()));
    }
    info.targets = static_cast<uint32_t>(columns_.targets.size());
    return info;
  }

  void TakeRow(const CsvRow& row, bool is_first, Windows* windows) {
    if (row.size() != columns_.names.size()) {
      throw file_.Defect("", fmt::format("{} columns", row.size()),
                         fmt::format("expected {}, as in the first row", columns_.names.size()));
    }
    for (size_t i = 0; i < features_.size(); ++i) {
      features_[i] = Number(row, columns_.features[i], true);
      if (const char* fault = FaultOf(request_, features_[i])) {
        throw Defect(row, columns_.features[i], fault);
      }
    }
    for (size_t i = 0; i < targets_.size(); ++i) {
      targets_[i] = Number(row, columns_.targets[i], false);
    }
    const uint32_t label = columns_.label ? LabelOf(row, *columns_.label) : 0;
    const uint32_t group = columns_.group ? groups_.Id(row[*columns_.group]) : 0;
    const bool begins = is_first || label != label_ || group != group_;
    label_ = label;
    group_ = group;
    in_series_ = begins ? 1 : in_series_ + 1;
    longest_ = std::max(longest_, in_series_);
    if (windows->Add({features_.data(), features_.size()}, begins)) TakeSample(windows);
  }

  void TakeSample(Windows* windows) {
    const size_t index = seen_++;
    if (request_.keep && !request_.keep(index)) return;
    windows->Store(&samples_.numbers, &samples_.starts);
    if (columns_.label) samples_.labels.push_back(label_);
    if (columns_.group) samples_.groups.push_back(group_);
    samples_.targets.insert(samples_.targets.end(), targets_.begin(), targets_.end());
  }

  uint32_t LabelOf(const CsvRow& row, size_t column) {
    if (IsMissing(row[column])) throw Defect(row, column, "the label is missing; remove the row");
    try {
      return labels_.Take(row[column]);
    } catch (const std::invalid_argument& error) {
      throw Defect(row, column, error.what());
    }
  }

  float Number(const CsvRow& row, size_t column, bool may_be_missing) const {
    const std::string_view text = row[column];
    if (IsMissing(text)) {
      if (may_be_missing) return std::numeric_limits<float>::quiet_NaN();
      throw Defect(row, column, "the target is missing; remove the row");
    }
    const std::optional<double> value = posix::ParseReal(text[0] == '+' ? text.substr(1) : text);
    if (!value) {
      throw Defect(row, column,
                   "expected a number; leave the column out with drop=, or say what stands for a "
                   "missing value with missing=");
    }
    if (!(std::fabs(*value) <= std::numeric_limits<float>::max())) {
      throw Defect(row, column, "expected a number that float32 can hold");
    }
    return static_cast<float>(*value);
  }

  bool IsMissing(std::string_view text) const {
    if (text.empty() || IsMissingMark(text)) return true;
    return std::find(missing_.begin(), missing_.end(), text) != missing_.end();
  }

  posix::FileError Defect(const CsvRow& row, size_t column, const std::string& why) const {
    std::string text(row[column].substr(0, 40));
    return file_.Defect(fmt::format("column {}", columns_.Describe(column)),
                        text.empty() ? "empty" : fmt::format("\"{}\"", text), why);
  }

  void RequireWindow() const {
    if (seen_ > 0 || longest_ == 0) return;
    throw posix::FileError(fmt::format(
        "{}: no window of {} rows: the longest series has {}; a series ends where label or group "
        "changes, so sort the rows by them, or take a shorter window",
        request_.path(), length_, longest_));
  }

  void FinishLabels() {
    try {
      labels_.Finish(&samples_.labels, &info_);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{}: column {}: {}", request_.path(),
                                              columns_.Describe(*columns_.label), error.what()));
    }
  }

  const ReadRequest& request_;
  RowFile file_;
  Labels labels_;
  uint32_t length_;
  uint32_t stride_;
  std::vector<std::string> missing_;
  CsvColumns columns_;
  SampleInfo info_;
  Names groups_;
  StoredSamples samples_;
  std::vector<float> features_;
  std::vector<float> targets_;
  uint32_t label_ = 0;
  uint32_t group_ = 0;
  size_t in_series_ = 0;
  size_t longest_ = 0;
  size_t seen_ = 0;
};

}  // namespace

SharedDataset ReadCsv(const ReadRequest& request) { return CsvReader(request).Read(); }

}  // namespace sotto
