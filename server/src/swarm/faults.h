// What goes wrong with the devices of a swarm. Part of sotto::server/swarm.
//
// All of it is drawn from the swarm's seed, so that a run with the same seed has the same faults in
// each attempt at a round. Time and order still depend on the machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"

namespace sotto::server {

struct FaultOptions {
  double latency_ms = 0;      // before each request: Jittered() of it
  double drop_out = 0;        // chance that a drawn device hangs up before its upload; in [0, 1]
  double corrupt = 0;         // chance that a byte of its update is damaged; in [0, 1]
  uint32_t slow_bytes_s = 0;  // bytes a second of a device, in each direction; 0: any
};

// What becomes of a drawn device's update.
struct Fate {
  bool drops_out = false;
  bool is_corrupt = false;
  uint32_t at = 0;  // the damaged byte is this one, modulo the chunk's size
};

// The fate of a device in an attempt at a round.
Fate FateOf(const FaultOptions& options, const Key& seed, uint32_t device, uint32_t round,
            uint32_t attempt);

// A time within 50 % of ms.
//   random  uniform
uint64_t Jittered(double ms, uint32_t random);

// Lets this many bytes a second pass, and a tenth of a second's bytes at once. One thread at a
// time.
class ByteRate {
 public:
  // bytes_s  0: any number passes
  explicit ByteRate(uint32_t bytes_s) : bytes_s_(bytes_s) {}

  // How many of `wanted` bytes may pass now; see Took().
  size_t Allowed(size_t wanted, uint64_t now_ms);
  void Took(size_t bytes) { allowance_ -= bytes_s_ == 0 ? 0.0 : static_cast<double>(bytes); }

  // Milliseconds until a byte may pass, if none may now.
  uint64_t PauseMs() const;

 private:
  uint32_t bytes_s_;
  double allowance_ = 0;
  uint64_t since_ms_ = 0;
};

}  // namespace sotto::server
