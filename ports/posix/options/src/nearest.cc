#include "sotto/options/nearest.h"

#include <algorithm>
#include <utility>

namespace sotto::posix {
namespace {

constexpr size_t kShortestBeginning = 3;

bool BeginsWith(const std::string& name, const std::string& text) {
  return text.size() >= kShortestBeginning && name.compare(0, text.size(), text) == 0;
}

}  // namespace

size_t EditDistance(const std::string& a, const std::string& b) {
  // row[j]: the distance of the first i characters of a from the first j of b.
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  std::vector<size_t> before;   // of i - 1
  std::vector<size_t> earlier;  // of i - 2
  for (size_t i = 1; i <= a.size(); ++i) {
    earlier = std::exchange(before, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, before[j] + 1, row[j - 1] + 1});
      const bool is_exchange = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchange) row[j] = std::min(row[j], earlier[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string NearestName(const std::string& text, const std::vector<std::string>& names) {
  std::string nearest;
  size_t least = text.size();
  for (const std::string& name : names) {
    const size_t distance = BeginsWith(name, text) ? 0 : EditDistance(text, name);
    const bool is_near = distance <= std::max<size_t>(2, name.size() / 3);
    if (name.empty() || !is_near || distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

std::string DidYouMean(const std::string& text, const std::vector<std::string>& names,
                       const std::string& prefix) {
  const std::string nearest = NearestName(text, names);
  return nearest.empty() ? "" : "; did you mean " + prefix + nearest + "?";
}

}  // namespace sotto::posix
