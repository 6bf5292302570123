#include "codec/codes.h"

#include "sotto/update_codec.h"

namespace sotto::server::baseline {

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
