// From here to the end of a source file no a * b + c becomes a fused multiply-add, whatever flags a
// build has. Part of sotto/base; private to the SDK.
//
// Every source and every private header that computes in float32 includes this file, before Eigen
// if it uses that. sotto/self_test.h checks what came of it.
#pragma once

#include "sotto/exact_arithmetic.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
