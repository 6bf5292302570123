#include "aggregate/accumulator.h"

#include <stdexcept>

namespace sotto::server {

template <typename T>
void Accumulator::AddAll(Span<const T> update) {
  if (update.size() != sums_.size()) {
    throw std::invalid_argument("an update's size differs from the aggregate's");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t j = 0; j < sums_.size(); ++j) sums_[j] += update[j];
  ++updates_;
}

template void Accumulator::AddAll(Span<const int32_t>);
template void Accumulator::AddAll(Span<const int64_t>);

}  // namespace sotto::server
