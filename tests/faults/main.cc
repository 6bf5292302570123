// Runs simulations of faults, one for each seed.
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "faults/simulation.h"

namespace sotto::server {
namespace {

constexpr char kHelp[] =
    R"(faults: two servers, one database, a dozen devices, and what goes wrong between them

Usage: faults --seeds FIRST..LAST [--break RULE]
       faults --file FILE
       faults --trace SEED [--break RULE]

  --seeds FIRST..LAST  simulates each seed; 100,000 take some 40 minutes of one core:
                         nice -n 19 build/host/bin/faults --seeds 1..100000
  --file FILE          the seeds that begin a line of it; # begins a comment
  --trace SEED         also prints what happened, in virtual seconds
  --break RULE         breaks a rule of the code on purpose: epoch, retry, attempt, seal or
                         receipts. It then fails unless a seed notices that

Each seed is one course of events, the same on every machine. server/FAULTS.md says what is
simulated, what must hold, and what is not simulated.
Exit status: 0, everything held; 1, a seed found something; 2, wrong options.
)";

struct Named {
  Broken value;
  const char* name;
};
constexpr Named kRules[] = {{Broken::kEpoch, "epoch"},
                            {Broken::kRetry, "retry"},
                            {Broken::kAttempt, "attempt"},
                            {Broken::kSeal, "seal"},
                            {Broken::kReceipts, "receipts"}};

struct Options {
  std::vector<uint64_t> seeds;
  bool traces = false;
  Broken broken = Broken::kNone;
};

uint64_t NumberIn(const std::string& text) {
  size_t used = 0;
  const uint64_t number = std::stoull(text, &used);
  if (used != text.size()) throw std::invalid_argument(text);
  return number;
}

void AddRange(const std::string& text, std::vector<uint64_t>* seeds) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) throw std::invalid_argument(text);
  const uint64_t last = NumberIn(text.substr(dots + 2));
  for (uint64_t seed = NumberIn(text.substr(0, dots)); seed <= last; ++seed) seeds->push_back(seed);
}

void AddFile(const std::string& path, std::vector<uint64_t>* seeds) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(path + ": cannot be read");
  for (std::string line; std::getline(file, line);) {
    const size_t end = line.find_first_of(" #");
    if (end != 0 && !line.empty()) seeds->push_back(NumberIn(line.substr(0, end)));
  }
}

Broken RuleIn(const std::string& text) {
  for (const Named& rule : kRules) {
    if (text == rule.name) return rule.value;
  }
  throw std::invalid_argument("--break " + text + ": no such rule");
}

Options OptionsIn(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    if (words[i] == "--seeds") {
      AddRange(value, &options.seeds);
    } else if (words[i] == "--file") {
      AddFile(value, &options.seeds);
    } else if (words[i] == "--trace") {
      options.seeds.push_back(NumberIn(value));
      options.traces = true;
    } else if (words[i] == "--break") {
      options.broken = RuleIn(value);
    } else {
      throw std::invalid_argument(words[i]);
    }
  }
  if (words.size() % 2 != 0 || options.seeds.empty()) throw std::invalid_argument("no seeds");
  return options;
}

struct Totals {
  uint64_t found = 0;
  uint64_t commits = 0;
  uint64_t releases = 0;
  uint64_t virtual_ms = 0;
  uint64_t promoted = 0;
  uint64_t noticed = 0;
  uint64_t unseen = 0;
  uint64_t tasks = 0;
  uint64_t vain = 0;
};

void Print(uint64_t seed, const Simulated& run) {
  fmt::print("seed {}: {}\n", seed, run.scenario);
  for (const std::string& line : run.trace) fmt::print("{}\n", line);
  if (!run.violation.empty()) fmt::print("seed {} found: {}\n", seed, run.violation);
}

// Of a seed that found something with what happened: it happens again.
Simulated RunOne(uint64_t seed, const Options& options) {
  Simulated run = Simulate(seed, options.broken, options.traces);
  if (options.traces || (options.broken != Broken::kNone && !run.violation.empty())) {
    Print(seed, run);
  } else if (!run.violation.empty()) {
    const Simulated again = Simulate(seed, options.broken, true);
    Print(seed, again);
    if (again.violation != run.violation) {
      fmt::print("seed {} did not find the same twice: {}\n", seed, run.violation);
    }
  }
  return run;
}

int Run(const Options& options) {
  Totals totals;
  for (const uint64_t seed : options.seeds) {
    const Simulated run = RunOne(seed, options);
    totals.found += run.violation.empty() ? 0 : 1;
    totals.commits += run.commits;
    totals.releases += run.releases;
    totals.virtual_ms += run.ended_ms;
    totals.promoted += run.was_promoted ? 1 : 0;
    totals.noticed += run.was_found ? 1 : 0;
    totals.unseen += run.unseen;
    totals.tasks += run.tasks;
    totals.vain += run.vain;
  }
  fmt::print(
      "{} seeds, {} virtual hours, {} commits, {} releases\n"
      "{} tasks, {} of them of servers that had been taken over and did not know it yet\n"
      "{} promotions of a standby that lacked commits, {} of them found by a receipt; {} turns "
      "that "
      "no receipt could show\n"
      "{} seeds found something\n",
      options.seeds.size(), totals.virtual_ms / 3'600'000, totals.commits, totals.releases,
      totals.tasks, totals.vain, totals.promoted, totals.noticed, totals.unseen, totals.found);
  const bool must_find = options.broken != Broken::kNone;
  return (totals.found > 0) == must_find ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace sotto::server

int main(int count, char** words) {
  try {
    const std::vector<std::string> all(words + 1, words + count);
    if (all.size() == 1 && all[0] == "--help") {
      fmt::print("{}", sotto::server::kHelp);
      return EXIT_SUCCESS;
    }
    return sotto::server::Run(sotto::server::OptionsIn(all));
  } catch (const std::logic_error& error) {
    fmt::print(stderr, "faults: {}: wrong options; see --help\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "faults: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
