// Columns of a CSV file by name or number, keys of JSON lines by name. Part of sotto::data.
#pragma once

#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "csv_columns.h"
#include "formats.h"
#include "named.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "values.h"

namespace sotto {

// Finds columns by name or number.
class ColumnFinder {
 public:
  ColumnFinder(const ReadRequest& request, const CsvColumns& columns)
      : request_(request),
        columns_(columns),
        has_names_(columns.has_names),
        header_(columns.names, columns.thing()) {}

  // The columns of an option's list; a number is from 1, and N-M is a range. The key of an array
  // stands for all its columns.
  std::vector<size_t> List(const char* key) const {
    std::vector<size_t> found;
    for (const std::string& text : request_.List(key)) {
      const std::string name(Trimmed(text));
      const std::optional<size_t> named = ByName(key, name);
      const size_t dash = name.find('-', 1);
      if (named) {
        found.push_back(*named);
      } else if (columns_.has_keys) {
        const KeyArray& array = ArrayOf(key, name);
        for (size_t i = 0; i < array.count; ++i) found.push_back(array.first + i);
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
    throw Refusal(key, request_.Text(key), fmt::format("expected one {}", columns_.thing()));
  }

  // The columns that have the names of the samples that these go with.
  std::vector<size_t> Same(const ColumnNames& like, const std::vector<std::string>& names) const {
    std::vector<size_t> found;
    for (const std::string& name : names) found.push_back(Same(like, name));
    return found;
  }
  size_t Same(const ColumnNames& like, const std::string& name) const {
    try {
      if (const std::optional<size_t> place = header_.Find(name)) return *place;
    } catch (const std::invalid_argument& error) {
      throw Refusal(error.what());
    }
    throw Refusal(fmt::format(
        "it has no {} {}, which the {}; add it, or rename the one that it is; {}{}",
        columns_.thing(), name, like.are_of_model ? "model names" : "training samples have",
        header_.List(), posix::DidYouMean(name, header_.names())));
  }

  // A column that nobody has named needs a name that tells it apart.
  void RequireName(size_t column) const {
    const std::string fault = has_names_ ? header_.FaultOf(column) : "";
    if (fault.empty()) return;
    throw Refusal(columns_.has_keys
                      ? fault
                      : fmt::format("{}; or leave it out, drop={}, or take columns by number, for "
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
    if (place && number && !columns_.has_keys && *number >= 1 &&
        *number <= header_.names().size() && *number != *place + 1) {
      throw Refusal(key, name,
                    fmt::format("{0} is the name of column {1} and the number of another; write "
                                "{1}-{1} for the one and {0}-{0} for the other; {2}",
                                name, *place + 1, header_.List()));
    }
    return place;
  }

  const KeyArray& ArrayOf(const char* key, const std::string& name) const {
    for (const KeyArray& array : columns_.arrays) {
      if (array.name == name) return array;
    }
    throw Refusal(key, name,
                  fmt::format("there is no such key in the first line; {}{}", header_.List(),
                              posix::DidYouMean(name, header_.names())));
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
  const CsvColumns& columns_;
  bool has_names_;
  Named header_;
};

}  // namespace sotto
