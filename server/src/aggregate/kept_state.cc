#include "aggregate/kept_state.h"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace sotto::server {
namespace {

constexpr size_t kHeaderSize = 20;

// The bits of a number as an integer of its size.
template <class Number>
auto BitsOf(Number value) {
  std::conditional_t<sizeof(Number) == 8, uint64_t, uint32_t> bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class Number>
void Append(Number value, std::vector<uint8_t>* out) {
  const uint64_t bits = BitsOf(value);
  for (size_t i = 0; i < sizeof value; ++i) out->push_back(static_cast<uint8_t>(bits >> (8 * i)));
}

template <class Number>
Number Read(const uint8_t* bytes) {
  decltype(BitsOf(Number())) bits = 0;
  for (size_t i = sizeof(Number); i > 0; --i) {
    bits = static_cast<decltype(bits)>(bits << 8 | bytes[i - 1]);
  }
  Number value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

template <class Real>
std::vector<uint8_t> KeptState<Real>::ToBytes(StateOwner owner) const {
  if (empty()) return {};
  std::vector<uint8_t> bytes;
  for (const size_t number : {size_t{kKeptStateVersion}, static_cast<size_t>(owner), scalars.size(),
                              vectors.size(), vectors[0].size()}) {
    Append(static_cast<uint32_t>(number), &bytes);
  }
  for (const double scalar : scalars) Append(scalar, &bytes);
  for (const std::vector<Real>& each : vectors) {
    for (const Real value : each) Append(value, &bytes);
  }
  return bytes;
}

template <class Real>
ByteSpan KeptState<Real>::Restore(StateOwner owner, ByteSpan bytes) {
  if (bytes.empty()) return bytes;
  uint32_t header[5] = {};
  if (bytes.size() >= kHeaderSize) {
    for (size_t i = 0; i < 5; ++i) header[i] = Read<uint32_t>(bytes.data() + 4 * i);
  }
  const uint64_t n = header[4];
  const uint64_t size = kHeaderSize + 8 * scalars.size() + sizeof(Real) * n * vectors.size();
  if (header[0] != kKeptStateVersion || header[1] != static_cast<uint32_t>(owner) ||
      header[2] != scalars.size() || header[3] != vectors.size() || bytes.size() < size) {
    throw std::runtime_error(
        "the state in the store does not belong to the job's server optimiser: the store is "
        "damaged, or a newer program wrote it");
  }
  const uint8_t* at = bytes.data() + kHeaderSize;
  for (double& scalar : scalars) {
    scalar = Read<double>(at);
    at += sizeof scalar;
  }
  for (std::vector<Real>& each : vectors) {
    each.resize(n);
    for (Real& value : each) {
      value = Read<Real>(at);
      at += sizeof value;
    }
  }
  return bytes.subspan(size);
}

template struct KeptState<float>;
template struct KeptState<double>;

}  // namespace sotto::server
