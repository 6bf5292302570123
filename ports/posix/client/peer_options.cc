#include "peer_options.h"

#include <fmt/format.h>
#include <stdexcept>

#include "options.h"
#include "sotto/peer_messages.h"
#include "sotto/policy/policies.h"

namespace sotto::posix {
namespace {

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

std::vector<Field<PeerClientOptions>> PeerRows() {
  using Row = Field<PeerClientOptions>;
  const std::vector<Row> rows = {
      Row("peer", &PeerClientOptions::is_on,
          "be a node without a server: train with neighbours; --server is then the directory"),
      Row("share", &PeerClientOptions::share, "when the node publishes: " + SharePolicyNames())
          .Needs("peer"),
      Row("listen", &PeerClientOptions::listen,
          "HOST:PORT where neighbours get this node's last publication")
          .Needs("peer"),
      Row("address", &PeerClientOptions::address, "HOST:PORT that neighbours are told")
          .Needs("peer")
          .ByDefault("that of --listen"),
      Row("public-data", &PeerClientOptions::public_data,
          "samples that everybody may know, for deep-q-public; as --data")
          .Needs("peer"),
      Row("most-rho", &PeerClientOptions::most_rho,
          "the most that publications on this ledger may cost in all jobs together, zCDP; 0: the "
          "job's own limits")
          .Needs("peer")
          .Within({0, kMostRho}),
      Row("serve-after", &PeerClientOptions::serve_s,
          "seconds for which a node that listens serves its last publication after its last step, "
          "if there is no relay")
          .Needs("peer")
          .Within({0, 1e6}),
      Row("head-out", &PeerClientOptions::head_out,
          "write the newest published model that the node has to this file at the end, float32 LE")
          .Needs("peer"),
  };
  return Under("Without a server", rows);
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
