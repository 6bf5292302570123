// The sum of decoded updates, in integers. Part of sotto::server/aggregate.
//
// Integer addition is exact. So the sum has the same bytes for every order of arrival, and for
// every distribution of the updates over threads, processes or servers. Partial sums merge by
// addition.
//
// Add() is safe from any thread; the other methods are not safe while another thread adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/span.h"

namespace sotto::server {

class Accumulator {
 public:
  explicit Accumulator(size_t coordinates) : sums_(coordinates) {}
  // Starts from these sums.
  explicit Accumulator(std::vector<int64_t> sums) : sums_(std::move(sums)) {}
  // Wipes the sums: the sum of few updates is as secret as the updates.
  ~Accumulator() { SecureWipe(sums_.data(), sums_.size() * sizeof(int64_t)); }

  // Adds one update. Throws std::invalid_argument, and adds nothing, if its size differs.
  // Safe from any thread. Magnitudes below 2^41 leave room for 2^21 updates.
  void Add(Span<const int32_t> update) { AddAll(update); }
  void Add(Span<const int64_t> update) { AddAll(update); }

  // The sums. Do not call this while another thread adds.
  Span<const int64_t> sums() const { return {sums_.data(), sums_.size()}; }
  // Moves the sums out. The size of the accumulator is then 0.
  std::vector<int64_t> Take() { return std::move(sums_); }

  size_t size() const { return sums_.size(); }  // coordinates
  size_t updates() const { return updates_; }

 private:
  template <typename T>
  void AddAll(Span<const T> update);

  std::mutex mutex_;
  std::vector<int64_t> sums_;
  size_t updates_ = 0;
};

}  // namespace sotto::server
