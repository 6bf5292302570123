#include "swarm/faults.h"

#include <algorithm>
#include <cmath>

#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::server {
namespace {

bool Happens(double chance, RandomStream& random) { return random.NextU32() < chance * 0x1p32; }

}  // namespace

Fate FateOf(const FaultOptions& options, const Key& seed, uint32_t device, uint32_t round,
            uint32_t attempt) {
  Fate fate;
  if (options.drop_out <= 0 && options.corrupt <= 0) return fate;
  RandomStream random(posix::DeriveKey(seed, key_label::kDropout, device, round, attempt), 0);
  fate.drops_out = Happens(options.drop_out, random);
  fate.is_corrupt = Happens(options.corrupt, random);
  fate.at = random.NextU32();
  return fate;
}

uint64_t Jittered(double ms, uint32_t random) {
  return static_cast<uint64_t>(std::lround(ms * (0.5 + random * 0x1p-32)));
}

size_t ByteRate::Allowed(size_t wanted, uint64_t now_ms) {
  if (bytes_s_ == 0) return wanted;
  const double most = std::max(1.0, bytes_s_ / 10.0);
  allowance_ += bytes_s_ * 1e-3 * static_cast<double>(now_ms - since_ms_);
  allowance_ = std::min(allowance_, most);
  since_ms_ = now_ms;
  return allowance_ < 1 ? 0 : std::min(wanted, static_cast<size_t>(allowance_));
}

uint64_t ByteRate::PauseMs() const {
  if (bytes_s_ == 0 || allowance_ >= 1) return 0;
  return static_cast<uint64_t>(std::ceil((1 - allowance_) * 1e3 / bytes_s_));
}

}  // namespace sotto::server
