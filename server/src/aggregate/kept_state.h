// What an optimiser keeps from step to step, and its bytes in the store. Part of
// sotto::server/aggregate.
//
// Bytes, little-endian: version, owner, number of scalars, number of vectors, n (uint32 each); then
// the scalars (float64), then the vectors, each with n numbers of 4 or 8 bytes. A change of what an
// owner keeps takes a new owner number; a change of this layout raises kKeptStateVersion, and
// Restore() then reads both.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/span.h"

namespace sotto::server {

constexpr uint32_t kKeptStateVersion = 1;

// Values are stored: never renumber.
enum class StateOwner : uint32_t { kNone = 0, kMomentum = 1, kAdam = 2, kAverage = 3, kGrid = 4 };

// Real is float or double.
template <class Real>
struct KeptState {
  std::vector<double> scalars;
  std::vector<std::vector<Real>> vectors;  // all of one size

  bool empty() const { return vectors.empty() || vectors[0].empty(); }

  // Nothing if it is empty.
  std::vector<uint8_t> ToBytes(StateOwner owner) const;

  // Takes the bytes of such a state of the same owner, with as many scalars and vectors as this
  // one, and returns what follows them. No bytes at all: stays as it is. Throws std::runtime_error
  // for other bytes.
  ByteSpan Restore(StateOwner owner, ByteSpan bytes);
};

extern template struct KeptState<float>;
extern template struct KeptState<double>;

}  // namespace sotto::server
