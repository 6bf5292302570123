// The spectra of exact mean updates as series and figures: DP-Fed-LS, Figures 2, G.10 and G.11.
// Part of sotto::server/formulas.
//
// The names of what comes out have three parts: the layer, counted from 1 over the tensors that are
// no vectors; how its tensor is flattened, an order such as OIHW, or permuted1, permuted2, ...; the
// round. Series:
//   frequency                          cycles a coordinate: the middles of bands, four an octave
//   layer1_OIHW_round50                mean |FFT| / n of the frequencies of each band; NaN: none
//   eigenvector, projection_layer1_OIHW_round50
//                                      |<v, e_i>|, i = 0 ... 99, by falling eigenvalue of the
//                                      circulant Laplacian. Its eigenvectors come in pairs, a
//                                      cosine and a sine, of any phase: this is the root mean
//                                      square of both
// Figures:
//   slope_layer1_OIHW_round50          least squares of log magnitude over log frequency, a point a
//                                      band
//   top_share_layer1_OIHW_round50      mean square projection on those 100 over that on all
//   ..._last                           the same of the last of the rounds
//   slope_spread_layer1                of the last round: the largest slope less the smallest, over
//                                      all ways to flatten the layer
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "formulas/settings.h"
#include "sim/simulation.h"

namespace sotto::server {

struct SpectraOptions {
  std::set<uint32_t> layers;        // from 1; empty: all
  std::vector<std::string> orders;  // of flattening (aggregate/tensors.h)
  uint32_t permutations = 0;        // of the outputs of the first of these orders, each another one
  uint64_t seed = 0;                // of the permutations
};

// True for "spectrum-layers", "spectrum-orders" and "spectrum-permutations".
bool IsSpectraOption(const std::string& name);

// Throws std::invalid_argument, naming the option.
SpectraOptions SpectraOptionsOf(const Settings& settings);

// Adds the series and figures of all updates of the result to the outcome.
void PutSpectra(const SpectraOptions& options, const SimulationConfig& config,
                const SimulationResult& result, Outcome* outcome);

}  // namespace sotto::server
