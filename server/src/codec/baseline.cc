#include "codec/baseline.h"

#include <cmath>
#include <stdexcept>

#include "codec/secret_values.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"

namespace sotto::server::baseline {

double Baseline::SumUnit() const { return std::ldexp(noise_sigma(), -20); }

Verdict Baseline::Add(const UpdateOrigin&, ByteSpan encoded, Accumulator& sum) const {
  SecretValues noisy(sum.size());
  if (!Decode(encoded, noisy.view())) return Verdict::kMalformed;
  sum.Add(Span<const int32_t>(noisy.view()));
  return Verdict::kAdded;
}

void Baseline::AddZeroUpdate(const Key& server_key, uint32_t number, Accumulator& sum) const {
  const std::vector<int32_t> zeros(sum.size());
  const std::vector<uint8_t> encoded =
      Encode(posix::DeriveKey(server_key, key_label::kZero, task_.round, task_.attempt, number),
             {zeros.data(), zeros.size()});
  SecretValues noise(sum.size());
  if (!Decode({encoded.data(), encoded.size()}, noise.view())) {
    throw std::logic_error("a codec does not decode what it encoded");
  }
  sum.Add(Span<const int32_t>(noise.view()));
}

}  // namespace sotto::server::baseline
