// How an update becomes the next model: the interface of all optimisers. Part of sotto::lab; the
// server's own ones are in server/src/aggregate/optimisers.cc.
//
// A step is post-processing of a private update, so it costs no privacy: whatever an optimiser does
// with updates and parameters, no claim changes. AddOptimiser() in methods.h gives an optimiser a
// name.
#pragma once

#include <cstdint>
#include <vector>

#include "sotto/span.h"

namespace sotto::server {

// The optimiser of one job. One thread at a time.
class Optimiser {
 public:
  virtual ~Optimiser() = default;

  // Moves the parameters by the update. Returns false if a parameter would not be finite;
  // parameters and state are then unchanged. Throws std::invalid_argument if the sizes differ.
  //   update, parameters  [n] model units
  [[nodiscard]] virtual bool Step(Span<const float> update, Span<float> parameters) = 0;

  // The state after the steps so far, without the parameters, in the optimiser's own format; empty
  // if it has none. It is stored with each release.
  virtual std::vector<uint8_t> State() const { return {}; }

  // Continues from bytes that State() returned. Throws std::runtime_error for any other bytes.
  virtual void Restore(ByteSpan state);

  // The average of the models so far, the first one included; empty if the job asks for none or no
  // step was made.
  virtual std::vector<float> Average() const { return {}; }
};

}  // namespace sotto::server
