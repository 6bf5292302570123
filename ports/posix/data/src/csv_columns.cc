#include "csv_columns.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "named.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "values.h"

namespace sotto {

// Finds columns by name or number.
class ColumnFinder {
 public:
  ColumnFinder(const ReadRequest& request, const CsvColumns& columns)
      : request_(request), has_names_(columns.has_names), header_(columns.names, "column") {}

  // The columns of an option's list; a number is from 1, and N-M is a range.
  std::vector<size_t> List(const char* key) const {
    std::vector<size_t> found;
    for (const std::string& text : request_.List(key)) {
      const std::string name(Trimmed(text));
      const std::optional<size_t> named = ByName(key, name);
      const size_t dash = name.find('-', 1);
      if (named) {
        found.push_back(*named);
      } else if (dash != std::string::npos && posix::ParseCount(name.substr(0, dash))) {
        const size_t first = Numbered(key, name, name.substr(0, dash));
        const size_t last = Numbered(key, name, name.substr(dash + 1));
        if (last < first) throw Refusal(key, name, "expected the lower number first");
        for (size_t i = first; i <= last; ++i) found.push_back(i);
      } else {
        found.push_back(Numbered(key, name, name));
      }
    }
    return found;
  }

  std::optional<size_t> One(const char* key) const {
    const std::vector<size_t> found = List(key);
    if (found.empty()) return std::nullopt;
    if (found.size() == 1) return found.front();
    throw Refusal(key, request_.Text(key), "expected one column");
  }

  // The columns that have the names of the samples that these go with.
  std::vector<size_t> Same(const std::vector<std::string>& names) const {
    std::vector<size_t> found;
    for (const std::string& name : names) found.push_back(Same(name));
    return found;
  }
  size_t Same(const std::string& name) const {
    try {
      if (const std::optional<size_t> place = header_.Find(name)) return *place;
    } catch (const std::invalid_argument& error) {
      throw Refusal(error.what());
    }
    throw Refusal(
        fmt::format("it has no column {}, which the training samples have; add it, or rename the "
                    "one that it is; {}{}",
                    name, header_.List(), posix::DidYouMean(name, header_.names())));
  }

  // A column that nobody has named needs a name that tells it apart.
  void RequireName(size_t column) const {
    const std::string fault = has_names_ ? header_.FaultOf(column) : "";
    if (fault.empty()) return;
    throw Refusal(
        fmt::format("{}; or leave it out, drop={}, or take columns by number, for "
                    "example features=1-2",
                    fault, column + 1));
  }

  std::invalid_argument Refusal(const std::string& why) const {
    return std::invalid_argument(fmt::format("{}: {}", request_.path(), why));
  }

  std::string Header() const { return header_.List(); }

 private:
  // What is a name and the number of another column says nothing.
  std::optional<size_t> ByName(const char* key, const std::string& name) const {
    if (!has_names_ && !name.empty()) return std::nullopt;
    std::optional<size_t> place;
    try {
      place = header_.Find(name);
    } catch (const std::invalid_argument& error) {
      throw Refusal(key, name, error.what());
    }
    const std::optional<uint64_t> number = posix::ParseCount(name);
    if (place && number && *number >= 1 && *number <= header_.names().size() &&
        *number != *place + 1) {
      throw Refusal(key, name,
                    fmt::format("{0} is the name of column {1} and the number of another; write "
                                "{1}-{1} for the one and {0}-{0} for the other; {2}",
                                name, *place + 1, header_.List()));
    }
    return place;
  }

  size_t Numbered(const char* key, const std::string& name, const std::string& text) const {
    const std::optional<uint64_t> number = posix::ParseCount(text);
    if (number && *number >= 1 && *number <= header_.names().size()) {
      return static_cast<size_t>(*number - 1);
    }
    throw Refusal(key, name,
                  fmt::format("there is no such column; expected a number from 1 to {}{}",
                              header_.names().size(),
                              has_names_ ? fmt::format(" or a name; {}{}", header_.List(),
                                                       posix::DidYouMean(name, header_.names()))
                                         : "; the file has no header, unless header=yes says so"));
  }

  std::invalid_argument Refusal(const char* key, const std::string& value,
                                const std::string& why) const {
    return std::invalid_argument(fmt::format("{}: {}={}: {}", request_.path(), key, value, why));
  }

  const ReadRequest& request_;
  bool has_names_;
  Named header_;
};

namespace {

constexpr size_t kMaxColumns = size_t{1} << 18;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool Contains(const std::vector<size_t>& columns, size_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

// Options that name columns.
constexpr const char* kColumnOptions[] = {"label",    "targets", "group",
                                          "features", "drop",    "onehot"};

// Names of columns that the first row would have if it is a header.
std::unordered_set<std::string> ExpectedNames(const ReadRequest& request) {
  const std::vector<std::string>& features = request.source.like.features;
  std::unordered_set<std::string> names(features.begin(), features.end());
  for (const char* key : kColumnOptions) {
    for (const std::string& name : request.List(key)) names.emplace(Trimmed(name));
  }
  return names;
}

// How the column of the label is named, unless an option says it.
constexpr const char* kUsualLabels[] = {"label", "class"};

bool HasHeader(const ReadRequest& request, const CsvRow& first) {
  const std::string header = request.Text("header", "auto");
  if (header == "yes") return true;
  if (header == "no") return false;
  if (header != "auto") {
    throw std::invalid_argument(
        fmt::format("{}: header={}: expected yes, no or auto", request.path(), header));
  }
  const std::unordered_set<std::string> expected = ExpectedNames(request);
  bool has_number = false;  // or what stands for one
  for (size_t i = 0; i < first.size(); ++i) {
    const std::string name(Trimmed(first[i]));
    has_number = has_number || RealIn(name).has_value() || IsMissingMark(name);
    if (!posix::ParseCount(name) && expected.count(name) > 0) return true;
    for (const char* usual : kUsualLabels) {
      if (Lower(name) == usual) return true;
    }
  }
  return !has_number;
}

// The line that names the columns.
std::string HeaderLine(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  const size_t shown = std::min(kShown, names.size());
  return fmt::format(
      "{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ","),
      shown < names.size() ? ",..." : "");
}

// What to do about a first row that is one column.
std::string SeparatorAdvice(const std::string& row) {
  for (const auto& [separator, name] : {std::pair<char, const char*>{',', "comma"},
                                        {';', "semicolon"},
                                        {'\t', "tab"},
                                        {'|', "bar"},
                                        {' ', "space"}}) {
    if (row.find(separator) != std::string::npos) return fmt::format("say separator={}", name);
  }
  return "say it, for example separator=semicolon";
}

// The file that lists the texts of onehot: named, the one for the training samples, or the file.
std::string CategoriesOf(const ReadRequest& request) {
  const std::string& theirs = request.source.like.categories;
  return request.Text("categories", theirs.empty() ? request.path() : theirs);
}

}  // namespace

CsvColumns::CsvColumns(const ReadRequest& request, const CsvRow& first)
    : has_header(HasHeader(request, first)), has_names(has_header) {
  if (first.size() > kMaxColumns) {
    throw std::invalid_argument(fmt::format(
        "{}: the first row has {} columns, expected at most {}; is the separator right?",
        request.path(), first.size(), kMaxColumns));
  }
  for (size_t i = 0; i < first.size(); ++i) {
    names.push_back(has_header ? std::string(Trimmed(first[i])) : std::to_string(i + 1));
  }
  TakeNamesLike(request);
  const ColumnFinder find(request, *this);
  FindLabel(request, find);
  group = find.One("group");
  onehot = find.List("onehot");
  if (onehot.empty()) onehot = find.Same(Like(request).onehot);
  if (!onehot.empty()) categories = CategoriesOf(request);
  FindFeatures(request, find);
  RequireFeatures(request);
}

// The columns with which these are compared. Without names on both sides the options of this file
// say more.
const ColumnNames& CsvColumns::Like(const ReadRequest& request) const {
  static const ColumnNames kNone;
  const ColumnNames& like = request.source.like;
  if (has_header && like.has_header) return like;
  for (const char* key : {"label", "targets", "features", "drop"}) {
    if (request.Has(key)) return kNone;
  }
  return like;
}

// A file with a header and one without have no names in common. The option header= says that their
// columns stand in the same order all the same.
void CsvColumns::TakeNamesLike(const ReadRequest& request) {
  const ColumnNames& like = Like(request);
  if (like.all.empty() || has_header == like.has_header) return;
  if (request.Text("header", "auto") == "auto") {
    throw std::invalid_argument(
        has_header
            ? fmt::format("{}: it has a header, and the file of the training samples has none; "
                          "write the names of its columns above that file, too; or if the columns "
                          "stand in the same order in both: header=yes",
                          request.path())
            : fmt::format("{}: it has no header, and the file of the training samples has one; "
                          "write the line {} above it; or if the columns stand in the same order "
                          "in both: header=no",
                          request.path(), HeaderLine(like.all)));
  }
  if (names.size() != like.all.size()) {
    throw std::invalid_argument(fmt::format(
        "{}: header={}: it has {} columns, and the file of the training samples {}; write a header "
        "above both",
        request.path(), request.Text("header"), names.size(), like.all.size()));
  }
  names = like.all;
  has_names = like.has_header;
}

// Without the option label: the column of that name, else the last one.
size_t CsvColumns::UsualLabel(const ColumnFinder& find) const {
  for (const char* usual : kUsualLabels) {
    std::vector<size_t> found;
    for (size_t i = 0; has_names && i < names.size(); ++i) {
      if (Lower(names[i]) == usual) found.push_back(i);
    }
    if (found.size() == 1) return found.front();
    if (found.empty()) continue;
    throw find.Refusal(
        fmt::format("columns {} and {} are both named {}; say which one the label "
                    "is, and leave the other out: label={},drop={}; {}",
                    found[0] + 1, found[1] + 1, usual, found[0] + 1, found[1] + 1, find.Header()));
  }
  find.RequireName(names.size() - 1);
  return names.size() - 1;
}

void CsvColumns::FindLabel(const ReadRequest& request, const ColumnFinder& find) {
  const ColumnNames& like = Like(request);
  targets = find.List("targets");
  if (targets.empty()) targets = find.Same(like.targets);
  if (request.Text("label") == "none") return;
  label = find.One("label");
  if (label || !targets.empty()) return;
  if (request.targets() > 0) {
    const size_t count = std::min<size_t>(request.targets(), names.size());
    for (size_t i = names.size() - count; i < names.size(); ++i) {
      find.RequireName(i);
      targets.push_back(i);
    }
  } else if (request.wants_labels()) {
    label = !like.label.empty() ? find.Same(like.label) : UsualLabel(find);
  }
}

void CsvColumns::FindFeatures(const ReadRequest& request, const ColumnFinder& find) {
  const ColumnNames& like = Like(request);
  const bool are_known = !like.all.empty();
  if (request.Has("features")) {
    features = find.List("features");
    if (are_known) OrderLike(like, find);
  } else if (are_known && !like.features.empty()) {
    TakeColumnsLike(like, find);
  } else {
    if (are_known && names != like.all) {
      throw find.Refusal(
          fmt::format("its header differs from the training samples' header, "
                      "whose names do not tell the columns apart; name the columns "
                      "of both files, or give both the same order; {}",
                      find.Header()));
    }
    TakeOtherColumns(request, find);
  }
}

// All that have no other use.
void CsvColumns::TakeOtherColumns(const ReadRequest& request, const ColumnFinder& find) {
  std::vector<size_t> others = find.List("drop");
  others.insert(others.end(), targets.begin(), targets.end());
  if (label) others.push_back(*label);
  if (group) others.push_back(*group);
  std::unordered_map<std::string, size_t> left;  // how often each name is left
  for (size_t i = 0; i < names.size(); ++i) {
    if (Contains(others, i)) continue;
    features.push_back(i);
    ++left[names[i]];
  }
  for (const size_t column : features) {
    if (names[column].empty() || left[names[column]] > 1) find.RequireName(column);
  }
  if (!features.empty()) return;
  throw std::invalid_argument(fmt::format(
      "{}: no column is left for the features; {}", request.path(),
      names.size() == 1 ? fmt::format("is the separator another one? The first row is one column, "
                                      "{}; {}",
                                      has_header ? Quoted(names[0]) : "a number",
                                      SeparatorAdvice(has_header ? names[0] : ""))
                        : "all are label, target, group, or left out by drop=; " + find.Header()));
}

// The features of the training samples, in their order. A column that those do not have needs a
// word: it may be what somebody has renamed.
void CsvColumns::TakeColumnsLike(const ColumnNames& like, const ColumnFinder& find) {
  features = find.Same(like.features);
  const std::vector<size_t> dropped = find.List("drop");
  const std::unordered_set<std::string> known(like.all.begin(), like.all.end());
  std::vector<bool> is_feature(names.size(), false);
  for (const size_t column : features) is_feature[column] = true;
  for (size_t i = 0; i < names.size(); ++i) {
    if (is_feature[i] && Contains(dropped, i)) {
      throw find.Refusal(
          fmt::format("drop=: column {} is a feature of the training samples; leave "
                      "it in, or drop it there, too",
                      Describe(i)));
    }
    const bool has_use = is_feature[i] || i == label || i == group || Contains(targets, i) ||
                         Contains(dropped, i) || known.count(names[i]) > 0;
    if (has_use) continue;
    throw find.Refusal(
        fmt::format("column {} is none of the training samples; leave it out, "
                    "drop={}, or take both files from the same release; {}",
                    Describe(i), i + 1, find.Header()));
  }
}

// features= of this file: the same columns are put in the order of the training samples. Columns
// of other names altogether are in the order in which the option names them.
void CsvColumns::OrderLike(const ColumnNames& like, const ColumnFinder& find) {
  const std::unordered_set<std::string> theirs(like.features.begin(), like.features.end());
  const auto same =
      static_cast<size_t>(std::count_if(features.begin(), features.end(), [&](size_t column) {
        return theirs.count(names[column]) > 0;
      }));
  if (same == 0) return;
  if (same != features.size() || same != like.features.size()) {
    throw find.Refusal(
        fmt::format("features=: the training samples have the features {}; name the "
                    "same columns here, or leave the option out; {}",
                    fmt::join(like.features, ", "), find.Header()));
  }
  features = find.Same(like.features);
}

ColumnNames CsvColumns::Names() const {
  ColumnNames known;
  known.categories = categories;
  known.all = names;
  known.has_header = has_names;
  const Named header(names, "column");
  bool are_distinct = true;
  const auto of = [&](const std::vector<size_t>& columns) {
    std::vector<std::string> found;
    for (const size_t column : columns) {
      are_distinct = are_distinct && header.FaultOf(column).empty();
      found.push_back(names[column]);
    }
    return found;
  };
  known.features = of(features);
  known.onehot = of(onehot);
  known.targets = of(targets);
  if (label) known.label = of({*label}).front();
  if (!are_distinct) return {names, {}, {}, {}, "", categories, has_names};
  return known;
}

// A model that gets its answer with the sample learns nothing.
void CsvColumns::RequireFeatures(const ReadRequest& request) const {
  std::vector<bool> is_taken(names.size(), false);
  for (const size_t column : features) {
    if (is_taken[column]) {
      throw std::invalid_argument(fmt::format("{}: features=: column {} comes twice, expected once",
                                              request.path(), Describe(column)));
    }
    is_taken[column] = true;
    if (column != label && !Contains(targets, column)) continue;
    throw std::invalid_argument(
        fmt::format("{}: features=: column {} is the {}; leave it out, or name another one: {}=",
                    request.path(), Describe(column), column == label ? "label" : "target",
                    column == label ? "label" : "targets"));
  }
  for (const size_t column : onehot) {
    if (is_taken[column]) continue;
    throw std::invalid_argument(fmt::format("{}: onehot=: column {} is no feature; leave it out",
                                            request.path(), Describe(column)));
  }
}

std::string CsvColumns::Describe(size_t column) const {
  return has_names ? fmt::format("{} ({})", column + 1, names[column]) : std::to_string(column + 1);
}

std::string CsvColumns::DescribeFeatures() const {
  constexpr size_t kShown = 12;
  std::string text = "columns ";
  for (size_t i = 0; i < std::min(kShown, features.size()); ++i) {
    text += (i == 0 ? "" : ", ") + Describe(features[i]);
  }
  return features.size() > kShown ? text + ", ..." : text;
}

}  // namespace sotto
