#include "audit/audit_request.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <stdexcept>

#include "plans/turns.h"
#include "sotto/nn.h"
#include "spec/make_job.h"

namespace sotto::server {
namespace {

constexpr uint32_t kCohort = 2;
constexpr double kEpsilon = 4;
constexpr uint32_t kTwinFleet = 20;  // of Figure 2
constexpr double kDelta = 1e-5;

// The smallest net worth a release: 16 parameters.
constexpr ModelInfo kSmallNet = MakeModelInfo<nn::Sequential<nn::Dense<7, 2>>>("dense-7-2");

constexpr AuditedSampling kSamplings[] = {
    {"uniform", privacy::Sampling::kUniform, false},
    {"poisson", privacy::Sampling::kPoisson, false},
    {"full", privacy::Sampling::kNone, true},
    {"passes", privacy::Sampling::kPasses, false},
};

constexpr char kAll[] = "all";

std::vector<std::string> SamplingNames() {
  std::vector<std::string> names = {kAll};
  for (const AuditedSampling& sampling : kSamplings) names.emplace_back(sampling.name);
  return names;
}

using EpsilonRow = Field<EpsilonAuditRequest>;

std::vector<EpsilonRow> CanariesAndFleet() {
  return {
      EpsilonRow("repeats", &EpsilonAuditRequest::repeats,
                 "jobs to run with the canary, and as many without; more jobs come closer to the "
                 "true epsilon")
          .Within({1000, 1e9}),
      EpsilonRow("error", &EpsilonAuditRequest::error,
                 "probability that the whole audit calls a sound build unsound")
          .Within({1e-9, 0.1}),
      EpsilonRow(
          "sampling", &EpsilonAuditRequest::samplings,
          "the sampling to audit; uniform: B of N devices, replace-one adjacency; poisson: each "
          "device with chance B/N, add/remove adjacency; full: all N in every round, replace-one; "
          "passes: each in at most --participations rounds, which are known, replace-one; all: one "
          "after the other")
          .OneOfNames(SamplingNames()),
      EpsilonRow("devices", &EpsilonAuditRequest::devices,
                 "devices in the fleet, N: the canary, and devices that never report")
          .Within({1, 10000}),
  };
}

std::vector<EpsilonRow> SeedAndResults() {
  return {
      EpsilonRow("seed", &EpsilonAuditRequest::seed, "repeat the audit bit for bit")
          .ByDefault("random"),
      EpsilonRow("json", &EpsilonAuditRequest::json,
                 "write the results to this file; - is standard output"),
  };
}

// A job of passes would end before its last round; an audit runs all of them.
void RequireTurns(const privacy::Plan& plan) {
  if (plan.sampling != privacy::Sampling::kPasses) return;
  const int64_t most = privacy::RoundsFor(plan.participations, plan.cohort, plan.devices);
  if (plan.rounds <= most) return;
  throw std::invalid_argument(fmt::format(
      "--rounds {} with --participations {}: {} devices have turns for {} rounds of {}; leave one "
      "of the two out",
      plan.rounds, plan.participations, plan.devices, most, plan.cohort));
}

}  // namespace

const char* Name(TwinUnit unit) {
  switch (unit) {
    case TwinUnit::kSample:
      return "sample";
    case TwinUnit::kDevice:
      return "device";
  }
  return "unknown";
}

EpsilonAuditRequest::EpsilonAuditRequest() {
  job.model = &kSmallNet;
  job.plan.cohort = kCohort;
  job.plan.rounds = 1;
  job.plan.colluders = 0;
  epsilon = kEpsilon;
  delta = kDelta;
}

const std::vector<Field<EpsilonAuditRequest>>& EpsilonAuditFields() {
  static const std::vector<EpsilonRow> kFields =
      Joined({Under(Group::kAudit, CanariesAndFleet()), Under(Group::kRun, SeedAndResults())});
  return kFields;
}

const std::vector<std::string>& WithoutForEpsilon() {
  static const std::vector<std::string> kNames = {"sampling", "min-devices", "epsilon-budget",
                                                  "threshold-bins", "threshold-quantile"};
  return kNames;
}

const char* AuditedName(privacy::Sampling sampling) {
  const auto* found =
      std::find_if(std::begin(kSamplings), std::end(kSamplings),
                   [&](const AuditedSampling& s) { return s.sampling == sampling; });
  return found == std::end(kSamplings) ? privacy::Name(sampling) : found->name;
}

std::vector<AuditedSampling> SamplingsOf(const std::string& name) {
  std::vector<AuditedSampling> chosen;
  for (const AuditedSampling& sampling : kSamplings) {
    if (name == kAll || name == sampling.name) chosen.push_back(sampling);
  }
  if (chosen.empty()) {
    throw std::invalid_argument(
        fmt::format("--sampling {}: there is uniform, poisson, full, passes and all", name));
  }
  return chosen;
}

JobConfig MakeAuditedJob(const EpsilonAuditRequest& request, const AuditedSampling& sampling) {
  JobRequest job = request;
  job.job.plan.sampling = sampling.sampling;
  if (sampling.is_everybody) job.job.plan.cohort = request.devices;
  if (sampling.sampling == privacy::Sampling::kPasses) {
    job.given.insert("cohort");  // the audit's own, not what follows from the devices
    if (!request.participations) job.given.insert("rounds");
    job.quorum = request.quorum.value_or(0);  // the others never report
  } else {
    job.participations.reset();
  }
  if (!ResolveCodec(job).accounted) {
    throw std::invalid_argument(
        fmt::format("--mechanism {} states no epsilon, so there is nothing to audit; take gau-lrq "
                    "with a finite --epsilon, float32 or qg",
                    ResolveCodec(job).name));
  }
  JobConfig config = MakeJob(job, request.devices);
  RequireTurns(config.plan);
  config.process.hears_all = true;  // CheckTasks() runs the job's own choice
  return config;
}

JobConfig MakeUpdateJob(const EpsilonAuditRequest& request) {
  EpsilonAuditRequest quiet = request;
  // A sixteenth of the private noise, but the clipping bound is at most 128 of its deviations.
  const double of_one = std::max(*request.private_noise_multiplier / 16, 0.01);
  quiet.noise_multiplier = of_one * std::sqrt(static_cast<double>(request.job.plan.cohort));
  return MakeAuditedJob(quiet, kSamplings[0]);
}

const std::vector<Field<MembershipRequest>>& MembershipFields() {
  using Row = Field<MembershipRequest>;
  static const std::vector<Row> kFields = {
      Row("audit-samples", &MembershipRequest::samples,
          "samples of devices, and as many of the test set, that the attack must tell apart; fewer "
          "if the data have fewer")
          .In(Group::kAudit)
          .Within({2, 1e9}),
  };
  return kFields;
}

SensitivityRequest::SensitivityRequest() {
  job.codec = &RequireCodec("float32");
  fleet.devices = kTwinFleet;
  job.plan.cohort = kTwinFleet;
  given = {"cohort", "rounds"};  // with passes all devices in every round, too
}

const std::vector<Field<SensitivityRequest>>& SensitivityFields() {
  using Row = Field<SensitivityRequest>;
  static const std::vector<Row> kFields = {
      Row("unit", At(&SensitivityRequest::twins, &TwinOptions::unit),
          "what of a device is different in the twin: one of its training samples, or all")
          .In(Group::kAudit)
          .OneOf(TwinUnit::kSample, TwinUnit::kDevice),
      Row("pairs", At(&SensitivityRequest::twins, &TwinOptions::pairs),
          "number of twins, each with another device changed; the largest distance counts")
          .In(Group::kAudit)
          .Within({1, 10000}),
  };
  return kFields;
}

const std::vector<std::string>& WithoutForTraining() {
  static const std::vector<std::string> kNames = {"seeds",  "model-out",      "state-out",
                                                  "resume", "threshold-bins", "threshold-quantile"};
  return kNames;
}

}  // namespace sotto::server
