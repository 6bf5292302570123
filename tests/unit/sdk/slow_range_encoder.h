// The range code of differences with a `low` that keeps all its bytes, as server/PROTOCOL.md
// defines it. The coder of devices sends each byte as soon as it is certain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/integer_code.h"

namespace sotto {

struct SlowRangeEncoder {
  void Add(int32_t d) {
    const auto magnitude = static_cast<uint32_t>(d < 0 ? -d : d);
    uint32_t digits = 0;
    while (digits < 31 && magnitude >> digits != 0) ++digits;
    for (uint32_t i = 0; i < 31 && i <= digits; ++i) Adaptive(i < digits, &model.more[i]);
    if (digits != 0) decisions += ' ';
    for (uint32_t i = 1; i < digits; ++i) Fair((magnitude >> (digits - 1 - i) & 1) != 0);
    if (digits != 0) Fair(d < 0);
  }

  std::vector<uint8_t> low = {0, 0, 0, 0};  // big endian
  uint32_t range = UINT32_MAX;
  std::string decisions;

 private:
  void Narrow(bool bit, uint32_t share) {
    if (!bit) Raise(share);
    range = bit ? share : range - share;
    for (; range < kMinRange; range <<= 8) low.push_back(0);
  }

  void Raise(uint64_t by) {
    for (size_t i = low.size(); i-- > 0 && by != 0; by >>= 8) {
      by += low[i];
      low[i] = static_cast<uint8_t>(by);
    }
  }

  void Adaptive(bool bit, AdaptiveBit* estimate) {
    Narrow(bit, estimate->BoundOfOne(range));
    estimate->Update(bit);
    decisions += bit ? '1' : '0';
  }

  void Fair(bool bit) {
    Narrow(bit, range >> 1);
    decisions += bit ? '1' : '0';
  }

  DigitModel<31> model;
};

}  // namespace sotto
