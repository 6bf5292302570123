// What an assertion of Eigen's does when it fails. With EIGEN_NO_MALLOC one stands before each
// allocation. Included first where Eigen is used.
#pragma once

extern "C" [[noreturn]] void SottoEigenFailed();  // traps.cc

#define eigen_assert(condition) ((condition) ? static_cast<void>(0) : SottoEigenFailed())
