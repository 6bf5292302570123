// The processes that compute one result together, on one machine or on many. Part of
// sotto::server/ranks.
//
// All ranks run the same program with the same options, hold the same state, and call the same
// functions in the same order; each does its share of the work between two calls. What travels is
// integers and bytes, so that the result has the same bytes for any number of ranks.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/span.h"

namespace sotto::server {

// A call that waits for the other ranks ended without them: one of them is gone, or a signal asks
// this one to stop. No call to Ranks may follow.
class RanksLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual uint32_t index() const = 0;  // of this process, below count()
  virtual uint32_t count() const = 0;  // >= 1

  // Adds up each number over all ranks; every rank gets the sums. They must not overflow. Throws
  // RanksLost.
  //   values  as many on every rank
  virtual void Sum(Span<int64_t> values) = 0;

  // What each rank gave, by rank, on every rank. Throws RanksLost.
  virtual std::vector<std::string> Gather(const std::string& mine) = 0;

  // The same for numbers.
  std::vector<std::vector<uint64_t>> GatherNumbers(const std::vector<uint64_t>& mine);

  // The first one is the one that tells people and writes files.
  bool is_first() const { return index() == 0; }

  // Whether this rank does piece `i` of a work that all of them share.
  bool Has(uint64_t i) const { return i % count() == index(); }

  // True on every rank if it is on one of them. Throws RanksLost.
  bool Any(bool mine);

  // Runs `work`, which calls none of these functions, on every rank. If it throws on one of them,
  // every rank throws: its own exception where there is one, else a std::runtime_error that names
  // the rank and what it said.
  void Together(const std::function<void()>& work);
};

// This process alone.
class OneRank : public Ranks {
 public:
  uint32_t index() const override { return 0; }
  uint32_t count() const override { return 1; }
  void Sum(Span<int64_t>) override {}
  std::vector<std::string> Gather(const std::string& mine) override { return {mine}; }
};

// The ranks of this process: itself, unless a launcher has started several (launched.h).
Ranks& TheRanks();

// Makes these the ranks of this process, for the rest of its life. Not while TheRanks() are used.
void SetTheRanks(Ranks* ranks);

}  // namespace sotto::server
