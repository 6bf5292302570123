#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "audit/audit_output.h"
#include "audit/peer_audit.h"
#include "base/counted.h"
#include "cli/rows.h"
#include "lab/commands.h"
#include "sotto/peer/peer_options.h"
#include "sotto/policy/policies.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/terminal.h"
#include "views/output_file.h"
#include "views/peers_report.h"
#include "views/progress.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFooter[] =
    R"(Runs a node of eight steps with a hostile sample in it, and again with that sample replaced: how
well its first publication tells the two apart, beside what is claimed, and whether the node's
decisions tell. Exit status: 0 consistent, 1 violated, 2 bad usage. See server/AUDIT.md.
Example: sotto-lab audit peers --share coin:0.5 --seed 1)";

struct Request {
  Request() {
    options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }

  PeerAuditOptions options;
  std::optional<uint64_t> seed;
  std::string json;
};

std::string DescribePublications(const PeerAudit& audit) {
  std::string text = fmt::format(
      "publications: the canary moves one by {:.3g} of the sensitivity; noise {:.4g} of it\n"
      "  {:>8}  {:>15}  {:>17}\n",
      audit.shift, audit.noise_q20 / audit.statement.sensitivity_q20, "delta", "claimed at most",
      "measured at least");
  for (const EpsilonTest& test : audit.tests) {
    text += fmt::format("  {:>8}  {:>15}  {:>17}{}\n", privacy::DeltaText(test.measured.delta),
                        privacy::EpsilonText(test.claimed),
                        privacy::LowerBoundText(test.measured.epsilon_lower),
                        test.is_violated() ? "  VIOLATED" : "");
  }
  return text;
}

std::string DescribeDecisions(const PeerAudit& audit) {
  std::string text =
      fmt::format("decisions: one sample changes those up to the first publication of {} of {}\n",
                  audit.keys_apart, Counted(audit.keys, "node"));
  if (audit.tests.empty()) {
    text += fmt::format("  under the same noise it changes decisions of {} of them\n",
                        audit.keys_apart_in_all);
  }
  for (const MeasuredEpsilon& measured : audit.decisions) {
    text += fmt::format("  at delta {} they alone cost one of these nodes epsilon at least {}\n",
                        privacy::DeltaText(measured.delta),
                        privacy::LowerBoundText(measured.epsilon_lower));
  }
  return text;
}

std::string Describe(const PeerAuditOptions& options, const PeerAudit& audit) {
  std::string text = fmt::format("{}, rule {}\n", options.share, Name(options.rule));
  text += audit.tests.empty()
              ? fmt::format("publications: no claim to audit. {}\n", audit.statement.refusal)
              : DescribePublications(audit);
  text += DescribeDecisions(audit);
  for (const std::string& violation : audit.violations) {
    text += fmt::format("verdict: VIOLATED: {}\n", violation);
  }
  if (!audit.violations.empty()) return text;
  return text + (audit.tests.empty() ? "verdict: nothing is claimed\n" : "verdict: consistent\n");
}

Json ToJson(const MeasuredEpsilon& measured) {
  return {{"delta", measured.delta}, {"epsilon_lower", measured.epsilon_lower}};
}

Json ToJson(const PeerAuditOptions& options, const PeerAudit& audit) {
  Json json = {{"share", options.share},
               {"rule", Name(options.rule)},
               {"publication_steps", options.publication_steps},
               {"repeats", options.repeats},
               {"error", options.error},
               {"verdict", audit.violations.empty() ? "consistent" : "VIOLATED"},
               {"violations", audit.violations},
               {"shift", audit.shift},
               {"publications", Json::array()},
               {"nodes", audit.keys},
               {"nodes_told_apart", audit.keys_apart},
               {"nodes_told_apart_under_same_noise", audit.keys_apart_in_all},
               {"nodes_told_apart_in_all_steps", audit.keys_apart_in_all},
               {"decisions", Json::array()},
               {"privacy", PeerPrivacyToJson(audit.statement, false)}};
  for (const EpsilonTest& test : audit.tests) {
    Json row = ToJson(test.measured);
    row["claimed"] = test.claimed;
    row["violated"] = test.is_violated();
    json["publications"].push_back(row);
  }
  for (const MeasuredEpsilon& measured : audit.decisions) {
    json["decisions"].push_back(ToJson(measured));
  }
  return json;
}

void Run(const Request& request) {
  RequireOutputs({JsonOutput(request.json)}, "");
  const PeerAuditOptions& options = request.options;
  const Progress progress(100, posix::StandardErrorIsTerminal());
  const PeerAudit audit = AuditPeers(options, posix::RunKey(request.seed), [&](double done) {
    const auto percent = static_cast<size_t>(done * 100);
    if (posix::StandardErrorIsTerminal()) progress.Show(percent, fmt::format("{} %", percent));
  });
  PrintResults(request.json, Describe(options, audit), ToJson(options, audit));
  RequireSound(audit.violations);
}

std::vector<posix::Field<PeerAuditOptions>> AuditFields() {
  using Row = posix::Field<PeerAuditOptions>;
  return {
      Row("share", &PeerAuditOptions::share, "when a node publishes: " + SharePolicyNames()),
      Row("rule", &PeerAuditOptions::rule, "how a node combines its model with the newest one")
          .OneOf(PeerRule::kAverage, PeerRule::kShared, PeerRule::kAccumulate),
      Row("publication-steps", &PeerAuditOptions::publication_steps,
          "steps of a publication; above 1 for rule shared or accumulate")
          .Within({1, 8}),
      Row("epsilon", &PeerAuditOptions::epsilon, "epsilon for which the noise is calibrated")
          .Within({1e-3, 1e3}),
      Row("delta", &PeerAuditOptions::delta, "delta of that epsilon").Within({1e-12, 0.5}),
      Row("repeats", &PeerAuditOptions::repeats, "publications with each of the two samples")
          .Within({1000, 1e9}),
      Row("nodes", &PeerAuditOptions::keys, "nodes whose decisions are compared").Within({1, 1e6}),
      Row("error", &PeerAuditOptions::error,
          "probability that the audit calls a sound build unsound")
          .Within({1e-9, 0.1}),
      Row("threads", &PeerAuditOptions::threads,
          "threads of this process; the results do not depend on them")
          .Within({1, 1024}),
  };
}

}  // namespace

posix::Command PeersAuditCommand() {
  using Row = posix::Field<Request>;
  return posix::CommandFor<Request>(
             "peers", "nodes without a server: what publications and decisions tell of one sample")
      .TakesFor(&Request::options, AuditFields())
      .Takes({
          Row("seed", &Request::seed, "repeat the audit bit for bit").ByDefault("random"),
          JsonRow<Request>("the results"),
      })
      .Footer(kFooter)
      .Runs(Run);
}

}  // namespace sotto::server
