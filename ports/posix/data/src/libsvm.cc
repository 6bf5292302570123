#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "byte_file.h"
#include "formats.h"
#include "sotto/options/numbers.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxInputs = 1U << 18;  // samples are dense once they are read
constexpr char kBlanks[] = " \t\r";

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

std::string_view WithoutPlus(std::string_view text) {
  return !text.empty() && text[0] == '+' ? text.substr(1) : text;
}

class LibsvmReader {
 public:
  explicit LibsvmReader(const ReadRequest& request)
      : request_(request),
        file_(request.path()),
        labels_(request.ClassesOption(), request.classes()),
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
    if (request_.wants_labels()) labels_.Finish(request_.path(), &samples_.labels, &info);
    if (has_groups_) samples_.group_names = groups_.all();
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
    group_ = 0;
    std::fill(features_.begin(), features_.end(), 0.F);
    int64_t last = -1;
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
    if (request_.keep && !request_.keep(index)) return;
    samples_.numbers.insert(samples_.numbers.end(), features_.begin(), features_.end());
    if (request_.wants_labels()) samples_.labels.push_back(label_);
    if (request_.targets() > 0) samples_.targets.push_back(target_);
    samples_.groups.push_back(group_);
  }

  void TakeLabel(std::string_view text, size_t column) {
    if (request_.targets() > 0) {
      target_ = Number(text, column);
    } else if (request_.wants_labels()) {
      try {
        label_ = labels_.Take(text);
      } catch (const std::invalid_argument& error) {
        throw Defect(column, text, error.what());
      }
    }
  }

  // INDEX:VALUE, or qid:GROUP.
  void TakePair(std::string_view word, size_t column, int64_t* last) {
    const size_t colon = word.find(':');
    const std::string_view value =
        colon == std::string_view::npos ? std::string_view() : word.substr(colon + 1);
    if (word.substr(0, colon) == "qid") {
      group_ = groups_.Id(value);
      has_groups_ = true;
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
    const auto at = static_cast<int64_t>(*index - base_);
    if (at <= *last) throw Defect(column, word, "expected indices in rising order, each once");
    *last = at;
    const float number = Number(value, column);
    if (const char* fault = FaultOf(request_, number)) throw Defect(column, word, fault);
    features_[static_cast<size_t>(at)] = number;
  }

  float Number(std::string_view text, size_t column) const {
    if (text == "nan" || text == "NaN") return std::numeric_limits<float>::quiet_NaN();
    const std::optional<double> value = posix::ParseReal(WithoutPlus(text));
    if (value && std::fabs(*value) <= std::numeric_limits<float>::max()) {
      return static_cast<float>(*value);
    }
    throw Defect(column, text, "expected a number that float32 can hold");
  }

  posix::FileError Defect(size_t column, std::string_view text, const std::string& why) const {
    return file_.Defect(fmt::format("column {}", column), Quoted(text), why);
  }

  const ReadRequest& request_;
  LineFile file_;
  Labels labels_;
  uint32_t base_;
  uint32_t inputs_;
  Names groups_;
  bool has_groups_ = false;
  StoredSamples samples_;
  std::vector<float> features_;
  uint32_t label_ = 0;
  uint32_t group_ = 0;
  float target_ = 0;
  size_t seen_ = 0;
};

}  // namespace

SharedDataset ReadLibsvm(const ReadRequest& request) { return LibsvmReader(request).Read(); }

}  // namespace sotto
