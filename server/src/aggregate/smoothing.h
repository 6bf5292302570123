// Laplacian smoothing of an aggregated update. Part of sotto::server/aggregate.
//
// Noise makes the sum of updates rough; a useful update of a model is smoother. The solution u of A
// u = v, with A = I + factor * Laplacian, damps the rough part and keeps the mean. Smoothing is
// post-processing of an already private vector, so it costs no privacy.
// Source: Liang et al., "Differentially Private Federated Learning with Laplacian Smoothing".
//
// Reentrant: each call owns its scratch memory, so threads may smooth different vectors at once.
#pragma once

#include <cstddef>

#include "sotto/model_info.h"
#include "sotto/span.h"

namespace sotto::server {

// Limits of SmoothLaplacian. The paper uses factors from 0 to 3; at the largest one allowed, u is
// a moving average over some thousands of neighbours.
constexpr double kMaxSmoothingFactor = 1e6;
constexpr float kMaxSmoothingMagnitude = 1e28F;  // the transform's sums then stay finite
constexpr size_t kMaxSmoothingSize = size_t{1} << 28;

constexpr double kAutoSmoothingFactor = 0.3;
constexpr double kAutoSmoothingNoise = 10;  // norm of the noise, in clipping bounds

// Replaces v by u = A^-1 v. A is the circulant matrix with first row
// (1 + 2 factor, -factor, 0, ..., 0, -factor); for size 2 the off-diagonal entries are -2 factor,
// for size 1 A is the identity. Call it once for each flattened tensor.
//   values  [n] float32, any unit, magnitudes at most kMaxSmoothingMagnitude; in: v, out: u;
//           0 <= n <= kMaxSmoothingSize
//   factor  lambda_s in [0, kMaxSmoothingFactor]; 0 leaves every byte as it is
//
// Throws std::invalid_argument if an argument is outside these ranges; NaN and infinity are
// outside.
// Throws std::bad_alloc if about 20 bytes per coordinate cannot be allocated. In both cases
// `values` is unchanged.
//
// Error: the L2 norm of (result - u) is below 5e-7 of the norm of v (KISS FFT computes in single
// precision). If v is mostly noise, it is also below 5e-7 of the norm of u. The same build of KISS
// FFT gives the same bytes again; another build may differ in the last bits.
// Time: O(n log n) for every n, primes included (see smoothing.cc).
void SmoothLaplacian(Span<float> values, double factor);

// The same along both axes of images: A = I + factor (R + C), with the Laplacian R of the rows and
// the Laplacian C of the columns. Both are circulant as above, so opposite edges are neighbours. An
// axis of extent 1 has no Laplacian.
//   values  [images][height][width] float32, with the limits above
// Throws and errs as above. Time: O(n (h + w)) for each prime factor h and w of height and width.
void SmoothImagesLaplacian(Span<float> values, size_t height, size_t width, double factor);

// The smoothing factor of `--smoothing auto`: a rule over public quantities.
//
// The rule. Let s be the deviation of the noise on each coordinate of the mean update, d the number
// of parameters and C the clipping bound. The noise has a norm of about s sqrt(d); the mean update
// has a norm of at most C. Where the noise is ten times that or more, and the model has one trained
// layer, the factor is 0.3; elsewhere it is 0. For nets with hidden layers the limit is another
// one: smoothing cost accuracy there with as much noise.
//
// Nothing private enters: s, d, C and the model are part of the plan. What the right factor is also
// depends on the data and on how they are normalised, which the rule does not see. It is therefore
// cautious: server/AGGREGATE.md has the measurements, in which it never lost, and larger factors
// that won more or lost.
//   noise_sigma  of the mean update, model units, >= 0
//   clip_l2      > 0, model units
double AutoSmoothing(const ModelInfo& model, double noise_sigma, double clip_l2);

}  // namespace sotto::server
