// What an assertion of Eigen's does when it fails. With EIGEN_NO_MALLOC one stands before each
// allocation. Included before every source by no_heap.sh.
#ifndef SOTTO_TESTS_NO_HEAP_EIGEN_TRAP_H_
#define SOTTO_TESTS_NO_HEAP_EIGEN_TRAP_H_

extern "C" [[noreturn]] void SottoEigenFailed();  // traps.cc

#define eigen_assert(condition) ((condition) ? static_cast<void>(0) : SottoEigenFailed())

#endif  // SOTTO_TESTS_NO_HEAP_EIGEN_TRAP_H_
