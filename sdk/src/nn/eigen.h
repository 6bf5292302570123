// The only header through which the SDK includes Eigen. Part of sotto/nn. Private: no public header
// may include it.
//
// Eigen's assertions print and abort through the C library, which a board does not have; sizes are
// checked before the kernels run. The build defines EIGEN_DONT_VECTORIZE and EIGEN_NO_MALLOC.
#pragma once

#if !defined(eigen_assert)  // tests/no_heap defines it
#define eigen_assert(condition) static_cast<void>(0)
#endif
#include <Eigen/Core>
