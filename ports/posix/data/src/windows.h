// Cuts the rows of a file into windows. Part of sotto::data.
//
// A window is `length` rows, one behind the other, of one series; the next one begins `stride` rows
// later. A row alone is a window of length 1. One thread at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "sotto/span.h"

namespace sotto {

class Windows {
 public:
  // All at least 1.
  Windows(size_t columns, size_t length, size_t stride)
      : columns_(columns), length_(length), stride_(stride), rows_(columns * length) {}

  // Takes the next row. True: a window ends with it.
  //   row     [columns]
  //   begins  the row is the first one of another series
  bool Add(Span<const float> row, bool begins);

  // Appends the window that ends with the last row, and where it begins to *starts. Rows that are
  // there already, as part of the window stored before, are shared.
  void Store(std::vector<float>* numbers, std::vector<size_t>* starts);

 private:
  size_t columns_;
  size_t length_;
  size_t stride_;
  std::vector<float> rows_;  // the last `length` rows; row i of the series is at i % length
  size_t in_series_ = 0;     // rows of the series so far
  size_t stored_ = 0;        // rows of the series up to the end of the last stored window
};

}  // namespace sotto
