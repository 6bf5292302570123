// The functions of sotto/num.h for a net's numbers. Where tests compile a net with double, the C
// library's take their place. Part of sotto/nn; private to the SDK.
#pragma once

#include "base/exact_arithmetic.h"
#include "sotto/layer.h"
#include "sotto/num.h"

#if defined(SOTTO_NN_REAL)
#include <cmath>
#endif

namespace sotto::nn {

using sotto::Exp;
using sotto::HyperbolicTangent;
using sotto::Log;
using sotto::Logistic;

#if defined(SOTTO_NN_REAL)
inline double Exp(double x) { return std::exp(x); }
inline double Log(double x) { return std::log(x); }
inline double HyperbolicTangent(double x) { return std::tanh(x); }
inline double Logistic(double x) { return 1 / (1 + std::exp(-x)); }
#endif

}  // namespace sotto::nn
