#include "csv_columns.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <stdexcept>

#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"

namespace sotto {

constexpr size_t kNone = static_cast<size_t>(-1);

// Finds columns by name or number.
class ColumnFinder {
 public:
  ColumnFinder(const ReadRequest& request, const CsvColumns& columns)
      : request_(request), columns_(columns) {}

  // The columns of an option's list; a number is from 1, and N-M is a range.
  std::vector<size_t> List(const char* key) const {
    std::vector<size_t> found;
    for (const std::string& name : request_.List(key)) {
      const size_t named = Named(name);
      const size_t dash = name.find('-', 1);
      if (named != kNone) {
        found.push_back(named);
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

 private:
  size_t Named(const std::string& name) const {
    if (!columns_.has_header) return kNone;
    const auto at = std::find(columns_.names.begin(), columns_.names.end(), name);
    return at == columns_.names.end() ? kNone : static_cast<size_t>(at - columns_.names.begin());
  }

  size_t Numbered(const char* key, const std::string& name, const std::string& text) const {
    const std::optional<uint64_t> number = posix::ParseCount(text);
    if (number && *number >= 1 && *number <= columns_.names.size()) {
      return static_cast<size_t>(*number - 1);
    }
    throw Refusal(
        key, name,
        fmt::format("there is no such column; expected a number from 1 to {}{}",
                    columns_.names.size(),
                    columns_.has_header ? fmt::format(" or a name: {}{}", fmt::join(Shown(), ", "),
                                                      posix::DidYouMean(name, columns_.names))
                                        : "; the file has no header, unless header=yes says so"));
  }

  std::vector<std::string> Shown() const {
    constexpr size_t kShown = 20;
    std::vector<std::string> shown(columns_.names.begin(),
                                   columns_.names.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                kShown, columns_.names.size())));
    if (columns_.names.size() > kShown) shown.emplace_back("...");
    return shown;
  }

  std::invalid_argument Refusal(const char* key, const std::string& value,
                                const std::string& why) const {
    return std::invalid_argument(fmt::format("{}: {}={}: {}", request_.path(), key, value, why));
  }

  const ReadRequest& request_;
  const CsvColumns& columns_;
};

namespace {

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Options that name columns.
constexpr const char* kColumnOptions[] = {"label",    "targets", "group",
                                          "features", "drop",    "onehot"};

bool HasHeader(const ReadRequest& request, const CsvRow& first) {
  const std::string header = request.Text("header", "auto");
  if (header == "yes") return true;
  if (header == "no") return false;
  if (header != "auto") {
    throw std::invalid_argument(
        fmt::format("{}: header={}: expected yes, no or auto", request.path(), header));
  }
  bool has_number = false;  // or what stands for one
  for (size_t i = 0; i < first.size(); ++i) {
    has_number = has_number || posix::ParseReal(first[i]).has_value() || IsMissingMark(first[i]);
    for (const char* key : kColumnOptions) {
      for (const std::string& name : request.List(key)) {
        if (name == first[i] && !posix::ParseCount(name)) return true;
      }
    }
  }
  return !has_number;
}

// Without the option label: the column of that name, else the last one.
size_t UsualLabel(const CsvColumns& columns) {
  for (const char* usual : {"label", "class"}) {
    for (size_t i = 0; i < columns.names.size(); ++i) {
      if (columns.has_header && Lower(columns.names[i]) == usual) return i;
    }
  }
  return columns.names.size() - 1;
}

void FindLabel(const ReadRequest& request, const ColumnFinder& find, CsvColumns* columns) {
  columns->targets = find.List("targets");
  if (request.Text("label") == "none") return;
  columns->label = find.One("label");
  if (columns->label || !columns->targets.empty()) return;
  if (request.targets() > 0) {
    const size_t count = std::min<size_t>(request.targets(), columns->names.size());
    for (size_t i = columns->names.size() - count; i < columns->names.size(); ++i) {
      columns->targets.push_back(i);
    }
  } else if (request.wants_labels()) {
    columns->label = UsualLabel(*columns);
  }
}

}  // namespace

bool IsMissingMark(std::string_view text) {
  for (const char* mark : {"?", "NA", "N/A", "NaN", "nan", "NULL", "null"}) {
    if (text == mark) return true;
  }
  return false;
}

CsvColumns::CsvColumns(const ReadRequest& request, const CsvRow& first)
    : has_header(HasHeader(request, first)) {
  for (size_t i = 0; i < first.size(); ++i) {
    names.push_back(has_header ? std::string(first[i]) : std::to_string(i + 1));
  }
  const ColumnFinder find(request, *this);
  FindLabel(request, find, this);
  group = find.One("group");
  features = find.List("features");
  onehot = find.List("onehot");
  if (!request.Has("features")) TakeOtherColumns(request, find);
  RequireFeatures(request);
}

// All that have no other use.
void CsvColumns::TakeOtherColumns(const ReadRequest& request, const ColumnFinder& find) {
  std::vector<size_t> others = find.List("drop");
  others.insert(others.end(), targets.begin(), targets.end());
  if (label) others.push_back(*label);
  if (group) others.push_back(*group);
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::find(others.begin(), others.end(), i) == others.end()) features.push_back(i);
  }
  if (!features.empty()) return;
  throw std::invalid_argument(
      fmt::format("{}: no column is left for the features; is the separator right? The first row "
                  "has {} columns: separator=semicolon or separator=tab",
                  request.path(), names.size()));
}

// A model that gets its answer with the sample learns nothing.
void CsvColumns::RequireFeatures(const ReadRequest& request) const {
  const auto is_in = [](const std::vector<size_t>& columns, size_t column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  for (const size_t column : features) {
    if (column != label && !is_in(targets, column)) continue;
    throw std::invalid_argument(
        fmt::format("{}: features=: column {} is the {}; leave it out, or name another one: {}=",
                    request.path(), Describe(column), column == label ? "label" : "target",
                    column == label ? "label" : "targets"));
  }
  for (const size_t column : onehot) {
    if (is_in(features, column)) continue;
    throw std::invalid_argument(fmt::format("{}: onehot=: column {} is no feature; leave it out",
                                            request.path(), Describe(column)));
  }
}

std::string CsvColumns::Describe(size_t column) const {
  return has_header ? fmt::format("{} ({})", column + 1, names[column])
                    : std::to_string(column + 1);
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
