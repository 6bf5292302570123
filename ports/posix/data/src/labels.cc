#include "labels.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sotto/data/source.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "values.h"

namespace sotto {
namespace {

// More different labels are no classes.
constexpr uint32_t kMaxClasses = 65536;

// Whole numbers beyond it are not told apart by all programs that write labels.
constexpr double kMaxLabel = 1e15;
constexpr size_t kMaxLabelText = 1024;

// "3.0" and "+3" are the label 3.
std::string Canonical(std::string_view text) {
  text = Trimmed(text);
  const std::optional<double> value = RealIn(text);
  if (!value || std::floor(*value) != *value || !(std::fabs(*value) <= kMaxLabel)) {
    return std::string(text);
  }
  return fmt::format("{}", static_cast<int64_t>(*value));
}

std::string Shortened(const std::string& text) {
  return text.size() <= 40 ? text : text.substr(0, 40) + "...";
}

std::string FirstOf(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + Shortened(names[i]);
  }
  return names.size() > kShown ? text + ", ..." : text;
}

// Sorted by value if all are numbers, else by their bytes.
std::vector<std::string> SortedLabels(std::vector<std::string> labels) {
  const bool are_numbers = std::all_of(labels.begin(), labels.end(), [](const std::string& label) {
    return posix::ParseReal(label).has_value();
  });
  std::sort(labels.begin(), labels.end(), [&](const std::string& a, const std::string& b) {
    return are_numbers ? *posix::ParseReal(a) < *posix::ParseReal(b) : a < b;
  });
  return labels;
}

// "; did you mean Normal?": letters of another case, blanks and signs between them count least.
std::string Hint(const std::string& label, const std::vector<std::string>& names) {
  const auto folded = [](const std::string& text) {
    std::string letters;
    for (const char c : text) {
      if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0) letters += c;
    }
    return letters;
  };
  for (const std::string& name : names) {
    if (!folded(name).empty() && folded(name) == folded(label)) {
      return fmt::format("; did you mean {}?", Shortened(name));
    }
  }
  return posix::DidYouMean(label, names);
}

// The lines that say which class each label is, of at most kMostLines labels.
std::string LinesFor(const std::vector<std::string>& labels) {
  constexpr size_t kMostLines = 30;
  std::vector<std::string> some(
      labels.begin(),
      labels.begin() + static_cast<std::ptrdiff_t>(std::min(kMostLines, labels.size())));
  std::string toml;
  for (std::string label : some) {
    std::string text;
    for (const char c : label) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    toml += fmt::format("{}\"{}\"", toml.empty() ? "" : ", ", text);
  }
  const char* const more = some.size() < labels.size() ? ", ..." : "";
  return fmt::format("classes = [{}{}]; or for this file alone, behind its name: classes={}{}",
                     toml, more, JoinList(some), *more == '\0' ? "" : ",...");
}

bool IsBelow(const std::string& label, uint32_t count) {
  const std::optional<uint64_t> number = posix::ParseCount(label);
  return number && *number < count;
}

// "0 1" or "[0 1]", as NumPy writes an array.
bool AreNumbers(std::string label) {
  for (char& c : label) {
    if (c == '[' || c == ']' || c == '(' || c == ')') c = ' ';
  }
  size_t count = 0;
  for (std::string_view rest = Trimmed(label); !rest.empty(); rest = Trimmed(rest)) {
    const size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    if (!RealIn(rest.substr(0, end))) return false;
    rest.remove_prefix(end);
    ++count;
  }
  return count > 1;
}

// Which label stood for each class.
void Spell(const std::vector<std::string>& labels, const std::vector<uint32_t>& classes,
           SampleInfo* info) {
  info->spellings.assign(info->classes, "");
  for (size_t i = 0; i < labels.size(); ++i) info->spellings[classes[i]] = labels[i];
}

// "1,2,3"
std::string CountedFrom1(uint32_t classes) {
  constexpr uint32_t kMostShown = 30;
  std::string text = "1";
  for (uint32_t i = 2; i <= std::min(classes, kMostShown); ++i) text += fmt::format(",{}", i);
  return classes > kMostShown ? fmt::format("{},...,{}", text, classes) : text;
}

// Numbers count from 0. A file that has none may count from 1, or lack a class: its owner knows.
void NoteMissingZero(SampleInfo* info) {
  std::vector<std::string> numbers;
  for (const std::string& label : info->spellings) {
    if (posix::ParseCount(label)) numbers.push_back(label);
  }
  if (numbers.empty() || !info->spellings.front().empty()) return;
  info->may_count_from_1 = true;
  info->notes.push_back(fmt::format(
      "no label is 0; the labels {} count from 0, so {} is class {}; if yours count from 1, say so "
      "behind the file's name: classes={}",
      FirstOf(numbers), numbers.front(), numbers.front(), CountedFrom1(info->classes)));
}

[[noreturn]] void RefuseLabel(const std::string& why) { throw std::invalid_argument(why); }

// What can be no class, in whatever format.
void RequireLabel(const std::string& label) {
  if (label == "None" || label == "NA") {
    RefuseLabel(fmt::format(
        "the label is missing; remove the row, or if {0} is a class, declare it: classes={0},...",
        label));
  }
  if (label.empty() || IsMissingMark(label)) RefuseLabel("the label is missing; remove the row");
  if (label.size() > kMaxLabelText) {
    RefuseLabel(fmt::format("the label is a text of {} bytes; name the column of the labels",
                            label.size()));
  }
  if (label.find('\0') != label.npos) {
    RefuseLabel("the label has the character U+0000; write the file once more");
  }
  if (const std::optional<double> value = RealIn(label)) {
    if (!(std::fabs(*value) <= kMaxLabel)) {
      RefuseLabel(
          fmt::format("the label is {}, expected a whole number of at most 10^15, or a name",
                      Shortened(label)));
    }
    if (std::floor(*value) != *value) {
      RefuseLabel(fmt::format(
          "the label is the fraction {}, expected a whole number or a name; for a regression name "
          "the targets; for classes with such names declare them: classes={},...",
          label, label));
    }
    return;
  }
  const size_t mark = AreNumbers(label) ? 0 : label.find_first_of(",;|");
  if (mark == label.npos) return;
  RefuseLabel(fmt::format(
      "the label is {}, which are several, and a sample has one; keep one of them, or if it is the "
      "name of a class, declare it: classes={}{}{},...",
      Shortened(label), Shortened(label.substr(0, mark)), mark == 0 ? "" : "\\",
      Shortened(label.substr(mark))));
}

}  // namespace

uint32_t Names::Id(std::string_view text) {
  const auto [entry, is_new] =
      ids_.try_emplace(std::string(text), static_cast<uint32_t>(all_.size()));
  if (is_new) {
    all_.emplace_back(text);
    bytes_ += 2 * (sizeof(std::string) + text.size()) + 32;
  }
  return entry->second;
}

std::optional<uint32_t> Names::Find(const std::string& text) const {
  const auto at = ids_.find(text);
  return at == ids_.end() ? std::nullopt : std::optional<uint32_t>(at->second);
}

uint32_t Groups::Take(std::string_view text) {
  text = Trimmed(text);
  if (text.empty() || IsMissingMark(text)) {
    throw std::invalid_argument("the group is missing; say whose sample it is, or remove the row");
  }
  return names_.Id(text);
}

Labels::Labels(const std::string& option, uint32_t classes, bool may_be_numbers)
    : classes_(classes), have_numbers_(!may_be_numbers) {
  if (option.empty()) return;
  declared_names_ = SplitList(option);
  uint32_t count = static_cast<uint32_t>(declared_names_.size());
  if (const auto number = posix::ParseCount(option)) {
    declared_names_.clear();
    declared_ = count = static_cast<uint32_t>(std::min<uint64_t>(*number, kMaxClasses + 1));
  }
  if (count == 0 || count > kMaxClasses) {
    throw std::invalid_argument(
        fmt::format("classes={}: expected 1 to {} classes, or their names", option, kMaxClasses));
  }
  if (classes_ > 0 && count != classes_) {
    throw std::invalid_argument(fmt::format("classes={}: {} classes, but the model has {}",
                                            Shortened(option), count, classes_));
  }
  for (std::string& name : declared_names_) {
    name = std::string(Trimmed(name));
    if (name.empty()) {
      throw std::invalid_argument(
          fmt::format("classes={}: a name is empty; expected names with a comma between them",
                      Shortened(option)));
    }
    have_numbers_ = have_numbers_ || RealIn(name).has_value();
    if (seen_.Id(Canonical(name)) + 1 != seen_.all().size()) {
      throw std::invalid_argument(fmt::format("classes=: {} comes twice", Shortened(name)));
    }
  }
}

Labels Labels::Numbered(const std::string& option, uint32_t classes, uint32_t least,
                        std::vector<std::string> names) {
  Labels labels(option, classes);
  labels.is_numbered_ = true;
  labels.counts_from_0_ = true;
  labels.least_ = least;
  labels.usual_names_ = std::move(names);
  return labels;
}

// The class of a label, where classes have names.
uint32_t Labels::Declared(const std::string& label) {
  if (const std::optional<uint32_t> named = seen_.Find(label)) return *named;
  const auto count = static_cast<uint32_t>(declared_names_.size());
  if (!have_numbers_ && IsBelow(label, count)) {
    return *numbers_.insert(static_cast<uint32_t>(*posix::ParseCount(label))).first;
  }
  if (!have_numbers_ && count == 2 && label == "-1" && !is_numbered_) {
    has_minus_ = true;
    return 0;
  }
  RequireLabel(label);
  const bool counts_from_1 = !have_numbers_ && label == std::to_string(count);
  const std::string hint = counts_from_1 ? fmt::format(
                                               "; if the labels count from 1, say so behind the "
                                               "file's name: classes={}",
                                               CountedFrom1(count))
                                         : Hint(label, declared_names_);
  throw std::invalid_argument(fmt::format("the label is {}, expected one of the classes {}{}",
                                          Shortened(label), FirstOf(declared_names_), hint));
}

// A file that writes a class as -1 has no other word for it.
uint32_t Labels::Remember(const std::string& label, uint32_t named) {
  spellings_.resize(declared_names_.size());
  std::string& spelling = spellings_[named];
  if (spelling.empty()) spelling = label;
  const bool has_minus = label == "-1" || spelling == "-1";
  if (!has_minus || spelling == label || have_numbers_) return named;
  throw std::invalid_argument(
      fmt::format("the label is {}, and {} in another row: both would be the class {}; write its "
                  "name in all rows",
                  label, spelling, Shortened(declared_names_[named])));
}

uint32_t Labels::Take(std::string_view text) {
  if (are_ignored_) return 0;
  const std::string label = Canonical(text);
  if (!declared_names_.empty()) return Remember(label, Declared(label));
  RequireLabel(label);
  if (is_numbered_) RequireNumber(label);
  if (declared_ > 0 && !IsBelow(label, declared_)) {
    throw std::invalid_argument(
        fmt::format("the label is {}, expected 0 to {}", Shortened(label), declared_ - 1));
  }
  const uint32_t id = seen_.Id(label);
  if (id >= kMaxClasses) {
    throw std::invalid_argument(
        fmt::format("there are more than {} different labels; name the column of the labels, or "
                    "targets= for a regression",
                    kMaxClasses));
  }
  return id;
}

uint32_t Labels::Take(double number) { return Take(fmt::format("{}", number)); }

// Of a format whose labels are numbers.
void Labels::RequireNumber(const std::string& label) const {
  const uint32_t most = declared_ > 0 ? declared_ : classes_ > 0 ? classes_ : kMaxClasses;
  if (IsBelow(label, most)) return;
  throw std::invalid_argument(
      fmt::format("the label is {}, expected 0 to {}{}", Shortened(label), most - 1,
                  classes_ > 0 ? fmt::format(", the {} classes of the model", classes_) : ""));
}

// Whether the labels are the classes' numbers. *count receives how many classes there are.
bool Labels::AreClasses(uint32_t* count) const {
  const std::vector<std::string>& labels = seen_.all();
  *count = declared_ > 0 ? declared_ : classes_;
  if (*count > 0) {
    return std::all_of(labels.begin(), labels.end(),
                       [&](const std::string& label) { return IsBelow(label, *count); });
  }
  // Without a model: whole numbers, zero among them.
  bool has_zero = false;
  for (const std::string& label : labels) {
    if (!IsBelow(label, kMaxClasses)) return false;
    has_zero = has_zero || label == "0";
    *count = std::max(*count, static_cast<uint32_t>(*posix::ParseCount(label)) + 1);
  }
  return has_zero;
}

// The class of each provisional number when labels are sorted, and the classes' names.
std::vector<uint32_t> Labels::Sorted(std::vector<std::string>* names) const {
  *names = SortedLabels(seen_.all());
  std::vector<uint32_t> classes(names->size());
  for (uint32_t i = 0; i < names->size(); ++i) classes[*seen_.Find((*names)[i])] = i;
  return classes;
}

void Labels::FinishNumbered(std::vector<uint32_t>* labels, SampleInfo* info) const {
  std::vector<uint32_t> classes;
  info->classes = declared_ > 0 ? declared_ : classes_ > 0 ? classes_ : least_;
  for (const std::string& label : seen_.all()) {
    classes.push_back(static_cast<uint32_t>(*posix::ParseCount(label)));
    info->classes = std::max(info->classes, classes.back() + 1);
  }
  if (usual_names_.size() == info->classes) info->class_names = usual_names_;
  Spell(seen_.all(), classes, info);
  if (declared_ == 0 && !counts_from_0_) NoteMissingZero(info);
  for (uint32_t& label : *labels) label = classes[label];
}

void Labels::FinishDeclared(const std::string& where, SampleInfo* info) const {
  const bool is_known = counts_from_0_ || has_minus_ || numbers_.count(0) > 0;
  if (!numbers_.empty() && !is_known) {
    std::vector<std::string> numbers;
    for (const uint32_t number : numbers_) numbers.push_back(std::to_string(number));
    throw std::invalid_argument(fmt::format(
        "{}: the labels {} are numbers without a 0, so they may count from 0 or from 1, and the "
        "classes have names: {}. Write the names as labels, or say behind the file's name how it "
        "counts: classes={} if 0 is {}, classes={} if 1 is {}",
        where, FirstOf(numbers), FirstOf(declared_names_), declared_names_.size(),
        Shortened(declared_names_[0]), CountedFrom1(static_cast<uint32_t>(declared_names_.size())),
        Shortened(declared_names_[0])));
  }
  info->classes = static_cast<uint32_t>(declared_names_.size());
  info->class_names = declared_names_;
  info->spellings = spellings_;
  info->spellings.resize(info->classes);
  info->counts_from_0 = !numbers_.empty();
}

// No device alone can know the classes of these labels: it may lack one.
void Labels::RequireSortable(const std::string& where) const {
  if (classes_ == 0) return;
  const std::vector<std::string>& seen = seen_.all();
  const bool are_texts =
      std::none_of(seen.begin(), seen.end(), [](auto& label) { return RealIn(label).has_value(); });
  if (may_sort_ && are_texts && seen.size() == classes_) return;
  if (seen.size() > classes_) {
    throw std::invalid_argument(fmt::format(
        "{}: {} different labels ({}), but the model has {} classes; correct the labels, or take a "
        "model with an output for each",
        where, seen.size(), FirstOf(SortedLabels(seen)), classes_));
  }
  throw std::invalid_argument(fmt::format(
      "{}: the labels are {}, and nothing says which class each is; write the names of all {} "
      "classes, in order, into the model file of all devices: {}. These are the labels of this "
      "file, {}",
      where, FirstOf(SortedLabels(seen)), classes_, LinesFor(SortedLabels(seen)),
      seen.size() < classes_ ? "which lacks some: put them in their places"
                             : "in sorted order: if another file has others, correct them"));
}

void Labels::Finish(const std::string& where, std::vector<uint32_t>* labels,
                    SampleInfo* info) const {
  if (are_ignored_) {
    info->classes = classes_;
    info->class_names = declared_names_;
    return;
  }
  if (!declared_names_.empty())
    return FinishDeclared(where, info);  // provisional numbers are classes
  if (is_numbered_) return FinishNumbered(labels, info);
  std::vector<uint32_t> classes;
  const std::vector<std::string>& seen = seen_.all();
  if (AreClasses(&info->classes)) {
    for (const std::string& label : seen) {
      classes.push_back(static_cast<uint32_t>(*posix::ParseCount(label)));
    }
    Spell(seen, classes, info);
    if (declared_ == 0 && !counts_from_0_) NoteMissingZero(info);
  } else if ((classes_ == 0 || classes_ == 2) &&
             std::all_of(seen.begin(), seen.end(), [](auto& s) { return s == "-1" || s == "1"; })) {
    for (const std::string& label : seen) classes.push_back(label == "1" ? 1 : 0);
    info->classes = 2;
    info->class_names = {"-1", "1"};
  } else {
    RequireSortable(where);
    classes = Sorted(&info->class_names);
    info->are_classes_sorted = true;
    info->notes.push_back(fmt::format(
        "{}: the classes are the labels of this file, sorted: {}; a model for several files names "
        "them: {}",
        where, FirstOf(info->class_names), LinesFor(info->class_names)));
    info->classes = static_cast<uint32_t>(seen.size());
  }
  Spell(seen, classes, info);
  for (uint32_t& label : *labels) label = classes[label];
}

}  // namespace sotto
