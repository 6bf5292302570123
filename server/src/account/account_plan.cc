// `sotto account plan`: cohort, participations and clip for a fleet, a net and an epsilon.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "accounting/gdp.h"
#include "base/counted.h"
#include "base/gave_up.h"
#include "cli/commands.h"
#include "cli/rows.h"
#include "plans/calibration.h"
#include "plans/passes_choice.h"
#include "plans/turns.h"
#include "sim/clip_search.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "spec/inputs.h"
#include "spec/job_spec.h"
#include "spec/make_job.h"
#include "spec/small_delta.h"
#include "traffic/planned_download.h"
#include "traffic/traffic.h"
#include "views/figures.h"
#include "views/output_file.h"
#include "views/progress.h"
#include "views/report.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using posix::ExactText;

constexpr char kFooter[] =
    R"(Without --data it computes and trains nothing. With --data it also finds the clip, by short
simulations at the plan's noise; no epsilon covers that choice, so name public or simulated data.
Example: sotto account plan --devices 1000 --model softmax-784-10 --epsilon 6
Example: sotto account plan --devices 1000 --data fashion-mnist)";

struct PlanRequest : SimulationRequest {
  PlanRequest() {
    data.clear();
    seed = 1;
    job.plan.sampling = privacy::Sampling::kPasses;
  }

  uint32_t clip_runs = 5;
};

constexpr const char* kSampleOptions[] = {
    "data", "test", "classes", "devices", "samples-per-device", "partition", "partition-seed"};
constexpr const char* kJobOptions[] = {"model",
                                       "epsilon",
                                       "delta",
                                       "colluders",
                                       "cohort",
                                       "participations",
                                       "clip",
                                       "initial-model",
                                       "local-epochs",
                                       "local-steps",
                                       "batch-size",
                                       "learning-rate",
                                       "learning-rate-decay",
                                       "weight-decay",
                                       "momentum",
                                       "server-learning-rate",
                                       "threads"};

template <class Names>
posix::Pick Only(const Names& names) {
  return [&names](const FieldText& row) {
    return std::find(std::begin(names), std::end(names), std::string(row.name)) != std::end(names);
  };
}

std::vector<Field<SimulationRequest>> SampleRows() {
  std::vector<Field<SimulationRequest>> rows = SimulationFields();
  for (Field<SimulationRequest>& row : rows) {
    if (std::string(row.name) != "data") continue;
    row.help += "; with it the clip is found by simulations on these samples";
    row.derived_default = "none";
  }
  return rows;
}

std::vector<JobField> JobRows() {
  std::vector<JobField> rows = JobFields();
  for (JobField& row : rows) {
    const std::string name = row.name;
    if (name == "cohort" || name == "participations") row.derived_default = "chosen";
  }
  return rows;
}

// Bytes that a device receives in a round.
double DownloadBytes(const JobConfig& job) {
  return job.aggregation.grid == 0 ? 4.0 * job.model->parameters
                                   : DownloadsOf(job, kDownloadPadding).mean;
}

std::string BytesText(double bytes) {
  if (bytes < 1e4) return fmt::format("{:.0f} B", bytes);
  return bytes < 1e7 ? fmt::format("{:.0f} kB", bytes / 1e3)
                     : fmt::format("{:.0f} MB", bytes / 1e6);
}

// A row of the table.
struct Proposal {
  privacy::PassesChoice choice;
  JobConfig job;
  double down = 0;  // bytes for a device, in all its rounds
  double up = 0;
};

PlanRequest WithChoice(PlanRequest request, const privacy::PassesChoice& choice) {
  request.job.plan.cohort = choice.cohort;
  request.participations = choice.participations;
  request.given.insert("cohort");
  return request;
}

Proposal ProposalOf(const PlanRequest& request, const privacy::PassesChoice& choice) {
  Proposal proposal = {choice, MakeJob(WithChoice(request, choice), request.fleet.devices)};
  const privacy::Plan& plan = proposal.job.plan;
  proposal.choice.ratio = privacy::SignalToNoise(std::sqrt(privacy::LimitOf(plan).mu_squared),
                                                 plan.devices, plan.cohort, plan.dimension);
  proposal.choice.yardstick = privacy::YardstickAccuracy(proposal.choice.ratio, plan.rounds);
  const auto turns = static_cast<double>(choice.participations);
  proposal.down = DownloadBytes(proposal.job) * turns;
  proposal.up = UpdateBytes(proposal.job) * turns;
  return proposal;
}

struct Answers {
  PlanRequest request;  // with its fleet
  double mu = 0;        // of the budget
  std::vector<Proposal> proposals;
  size_t recommended = 0;
  std::optional<privacy::Needs> needs;  // if the noise is the larger part
  std::optional<ClipSearch> clip;

  const Proposal& best() const { return proposals[recommended]; }
  const privacy::Plan& plan() const { return best().job.plan; }
};

void RequirePlannable(const PlanRequest& r) {
  if (!std::isfinite(r.epsilon)) {
    throw std::invalid_argument(
        "--epsilon inf: without noise nothing limits the choice; name a finite one");
  }
  if (r.clip_runs < 2) throw std::invalid_argument("--clip-runs: a choice takes at least 2 runs");
}

// The choices for which some noise keeps the budget: of a large cohort of a large net the encoder's
// terms may be above it. Throws privacy::UnattainableEpsilon if there is none.
void AddProposals(const std::vector<privacy::PassesChoice>& choices, Answers* answers) {
  std::vector<privacy::PassesChoice> attainable;
  for (const privacy::PassesChoice& choice : choices) {
    const bool is_last_hope = attainable.empty() && &choice == &choices.back();
    try {
      answers->proposals.push_back(ProposalOf(answers->request, choice));
      attainable.push_back(answers->proposals.back().choice);
    } catch (const privacy::UnattainableEpsilon&) {
      if (is_last_hope) throw;
    }
  }
  answers->recommended = privacy::Recommended(attainable);
}

Answers PlansFor(const PlanRequest& asked) {
  Answers answers;
  answers.request = asked;
  if (!asked.data.empty()) {
    static_cast<SimulationRequest&>(answers.request) = WithFleet(asked);
  }
  const PlanRequest& r = answers.request;
  const int64_t devices = r.fleet.devices;
  const double delta = r.delta.value_or(privacy::DefaultDelta(devices));
  answers.mu = privacy::GdpMu(r.epsilon, delta);
  privacy::ChoiceLimits limits;
  if (r.Has("cohort")) limits.cohort = r.job.plan.cohort;
  limits.participations = r.participations;
  limits.colluders = r.job.plan.colluders;
  const std::vector<privacy::PassesChoice> choices =
      privacy::BestChoices(answers.mu, devices, r.job.model->parameters, limits);
  if (choices.empty() && r.job.plan.colluders < devices) {
    throw std::invalid_argument(
        fmt::format("--participations {}: every cohort takes part in more than {}; name fewer, or "
                    "a --cohort",
                    r.participations.value_or(0), Counted(privacy::kMostProposedRounds, "round")));
  }
  if (choices.empty()) {
    throw std::invalid_argument(
        fmt::format("{} and {} leave no cohort: take more devices, or fewer --colluders",
                    Counted(devices, "device"), Counted(r.job.plan.colluders, "colluder")));
  }
  AddProposals(choices, &answers);
  const privacy::Plan& plan = answers.plan();
  if (answers.best().choice.ratio < 1) {
    answers.needs =
        privacy::NeedsForUse(answers.mu, delta, devices, plan.cohort, r.job.model->parameters);
  }
  return answers;
}

// The clip, unless there are no data, or it is named.
void FindClip(Answers* answers) {
  PlanRequest r = WithChoice(answers->request, answers->best().choice);
  if (r.data.empty() || r.Has("clip")) return;
  posix::CatchStopSignals();
  const auto rounds = static_cast<size_t>(RoundsOfAClip(answers->plan().rounds));
  fmt::print(stderr,
             "clip: the norms of a few updates without noise, then at most {} of {} each at the "
             "plan's noise\n",
             Counted(r.clip_runs, "run"), Counted(rounds, "round"));
  const Progress progress(r.clip_runs * rounds, posix::StandardErrorIsTerminal());
  ClipSearchOptions options;
  options.most_runs = r.clip_runs;
  options.stop = [] { return posix::StopSignal() != 0; };
  options.on_round = [&](size_t done, float clip, const SimulationConfig& config,
                         const RoundReport& report) {
    progress.Show(done, fmt::format("clip {}, {}", clip, DescribeRound(config, report)));
  };
  answers->clip = SearchClip(r, OpenDataOf(r), options);
  if (answers->clip->stopped) {
    throw Stopped(posix::StopSignal(), "stopped before the clip was found");
  }
}

// An argument as a shell reads it.
std::string Quoted(const std::string& text) {
  const bool is_plain = text.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789_./:=,+-") == std::string::npos;
  return is_plain && !text.empty() ? text : "'" + text + "'";
}

// The options of a table that somebody gave, as they were given.
template <class Rows>
std::string GivenOptions(const PlanRequest& r, const Rows& rows, const posix::Pick& pick) {
  std::string text;
  for (const auto& row : rows) {
    const bool is_set_here = std::string(row.name) == "cohort" ||
                             std::string(row.name) == "participations" ||
                             std::string(row.name) == "clip" || std::string(row.name) == "epsilon";
    if (!row.is_option() || !pick(row) || is_set_here || !r.Has(row.name)) continue;
    std::string value = row.input ? row.input(r) : "";
    if (value.empty()) value = ExactText(row, row.get(r));
    text += fmt::format(" --{} {}", row.name, Quoted(value));
  }
  return text;
}

// The options of the recommended plan that `simulate` and `serve` share.
std::string PlanOptions(const Answers& answers) {
  const PlanRequest& r = answers.request;
  const privacy::PassesChoice& choice = answers.best().choice;
  std::string text = GivenOptions(r, JobFields(), Only(kJobOptions)) +
                     fmt::format(" --sampling passes --cohort {} --participations {} --epsilon {}",
                                 choice.cohort, choice.participations, r.epsilon);
  if (answers.clip) text += fmt::format(" --clip {}", answers.clip->runs[answers.clip->best].clip);
  if (r.Has("clip")) text += fmt::format(" --clip {}", r.job.training.clip_l2);
  return text;
}

std::string SimulateText(const Answers& answers) {
  const PlanRequest& r = answers.request;
  std::string samples = GivenOptions(r, SimulationFields(), Only(kSampleOptions));
  if (!r.Has("devices")) samples = fmt::format(" --devices {}", r.fleet.devices) + samples;
  return "sotto simulate" + samples + PlanOptions(answers);
}

std::string ServeText(const Answers& answers) {
  std::string text = "sotto serve STORE" + PlanOptions(answers);
  if (!DeltaNote(answers.request, answers.best().job).empty()) text += " --accept-delta";
  return text;
}

std::string TableText(const Answers& answers) {
  std::string text =
      fmt::format("  {:>8}{:>16}{:>8}{:>18}{:>17}{:>12}{:>9}{:>9}\n", "cohort", "participations",
                  "rounds", "noise multiplier", "signal to noise", "yardstick", "down", "up");
  for (size_t i = 0; i < answers.proposals.size(); ++i) {
    const Proposal& c = answers.proposals[i];
    text += fmt::format("{} {:>8}{:>16}{:>8}{:>18.4f}{:>17.2f}{:>12.3f}{:>9}{:>9}\n",
                        i == answers.recommended ? "*" : " ", c.choice.cohort,
                        c.choice.participations, c.job.plan.rounds, c.job.plan.NoiseMultiplier(),
                        c.choice.ratio, c.choice.yardstick, BytesText(c.down), BytesText(c.up));
  }
  return text;
}

std::string UseText(const Answers& answers) {
  const privacy::PassesChoice& choice = answers.best().choice;
  switch (privacy::UsefulnessOf(choice.ratio)) {
    case privacy::Usefulness::kNone:
      return fmt::format("nothing useful comes out of this: the noise is {:.0f} times the signal\n",
                         1 / choice.ratio);
    case privacy::Usefulness::kPoor:
      return "poor: the noise is the larger part, and a model learns little\n";
    case privacy::Usefulness::kFair:
      return "fair: the noise costs some of the accuracy that more devices would give\n";
    case privacy::Usefulness::kGood:
      break;
  }
  return "good: the noise costs little\n";
}

std::string NeedsText(const Answers& answers) {
  if (!answers.needs) return "";
  const privacy::Needs& needs = *answers.needs;
  const std::string smaller =
      needs.dimension < 2 ? "no net is small enough for these devices"
                          : fmt::format("or a net of at most {} parameters", needs.dimension);
  constexpr double kMeansNothing = 20;
  return fmt::format(
      "signal to noise 1 would take {} devices in cohorts of {}; {}; or epsilon {:.3g}{}\n",
      needs.devices, (needs.devices + 1) / 2, smaller, needs.epsilon,
      needs.epsilon > kMeansNothing ? ", which promises next to nothing" : "");
}

std::string ClipText(const Answers& answers) {
  if (answers.request.Has("clip")) return "";
  if (!answers.clip) {
    return fmt::format(
        "clip: not chosen, {} unless you name another; with --data it is found on public or "
        "simulated samples\n",
        answers.request.job.training.clip_l2);
  }
  const ClipSearch& search = *answers.clip;
  std::string text = fmt::format(
      "clip: without it the median update has norm {:.3g}; at the plan's noise, {} each:\n",
      search.norm, Counted(RoundsOfAClip(answers.plan().rounds), "round"));
  for (size_t i = 0; i < search.runs.size(); ++i) {
    text += fmt::format("{} {:>8}  {}\n", i == search.best ? "*" : " ", search.runs[i].clip,
                        DescribeEvaluation(search.runs[i].last));
  }
  return text + "  no epsilon covers this choice: it is for data that are public or simulated\n";
}

std::string Describe(const Answers& answers) {
  const PlanRequest& r = answers.request;
  const privacy::Plan& plan = answers.plan();
  const std::string note = DeltaNote(r, answers.best().job);
  return fmt::format("{}, {} parameters, epsilon {} at delta {} for each device: mu {:.4g}\n",
                     Counted(r.fleet.devices, "device"), r.job.model->parameters,
                     privacy::EpsilonText(r.epsilon), privacy::DeltaText(plan.delta), answers.mu) +
         (note.empty() ? "" : fmt::format("  note: {}\n", note)) + TableText(answers) +
         "  yardstick: accuracy by a rule that 53 runs of softmax-784-10 on Fashion-MNIST fit, "
         "for\n"
         "  the order of plans; another net and other data have other values. down, up: of a\n"
         "  device, in all its rounds\n" +
         UseText(answers) + NeedsText(answers) + ClipText(answers) +
         fmt::format("the plan marked *:\n  {}\n  {}\n", SimulateText(answers), ServeText(answers));
}

Json ClipToJson(const ClipSearch& search, const SampleInfo& info) {
  Json json = {{"clip", search.runs[search.best].clip},
               {"median_norm", search.norm},
               {"runs", Json::array()}};
  for (const ClipRun& run : search.runs) {
    json["runs"].push_back({{"clip", run.clip}, {"evaluation", EvaluationToJson(run.last, info)}});
  }
  return json;
}

Json ToJson(const Answers& answers) {
  const PlanRequest& r = answers.request;
  const privacy::Plan& plan = answers.plan();
  Json json = {{"devices", r.fleet.devices},
               {"model", r.job.model->name},
               {"parameters", r.job.model->parameters},
               {"epsilon", r.epsilon},
               {"delta", plan.delta},
               {"adjacency", privacy::Name(privacy::PairedAdjacency(plan.sampling))},
               {"sampling", privacy::Name(plan.sampling)},
               {"mu", answers.mu},
               {"plans", Json::array()},
               {"usefulness", Name(privacy::UsefulnessOf(answers.best().choice.ratio))},
               {"needs", nullptr},
               {"clip", nullptr},
               {"simulate", SimulateText(answers)},
               {"serve", ServeText(answers)}};
  for (size_t i = 0; i < answers.proposals.size(); ++i) {
    const Proposal& c = answers.proposals[i];
    json["plans"].push_back({{"cohort", c.choice.cohort},
                             {"participations", c.choice.participations},
                             {"rounds", c.job.plan.rounds},
                             {"noise_multiplier", c.job.plan.NoiseMultiplier()},
                             {"signal_to_noise", c.choice.ratio},
                             {"yardstick_accuracy", c.choice.yardstick},
                             {"bytes_down", c.down},
                             {"bytes_up", c.up},
                             {"recommended", i == answers.recommended}});
  }
  if (const std::string note = DeltaNote(r, answers.best().job); !note.empty()) {
    json["delta_note"] = note;
  }
  if (answers.needs) {
    json["needs"] = {{"devices", answers.needs->devices},
                     {"parameters", answers.needs->dimension},
                     {"epsilon", answers.needs->epsilon}};
  }
  return json;
}

void Run(const PlanRequest& request) {
  RequirePlannable(request);
  RequireOutputs({JsonOutput(request.json)}, "",
                 request.data.empty() ? std::vector<std::string>{} : TextsOf(InputsOf(request)));
  Answers answers = PlansFor(request);
  FindClip(&answers);
  Json json = ToJson(answers);
  if (answers.clip) {
    json["clip"] = ClipToJson(*answers.clip, OpenDataOf(answers.request).test->info());
  }
  PrintResults(request.json, Describe(answers), json);
}

}  // namespace

posix::Command AccountPlanCommand() {
  using Row = Field<PlanRequest>;
  return posix::CommandFor<PlanRequest>(
             "plan", "find cohort, participations and clip for a fleet, a net and an epsilon")
      .Takes(SampleRows(), Only(kSampleOptions))
      .Takes(JobRows(), Only(kJobOptions))
      .Takes({Row("clip-runs", &PlanRequest::clip_runs, "most simulations that find the clip")
                  .Within({2, 20})
                  .Needs("data"),
              Row("seed", &PlanRequest::seed,
                  "seed of these simulations: the same seed finds the same clip"),
              JsonRow<PlanRequest>()})
      .Footer(kFooter)
      .Runs(Run);
}

}  // namespace sotto::server
