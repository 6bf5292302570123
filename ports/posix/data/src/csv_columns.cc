#include "csv_columns.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "column_finder.h"
#include "named.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "values.h"

namespace sotto {
namespace {

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
  if (request.model != nullptr) {
    names.insert(request.model->feature_names.begin(), request.model->feature_names.end());
  }
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

CsvColumns::CsvColumns(const ReadRequest& request, const CsvRow& first, const RowSource& rows)
    : has_keys(rows.has_keys()),
      arrays(rows.arrays()),
      has_header(has_keys || HasHeader(request, first)),
      has_names(has_header) {
  if (first.size() > kMaxColumns) {
    throw std::invalid_argument(fmt::format(
        "{}: the first row has {} columns, expected at most {}; is the separator right?",
        request.path(), first.size(), kMaxColumns));
  }
  for (size_t i = 0; i < first.size(); ++i) {
    names.push_back(has_header ? std::string(Trimmed(first[i])) : std::to_string(i + 1));
  }
  TakeNamesLike(request);
  TakeNamesOfModel(request);
  const ColumnFinder find(request, *this);
  group = find.One("group");
  FindLabel(request, find);
  onehot = find.List("onehot");
  if (onehot.empty()) onehot = find.Same(Like(request), Like(request).onehot);
  if (!onehot.empty()) categories = CategoriesOf(request);
  FindFeatures(request, find);
  RequireFeatures(request);
}

// The columns with which these are compared. Without names on both sides the options of this file
// say more.
const ColumnNames& CsvColumns::Like(const ReadRequest& request) const {
  static const ColumnNames kNone;
  const ColumnNames& like = request.source.like;
  if (like.all.empty()) return model_;
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

// The names of the model's features are names of columns if a row has as many: not in a window of
// which each number has one.
void CsvColumns::TakeNamesOfModel(const ReadRequest& request) {
  if (request.model == nullptr || request.model->feature_names.empty()) return;
  if (!request.source.like.all.empty()) return;
  const ModelInfo& model = *request.model;
  const Span<const char* const> wanted = model.feature_names;
  const bool is_window = request.Count("window", 1, 1, 1U << 20) > 1;
  const bool are_columns =
      wanted.size() == (is_window ? model.SampleShape().channels : model.inputs);
  if (has_header && request.Has("onehot")) return;  // the reader compares what texts become
  if (!has_header || !are_columns) {
    note = fmt::format(
        "{}: {}, so the features of model {} are not found by name: columns count in order",
        request.path(),
        !has_header ? "it has no header" : "a row has other numbers than those that have names",
        model.name);
    return;
  }
  model_.features.assign(wanted.begin(), wanted.end());
  model_.all = model_.features;
  model_.has_header = true;
  model_.are_of_model = true;
}

// Columns that are no feature of the model and have no other use so far.
std::vector<size_t> CsvColumns::Unclaimed(const ColumnFinder& find) const {
  std::vector<size_t> claimed = find.Same(model_, model_.features);
  const std::vector<size_t> dropped = find.List("drop");
  claimed.insert(claimed.end(), dropped.begin(), dropped.end());
  if (group) claimed.push_back(*group);
  std::vector<size_t> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!Contains(claimed, i)) columns.push_back(i);
  }
  return columns;
}

// The only column that a model's features leave over.
size_t CsvColumns::OnlyLabel(const ColumnFinder& find) const {
  const std::vector<size_t> left = Unclaimed(find);
  if (left.size() == 1) return left.front();
  if (left.empty()) {
    throw find.Refusal(
        fmt::format("all {}s are features of the model, and none is the label; "
                    "add it, or say label=none; {}",
                    thing(), find.Header()));
  }
  throw find.Refusal(fmt::format(
      "{}s {} and {} are no features of the model; say which one is the label, and "
      "leave the other out: label={},drop={}; {}",
      thing(), Describe(left[0]), Describe(left[1]), Said(left[1]), Said(left[0]), find.Header()));
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
        fmt::format("{}s {} and {} are both named {}; say which one the label "
                    "is, and leave the other out: label={},drop={}; {}",
                    thing(), Said(found[0]), Said(found[1]), usual, Said(found[0]), Said(found[1]),
                    find.Header()));
  }
  if (!model_.features.empty()) return OnlyLabel(find);
  if (has_keys) {  // whose order says nothing
    throw find.Refusal(
        fmt::format("which key is the label? Say label=KEY, or label=none; {}", find.Header()));
  }
  find.RequireName(names.size() - 1);
  return names.size() - 1;
}

void CsvColumns::FindLabel(const ReadRequest& request, const ColumnFinder& find) {
  const ColumnNames& like = Like(request);
  targets = find.List("targets");
  if (targets.empty()) targets = find.Same(like, like.targets);
  if (request.Text("label") == "none") return;
  label = find.One("label");
  if (label || !targets.empty()) return;
  if (request.targets() > 0 && !model_.features.empty() &&
      Unclaimed(find).size() == request.targets()) {
    targets = Unclaimed(find);
  } else if (request.targets() > 0 && has_keys) {
    throw find.Refusal(
        fmt::format("which keys are the target? Say targets=KEY; {}", find.Header()));
  } else if (request.targets() > 0) {
    const size_t count = std::min<size_t>(request.targets(), names.size());
    for (size_t i = names.size() - count; i < names.size(); ++i) {
      find.RequireName(i);
      targets.push_back(i);
    }
  } else if (request.wants_labels()) {
    label = !like.label.empty() ? find.Same(like, like.label) : UsualLabel(find);
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
                      "whose names do not tell the {0}s apart; name the {0}s "
                      "of both files, or give both the same order; {1}",
                      thing(), find.Header()));
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
  throw std::invalid_argument(
      fmt::format("{}: no {} is left for the features; {}", request.path(), thing(),
                  names.size() == 1 && !has_keys
                      ? fmt::format("is the separator right? The first row is one column, "
                                    "{}; {}",
                                    has_header ? Quoted(names[0]) : "a number",
                                    SeparatorAdvice(has_header ? names[0] : ""))
                      : "all are label, target, group, or left out by drop=; " + find.Header()));
}

// The features of the training samples, in their order. A column that those do not have needs a
// word: it may be what somebody has renamed.
void CsvColumns::TakeColumnsLike(const ColumnNames& like, const ColumnFinder& find) {
  features = find.Same(like, like.features);
  const std::vector<size_t> dropped = find.List("drop");
  const std::unordered_set<std::string> known(like.all.begin(), like.all.end());
  std::vector<bool> is_feature(names.size(), false);
  for (const size_t column : features) is_feature[column] = true;
  for (size_t i = 0; i < names.size(); ++i) {
    if (is_feature[i] && Contains(dropped, i)) {
      throw find.Refusal(
          fmt::format("drop=: {} is a feature of the {}; leave it in, or drop it "
                      "there, too",
                      Place(i), like.are_of_model ? "model" : "training samples"));
    }
    const bool has_use = is_feature[i] || i == label || i == group || Contains(targets, i) ||
                         Contains(dropped, i) || known.count(names[i]) > 0;
    if (has_use) continue;
    throw find.Refusal(fmt::format(
        "{} is not among the {}; leave it out, drop={}{}; {}", Place(i),
        like.are_of_model ? "model's features" : "training samples", Said(i),
        like.are_of_model ? "" : ", or take both files from the same release", find.Header()));
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
        fmt::format("features=: the {} the features {}; name the same columns here, or leave the "
                    "option out; {}",
                    like.are_of_model ? "model has" : "training samples have",
                    fmt::join(like.features, ", "), find.Header()));
  }
  features = find.Same(like, like.features);
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
  if (!are_distinct) return {names, {}, {}, {}, "", categories, has_names, false};
  return known;
}

// A model that gets its answer with the sample learns nothing.
void CsvColumns::RequireFeatures(const ReadRequest& request) const {
  std::vector<bool> is_taken(names.size(), false);
  for (const size_t column : features) {
    if (is_taken[column]) {
      throw std::invalid_argument(fmt::format("{}: features=: {} comes twice, expected once",
                                              request.path(), Place(column)));
    }
    is_taken[column] = true;
    if (column != label && !Contains(targets, column)) continue;
    throw std::invalid_argument(fmt::format(
        "{}: features=: {} is the {}; leave it out, or name another column, {}=", request.path(),
        Place(column), column == label ? "label" : "target",
        column == label ? "label" : "targets"));
  }
  for (const size_t column : onehot) {
    if (is_taken[column]) continue;
    throw std::invalid_argument(
        fmt::format("{}: onehot=: {} is no feature; leave it out", request.path(), Place(column)));
  }
}

std::vector<uint32_t> CsvColumns::AxesOfFeatures() const {
  for (const KeyArray& array : arrays) {
    if (features.size() != array.count || !onehot.empty()) continue;
    size_t next = array.first;
    const auto follows = [&next](size_t column) { return column == next++; };
    if (std::all_of(features.begin(), features.end(), follows)) return array.axes;
  }
  return {};
}

std::string CsvColumns::Describe(size_t column) const {
  if (has_keys) return names[column];
  return has_names ? fmt::format("{} ({})", column + 1, names[column]) : std::to_string(column + 1);
}

std::string CsvColumns::DescribeFeatures() const {
  constexpr size_t kShown = 12;
  std::string text = thing() + std::string("s ");
  for (size_t i = 0; i < std::min(kShown, features.size()); ++i) {
    text += (i == 0 ? "" : ", ") + Describe(features[i]);
  }
  return features.size() > kShown ? text + ", ..." : text;
}

}  // namespace sotto
