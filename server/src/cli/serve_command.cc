#include "cli/serve_command.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "accounting/figures.h"
#include "base/counted.h"
#include "cli/claims_output.h"
#include "cli/gave_up.h"
#include "cli/job_options.h"
#include "cli/json_output.h"
#include "cli/output_file.h"
#include "cli/report.h"
#include "cli/serve_evaluation.h"
#include "cli/serve_fleet.h"
#include "cli/serve_monitor.h"
#include "cli/serve_report.h"
#include "data/catalog.h"
#include "net/server.h"
#include "plans/calibration.h"
#include "plans/statement.h"
#include "sotto/key_labels.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/service.h"
#include "sotto/posix/signals.h"
#include "spec/job_spec.h"
#include "spec/make_job.h"
#include "spec/parameters_file.h"
#include "store/history.h"
#include "store/open_store.h"

namespace sotto::server {
namespace {

constexpr int kDecimals = 3;  // of an epsilon

// "ADDRESS:PORT", "[ADDRESS]:PORT" or "PORT".
void ParseListen(const std::string& text, ServerOptions* options) {
  const bool is_port = text.find(':') == std::string::npos;
  const std::optional<posix::HostPort> address =
      posix::ParseHostPort(is_port ? "127.0.0.1:" + text : text);
  if (!address) {
    throw std::invalid_argument(
        fmt::format("--listen {}: expected ADDRESS:PORT, for example 127.0.0.1:7177", text));
  }
  options->host = address->host;
  options->port = address->port;
}

// A log that nobody can take, for example because the terminal is gone, ends no job. The command
// then ends with status 1 (main.cc).
void Log(const std::string& line) {
  const std::time_t now = std::time(nullptr);
  const std::string text = fmt::format("{:%F %T}Z {}\n", fmt::gmtime(now), line);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

Output ModelOutput(const ServeRequest& o) { return {"--model-out", o.model_out}; }
Output AverageOutput(const ServeRequest& o) { return {"--average-out", o.average_out}; }
Output PortOutput(const ServeRequest& o) { return {"--port-file", o.port_file}; }

Output MetricsOutput(const ServeRequest& o) { return {"--metrics", o.metrics, Readers::kOwner}; }

// For the operator alone: the figures depend on who connects.
nlohmann::ordered_json NetworkToJson(const NetworkFigures& figures) {
  nlohmann::ordered_json work;
  for (const auto& [name, longest_ms] : figures.work_ms_max) work[name] = longest_ms;
  return {{"loop_stall_ms_max", figures.loop_stall_ms_max},
          {"loop_cpu_ms_max", figures.loop_cpu_ms_max},
          {"work_ms_max", work},
          {"accepted", figures.accepted},
          {"refused", figures.refused},
          {"made_room", figures.made_room},
          {"no_client_hello", figures.no_client_hello},
          {"overdue", figures.overdue},
          {"failed_handshakes", figures.failed_handshakes},
          {"replaced_sessions", figures.replaced},
          {"delayed_requests", figures.delayed}};
}

// seeded: whoever knows a seed knows noise on which the claims rest
void WriteResults(const ServeRequest& o, bool seeded, Job& job, const OperatorReport& report,
                  const ServedEvaluations& evaluations, const NetworkFigures& network) {
  nlohmann::ordered_json operators = report.ToJson();
  evaluations.AddTo(job, &operators);
  operators["network"] = NetworkToJson(network);
  WriteModel(ModelOutput(o), job.parameters());
  const std::vector<float> average = job.Average();
  WriteModel(AverageOutput(o), {average.data(), average.size()});
  WriteJson(o.json,
            {{"rounds_released", job.round()},
             {"finish_reason", job.finish_reason()},
             {"job", SpecificationToJson(o, job.config())},
             {"claims", ClaimsToJson(job.Spent().claims)},
             {"seeded", seeded},
             {"seed", o.seed ? nlohmann::ordered_json(*o.seed) : nullptr},
             {"parameters_sha256", ParametersDigest(job.parameters())},
             {"operator", operators}},
            Readers::kOwner);
}

void WritePortFile(const ServeRequest& o, uint16_t port) {
  if (o.port_file.empty()) return;
  OutputFile file(PortOutput(o));
  file.stream() << port << '\n';
  file.Finish();
}

JobConfig MakeJobAfter(const ServeRequest& o, uint32_t devices,
                       const std::vector<privacy::SpentRounds>& before) {
  try {
    return MakeJob(o, devices, before);
  } catch (const privacy::UnattainableEpsilon& error) {
    if (before.empty()) throw;
    throw std::invalid_argument(
        fmt::format("{}, since earlier jobs in this store have spent some of it on these devices "
                    "(`sotto account ledger {}`); raise --epsilon, or use new devices",
                    error.what(), o.store));
  }
}

void LogEarlierJobs(const JobConfig& config) {
  if (!config.codec->accounted || config.spent_before.empty()) return;
  privacy::Statement spent = privacy::Account(config.plan, 0, config.spent_before);
  // The claim on one update is this job's alone.
  spent.claims.erase(std::remove_if(spent.claims.begin(), spent.claims.end(),
                                    [](const privacy::Claim& claim) {
                                      return claim.view == privacy::View::kOneUpdate;
                                    }),
                     spent.claims.end());
  Log(fmt::format(
      "earlier jobs on these devices: {}, epsilon {} at this job's delta {}, {} "
      "adjacency; this job starts from there",
      Counted(spent.earlier_rounds, "round"), DescribeClaims(spent.claims, kDecimals),
      privacy::DeltaText(spent.Headline().delta), privacy::Name(spent.Headline().adjacency)));
}

// Null without --test.
SharedDataset OpenTestSet(const ServeRequest& o, const ModelInfo& model) {
  if (o.test.empty()) return nullptr;
  SharedDataset test = OpenTest(o.test, &model);
  if (test->size() == 0) {
    throw std::invalid_argument(fmt::format("--test {}: it has no samples", o.test));
  }
  RequireEvaluable(model, *test);
  return test;
}

ServerOptions OptionsOf(const ServeRequest& o) {
  ServerOptions options;
  ParseListen(o.listen, &options);
  options.round_timeout_ms = static_cast<uint64_t>(o.round_timeout_s * 1000);
  options.release_allowance_ms = static_cast<uint64_t>(o.release_allowance_s * 1000);
  options.farewell_ms = static_cast<uint64_t>(o.farewell_s * 1000);
  options.limits.handshake_timeout_ms = static_cast<uint64_t>(o.handshake_timeout_s * 1000);
  options.limits.request_timeout_ms = static_cast<uint64_t>(o.request_timeout_s * 1000);
  options.max_connections = o.max_connections;
  options.max_handshakes = o.max_handshakes;
  options.max_handshakes_per_address = o.max_handshakes_per_address;
  return options;
}

// The configuration of the job that begins or goes on in the store. A resumed job's noise is that
// with which it began: it was calibrated to the devices, the rounds and the spending of that time.
JobConfig ConfigOf(const ServeRequest& o, uint32_t devices, const History& history,
                   const JobEntry* resumed) {
  JobConfig config;
  if (resumed == nullptr) {
    config = MakeJobAfter(o, devices, SpentBefore(history, nullptr));
  } else {
    const privacy::Plan began = PlanOf(history, *resumed);
    ServeRequest then = o;
    then.job.plan.rounds = std::min(o.job.plan.rounds, began.rounds);
    config = MakeJobAfter(then, static_cast<uint32_t>(began.devices),
                          SpentAtBeginning(history, *resumed));
    config.plan.rounds = o.job.plan.rounds;
    if (config.codec->noise) config.spent_before = SpentBefore(history, resumed);
  }
  config.seeded = o.seed.has_value();
  config.poll_interval_ms = static_cast<uint32_t>(PollInterval(o) * 1000);
  config.constant_work = !config.close_early();
  return config;
}

// Whether --new-job has begun this job already: then a restart goes on with it, however often the
// server is started. A service manager starts it again at each boot, so there a job that is over
// stays over.
bool IsRestart(const ServeRequest& o, uint32_t devices, const History& history) {
  const JobEntry* last = LastJob(history);
  if (last == nullptr) return false;
  try {
    const JobConfig config = ConfigOf(o, devices, history, last);
    uint8_t digest[kSha256Size] = {};
    posix::Check(ModelDigest(*config.model, digest), "the model's digest");
    return GoesOnWithLastJob(history, {last->job_id, digest, config}, posix::IsService());
  } catch (const std::exception&) {
    return false;  // these options do not even make that job
  }
}

void LogStart(const std::string& host, uint16_t port, const DeviceRegistry& devices,
              const Job& job) {
  const JobConfig& config = job.config();
  Log(fmt::format("listening on {} port {}: {}, model {}, {} of {} released", host, port,
                  Counted(devices.eligible(), "device"), config.model->name, job.round(),
                  Counted(config.plan.rounds, "round")));
  Log(fmt::format("devices need: {}; a device that lacks one is told to wait, and counted here",
                  DescribeNeeds(config.TaskFor(0, config.training.clip_l2))));
  Log("this log is the operator's: its counts and times tell who took part; what may be shown: "
      "sotto account ledger --published");
  LogEarlierJobs(config);
  if (!config.codec->certified) Log("NO PRIVACY: this job protects nothing; for experiments only");
  if (config.seeded) Log("seeded: not private; for tests only");
  if (!devices.is_locked()) {
    Log("the devices' secrets cannot be locked in memory and may reach the swap space; raise the "
        "limit, `ulimit -l`");
  }
}

void RunServe(const ServeRequest& o) {
  if (o.seed.has_value() != o.insecure_seed) {
    throw std::invalid_argument("--seed is for tests and not private: it needs --insecure-seed");
  }
  posix::IgnoreWriteSignals();
  posix::IgnoreHangUp();
  // What can fail comes before the job begins in the store: outputs, store, TLS, port.
  RequireOutputs({JsonOutput(o.json, Readers::kOwner), ModelOutput(o), AverageOutput(o),
                  PortOutput(o), MetricsOutput(o)},
                 o.store, {o.test, o.model_file, o.initial_model.value_or("")});
  Validate(o);
  const ServerOptions options = OptionsOf(o);
  const std::unique_ptr<Store> store = OpenStore(o.store);
  store->ClaimJobs();
  SharedLog log(*store);
  ServedFleet fleet(log);
  const SharedDevices devices = fleet.devices();
  const History history = store->ReadHistory();
  const bool begins = o.new_job && !IsRestart(o, devices->eligible(), history);
  const JobEntry* resumed = begins ? nullptr : LastJob(history);
  if (resumed == nullptr && devices->eligible() == 0) {
    throw std::invalid_argument(
        fmt::format("{} holds no devices; add some with `sotto keys new`", o.store));
  }
  if (begins) store->AllowNewJob();
  if (o.keep_models) store->KeepModels(*o.keep_models);
  const JobConfig config = ConfigOf(o, devices->eligible(), history, resumed);
  const SharedDataset test = OpenTestSet(o, *config.model);
  OperatorReport report([&] { return fleet.devices(); });
  std::function<void(const RoundOutcome&)> evaluate;
  ServeMonitor monitor(o.metrics, [&](const std::string& line) {
    Log(line);
    report.Warn(line);
    monitor.OnWarning();
  });
  ServerEvents events;
  events.info = Log;
  events.detail = [&](const std::string& line) {
    if (o.verbose) Log(line);
  };
  events.on_outcome = [&](const RoundOutcome& outcome) {
    report.Add(outcome);
    monitor.OnOutcome(outcome);
    posix::TellStatus(fmt::format("job of {}: {} of {} released", config.model->name,
                                  outcome.round + (outcome.released ? 1 : 0),
                                  Counted(config.plan.rounds, "round")));
    Log(DescribeOutcome(config, outcome, config.seeded));
    for (const std::string& warning : WarningsOf(outcome, *fleet.devices())) {
      Log(warning);
      monitor.OnWarning();
    }
    if (outcome.released) evaluate(outcome);
  };
  const Server* watched = nullptr;
  events.watch = [&] {
    monitor.Write();
    return fleet.Watch();
  };
  events.alive = [&](uint64_t now_ms) {
    monitor.Alive(*watched, fleet.devices()->eligible(), now_ms);
  };
  Server server(devices, options, events);
  watched = &server;
  server.Listen();
  Job job(config, *devices, log, posix::DeriveKey(posix::RunKey(o.seed), key_label::kServer),
          ReadState(*store, resumed));
  ServedEvaluations evaluations(config, test, o.evaluate_every, log, Log);
  evaluate = [&](const RoundOutcome& outcome) {
    evaluations.OnRelease(server, job, outcome.round);
  };
  evaluations.OnStart(server, job);
  job.SetPaused(fleet.is_paused());
  monitor.SetJob(static_cast<uint64_t>(config.plan.rounds), job.round());
  LogStart(options.host, server.port(), *devices, job);
  WritePortFile(o, server.port());
  posix::TellReady();
  const bool finished = server.Run(job);
  posix::TellStopping();
  monitor.WriteLast(server, fleet.devices()->eligible());
  if (store->ignored_receipts() != 0) {
    Log(fmt::format("{} not of this store, ignored",
                    Counted(static_cast<int64_t>(store->ignored_receipts()), "receipt")));
  }
  if (!finished) throw Stopped(server.signal(), "stopped; a later start goes on here");
  evaluations.OnEnd(job);
  const History ended = store->ReadHistory();
  WriteResults(o, config.seeded || RestsOnSeededNoise(ended, *LastJob(ended)), job, report,
               evaluations, server.Figures());
  if (job.gave_up()) throw GaveUp(job.finish_reason());
}

}  // namespace

void AddServeCommand(CLI::App& app) {
  const auto options = std::make_shared<ServeRequest>();
  CLI::App& serve = *app.add_subcommand("serve", "run a job for devices on the network, over TLS");
  AddServeOptions(serve, *options);
  serve.footer(kJobFooter);
  serve.callback([options] { RunServe(*options); });
}

}  // namespace sotto::server
