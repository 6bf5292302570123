#include "codec/baseline.h"

#include <cmath>
#include <stdexcept>

#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/update_codec.h"

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

int BitsFor(uint32_t largest) {
  int bits = 1;
  while (largest >> bits != 0) ++bits;
  return bits;
}

void AppendCodes(Span<const uint32_t> codes, int bits, std::vector<uint8_t>* out) {
  BitPacker packer;
  for (const uint32_t code : codes) {
    packer.Append(code, bits);
    while (packer.has_byte()) out->push_back(packer.TakeByte());
  }
  packer.FillLastByte();
  while (packer.has_byte()) out->push_back(packer.TakeByte());
}

bool ReadCodes(ByteSpan bytes, int bits, Span<uint32_t> codes) {
  if (bytes.size() != CodesSize(codes.size(), bits)) return false;
  const uint32_t mask = (uint32_t{1} << bits) - 1;
  uint32_t pending = 0;
  int pending_bits = 0;
  size_t next = 0;
  for (uint32_t& code : codes) {
    for (; pending_bits < bits; pending_bits += 8) {
      pending |= uint32_t{bytes[next++]} << pending_bits;
    }
    code = pending & mask;
    pending >>= bits;
    pending_bits -= bits;
  }
  return pending == 0;
}

}  // namespace sotto::server::baseline
