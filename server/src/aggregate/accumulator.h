// The sum of decoded updates, in integers. Part of sotto::server/aggregate.
//
// Integer addition is exact, so the sum is the same bytes whatever the order of arrival and however
// updates are spread over threads, processes or servers: partial sums merge by addition.
#ifndef SOTTO_AGGREGATE_ACCUMULATOR_H_
#define SOTTO_AGGREGATE_ACCUMULATOR_H_

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
  // Goes on from these sums.
  explicit Accumulator(std::vector<int64_t> sums) : sums_(std::move(sums)) {}
  // Wiped: the sum of few updates is as secret as they are.
  ~Accumulator() { SecureWipe(sums_.data(), sums_.size() * sizeof(int64_t)); }

  // Adds one update, all of it or, on a size that differs (std::invalid_argument), nothing.
  // Safe from any thread. Magnitudes below 2^41 leave room for 2^21 updates.
  void Add(Span<const int32_t> update) { AddAll(update); }
  void Add(Span<const int64_t> update) { AddAll(update); }

  // The sums. Not while others add.
  Span<const int64_t> sums() const { return {sums_.data(), sums_.size()}; }
  // Hands the sums over; the accumulator is then of size 0.
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

#endif  // SOTTO_AGGREGATE_ACCUMULATOR_H_
