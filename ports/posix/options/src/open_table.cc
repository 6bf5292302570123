#include "sotto/options/open_table.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "sotto/options/numbers.h"

namespace sotto::posix {
namespace {

constexpr size_t kLongestName = 32;

bool IsName(const std::string& name) {
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= kLongestName && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), is_of_name);
}

}  // namespace

std::string NameOfText(const std::string& text) { return text.substr(0, text.find(':')); }

std::string ValueOfText(const std::string& text) {
  const size_t colon = text.find(':');
  return colon == std::string::npos ? "" : text.substr(colon + 1);
}

double NumberOfText(const std::string& option, const std::string& text, double absent, double least,
                    double most) {
  if (text.find(':') == std::string::npos) return absent;
  const std::optional<double> number = ParseReal(ValueOfText(text));
  if (number && *number >= least && *number <= most) return *number;
  throw std::invalid_argument(fmt::format("{} {}: expected {}:NUMBER with a number from {} to {}",
                                          option, text, NameOfText(text), least, most));
}

void RequireNewName(const char* what, const std::string& name,
                    const std::vector<std::string>& names) {
  if (!IsName(name)) {
    throw std::invalid_argument(fmt::format(
        "the {} '{}' has no name that an option can take; expected are up to {} of a-z, "
        "0-9 and -, a letter first",
        what, name, kLongestName));
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) return;
  throw std::invalid_argument(
      fmt::format("the {} '{}' is already there; give yours another name", what, name));
}

void RequireRoomForRow(const char* what, size_t added) {
  if (added < kMostAddedRows) return;
  throw std::logic_error(fmt::format("a program adds at most {} {}s", kMostAddedRows, what));
}

}  // namespace sotto::posix
