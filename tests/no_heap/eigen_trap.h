// What an assertion of Eigen's does when it fails. With EIGEN_NO_MALLOC one stands before each
// allocation. Included before every source by no_heap.sh.
#pragma once

extern "C" [[noreturn]] void SottoEigenFailed();  // traps.cc

#define eigen_assert(condition) ((condition) ? static_cast<void>(0) : SottoEigenFailed())
