#include "named.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

namespace sotto {

Named::Named(std::vector<std::string> names, std::string thing)
    : names_(std::move(names)), thing_(std::move(thing)) {
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto [entry, is_new] = places_.try_emplace(names_[i], Places{i, kNone});
    if (!is_new && entry->second.second == kNone) entry->second.second = i;
  }
}

std::optional<size_t> Named::Find(const std::string& name) const {
  if (name.empty()) {
    throw std::invalid_argument(fmt::format("the name is empty; name a {}; {}", thing_, List()));
  }
  const auto at = places_.find(name);
  if (at == places_.end()) return std::nullopt;
  const std::string fault = FaultOf(at->second.first);
  if (!fault.empty()) throw std::invalid_argument(fault);
  return at->second.first;
}

std::string Named::FaultOf(size_t place) const {
  const std::string& name = names_[place];
  if (name.empty()) {
    return fmt::format("{} {} has no name; give it one; {}", thing_, place + 1, List());
  }
  const Places& places = places_.at(name);
  if (places.second == kNone) return "";
  return fmt::format("{}s {} and {} have the same name, {}; rename one; {}", thing_,
                     places.first + 1, places.second + 1, name.substr(0, 60), List());
}

std::string Named::List() const {
  constexpr size_t kShown = 20;
  std::string text = fmt::format("the {}s: ", thing_);
  for (size_t i = 0; i < std::min(kShown, names_.size()); ++i) {
    text += i == 0 ? "" : ", ";
    text += names_[i].empty() ? "(no name)" : names_[i].substr(0, 60);
  }
  return names_.size() > kShown ? text + ", ..." : text;
}

}  // namespace sotto
