#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "plans/peer_privacy.h"
#include "published/peer_noise.h"
#include "sotto/model/model_file.h"
#include "sotto/peer/peer_options.h"
#include "views/figures.h"
#include "views/output_file.h"
#include "views/peers_report.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUnit = 0x1p-20;
constexpr int64_t kMostPeers = 1'000'000;

struct Options {
  std::string model = "ova-logistic";
  posix::PeerJobOptions job;
  int64_t peers = 10;
  int64_t copies = 1;
  double delta = 1e-5;
  std::optional<double> epsilon;
  std::optional<double> published_epsilon;
  bool private_policy = false;
  int64_t jobs = 1;
  double other_rho = 0;
  std::string json;
};

using PeersAccountRow = posix::Field<Options>;

// The paper's noise, what it states and what that is worth.
struct Published {
  privacy::PublishedPeerNoise noise;
  privacy::PublishedPeerFigures figures;
};

std::vector<privacy::PeerNode> PlannedNodes(const Options& o, const PeerJob& job) {
  return std::vector<privacy::PeerNode>(o.peers, privacy::PlannedPeer(job));
}

Published PublishedOf(const Options& o, const privacy::PeerTraining& t, double epsilon) {
  Published published;
  published.noise = privacy::PublishedNoiseOf(*t.model, t.job, epsilon, o.delta);
  published.figures =
      privacy::FiguresAt(published.noise, std::min(o.copies, o.peers), t.job.passes);
  return published;
}

// The job; if the noise follows from an epsilon, with that noise.
privacy::PeerTraining TrainingOf(const Options& o, const ModelInfo& model) {
  privacy::PeerTraining t;
  t.model = &model;
  t.policy_inputs_are_public = !o.private_policy;
  t.copies = o.copies;
  t.delta = o.delta;
  const bool finds_noise = o.epsilon || o.published_epsilon;
  posix::PeerJobOptions job = o.job;
  if (finds_noise && job.given.count("noise") != 0) {
    throw std::invalid_argument("--noise, --epsilon and --published-epsilon: give one of them");
  }
  if (finds_noise) {
    job.settings.noise_q20 = static_cast<uint32_t>(1 / kUnit);  // any valid one
    job.given.insert("noise");
  }
  t.job = posix::PeerJobOf(job);
  if (o.published_epsilon && t.job.unit != PeerUnit::kSample) {
    throw std::invalid_argument("--published-epsilon: the paper's noise is for --unit sample");
  }
  if (o.epsilon) {
    t.job.noise_q20 = privacy::CalibratePeerNoise(t, PlannedNodes(o, t.job), *o.epsilon);
  } else if (o.published_epsilon) {
    t.job.noise_q20 = PublishedOf(o, t, *o.published_epsilon).noise.noise_q20;
  }
  return t;
}

// What the sensitivity of one publication is made of, in model units.
struct Parts {
  double grid = 0;     // rounding to multiples of 2^-20
  double float32 = 0;  // rounding errors of all steps but one, lemma 6
  double rest = 0;     // what the unit moves
};

std::optional<Parts> PartsOf(const privacy::PeerTraining& t, const privacy::PeerStatement& s) {
  if (s.claims.empty()) return std::nullopt;
  Parts parts;
  parts.rest = s.sensitivity_q20 * kUnit;
  double of_one_step = 0;
  PeerJob one = t.job;
  one.publication_steps = 1;
  if (t.job.unit != PeerUnit::kSample ||
      PeerSensitivityQ20(*t.model, one, 0, &of_one_step) != Status::kOk) {
    return parts;
  }
  parts.grid = std::sqrt(static_cast<double>(t.model->parameters)) * kUnit;
  parts.float32 = (s.sensitivity_q20 - of_one_step) * kUnit;
  parts.rest -= parts.grid + parts.float32;
  return parts;
}

std::string DescribeJob(const Options& o, const privacy::PeerTraining& t) {
  return fmt::format("{}, rule {}, unit {}: {} nodes, batches of {}, rate {}, passes {}\n",
                     t.model->name, Name(t.job.rule), Name(t.job.unit), o.peers, t.job.batch_size,
                     t.job.learning_rate, t.job.passes);
}

std::string DescribeParts(const privacy::PeerTraining& t, const Parts& parts) {
  if (t.job.unit != PeerUnit::kSample) return "";
  return fmt::format(
      "  sensitivity    {:.4g} what a sample moves, {:.2g} float32 errors of {} local and {} more "
      "steps,\n"
      "                 {:.2g} rounding to the grid\n",
      parts.rest, parts.float32, t.job.rule == PeerRule::kShared ? 0 : t.job.most_local_steps,
      t.job.publication_steps - 1, parts.grid);
}

Json PartsToJson(const Parts& parts) {
  return {{"unit", parts.rest}, {"float32", parts.float32}, {"grid", parts.grid}};
}

using privacy::EpsilonText;

std::string DescribePublished(const Published& p) {
  return fmt::format(
      "  as published   noise {:.5g} states epsilon {:.4g} at delta {}. Exact, with continuous "
      "noise:\n"
      "                 {} of one output, {} of all {}, {} with a bias, {} on all copies,\n"
      "                 {} with bias, copies and passes\n",
      p.noise.deviation, p.noise.epsilon, privacy::DeltaText(p.noise.delta),
      EpsilonText(p.figures.one_model), EpsilonText(p.figures.all_models), p.noise.models,
      EpsilonText(p.figures.with_bias), EpsilonText(p.figures.on_copies),
      EpsilonText(p.figures.together));
}

Json PublishedToJson(const Published& p) {
  return {{"epsilon", p.noise.epsilon},
          {"noise_sigma", p.noise.deviation},
          {"outputs", p.noise.models},
          {"exact_one_output", p.figures.one_model},
          {"exact_all_outputs", p.figures.all_models},
          {"exact_with_bias", p.figures.with_bias},
          {"exact_on_copies", p.figures.on_copies},
          {"exact_together", p.figures.together}};
}

// The epsilon that the paper states for the noise of this job, of the unit sample. No figure stands
// beside a refusal.
std::optional<Published> PublishedBeside(const Options& o, const privacy::PeerTraining& t,
                                         const privacy::PeerStatement& s) {
  if (s.claims.empty() || t.job.unit != PeerUnit::kSample) return std::nullopt;
  if (o.published_epsilon) return PublishedOf(o, t, *o.published_epsilon);
  const double at_one = PublishedOf(o, t, 1.0).noise.deviation;
  return PublishedOf(o, t, at_one / (t.job.noise_q20 * kUnit));
}

// Several jobs on the same samples: zCDP adds up, however later jobs were chosen (peer_privacy.h,
// lemma 8, over the publications of all of them).
struct AllJobs {
  double rho = 0;
  double epsilon = 0;
};

// Absent for one job, and where there is no claim.
std::optional<AllJobs> AllJobsOf(const Options& o, const privacy::PeerStatement& s) {
  if (s.claims.empty() || (o.jobs == 1 && o.other_rho == 0)) return std::nullopt;
  AllJobs all;
  all.rho = static_cast<double>(o.jobs) * s.rho + o.other_rho;
  all.epsilon = privacy::ZcdpEpsilon(all.rho, o.delta);
  return all;
}

std::string DescribeAllJobs(const Options& o, const privacy::PeerStatement& s, const AllJobs& all) {
  return fmt::format(
      "  all jobs       epsilon {} at delta {}: {} like this one{} on the same samples, rho {:.4g} "
      "in all,\n"
      "                 about {}\n",
      EpsilonText(all.epsilon), privacy::DeltaText(o.delta), Counted(o.jobs, "job"),
      o.other_rho > 0 ? fmt::format(", and others of rho {:.4g},", o.other_rho) : "", all.rho,
      privacy::PeerKind(s.claims.front().unit).about);
}

Json AllJobsToJson(const AllJobs& all) {
  return {{"rho", FigureToJson(all.rho)}, {"epsilon", FigureToJson(all.epsilon)}};
}

void RunPeersAccount(const Options& o) {
  RequireOutput(o.json);
  const posix::SharedModel model = posix::OpenModel(o.model);
  const privacy::PeerTraining t = TrainingOf(o, *model);
  const privacy::PeerStatement statement = privacy::StatePeers(t, PlannedNodes(o, t.job));
  const std::optional<Parts> parts = PartsOf(t, statement);
  const std::optional<Published> published = PublishedBeside(o, t, statement);
  const std::optional<AllJobs> all = AllJobsOf(o, statement);
  const std::string text = DescribeJob(o, t) + (parts ? DescribeParts(t, *parts) : "") +
                           DescribePeerPrivacy(statement, false) +
                           (all ? DescribeAllJobs(o, statement, *all) : "") +
                           (published ? DescribePublished(*published) : "");
  Json json = PeerPrivacyToJson(statement, false);
  json["sensitivity_parts"] = parts ? PartsToJson(*parts) : Json(nullptr);
  json["all_jobs"] = all ? AllJobsToJson(*all) : Json(nullptr);
  json["published"] = published ? PublishedToJson(*published) : Json(nullptr);
  PrintResults(o.json, text, json);
}

std::vector<PeersAccountRow> FigureFields() {
  return {
      PeersAccountRow("peers", &Options::peers, "nodes that train together, M")
          .Within({1, kMostPeers}),
      PeersAccountRow("copies", &Options::copies, "nodes on which the same sample may lie")
          .Within({1, kMostPeers}),
      PeersAccountRow("delta", &Options::delta, "the delta at which the claims hold, in (0, 1)"),
      PeersAccountRow(
          "epsilon", &Options::epsilon,
          "find the smallest noise for this epsilon of the job's unit; without it --noise gives "
          "the noise"),
      PeersAccountRow(
          "published-epsilon", &Options::published_epsilon,
          "take the noise that the paper states for this epsilon; it is too little for it")
          .Excludes("epsilon"),
      PeersAccountRow("jobs", &Options::jobs,
                      "jobs like this one on the same samples: print also their joint epsilon")
          .Within({1, kMostPeers}),
      PeersAccountRow(
          "other-rho", &Options::other_rho,
          "sum of the rho that other jobs have spent on the same samples, `rho` in their JSON: "
          "print also the epsilon of all jobs together")
          .Within({0, 1e6}),
      PeersAccountRow("private-policy", &Options::private_policy,
                      "when a node publishes depends on its own model or losses, as with deep-q"),
  };
}

}  // namespace

posix::Command PeersAccountCommand() {
  return posix::CommandFor<Options>("account",
                                    "what nodes without a server tell by their publications")
      .Takes(
          {PeersAccountRow(
               "model", &Options::model,
               "the net: a name that `sotto model` lists, or a file FILE.toml that describes it"),
           JsonRow<Options>()})
      .TakesFor(&Options::job, posix::PeerJobOptionFields())
      .Takes(posix::Under("The figure", FigureFields()))
      .Footer(
          "Example: sotto peers account --model ova-logistic --epsilon 3 --delta 1e-9 --peers 10")
      .Runs(RunPeersAccount);
}

}  // namespace sotto::server
