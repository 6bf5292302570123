// The cells of a batch of coordinates, for tests on any CPU.
#pragma once

#include "sotto/dither.h"

namespace sotto {

// Fills cells[i] with the cell of coordinate first + i. Arguments and statuses as of
// Dither::Generate().
inline Status GenerateCells(const Dither& dither, uint32_t first, Span<DitherCell> cells) {
  uint64_t words[kDitherBatch];
  if (cells.size() > kDitherBatch) return Status::kInvalidArgument;
  const Span<uint64_t> used(words, cells.size());
  if (Status s = dither.Generate(first, used); s != Status::kOk) return s;
  for (uint32_t i = 0; i < cells.size(); ++i) {
    if (Status s = dither.Select(first + i, words[i], &cells[i]); s != Status::kOk) return s;
  }
  return Status::kOk;
}

}  // namespace sotto
