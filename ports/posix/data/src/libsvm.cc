#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "byte_file.h"
#include "formats.h"
#include "sotto/options/numbers.h"
#include "values.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxInputs = 1U << 18;  // samples are dense once they are read
constexpr char kBlanks[] = " \t";

// One line, cut at blanks.
class Words {
 public:
  explicit Words(std::string_view line) : line_(line.substr(0, line.find('#'))) {}

  // The next word; empty at the end. column() is where it begins, from 1.
  std::string_view Next() {
    const size_t begin = line_.find_first_not_of(kBlanks, end_);
    if (begin == std::string_view::npos) return {};
    column_ = begin + 1;
    end_ = std::min(line_.find_first_of(kBlanks, begin), line_.size());
    return line_.substr(begin, end_ - begin);
  }
  size_t column() const { return column_; }

 private:
  std::string_view line_;
  size_t end_ = 0;
  size_t column_ = 1;
};

class LibsvmReader {
 public:
  explicit LibsvmReader(const ReadRequest& request)
      : request_(request),
        file_(request.path()),
        labels_(request.MakeLabels()),
        base_(request.Count("base", 1, 0, 1)),
        inputs_(InputsOf(request)) {}

  SharedDataset Read() {
    SampleInfo info = InfoFor(request_, {inputs_});
    info.targets = request_.targets();
    if (info.targets > 1) {
      throw std::invalid_argument(
          fmt::format("{}: model {} has {} outputs, but a line of LIBSVM has one target",
                      request_.path(), request_.model->name, info.targets));
    }
    features_.resize(inputs_);
    for (std::string line; file_.Next(&line);) TakeLine(line);
    if (seen_ > 0 && !has_features_) {
      throw posix::FileError(
          fmt::format("{}: no line has a feature; expected LABEL INDEX:VALUE ..., for example "
                      "1 3:0.5",
                      request_.path()));
    }
    if (request_.wants_labels()) labels_.Finish(request_.path(), &samples_.labels, &info);
    samples_.group_names = groups_.names();
    return Build(request_, info, std::move(samples_), seen_);
  }

 private:
  // The model's, or the option's, or the largest index of the file.
  static uint32_t InputsOf(const ReadRequest& request) {
    if (request.model != nullptr) return request.model->inputs;
    if (request.Has("inputs")) return request.Count("inputs", 1, 1, kMaxInputs);
    const uint32_t base = request.Count("base", 1, 0, 1);
    LineFile file(request.path());
    uint64_t largest = 0;
    for (std::string line; file.Next(&line);) {
      Words words(line);
      for (words.Next(); !words.Next().empty();) {
        const size_t begin = words.column() - 1;
        const auto index =
            posix::ParseCount(std::string_view(line).substr(begin, line.find(':', begin) - begin));
        if (index) largest = std::max(largest, *index + 1 - base);
      }
    }
    return static_cast<uint32_t>(std::clamp<uint64_t>(largest, 1, kMaxInputs));
  }

  void TakeLine(const std::string& line) {
    Words words(line);
    const std::string_view label = words.Next();
    if (label.empty()) return;
    const size_t index = seen_++;
    group_.reset();
    std::fill(features_.begin(), features_.end(), 0.F);
    int64_t last = -1;
    if (index == 0 && line.find(':') == line.npos && line.find(',') != line.npos) {
      throw Defect(words.column(), line,
                   "expected LABEL INDEX:VALUE ..., for example 1 3:0.5; if the file is CSV, say "
                   "format=csv");
    }
    if (label.find(':') == std::string_view::npos) {
      TakeLabel(label, words.column());
    } else if (request_.wants_labels() || request_.targets() > 0) {
      throw Defect(words.column(), label, "expected the label first, then INDEX:VALUE");
    } else {
      TakePair(label, words.column(), &last);
    }
    for (std::string_view word = words.Next(); !word.empty(); word = words.Next()) {
      TakePair(word, words.column(), &last);
    }
    RequireGroup();
    RequireRoom(request_, samples_, groups_.bytes());
    if (request_.keep && !request_.keep(index)) return;
    samples_.numbers.insert(samples_.numbers.end(), features_.begin(), features_.end());
    if (request_.wants_labels()) samples_.labels.push_back(label_);
    if (request_.targets() > 0) samples_.targets.push_back(target_);
    samples_.groups.push_back(group_.value_or(0));
  }

  void TakeLabel(std::string_view text, size_t column) {
    InPlace(column, text, [&] {
      if (request_.targets() > 0) {
        target_ = TargetOf(NumberIn(text, ""));
      } else if (request_.wants_labels()) {
        label_ = labels_.Take(text);
      }
    });
  }

  // Without it a line would be of the first group.
  void RequireGroup() {
    if (seen_ == 1) has_groups_ = group_.has_value();
    if (group_.has_value() == has_groups_) return;
    throw file_.Defect("", has_groups_ ? "it has no qid:" : "it has a qid:",
                       "expected qid: in all lines or in none");
  }

  // INDEX:VALUE, or qid:GROUP.
  void TakePair(std::string_view word, size_t column, int64_t* last) {
    const size_t colon = word.find(':');
    const std::string_view value =
        colon == std::string_view::npos ? std::string_view() : word.substr(colon + 1);
    if (word.substr(0, colon) == "qid") {
      InPlace(column, word, [&] { group_ = groups_.Take(value); });
      return;
    }
    const std::optional<uint64_t> index = posix::ParseCount(word.substr(0, colon));
    if (!index || value.empty()) {
      throw Defect(column, word, "expected INDEX:VALUE, for example 3:0.5");
    }
    if (*index < base_ || *index - base_ >= inputs_) {
      throw Defect(column, word,
                   fmt::format("expected an index from {} to {}; base=0 counts from 0, inputs= "
                               "says how many there are",
                               base_, inputs_ - 1 + base_));
    }
    has_features_ = true;
    const auto at = static_cast<int64_t>(*index - base_);
    if (at <= *last) throw Defect(column, word, "expected indices in rising order, each once");
    *last = at;
    InPlace(column, word,
            [&] { features_[static_cast<size_t>(at)] = FeatureOf(request_, NumberIn(value, "")); });
  }

  // What the rules for labels and numbers refuse is a defect with its place.
  template <class Take>
  void InPlace(size_t column, std::string_view text, Take take) const {
    try {
      take();
    } catch (const std::invalid_argument& error) {
      throw Defect(column, text, error.what());
    }
  }

  posix::FileError Defect(size_t column, std::string_view text, const std::string& why) const {
    return file_.Defect(fmt::format("column {}", column), Quoted(text), why);
  }

  const ReadRequest& request_;
  LineFile file_;
  Labels labels_;
  uint32_t base_;
  uint32_t inputs_;
  Groups groups_;
  bool has_groups_ = false;
  bool has_features_ = false;  // of any line
  StoredSamples samples_;
  std::vector<float> features_;
  uint32_t label_ = 0;
  std::optional<uint32_t> group_;
  float target_ = 0;
  size_t seen_ = 0;
};

}  // namespace

SharedDataset ReadLibsvm(const ReadRequest& request) { return LibsvmReader(request).Read(); }

}  // namespace sotto
