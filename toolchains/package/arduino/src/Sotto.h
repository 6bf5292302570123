// Sotto for Arduino. A sketch includes this header first: Arduino finds the library by it. The headers of
// the folder sotto can be included then; begin with sotto/client.h.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "Sotto needs C++17: put -std=gnu++17 into compiler.cpp.extra_flags of the core's platform.local.txt"
#endif

#include "sotto/client.h"
#include "sotto/self_test.h"
