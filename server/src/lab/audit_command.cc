#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <thread>

#include <nlohmann/json.hpp>

#include "audit/audit_output.h"
#include "audit/audit_request.h"
#include "base/build.h"
#include "base/gave_up.h"
#include "cli/rows.h"
#include "lab/commands.h"
#include "sim/noise_decay.h"
#include "sim/simulation_request.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/terminal.h"
#include "spec/inputs.h"
#include "spec/job_spec.h"
#include "views/output_file.h"
#include "views/progress.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kEpsilonFooter[] =
    R"(Runs the job's own encoder, sum, zero updates and release, with a device in it whose update is
far beyond the bound, and measures how well the releases tell that it is there. The defaults
take some ten seconds and find a build with half the noise. Exit status: 0 consistent, 1
violated, 2 bad usage. See server/AUDIT.md.
Example: sotto-lab audit epsilon --seed 1)";

constexpr char kMembershipFooter[] =
    R"(Simulates a training, with the options of `sotto simulate`, and attacks its models: after each
round whose number divides by --evaluate-every, and after the last. See server/AUDIT.md.
Example: sotto-lab audit membership --data synthetic --rounds 3 --seed 1)";

constexpr char kSensitivityFooter[] =
    R"(Simulates a training, with the options of `sotto simulate`, and twins of it whose data differ in
one sample, or one device, with the same noise. Exit status: 0 consistent, 1 a round moved its
release by more than the plan's bound, or nothing was measured, 2 bad usage. See server/AUDIT.md.
Example: sotto-lab audit sensitivity --data synthetic --rounds 3 --seed 1)";

// What is audited of a job, and its name for people.
struct View {
  JobConfig job;
  CanaryView view;
  std::string what;
};

// The releases of each job and, with private noise, an update as the server sees it: that is the
// same whatever the sampling.
std::vector<View> ViewsOf(const EpsilonAuditRequest& request, const std::vector<JobConfig>& jobs) {
  std::vector<View> views;
  for (const JobConfig& job : jobs) {
    views.push_back({job, CanaryView::kReleases,
                     fmt::format("releases of {} sampling", AuditedName(job.plan.sampling))});
  }
  if (request.trust_mode == privacy::TrustMode::kPrivateNoise) {
    views.push_back(
        {MakeUpdateJob(request), CanaryView::kOneUpdate, "updates as the server sees them"});
  }
  return views;
}

EpsilonReport AuditSamplings(const EpsilonAuditRequest& request,
                             const std::vector<JobConfig>& jobs) {
  const Key key = posix::RunKey(request.seed);
  const std::vector<View> views = ViewsOf(request, jobs);
  EpsilonAuditOptions options;
  options.repeats = request.repeats;
  options.error = request.error / static_cast<double>(views.size());
  EpsilonReport report;
  report.repeats = request.repeats;
  report.error = request.error;
  constexpr size_t kSteps = 100;
  const Progress progress(views.size() * kSteps, posix::StandardErrorIsTerminal());
  for (const auto& [job, view, what] : views) {
    const size_t before = report.audits.size();
    options.threads = job.process.threads;
    const auto tell = [&, what = what](double done) {
      const auto percent = static_cast<size_t>(done * kSteps + 0.5);
      if (!posix::StandardErrorIsTerminal() && percent < kSteps) return;
      progress.Show(before * kSteps + percent, fmt::format("{}: {} %", what, percent));
    };
    report.audits.push_back(AuditEpsilon(
        job, view, {request.noise_multiplier, request.epsilon}, options,
        posix::DeriveKey(key, key_label::kAudit, static_cast<uint32_t>(job.plan.sampling),
                         static_cast<uint32_t>(view)),
        tell));
  }
  for (const JobConfig& job : jobs) {
    const TaskGuard guard = CheckTasks(job, posix::DeriveKey(key, key_label::kAudit, 1001));
    report.tasks.tasks += guard.tasks;
    if (report.tasks.holds()) report.tasks.difference = guard.difference;
  }
  report.server = CheckServer(jobs.front(), posix::DeriveKey(key, key_label::kAudit, 1000));
  report.trainers = CheckTrainers(GuardedModels(*jobs.front().model));
  return report;
}

void RunEpsilon(const EpsilonAuditRequest& request) {
  posix::RequireInRange(EpsilonAuditFields(), request);
  RequireOutput(request.json);
  if (request.repeats % 2 != 0) {
    throw std::invalid_argument(
        fmt::format("--repeats {}: half of them choose the thresholds, so give an even number",
                    request.repeats));
  }
  std::vector<JobConfig> jobs;
  for (const AuditedSampling& sampling : SamplingsOf(request.samplings)) {
    jobs.push_back(MakeAuditedJob(request, sampling));
  }
  const EpsilonReport report = AuditSamplings(request, jobs);
  Json json = EpsilonToJson(report);
  json["job"] = SpecificationToJson(request, jobs.front());
  PrintResults(request.json, DescribeEpsilon(report), json);
  RequireSound(report.Violations());
}

// The request with the samples that are there.
SimulationRequest WithData(SimulationRequest request) {
  const std::string stand_in = ChooseData(TheRanks(), &request);
  if (!stand_in.empty()) fmt::print(stderr, "warning: {}\n", stand_in);
  return request;
}

// An audit of a training: its files, its progress and its stop.
template <class Audit>
class TrainingAudit {
 public:
  explicit TrainingAudit(const SimulationRequest& asked)
      : request_(WithFleet(WithData(asked))), config_(MakeSimulation(WithNoiseDecay(request_))) {
    if (const ModelInfo& model = *config_.job.model; model.personal > 0) {
      throw std::invalid_argument(fmt::format(
          "model {} has personal layers, and audits train without; audit it without `personal`",
          model.name));
    }
    RequireOutputs({JsonOutput(request_.json), Csv()}, "", TextsOf(InputsOf(request_)));
    if (!request_.json.empty()) inputs_ = InputReader().Read(InputsOf(request_));
    data_ = OpenDataOf(request_);
    posix::CatchStopSignals();
  }

  const SimulationConfig& config() const { return config_; }
  const TrainTest& data() const { return data_; }

  static bool MustStop() { return posix::StopSignal() != 0; }

  template <class Round>
  std::function<void(const Round&)> ShowsProgress() {
    const auto progress = std::make_shared<Progress>(static_cast<size_t>(config_.job.plan.rounds),
                                                     posix::StandardErrorIsTerminal());
    return [progress](const Round& round) { progress->Show(round.rounds, DescribeRound(round)); };
  }

  void Write(const std::string& text, Json json, const std::string& csv) const {
    json["job"] = SpecificationToJson(request_, config_.job);
    json["inputs"] = InputsToJson(inputs_);
    json["build"] = BuildText();
    PrintResults(request_.json, text, json);
    if (!request_.rounds_csv.empty()) {
      OutputFile file(Csv());
      file.stream() << csv;
      file.Finish();
    }
    if (MustStop()) throw Stopped(posix::StopSignal(), "stopped: the figures are those so far");
  }

 private:
  Output Csv() const { return {"--rounds-csv", request_.rounds_csv}; }

  const SimulationRequest request_;
  const SimulationConfig config_;
  InputDigests inputs_;  // for the results
  TrainTest data_;
};

void RunMembership(const MembershipRequest& request) {
  posix::RequireInRange(MembershipFields(), request);
  TrainingAudit<MembershipAudit> run(request);
  const MembershipAudit audit = AuditMembership(run.config(), run.data(), request.samples,
                                                run.MustStop, run.ShowsProgress<MembershipRound>());
  run.Write(DescribeMembership(audit), MembershipToJson(audit), MembershipCsv(audit));
}

void RunSensitivity(const SensitivityRequest& request) {
  posix::RequireInRange(SensitivityFields(), request);
  TrainingAudit<TwinAudit> run(request);
  const TwinAudit audit = AuditTwins(run.config(), run.data(), request.twins, run.MustStop,
                                     run.ShowsProgress<TwinRound>());
  run.Write(DescribeTwins(audit, request.twins.unit), TwinsToJson(audit, request.twins.unit),
            TwinsCsv(audit));
  RequireSound(audit.violations);
  if (!audit.HasMeasured()) throw std::runtime_error("the audit measured nothing, see above");
}

// The audit's own rows, then the rows of a simulation.
template <class Request>
posix::Command TrainingAuditCommand(const char* name, const char* help, const char* footer,
                                    const std::vector<Field<Request>>& own,
                                    void (*run)(const Request&)) {
  posix::CommandFor<Request> command(name, help);
  command.Takes(own, posix::InGroup(Group::kAudit));
  TakeJob(SimulationFields(), Group::kFleet, WithoutForTraining(), JobFields(), &command);
  return command.Footer(footer).Runs(run);
}

posix::Command EpsilonCommand() {
  posix::CommandFor<EpsilonAuditRequest> command(
      "epsilon", "measure a lower bound on epsilon from many releases, beside the claim");
  TakeJob(EpsilonAuditFields(), Group::kAudit, WithoutForEpsilon(), JobFields(), &command);
  return command.Footer(kEpsilonFooter).Runs(RunEpsilon);
}

}  // namespace

posix::Command AuditCommand() {
  return posix::CommandOf(
      "audit", "measure a job's privacy: attacks, and lower bounds beside its claims",
      {EpsilonCommand(),
       TrainingAuditCommand("membership",
                            "attack a training: guess from the loss which samples it had",
                            kMembershipFooter, MembershipFields(), RunMembership),
       TrainingAuditCommand("sensitivity",
                            "measure how far one sample, or one device, moves the models",
                            kSensitivityFooter, SensitivityFields(), RunSensitivity),
       PeersAuditCommand()});
}

}  // namespace sotto::server
