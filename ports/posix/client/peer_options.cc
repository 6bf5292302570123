#include "peer_options.h"

#include <fmt/format.h>
#include <stdexcept>

#include "options.h"
#include "sotto/peer_messages.h"
#include "sotto/policy/policies.h"

namespace sotto::posix {
namespace {

constexpr char kGroup[] = "Without a server";
constexpr double kUnit = 1099511627776.0;  // 2^40
constexpr double kMostRho = 16777216.0;    // in units of 2^-40 it fits

void RequireAddress(const char* option, const std::string& text, bool may_be_any_port) {
  if (text.empty()) return;
  const std::optional<HostPort> address = ParseHostPort(text);
  const bool fits = text.size() <= kMaxPeerAddressSize;
  if (address && fits && (address->port != 0 || may_be_any_port)) return;
  throw std::invalid_argument(
      fmt::format("{} {}: expected HOST:PORT or [ADDRESS]:PORT, {} characters at most", option,
                  text, kMaxPeerAddressSize));
}

bool HasAnyPort(const std::string& listen) {
  const std::optional<HostPort> address = ParseHostPort(listen);
  return address && address->port == 0;
}

}  // namespace

std::vector<Field<ClientOptions>> PeerRows() {
  const auto row = [](const char* name, const std::string& help) {
    return RowOf<ClientOptions>(name, help).In(kGroup).Needs("peer");
  };
  return {
      RowOf<ClientOptions>(
          "peer",
          "be a node without a server: train with neighbours; --server is then the directory")
          .In(kGroup)
          .Asked([](auto& o) -> auto& { return o.peer.is_on; }),
      row("share", "when the node publishes: " + SharePolicyNames()).Asked([](auto& o) -> auto& {
        return o.peer.share;
      }),
      row("listen", "HOST:PORT where neighbours get this node's last publication").Asked([
      ](auto& o) -> auto& { return o.peer.listen; }),
      row("address", "HOST:PORT that neighbours are told").ByDefault("that of --listen").Asked([
      ](auto& o) -> auto& { return o.peer.address; }),
      row("public-data", "samples that everybody may know, for deep-q-public; as --data").Asked([
      ](auto& o) -> auto& { return o.peer.public_data; }),
      row("most-rho",
          "the most that publications on this ledger may cost in all jobs together, zCDP; 0: the "
          "job's own limits")
          .Within({0, kMostRho})
          .Asked([](auto& o) -> auto& { return o.peer.most_rho; }),
      row("serve-after",
          "seconds for which a node that listens serves its last publication after its last step, "
          "if there is no relay")
          .Within({0, 1e6})
          .Asked([](auto& o) -> auto& { return o.peer.serve_s; }),
      row("head-out",
          "write the newest published model that the node has to this file at the end, float32 LE")
          .Asked([](auto& o) -> auto& { return o.peer.head_out; }),
  };
}

void CheckPeerOptions(const ClientOptions& options) {
  const PeerClientOptions& o = options.peer;
  if (!o.is_on) return;
  RequireAddress("--listen", o.listen, true);
  RequireAddress("--address", o.address, false);
  if (!o.address.empty() && o.listen.empty()) {
    throw std::invalid_argument("--address needs --listen: neighbours would find nobody there");
  }
  if (o.address.empty() && HasAnyPort(o.listen)) {
    throw std::invalid_argument(
        fmt::format("--listen {}: any port needs --address, which neighbours are told", o.listen));
  }
  const SharePolicyInfo& policy = FindSharePolicy(o.share);
  if (policy.needs_public_loss && o.public_data.empty()) {
    throw std::invalid_argument(
        fmt::format("--share {}: it needs --public-data, which everybody may know", o.share));
  }
  if (o.most_rho > 0 && MostRhoQ40(o) == 0) {
    throw std::invalid_argument("--most-rho is too small: expected 2^-40 at least, or 0 for none");
  }
}

uint64_t MostRhoQ40(const PeerClientOptions& options) {
  return static_cast<uint64_t>(options.most_rho * kUnit);
}

}  // namespace sotto::posix
