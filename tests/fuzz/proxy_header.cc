// Fuzzes the header that a proxy sends first. What is said of some bytes stays true when more
// come: whole stays whole, of the same size and address, and impossible stays impossible. A header
// within the limit is never partial.
//
// Input: the bytes of the connection.
#include "net/proxy_header.h"

#include <algorithm>

#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sotto::fuzz::Require;
  using sotto::server::kMaxProxyHeader;
  using sotto::server::ProxyHeader;
  using State = ProxyHeader::State;
  const sotto::ByteSpan bytes(data, size);
  const ProxyHeader all = sotto::server::ReadProxyHeader(bytes);
  Require(all.state != State::kPartial || size < kMaxProxyHeader, "a header has a limit");
  Require(all.state != State::kWhole || (all.size <= size && all.size <= kMaxProxyHeader),
          "a whole header is there");
  Require(!all.from || all.state == State::kWhole, "an address is of a whole header");
  State before = State::kPartial;
  for (size_t have = 0; have <= std::min(size, kMaxProxyHeader); ++have) {
    const ProxyHeader some = sotto::server::ReadProxyHeader(bytes.first(have));
    Require(before == State::kPartial || some.state == before, "what was said stays true");
    const bool is_same = some.size == all.size && some.from == all.from;
    Require(some.state != State::kWhole || (all.state == State::kWhole && is_same),
            "what follows does not matter");
    before = some.state;
  }
  return 0;
}
