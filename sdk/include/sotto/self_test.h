// Does this build compute the bits that every device and the server compute? Part of sotto/local.
//
// Other flags, another compiler or a library built elsewhere may round differently: by fused
// multiply-adds, by sums in another order, by wider registers. Nothing else notices: training goes
// on, and only the model is a little different from what it was elsewhere. Call the test once at
// the start of a program, before the first round:
//
//   if (sotto::SelfTest() != sotto::Status::kOk) stop: this build must not take part
//
// It takes about a millisecond on a Cortex-M4F and less than 2 kB of stack, and it allocates
// nothing. Safe in any thread.
#pragma once

#include "sotto/bytes.h"
#include "sotto/exact_arithmetic.h"
#include "sotto/status.h"

namespace sotto {
namespace internal {

// In the library: AddScaled(), kernels of every training, exp and log, cells of the dither, and
// the range code, against golden values.
Status SelfTestOfLibrary();

#if !defined(__clang__) && defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

// y += s x with s = x = 1 + 2^-12 and y = -1. The product is 1 + 2^-11 + 2^-24; its last term is
// half a unit of float32, so it is rounded off, to even, and 2^-11 is left. A fused multiply-add
// and a wider register keep it. Static: each unit has its own, compiled with its own flags.
static inline bool AddScaledIsExact() {
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif
  volatile float near_one = 1.000244140625f;  // so nothing is computed by the compiler
  volatile float minus_one = -1.0f;
  const float s = near_one;
  const float x = near_one;
  float y = minus_one;
  y += s * x;
  return FloatBits(y) == FloatBits(0.00048828125f);
}

// Half of the least normal number is no zero. A program that is linked with -ffast-math or -Ofast,
// or loads a library that is, may switch its processor to that. A Cortex-M does not flush them
// after a reset, and its flash is dear.
static inline bool SmallNumbersAreKept() {
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
  return true;
#else
  volatile float least = 1.17549435e-38f;
  const float half = least * 0.5f;
  return FloatBits(half) == 0x00400000;
#endif
}

#if !defined(__clang__) && defined(__GNUC__)
#pragma GCC pop_options
#endif

}  // namespace internal

// Returns kOk, or kMismatch if this unit or the library computes other bits; kCryptoFailed.
static inline Status SelfTest() {
  const bool is_exact = internal::AddScaledIsExact() && internal::SmallNumbersAreKept();
  return is_exact ? internal::SelfTestOfLibrary() : Status::kMismatch;
}

}  // namespace sotto
