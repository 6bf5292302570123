#include "plans/peer_privacy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "accounting/arguments.h"
#include "accounting/conversion.h"
#include "accounting/gdp.h"
#include "accounting/guarantee.h"
#include "accounting/log_space.h"
#include "plans/calibration.h"
#include "sotto/private_noise.h"

namespace sotto::privacy {
namespace {

constexpr char kPrivatePolicy[] =
    "When a node publishes depends on its private data, and everybody sees when it publishes: no "
    "noise covers that, so no epsilon can be stated.";
constexpr char kNoNoise[] =
    "The job adds no noise (unit none): its publications tell what they tell.";

std::string RateRefusal(const PeerTraining& t, float most) {
  std::ostringstream text;
  text << "learning rate is " << t.job.learning_rate << "; with this model, rule and weight decay "
       << "it must be at most " << most << " for the unit sample";
  return text.str();
}

// Why the unit sample does not suit the model.
std::string Mismatch(const PeerTraining& t) {
  if (!IsConvexPeerModel(*t.model)) {
    return std::string("model ") + t.model->name +
           " is not convex; the unit sample needs a single dense layer, without frozen layers, in "
           "float32; the unit device takes any model";
  }
  const float most = LargestPeerRate(*t.model, t.job);
  if (most > 0) return RateRefusal(t, most);
  return t.job.error_clip > 0 ? "error clip: softmax with clipped errors is not the gradient of a "
                                "convex function; it must be 0"
                              : "error clip is 0; this loss needs one above 0 for the unit sample";
}

void RequireTraining(const PeerTraining& t, const std::vector<PeerNode>& nodes) {
  Require(t.model != nullptr, "model", "null", "given");
  Require(t.copies >= 1, "copies", t.copies, "at least 1");
  RequireDelta(t.delta);
  Require(!nodes.empty(), "nodes", nodes.size(), "at least 1");
  if (t.job.Validate() != Status::kOk) {
    throw std::invalid_argument("the job has a number outside its range (sotto/peer_job.h)");
  }
  for (const PeerNode& node : nodes) {
    Require(node.passes >= 0 && node.passes <= t.job.passes, "passes of a node", node.passes,
            "at least 0 and at most the job's");
    Require(node.releases >= node.passes, "publications of a node", node.releases,
            "at least one for each pass in which it published");
    Require(t.job.unit != PeerUnit::kDevice || node.releases <= t.job.most_releases,
            "publications of a node", node.releases, "at most the job's");
  }
}

// Sensitivity and rho of one publication.
void AddRelease(const PeerTraining& t, PeerStatement* s) {
  uint64_t rho_q40 = 0;
  Status status = PeerSensitivityQ20(*t.model, t.job, t.job.most_local_steps, &s->sensitivity_q20);
  if (status == Status::kOk) status = PeerReleaseRhoQ40(*t.model, t.job, &rho_q40);
  if (status == Status::kMismatch) throw std::invalid_argument(Mismatch(t));
  if (status != Status::kOk) throw std::invalid_argument("the job has no sensitivity");
  s->release_rho =
      rho_q40 == UINT64_MAX ? kInfinity : std::ldexp(static_cast<double>(rho_q40), -40);
}

// The publications that touch the worst unit: of the nodes that count the most, added up over as
// many nodes as the unit may lie on.
using CountOf = std::function<int64_t(const PeerNode&)>;

double WorstCount(const std::vector<PeerNode>& nodes, int64_t lies_on, const CountOf& count) {
  std::vector<double> counts;
  for (const PeerNode& node : nodes) counts.push_back(static_cast<double>(count(node)));
  std::sort(counts.begin(), counts.end(), std::greater<>());
  double sum = 0;
  for (size_t i = 0; i < counts.size() && static_cast<int64_t>(i) < lies_on; ++i) sum += counts[i];
  return sum;
}

int64_t OfSample(const PeerNode& node) { return node.passes; }
int64_t OfDevice(const PeerNode& node) { return node.releases; }

// The claim about a unit, and R.
struct ClaimAndRho {
  Claim claim;
  double rho = 0;
};

ClaimAndRho ClaimAbout(Unit unit, const PeerTraining& t, const std::vector<PeerNode>& nodes,
                       double release_rho) {
  const int64_t lies_on = unit == Unit::kSample ? t.copies : 1;
  const CountOf count = unit == Unit::kSample ? OfSample : OfDevice;
  const double releases = WorstCount(nodes, lies_on, count);
  const std::vector<PeerNode> planned(nodes.size(), PlannedPeer(t.job));
  ClaimAndRho accounted;
  accounted.rho = releases == 0 ? 0 : releases * release_rho;
  Claim& claim = accounted.claim;
  claim.adversary = Adversary::kPublic;
  claim.view = View::kPublications;
  claim.unit = unit;
  claim.adjacency = Adjacency::kReplaceOne;
  claim.sensitivity = SensitivityFactor(claim.adjacency);
  claim.colluders = std::max<int64_t>(0, static_cast<int64_t>(nodes.size()) - lies_on);
  claim.trust_mode = TrustMode::kPrivateNoise;
  claim.epsilon = ZcdpEpsilon(accounted.rho, t.delta);
  claim.delta = t.delta;
  claim.accountant = "rdp";
  claim.assumptions = PeerKind(unit).assumptions;
  if (releases < WorstCount(planned, lies_on, count)) {
    Assume(Assumption::kStopFixedBeforehand, &claim);
  }
  return accounted;
}

std::vector<Unit> UnitsOf(PeerUnit unit) {
  if (unit == PeerUnit::kDevice) return {Unit::kDevice, Unit::kSample};
  return {Unit::kSample};
}

void AddClaims(const PeerTraining& t, const std::vector<PeerNode>& nodes, PeerStatement* s) {
  for (const Unit unit : UnitsOf(t.job.unit)) {
    const ClaimAndRho accounted = ClaimAbout(unit, t, nodes, s->release_rho);
    if (s->claims.empty()) s->rho = accounted.rho;
    s->claims.push_back(accounted.claim);
    Claim& claim = s->claims.back();
    claim.attacker_right = AttackerRight(claim.epsilon, claim.delta);
  }
  s->continuous_epsilon =
      std::isinf(s->rho) ? kInfinity : GdpEpsilon(std::sqrt(2 * s->rho), t.delta);
}

}  // namespace

const std::vector<PeerClaimKind>& PeerClaimKinds() {
  using A = Assumption;
  static const std::vector<PeerClaimKind> kinds = {
      {Unit::kSample,
       "epsilon_sample",
       "one sample",
       {A::kTimesTellNothing, A::kPrivateNoiseIsSecret, A::kRandomBitsAreUniform,
        A::kPolicyInputsArePublic, A::kCopiesAsCounted, A::kStoreIsNewest}},
      {Unit::kDevice,
       "epsilon_device",
       "all samples of one node",
       {A::kTimesTellNothing, A::kPrivateNoiseIsSecret, A::kRandomBitsAreUniform,
        A::kPolicyInputsArePublic, A::kStoreIsNewest}},
  };
  return kinds;
}

const PeerClaimKind& PeerKind(Unit unit) {
  const std::vector<PeerClaimKind>& kinds = PeerClaimKinds();
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const PeerClaimKind& kind) { return kind.unit == unit; });
}

PeerNode PlannedPeer(const PeerJob& job) {
  const auto passes = static_cast<int64_t>(job.passes);
  if (job.unit != PeerUnit::kDevice) return {passes, passes};
  const auto releases = static_cast<int64_t>(job.most_releases);
  return {std::min(passes, releases), releases};
}

PeerStatement StatePeers(const PeerTraining& training, const std::vector<PeerNode>& nodes) {
  RequireTraining(training, nodes);
  PeerStatement statement;
  statement.nodes = static_cast<int64_t>(nodes.size());
  statement.copies = training.copies;
  statement.noise_q20 = training.job.noise_q20;
  for (const PeerNode& node : nodes) {
    statement.passes = std::max(statement.passes, node.passes);
    statement.releases = std::max(statement.releases, node.releases);
  }
  if (training.job.unit == PeerUnit::kNone) statement.refusal = kNoNoise;
  // A job without noise has no claim under any policy; the policy is the reason that more noise
  // does not mend.
  if (!training.policy_inputs_are_public) statement.refusal = kPrivatePolicy;
  if (!statement.refusal.empty()) return statement;
  AddRelease(training, &statement);
  AddClaims(training, nodes, &statement);
  return statement;
}

uint32_t CalibratePeerNoise(const PeerTraining& training, const std::vector<PeerNode>& nodes,
                            double target_epsilon) {
  Require(target_epsilon > 0 && target_epsilon <= 1e6, "target epsilon", target_epsilon,
          "in (0, 10^6]");
  PeerTraining trial = training;
  const auto epsilon = [&](uint32_t noise_q20) {
    trial.job.noise_q20 = trial.job.unit == PeerUnit::kNone ? 0 : noise_q20;
    const PeerStatement statement = StatePeers(trial, nodes);
    if (statement.claims.empty()) throw std::invalid_argument(statement.refusal);
    return statement.claims.front().epsilon;
  };
  constexpr auto kMost = static_cast<uint32_t>(kMaxPrivateNoiseQ20);
  const double smallest = epsilon(kMost);
  if (smallest > target_epsilon) throw UnattainableEpsilon(target_epsilon, smallest);
  uint32_t too_little = 0;
  uint32_t enough = kMost;
  while (enough - too_little > 1) {  // epsilon falls as the noise rises
    const uint32_t middle = too_little + (enough - too_little) / 2;
    (epsilon(middle) <= target_epsilon ? enough : too_little) = middle;
  }
  return enough;
}

double ZcdpEpsilon(double rho, double delta) {
  if (rho == 0 || std::isinf(rho)) return rho;
  const auto curve = [rho](double order) { return rho * order * (1 + kArithmeticMargin); };
  return EpsilonOfCurve(curve, delta).Guarantee();
}

}  // namespace sotto::privacy
