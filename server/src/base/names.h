// Tables of names. One table writes and reads all the names of an enumeration.
//
// A row is any struct with the members `value` and `name`. Pure functions, safe from any thread.
// Part of sotto::server/base.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace sotto::privacy {

template <typename Enum>
struct Named {
  Enum value;
  const char* name;
};

// The name of a value; "" if no row has it.
template <typename Rows, typename Enum>
const char* NameIn(const Rows& rows, Enum value) {
  for (const auto& row : rows) {
    if (row.value == value) return row.name;
  }
  return "";
}

// The value of the row that has this name. Throws std::invalid_argument "<what> is <name>; it must
// be one of <names>" if no row has it.
template <typename Rows>
auto ValueIn(const Rows& rows, const char* what, std::string_view name) {
  std::string known;
  for (const auto& row : rows) {
    if (name == row.name) return row.value;
    known += std::string(known.empty() ? "" : ", ") + row.name;
  }
  throw std::invalid_argument(std::string(what) + " is " + std::string(name) +
                              "; it must be one of " + known);
}

}  // namespace sotto::privacy
