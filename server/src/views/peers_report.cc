#include "views/peers_report.h"

#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "sotto/peer/peer_options.h"
#include "sotto/version.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/training_warnings.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSeeded[] = "seeded: not private; no epsilon against a person who knows the seed";
constexpr char kHead[] = "  privacy        ";
constexpr char kIndent[] = "                 ";

std::string Line(const std::string& text) { return kIndent + text + "\n"; }

std::string DescribeEpsilon(const privacy::Claim& claim) {
  return fmt::format("epsilon {} at delta {}: what the publications tell about {}",
                     privacy::EpsilonText(claim.epsilon), privacy::DeltaText(claim.delta),
                     privacy::PeerKind(claim.unit).about);
}

std::string DescribeMeaning(const privacy::PeerStatement& s) {
  const privacy::Claim& claim = s.claims.front();
  return fmt::format("{} adjacency; passes: {}; nodes that hold the same sample: at most {}; by {}",
                     privacy::Name(claim.adjacency), s.passes, s.copies, claim.accountant);
}

std::string DescribeNoise(const privacy::PeerStatement& s) {
  return fmt::format("noise {:.4g} in each parameter, sensitivity {:.4g} of one publication",
                     s.noise_q20 * 0x1p-20, s.sensitivity_q20 * 0x1p-20);
}

std::string DescribeAssumptions(const std::vector<privacy::Claim>& claims) {
  privacy::Claim all;
  for (const privacy::Claim& claim : claims) {
    for (const privacy::Assumption each : claim.assumptions) privacy::Assume(each, &all);
  }
  std::string text;
  for (const privacy::Assumption each : all.assumptions) {
    text += Line(std::string("- ") + privacy::Text(each));
  }
  return text;
}

std::string DescribeClaims(const privacy::PeerStatement& s) {
  std::string text;
  for (const privacy::Claim& claim : s.claims) {
    text += (text.empty() ? kHead : kIndent) + DescribeEpsilon(claim) + "\n";
  }
  text += Line(DescribeMeaning(s)) + Line(DescribeNoise(s));
  text += Line("against everybody together: other nodes, directory, relay, network and users, who");
  text += Line("see every publication, who published it and when. It assumes:");
  text += DescribeAssumptions(s.claims);
  return text + Line(fmt::format("continuous noise would have {}: for comparison, no claim",
                                 privacy::EpsilonText(s.continuous_epsilon)));
}

// The fields of the first claim that stand beside every epsilon; null without a claim.
void AddMeaning(const privacy::PeerStatement& s, Json& json) {
  const privacy::Claim* claim = s.claims.empty() ? nullptr : &s.claims.front();
  json["epsilon"] = claim ? FigureToJson(claim->epsilon) : Json(nullptr);
  json["delta"] = claim ? Json(claim->delta) : Json(nullptr);
  json["unit"] = claim ? Json(privacy::Name(claim->unit)) : Json(nullptr);
  json["adjacency"] = claim ? Json(privacy::Name(claim->adjacency)) : Json(nullptr);
  json["trust_mode"] = claim ? Json(privacy::Name(claim->trust_mode)) : Json(nullptr);
  for (const privacy::PeerClaimKind& kind : privacy::PeerClaimKinds()) {
    json[kind.json_field] = nullptr;
  }
  for (const privacy::Claim& each : s.claims) {
    json[privacy::PeerKind(each.unit).json_field] = FigureToJson(each.epsilon);
  }
}

using Json = nlohmann::ordered_json;

constexpr double kQ20 = 0x1p-20;

double AccuracyOf(const Evaluation& evaluation) {
  return evaluation.accuracy().value_or(std::nan(""));
}

double MeanLag(const PeersResult& result) {
  double sum = 0;
  for (const PublicationRecord& record : result.publications) sum += record.lag;
  const size_t count = result.publications.size();
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

double MeanBytes(const PeersResult& result) {
  const size_t count = result.publications.size();
  return count == 0 ? 0 : static_cast<double>(result.bytes()) / static_cast<double>(count);
}

// "0.7812", or the loss of a model without classes.
std::string Quality(double accuracy, double loss) {
  return std::isfinite(accuracy) ? fmt::format("accuracy {:.4f}", accuracy)
                                 : fmt::format("loss {:.6f}", loss);
}

std::string DescribeQuality(const PeersOutcome& o) {
  const PeersEvaluation& last = o.result.last();
  const PeersEvaluation& alone = o.alone.last();
  return fmt::format(
      "  shared model   {}\n"
      "  nodes' own     {}, the mean over the nodes\n"
      "  never sharing  {}, the mean of the same nodes alone, without noise\n",
      Quality(AccuracyOf(last.shared), last.shared.loss),
      Quality(last.mean_own, last.mean_own_loss), Quality(alone.mean_own, alone.mean_own_loss));
}

std::string DescribePublications(const PeersOutcome& o) {
  const PeersResult& r = o.result;
  const uint64_t steps = r.steps();
  return fmt::format(
      "  publications   {} in {} steps of {}, each {:.0f} bytes, {:.2f} MB in all\n"
      "  lag            {:.1f} versions between two publications of a node, the mean\n",
      r.publications.size(), steps, Counted(r.nodes.size(), "node"), MeanBytes(r),
      static_cast<double>(r.bytes()) * 1e-6, MeanLag(r));
}

std::string DescribeFit(const PeersPlan& plan) {
  if (plan.pca == 0) return "";
  return fmt::format(
      "  components     {}, fitted on the training data: no epsilon covers the fit\n", plan.pca);
}

Json EvaluationsToJson(const PeersResult& result) {
  Json all = Json::array();
  for (const PeersEvaluation& e : result.evaluations) {
    all.push_back({{"turn", e.turn},
                   {"version", e.version},
                   {"accuracy", FigureToJson(AccuracyOf(e.shared))},
                   {"loss", FigureToJson(e.shared.loss)},
                   {"accuracy_own", FigureToJson(e.mean_own)},
                   {"loss_own", FigureToJson(e.mean_own_loss)}});
  }
  return all;
}

Json NodesToJson(const PeersResult& result) {
  Json all = Json::array();
  for (size_t i = 0; i < result.nodes.size(); ++i) {
    const PeerNodeReport& node = result.nodes[i];
    all.push_back({{"node", i},
                   {"samples", node.samples},
                   {"steps", node.steps},
                   {"publications", node.publications},
                   {"refused", node.refused},
                   {"bytes", node.bytes},
                   {"rho", std::ldexp(static_cast<double>(node.rho_q40), -40)},
                   {"accuracy_own", FigureToJson(AccuracyOf(node.own))}});
  }
  return all;
}

Json PublicationsToJson(const PeersResult& result) {
  Json all = Json::array();
  for (const PublicationRecord& p : result.publications) {
    all.push_back({{"version", p.version},
                   {"node", p.node},
                   {"step", p.step},
                   {"local_steps", p.local_steps},
                   {"lag", p.lag},
                   {"bytes", p.bytes}});
  }
  return all;
}

Json SettingsToJson(const PeersPlan& plan) {
  const PeersConfig& c = plan.config;
  const PeerJob& job = c.job;
  return {{"model", c.model->name},
          {"parameters", c.model->parameters},
          {"peers", c.peers},
          {"share", c.share},
          {"rule", Name(job.rule)},
          {"order", Name(c.order)},
          {"unit", Name(job.unit)},
          {"samples_per_peer", c.samples_per_peer},
          {"partition", c.partition},
          {"copies", plan.training.copies},
          {"pca", plan.pca},
          {"batch_size", job.batch_size},
          {"learning_rate", static_cast<double>(job.learning_rate)},
          {"weight_decay", static_cast<double>(job.weight_decay)},
          {"passes", job.passes},
          {"range", static_cast<double>(job.range)},
          {"error_clip", static_cast<double>(job.error_clip)},
          {"feature_norm", static_cast<double>(job.feature_norm)},
          {"clip_l2", static_cast<double>(job.clip_l2)},
          {"most_local_steps", job.most_local_steps},
          {"publication_steps", job.publication_steps},
          {"most_releases", job.most_releases},
          {"peer_noise", Name(plan.noise)},
          {"noise_sigma", job.noise_q20 * kQ20},
          {"seeded", c.is_seeded}};
}

}  // namespace

std::string DescribePeerPrivacy(const privacy::PeerStatement& statement, bool seeded) {
  std::string text = statement.claims.empty()
                         ? fmt::format("{}NO EPSILON\n{}", kHead, Line(statement.refusal))
                         : DescribeClaims(statement);
  text += Line("no party is asked to keep a secret; the directory learns who shares when");
  return seeded ? text + Line(kSeeded) : text;
}

Json PeerPrivacyToJson(const privacy::PeerStatement& statement, bool seeded) {
  const privacy::PeerStatement& s = statement;
  Json json;
  AddMeaning(s, json);
  json["private"] = !s.claims.empty() && !seeded;
  json["privacy_note"] = s.claims.empty() ? s.refusal : std::string(seeded ? kSeeded : "");
  json["seeded"] = seeded;
  json["nodes"] = s.nodes;
  json["copies"] = s.copies;
  json["passes"] = s.passes;
  json["releases"] = s.releases;
  const auto if_claimed = [&s](double value) {
    return s.claims.empty() ? Json(nullptr) : FigureToJson(value);
  };
  json["sensitivity"] = if_claimed(s.sensitivity_q20 * 0x1p-20);
  json["noise_sigma"] = s.noise_q20 * 0x1p-20;
  json["noise_q20"] = s.noise_q20;
  json["release_rho"] = if_claimed(s.release_rho);
  json["rho"] = if_claimed(s.rho);
  json["continuous_epsilon"] = if_claimed(s.continuous_epsilon);
  json["claims"] = ClaimsToJson(s.claims);
  return json;
}

std::string PeersWarning(const PeersOutcome& o) {
  const std::string worse =
      WorseWarning(o.result.evaluations.front().shared, o.result.last().shared);
  if (worse.empty()) return "";
  const PeerJob& job = o.plan.config.job;
  if (job.noise_q20 == 0) return worse + ". Try a smaller --learning-rate";
  return fmt::format(
      "{}; each publication has noise of norm {:.3g}. Try a larger --epsilon, {}a smaller "
      "--learning-rate, or a --share that publishes less often",
      worse, job.noise_q20 * kQ20 * std::sqrt(o.plan.config.model->parameters),
      job.unit == PeerUnit::kDevice ? "a smaller --clip, " : "");
}

std::string DescribePeers(const PeersOutcome& o) {
  const PeersConfig& c = o.plan.config;
  const uint32_t steps = c.job.publication_steps;
  return fmt::format("\n{} without a server, {}: {}, {} parameters; {}, rule {}{}\n",
                     Counted(c.peers, "node"), o.data_name, c.model->name, c.model->parameters,
                     c.share, Name(c.job.rule),
                     steps == 1 ? "" : fmt::format(", {} steps a publication", steps)) +
         DescribeQuality(o) + DescribePublications(o) + DescribeFit(o.plan) +
         DescribePeerPrivacy(StatementOf(o.plan, o.result), c.is_seeded);
}

Json PeersToJson(const PeersOutcome& o) {
  const PeersEvaluation& last = o.result.last();
  Json json = {{"sotto_version", kVersion}, {"topology", "peers"}, {"data", o.data_name}};
  json["settings"] = SettingsToJson(o.plan);
  json["accuracy"] = FigureToJson(AccuracyOf(last.shared));
  json["loss"] = FigureToJson(last.shared.loss);
  json["accuracy_own"] = FigureToJson(last.mean_own);
  json["accuracy_never"] = FigureToJson(o.alone.last().mean_own);
  json["evaluation"] = EvaluationToJson(last.shared, o.test);
  json.update(PeerPrivacyToJson(StatementOf(o.plan, o.result), o.plan.config.is_seeded));
  json["warnings"] = Json::array();
  if (const std::string warning = PeersWarning(o); !warning.empty()) {
    json["warnings"].push_back(warning);
  }
  json["turns"] = o.result.turns;
  json["local_steps"] = o.result.local_steps;
  json["publications_in_all"] = o.result.publications.size();
  json["bytes"] = o.result.bytes();
  json["bytes_per_publication"] = MeanBytes(o.result);
  json["lag_mean"] = MeanLag(o.result);
  json["node_reports"] = NodesToJson(o.result);
  json["evaluations"] = EvaluationsToJson(o.result);
  json["publications"] = PublicationsToJson(o.result);
  json["wall_seconds"] = o.result.wall_seconds;
  return json;
}

}  // namespace sotto::server
