#include "windows.h"

#include <algorithm>

namespace sotto {

bool Windows::Add(Span<const float> row, bool begins) {
  if (begins) in_series_ = stored_ = 0;
  std::copy_n(row.data(), columns_, rows_.data() + in_series_ % length_ * columns_);
  ++in_series_;
  return in_series_ >= length_ && (in_series_ - length_) % stride_ == 0;
}

void Windows::Store(std::vector<float>* numbers, std::vector<size_t>* starts) {
  const size_t first = in_series_ - length_;
  const size_t shared = stored_ > first ? stored_ - first : 0;
  if (length_ > 1) starts->push_back(numbers->size() - shared * columns_);
  for (size_t row = first + shared; row < in_series_; ++row) {
    const float* const from = rows_.data() + row % length_ * columns_;
    numbers->insert(numbers->end(), from, from + columns_);
  }
  stored_ = in_series_;
}

}  // namespace sotto
