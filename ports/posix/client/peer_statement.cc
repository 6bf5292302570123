#include "peer_statement.h"

#include <fmt/format.h>

#include "sotto/posix/check.h"

namespace sotto::posix {
namespace {

constexpr double kRhoUnit = 0x1p-40;

const char* WhoIs(PeerUnit unit) {
  return unit == PeerUnit::kDevice ? "all samples of this node together"
                                   : "each single sample of this node";
}

}  // namespace

std::optional<double> StatedRho(const PeerJob& job, const SharePolicyInfo& policy,
                                const PeerLedger& ledger) {
  if (job.unit == PeerUnit::kNone || !policy.has_public_inputs()) return std::nullopt;
  const uint64_t spent =
      job.unit == PeerUnit::kDevice ? ledger.device_rho_q40 : ledger.sample_rho_q40;
  return static_cast<double>(spent) * kRhoUnit;
}

std::string PeerStatement(const ModelInfo& model, const PeerJob& job,
                          const SharePolicyInfo& policy) {
  if (job.unit == PeerUnit::kNone) return "no privacy: publications have no noise";
  if (!policy.has_public_inputs()) return policy.why_no_epsilon;
  uint64_t rho_q40 = 0;
  Check(PeerReleaseRhoQ40(model, job, &rho_q40), "computing the cost of a publication");
  double sensitivity_q20 = 0;
  Check(PeerSensitivityQ20(model, job, job.most_local_steps, &sensitivity_q20),
        "computing a publication's sensitivity");
  return fmt::format(
      "{}: protected from everybody who sees publications, replace-one, by noise of {:.4g} times "
      "the sensitivity, drawn here; {} costs zCDP rho = {:.4g}{}",
      WhoIs(job.unit), job.noise_q20 / sensitivity_q20,
      job.unit == PeerUnit::kDevice ? "each publication" : "each pass with publications",
      static_cast<double>(rho_q40) * kRhoUnit,
      job.unit == PeerUnit::kSample ? ", to a sample that lies on no other node" : "");
}

}  // namespace sotto::posix
