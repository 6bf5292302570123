// Vectors of a few Reals, which the kernels compute with. Part of sotto/nn; private: no public
// header may include it.
//
//   Array<n>          n lanes; a Real times an array, +, -, * and += work lane by lane
//   Load<n>(p), Store<n>(array, p)
//   Constant<n>(x)    x in every lane
//
// They are Eigen's arrays, the only use that the SDK makes of Eigen. Where there is no Eigen, or
// with SOTTO_OWN_LANES, they are the class below: the same bits, as each lane is computed by itself
// (the golden tests run both), and as many instructions and bytes, to 1 %.
//
// Eigen's assertions print and abort through the C library, which a board does not have; sizes are
// known when the kernels compile.
#pragma once

#include "base/exact_arithmetic.h"
#include "sotto/layer.h"

#if !defined(SOTTO_OWN_LANES) && !__has_include(<Eigen/Core>)
#define SOTTO_OWN_LANES
#endif

#if !defined(SOTTO_OWN_LANES)

// Explicit lanes must stay as they are: Eigen's own vector instructions would mix them.
#if !defined(EIGEN_DONT_VECTORIZE)
#define EIGEN_DONT_VECTORIZE
#endif
#if !defined(EIGEN_NO_MALLOC)
#define EIGEN_NO_MALLOC
#endif
#if !defined(eigen_assert)  // tests/no_heap defines it
#define eigen_assert(condition) static_cast<void>(0)
#endif
#include <Eigen/Core>

namespace sotto::nn {

template <int n>
using Array = Eigen::Array<Real, n, 1>;

template <int n>
Eigen::Map<const Array<n>> Load(const Real* p) {
  return Eigen::Map<const Array<n>>{p};
}

template <int n>
Array<n> Constant(Real value) {
  return Array<n>::Constant(value);
}

template <int n>
void Store(const Array<n>& lanes, Real* p) {
  Eigen::Map<Array<n>>{p} = lanes;
}

}  // namespace sotto::nn

#else

#include <utility>

namespace sotto::nn {

// Each operation is written out lane by lane: GCC unrolls no loop at -Os, and a lane that an index
// which is not constant names is kept in memory, at ten times the instructions.
template <int n>
class Array {
 public:
  // function(i) in lane i.
  template <typename Function>
  [[gnu::always_inline]] static Array Each(const Function& function) {
    return Each(function, std::make_integer_sequence<int, n>());
  }

  Real& operator[](int i) { return lane_[i]; }
  Real operator[](int i) const { return lane_[i]; }
  Real* data() { return lane_; }
  const Real* data() const { return lane_; }

  [[gnu::always_inline]] friend Array operator+(const Array& a, const Array& b) {
    return Each([&](int i) __attribute__((always_inline)) { return a.lane_[i] + b.lane_[i]; });
  }
  [[gnu::always_inline]] friend Array operator-(const Array& a, const Array& b) {
    return Each([&](int i) __attribute__((always_inline)) { return a.lane_[i] - b.lane_[i]; });
  }
  [[gnu::always_inline]] friend Array operator*(const Array& a, const Array& b) {
    return Each([&](int i) __attribute__((always_inline)) { return a.lane_[i] * b.lane_[i]; });
  }
  [[gnu::always_inline]] friend Array operator*(Real scale, const Array& a) {
    return Each([&](int i) __attribute__((always_inline)) { return scale * a.lane_[i]; });
  }
  [[gnu::always_inline]] Array& operator+=(const Array& b) { return *this = *this + b; }

 private:
  template <typename Function, int... i>
  [[gnu::always_inline]] static Array Each(const Function& function,
                                           std::integer_sequence<int, i...>) {
    Array array;
    ((array.lane_[i] = function(i)), ...);
    return array;
  }

  Real lane_[n];
};

template <int n>
[[gnu::always_inline]] inline Array<n> Load(const Real* p) {
  return Array<n>::Each([&](int i) __attribute__((always_inline)) { return p[i]; });
}

template <int n>
[[gnu::always_inline]] inline Array<n> Constant(Real value) {
  return Array<n>::Each([&](int) __attribute__((always_inline)) { return value; });
}

template <int n>
[[gnu::always_inline]] inline void Store(const Array<n>& lanes, Real* p) {
  Array<n>::Each([&](int i) __attribute__((always_inline)) { return p[i] = lanes[i]; });
}

}  // namespace sotto::nn

#endif
