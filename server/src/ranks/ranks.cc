#include "ranks/ranks.h"

#include <cstring>
#include <exception>
#include <fmt/format.h>

namespace sotto::server {
namespace {

Ranks* the_ranks = nullptr;

}  // namespace

std::vector<std::vector<uint64_t>> Ranks::GatherNumbers(const std::vector<uint64_t>& mine) {
  if (count() == 1) return {mine};
  std::vector<std::vector<uint64_t>> all;
  const size_t size = mine.size() * sizeof(uint64_t);
  for (const std::string& bytes : Gather({reinterpret_cast<const char*>(mine.data()), size})) {
    all.emplace_back(bytes.size() / sizeof(uint64_t));
    std::memcpy(all.back().data(), bytes.data(), bytes.size());
  }
  return all;
}

bool Ranks::Any(bool mine) {
  for (const std::string& each : Gather(mine ? "1" : "")) {
    if (!each.empty()) return true;
  }
  return false;
}

void Ranks::Together(const std::function<void()>& work) {
  std::exception_ptr error;
  std::string why;
  try {
    work();
  } catch (const std::exception& e) {
    error = std::current_exception();
    why = e.what();
  }
  if (count() > 1) {
    const std::vector<std::string> all = Gather(why);
    for (size_t i = 0; i < all.size() && !error; ++i) {
      if (!all[i].empty()) throw std::runtime_error(fmt::format("rank {}: {}", i, all[i]));
    }
  }
  if (error) std::rethrow_exception(error);
}

Ranks& TheRanks() {
  static OneRank alone;
  return the_ranks != nullptr ? *the_ranks : alone;
}

void SetTheRanks(Ranks* ranks) { the_ranks = ranks; }

}  // namespace sotto::server
