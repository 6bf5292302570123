// What the ranks' sum of updates costs, by the number of parameters: started by ranks.sh.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <vector>

#include "ranks/launched.h"

namespace sotto::server {
namespace {

using Clock = std::chrono::steady_clock;

// Milliseconds of one sum, the least of five.
double SumMs(Ranks& ranks, size_t parameters) {
  std::vector<int64_t> values(parameters, ranks.index());
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    ranks.Any(false);  // all begin at once
    const auto start = Clock::now();
    ranks.Sum({values.data(), values.size()});
    least =
        std::min(least, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return least;
}

}  // namespace
}  // namespace sotto::server

int main(int argc, char** argv) {
  sotto::server::LaunchedRanks launched(argc, argv, {});
  sotto::server::Ranks& ranks = sotto::server::TheRanks();
  for (const size_t parameters : {7850U, 100'000U, 1'000'000U, 12'000'000U}) {
    const double ms = sotto::server::SumMs(ranks, parameters);
    if (ranks.is_first())
      fmt::print("{} ranks, {} parameters: {:.2f} ms\n", ranks.count(), parameters, ms);
  }
  return launched.End(0);
}
