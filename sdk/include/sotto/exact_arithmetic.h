// Flags under which the SDK must not be compiled. Part of sotto/base.
//
// A device and the server compute the same bits, because every addition and multiplication of
// float32 is rounded by itself, in the order in which it is written. -ffast-math gives that up. A
// fused multiply-add does, too: GCC contracts a * b + c to one by default where the processor has
// it. The sources of the SDK switch that off by themselves (src/base/exact_arithmetic.h), and no
// public header adds a product. sotto/self_test.h finds what a build has changed all the same.
#pragma once

#if defined(__FAST_MATH__)
#error "Sotto: compile without -ffast-math and -Ofast; a device would compute other bits"
#endif
