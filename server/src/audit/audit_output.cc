#include "audit/audit_output.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "audit/audit_request.h"
#include "audit/hostile_training.h"
#include "base/counted.h"
#include "round/job_config.h"
#include "views/claims_output.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExact = 6;  // of an epsilon in a line for each round

constexpr char kEpsilonLimits[] =
    "What this does not show: that the claims hold. Other data, models or attacks may tell more "
    "than\n"
    "this canary does, and a claim that no measurement contradicts is not proved by it.\n";

constexpr char kMembershipLimits[] =
    "What this does not show: privacy. It is one attack, by a threshold on the loss, on the "
    "average\n"
    "sample of one training; others tell more, and one sample may leak while the average does "
    "not.\n";

constexpr char kTwinLimits[] =
    "What this does not show: the sensitivity. It is the largest distance over all neighbours, "
    "and\n"
    "these are some of them: each figure is a lower bound on it.\n";

std::string VerdictText(const std::vector<std::string>& violations) {
  if (violations.empty()) return "verdict: consistent\n";
  std::string text;
  for (const std::string& violation : violations) {
    text += fmt::format("verdict: VIOLATED: {}\n", violation);
  }
  return text;
}

bool IsOneUpdate(const EpsilonAudit& audit) {
  return audit.claim.view == privacy::View::kOneUpdate;
}

// "uniform sampling"
std::string NameOf(const EpsilonAudit& audit) {
  return IsOneUpdate(audit) ? "one update, as the server sees it"
                            : fmt::format("{} sampling", AuditedName(audit.plan.sampling));
}

double ClaimedNoise(const EpsilonAudit& audit) {
  return IsOneUpdate(audit) ? audit.plan.private_noise_multiplier : audit.plan.NoiseMultiplier();
}

std::string DescribeAudit(const EpsilonAudit& audit) {
  const privacy::Plan& plan = audit.plan;
  const std::string scope = IsOneUpdate(audit)
                                ? ""
                                : fmt::format(", {} of {} devices in each of {}", plan.cohort,
                                              plan.devices, Counted(plan.rounds, "round"));
  const bool is_passes = !IsOneUpdate(audit) && plan.sampling == privacy::Sampling::kPasses;
  const std::string turns =
      is_passes ? fmt::format(", the canary in {} of them", plan.ChargedRounds(plan.rounds)) : "";
  std::string text = fmt::format(
      "{}{}{}, {} adjacency, {}\n"
      "  noise multiplier {:.4g}, measured {:.4g}{}; the canary moves the sum by {:.4g} of the "
      "sensitivity\n"
      "  {:>8}  {:>15}  {:>17}  {:>17}\n",
      NameOf(audit), scope, turns, privacy::Name(audit.claim.adjacency),
      Counted(plan.colluders, "colluder"), ClaimedNoise(audit), audit.noise_multiplier,
      IsOneUpdate(audit) ? " with the quantizer's" : "", audit.shift, "delta", "claimed at most",
      "reachable at most", "measured at least");
  for (const EpsilonTest& test : audit.tests) {
    text +=
        fmt::format("  {:>8}  {:>15}  {:>17}  {:>17}{}\n", privacy::DeltaText(test.measured.delta),
                    privacy::EpsilonText(test.claimed), privacy::EpsilonText(test.reachable),
                    privacy::LowerBoundText(test.measured.epsilon_lower),
                    test.is_violated() ? "  VIOLATED" : "");
  }
  return text;
}

std::string DescribeServer(const ServerGuard& guard) {
  if (guard.sent == 0)
    return "  server    not tested: this codec refuses no update for its norm, or none longer was "
           "made\n";
  return fmt::format("  server    took {} of {} forged updates of {:.3g} times the bound\n",
                     guard.taken, guard.sent, guard.length);
}

std::string DescribeEncoders(const std::vector<EpsilonAudit>& audits) {
  uint64_t drawn = 0;
  uint64_t refused = 0;
  for (const EpsilonAudit& audit : audits) {
    drawn += audit.drawn;
    refused += audit.refused;
  }
  return fmt::format(
      "  encoder   {} of {} updates of {:g} times the bound came out beyond it, by the server's "
      "check\n",
      refused, drawn, static_cast<double>(kCanaryLength));
}

std::string DescribeTrainers(const std::vector<TrainerGuard>& guards) {
  double longest = 0;
  size_t tested = 0;
  std::string untested;
  for (const TrainerGuard& guard : guards) {
    longest = std::max(longest, guard.length.value_or(0));
    tested += guard.length ? 1 : 0;
    if (!guard.length)
      untested += fmt::format(", not tested: {} {}", guard.model, Name(guard.clipping));
  }
  return fmt::format(
      "  trainer   left updates of at most {:.6f} times the bound, in {} trainings on extreme "
      "samples{}\n",
      longest, tested, untested);
}

Json TestToJson(const EpsilonTest& test) {
  const TellingEvent& event = test.measured.event;
  return {{"delta", test.measured.delta},
          {"claimed_epsilon", FigureToJson(test.claimed)},
          {"reachable_epsilon", FigureToJson(test.reachable)},
          {"epsilon_lower", test.measured.epsilon_lower},
          {"violated", test.is_violated()},
          {"threshold", event.threshold},
          {"above", event.is_above},
          {"trials", event.trials},
          {"likely_hits", event.likely_hits},
          {"unlikely_hits", event.unlikely_hits}};
}

Json AuditToJson(const EpsilonAudit& audit) {
  Json json = {{"sampling", AuditedName(audit.plan.sampling)},
               {"devices", audit.plan.devices},
               {"cohort", audit.plan.cohort},
               {"rounds", audit.plan.rounds},
               {"dimension", audit.plan.dimension},
               {"clip_l2", audit.plan.clip_l2},
               {"noise_multiplier", ClaimedNoise(audit)},
               {"measured_noise_multiplier", audit.noise_multiplier},
               {"measured_shift", audit.shift},
               {"claims", ClaimsToJson({audit.claim})},
               {"tests", Json::array()},
               {"canary_updates", audit.drawn},
               {"canary_refused", audit.refused},
               {"violations", audit.violations}};
  for (const EpsilonTest& test : audit.tests) json["tests"].push_back(TestToJson(test));
  return json;
}

// Empty: none.
std::string TrainersAtFault(const std::vector<TrainerGuard>& guards) {
  const TrainerGuard* worst = nullptr;
  size_t at_fault = 0;
  for (const TrainerGuard& guard : guards) {
    if (guard.holds()) continue;
    ++at_fault;
    if (worst == nullptr || *guard.length > *worst->length) worst = &guard;
  }
  if (worst == nullptr) return "";
  return fmt::format(
      "{} of {} trainings left the update too long: the update of {} with --clipping {} is {:.4g} "
      "times the bound, so the trainer does not enforce it",
      at_fault, guards.size(), worst->model, Name(worst->clipping), *worst->length);
}

const char* VerdictName(const std::vector<std::string>& violations) {
  return violations.empty() ? "consistent" : "VIOLATED";
}

}  // namespace

std::vector<std::string> EpsilonReport::Violations() const {
  std::vector<std::string> all;
  for (const EpsilonAudit& audit : audits) {
    for (const std::string& violation : audit.violations) {
      all.push_back(fmt::format("{}: {}", NameOf(audit), violation));
    }
  }
  if (!tasks.holds()) all.push_back(tasks.difference);
  if (!server.holds()) {
    all.push_back(fmt::format(
        "the server took {} of {} updates of {:.3g} times the bound: it does not enforce it",
        server.taken, server.sent, server.length));
  }
  if (const std::string found = TrainersAtFault(trainers); !found.empty()) all.push_back(found);
  return all;
}

std::string DescribeEpsilon(const EpsilonReport& report) {
  std::string text = fmt::format(
      "epsilon, measured: {} releases with a canary and as many without. All figures of the last\n"
      "column hold together with probability {:g} (Clopper-Pearson, thresholds from one half of "
      "the\n"
      "releases, counts from the other)\n\n",
      report.repeats, 1 - report.error);
  for (const EpsilonAudit& audit : report.audits) text += DescribeAudit(audit);
  text += fmt::format("tasks that jobs handed out and that agree with the plan: {}\n",
                      report.tasks.holds() ? report.tasks.tasks : 0);
  text += "the bound on an update, by the part of the product that enforces it\n";
  text += DescribeTrainers(report.trainers) + DescribeEncoders(report.audits) +
          DescribeServer(report.server);
  return text + "\n" + VerdictText(report.Violations()) + kEpsilonLimits;
}

Json EpsilonToJson(const EpsilonReport& report) {
  Json json = {{"verdict", VerdictName(report.Violations())},
               {"violations", report.Violations()},
               {"repeats", report.repeats},
               {"error", report.error},
               {"audits", Json::array()},
               {"tasks", report.tasks.tasks},
               {"server",
                {{"sent", report.server.sent},
                 {"taken", report.server.taken},
                 {"length", report.server.length}}},
               {"trainers", Json::array()}};
  for (const EpsilonAudit& audit : report.audits) json["audits"].push_back(AuditToJson(audit));
  for (const TrainerGuard& guard : report.trainers) {
    json["trainers"].push_back({{"model", guard.model},
                                {"clipping", Name(guard.clipping)},
                                {"length", guard.length ? Json(*guard.length) : Json(nullptr)}});
  }
  return json;
}

std::string DescribeRound(const MembershipRound& round) {
  std::string text =
      fmt::format("after round {}: AUC {:.4f} [{:.4f}, {:.4f}], advantage {:.4f}", round.rounds,
                  round.auc.area, round.auc.lower, round.auc.upper, round.auc.advantage);
  if (round.claim) {
    text += fmt::format(", epsilon {}", privacy::EpsilonText(round.claim->epsilon));
  }
  return text;
}

std::string DescribeMembership(const MembershipAudit& audit) {
  const MembershipRound& last = audit.rounds.back();
  std::string text = fmt::format(
      "membership inference by a threshold on the loss: {} of the {} samples that devices train "
      "on,\n"
      "and {} of the {} samples of the test set\n"
      "  AUC         {:.4f} after round {}, 95 % confidence [{:.4f}, {:.4f}] (DeLong); 0.5 is a "
      "guess\n"
      "  advantage   {:.4f}: the most by which the attack calls members members more often than "
      "others\n"
      "  mean loss   {:.4f} of members, {:.4f} of others\n",
      audit.samples, audit.members_there, audit.samples, audit.others_there, last.auc.area,
      last.rounds, last.auc.lower, last.auc.upper, last.auc.advantage, last.loss_of_members,
      last.loss_of_others);
  if (last.claim) {
    text += fmt::format(
        "  epsilon     {} at delta {} is the claim, for a whole device under {} adjacency\n",
        privacy::EpsilonText(last.claim->epsilon), privacy::DeltaText(last.claim->delta),
        privacy::Name(last.claim->adjacency));
  }
  return text + kMembershipLimits;
}

Json MembershipToJson(const MembershipAudit& audit) {
  Json json = {{"samples", audit.samples},
               {"members_there", audit.members_there},
               {"others_there", audit.others_there},
               {"confidence", 0.95},
               {"interval", "DeLong"},
               {"finish_reason", audit.finish_reason},
               {"rounds", Json::array()}};
  for (const MembershipRound& round : audit.rounds) {
    json["rounds"].push_back(
        {{"round", round.rounds},
         {"auc", round.auc.area},
         {"auc_lower", round.auc.lower},
         {"auc_upper", round.auc.upper},
         {"advantage", round.auc.advantage},
         {"loss_of_members", FigureToJson(round.loss_of_members)},
         {"loss_of_others", FigureToJson(round.loss_of_others)},
         {"claims", round.claim ? ClaimsToJson({*round.claim}) : Json::array()}});
  }
  return json;
}

std::string MembershipCsv(const MembershipAudit& audit) {
  std::string csv =
      "round,auc,auc_lower,auc_upper,advantage,loss_of_members,loss_of_others,epsilon\n";
  for (const MembershipRound& r : audit.rounds) {
    const bool has_epsilon = r.claim && std::isfinite(r.claim->epsilon);
    csv += fmt::format("{},{},{},{},{},{},{},{}\n", r.rounds, r.auc.area, r.auc.lower, r.auc.upper,
                       r.auc.advantage, r.loss_of_members, r.loss_of_others,
                       has_epsilon ? fmt::format("{}", r.claim->epsilon) : "");
  }
  return csv;
}

std::string DescribeRound(const TwinRound& round) {
  return fmt::format("after round {}: distance {:.{}g}, this round {:.{}g}, bound {:.{}g}",
                     round.rounds, round.distance, kExact, round.one_round, kExact, round.bound,
                     kExact);
}

std::string DescribeTwins(const TwinAudit& audit, TwinUnit unit) {
  double most = 0;
  double share = 0;
  for (const TwinRound& round : audit.rounds) {
    most = std::max(most, round.one_round);
    if (round.bound > 0) share = std::max(share, round.one_round / round.bound);
  }
  std::string text = fmt::format(
      "twin trainings, {} of one device replaced, {} pairs, same keys and noise; L2, model units\n",
      unit == TwinUnit::kSample ? "one sample" : "all samples", audit.pairs);
  if (!audit.rounds.empty()) {
    const TwinRound& last = audit.rounds.back();
    text += fmt::format(
        "  distance    {:.6g} after round {}: of the two trainings' models\n"
        "  one round   {:.6g} at most: of a release after the same releases before it\n"
        "  bound       {:.6g} in the last round: of the plan, 2 C eta_g / B; one round came to "
        "{:.1f} % of its bound\n",
        last.distance, last.rounds, most, last.bound, 100 * share);
  }
  if (!audit.HasMeasured()) {
    return text + fmt::format(
                      "verdict: nothing measured: none of the {} devices with replaced data "
                      "was drawn; take more rounds, more --pairs, or a larger cohort\n",
                      audit.pairs);
  }
  return text + VerdictText(audit.violations) + kTwinLimits;
}

Json TwinsToJson(const TwinAudit& audit, TwinUnit unit) {
  Json json = {
      {"verdict", audit.HasMeasured() ? VerdictName(audit.violations) : "nothing measured"},
      {"violations", audit.violations},
      {"unit", Name(unit)},
      {"pairs", audit.pairs},
      {"finish_reason", audit.finish_reason},
      {"rounds", Json::array()}};
  for (const TwinRound& round : audit.rounds) {
    json["rounds"].push_back({{"round", round.rounds},
                              {"distance", round.distance},
                              {"one_round", round.one_round},
                              {"bound", round.bound},
                              {"replaced_devices", round.devices}});
  }
  return json;
}

std::string TwinsCsv(const TwinAudit& audit) {
  std::string csv = "round,distance,one_round,bound,replaced_devices\n";
  for (const TwinRound& r : audit.rounds) {
    csv += fmt::format("{},{},{},{},{}\n", r.rounds, r.distance, r.one_round, r.bound, r.devices);
  }
  return csv;
}

void RequireSound(const std::vector<std::string>& violations) {
  if (violations.empty()) return;
  throw std::runtime_error(
      fmt::format("the audit found {}, see above: this build does not keep its claims",
                  Counted(violations.size(), "violation")));
}

}  // namespace sotto::server
