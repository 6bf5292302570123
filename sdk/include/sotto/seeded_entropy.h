// A device's entropy in a seeded run. Part of sotto::server/round.
//
// In a seeded run the nonce of a training and the seed of its private noise must repeat whatever
// the device did before, in the simulator and in a process of its own. So they are a function of
// the device's secret, the round and the attempt at hand. Never for a device whose data matter:
// whoever knows the seed knows the noise.
#ifndef SOTTO_ROUND_SEEDED_ENTROPY_H_
#define SOTTO_ROUND_SEEDED_ENTROPY_H_

#include "sotto/client.h"

namespace sotto::server {

// The context of a port whose entropy is seeded. The client asks for entropy once a training.
class SeededEntropy {
 public:
  explicit SeededEntropy(const Key& secret) : secret_(secret) {}

  // The client whose task names the round; before its first Step().
  void Attach(const Client* client) { client_ = client; }

  // A sotto::Port's entropy callback; context is a SeededEntropy.
  static Status Fill(void* context, MutableByteSpan out);

 private:
  Key secret_;
  const Client* client_ = nullptr;
};

}  // namespace sotto::server

#endif  // SOTTO_ROUND_SEEDED_ENTROPY_H_
