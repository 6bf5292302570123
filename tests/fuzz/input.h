// What the fuzz targets share: an input cut into fields, and a check that ends the program.
//
// A target is LLVMFuzzerTestOneInput() of libFuzzer: any bytes at all, again and again. It fails by
// crashing: through a sanitizer, through a failed Require(), or through an exception that nobody
// expects. The layout of an input is the target's own; make_seeds.cc writes the same layouts.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "sotto/span.h"
#include "sotto/update_codec.h"

namespace sotto::fuzz {

inline void Require(bool condition, const char* claim) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

// Fields from the front of an input; beyond its end all are zeros.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : bytes_(data, size) {}

  uint8_t TakeByte() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_[0];
    bytes_ = bytes_.subspan(1);
    return byte;
  }

  // Little endian.
  uint32_t TakeU16() {
    const uint32_t low = TakeByte();
    return low | uint32_t{TakeByte()} << 8;
  }
  uint32_t TakeU32() {
    const uint32_t low = TakeU16();
    return low | TakeU16() << 16;
  }

  // Any byte as coding or dither, any u16 as padding: most are no format.
  UpdateFormat TakeFormat() {
    UpdateFormat format;
    format.coding = static_cast<Coding>(TakeByte());
    format.dither = static_cast<DitherKind>(TakeByte());
    format.padding = TakeU16();
    return format;
  }

  ByteSpan rest() const { return bytes_; }

 private:
  ByteSpan bytes_;
};

}  // namespace sotto::fuzz
