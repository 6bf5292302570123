#include "jobs/job_start.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "data/catalog.h"
#include "export/parameters.h"
#include "jobs/job_queue.h"
#include "jobs/job_settings.h"
#include "jobs/life_start.h"
#include "plans/calibration.h"
#include "plans/statement.h"
#include "sotto/model/model_bundle.h"
#include "sotto/model/model_text.h"
#include "sotto/posix/check.h"
#include "sotto/posix/service.h"
#include "spec/configuration.h"
#include "spec/make_job.h"
#include "spec/small_delta.h"

namespace sotto::server {
namespace {

// The files from which a job began may be gone.
const std::set<std::string> kInStore = {"model", "initial-model"};

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

// Of a job of passes that names no budget: what all jobs cost. A life epsilon may allow less today,
// and be raised.
void SetBudgetOfPasses(const History& history, const JobEntry* resumed, JobConfig* config) {
  if (!std::isfinite(config->epsilon_budget)) return;
  if (resumed != nullptr) {
    config->epsilon_budget = PlanNow(history.store, *resumed).epsilon_budget;
    return;
  }
  if (config->spent_before.empty()) return;
  constexpr double kUnits = 1000;  // as figures are printed; far above the rounding of their sums
  privacy::Plan plan = config->plan;
  plan.life_mu_squared = plan.life_coordinates = plan.life_too_long = 0;
  const double all = privacy::HeadlineEpsilon(plan, 1, config->spent_before);
  config->epsilon_budget =
      std::max(config->epsilon_budget, std::ceil(all * kUnits * (1 + 1e-9)) / kUnits);
}

}  // namespace

posix::HostPort AddressOf(const char* option, const std::string& text, const char* example) {
  const bool is_port = text.find(':') == std::string::npos;
  const std::optional<posix::HostPort> address =
      posix::ParseHostPort(is_port ? "127.0.0.1:" + text : text);
  if (address) return *address;
  throw std::invalid_argument(
      fmt::format("{} {}: expected ADDRESS:PORT, for example {}", option, text, example));
}

ServerOptions ServerOptionsOf(const ServeRequest& o) {
  ServerOptions options;
  const posix::HostPort listen = AddressOf("--listen", o.listen, "127.0.0.1:7177");
  options.host = listen.host;
  options.port = listen.port;
  options.proxies = posix::ParseIpRanges(o.proxies);
  options.round_timeout_ms = static_cast<uint64_t>(o.round_timeout_s * 1000);
  options.release_allowance_ms = static_cast<uint64_t>(o.release_allowance_s * 1000);
  options.farewell_ms = static_cast<uint64_t>(o.farewell_s * 1000);
  options.limits.handshake_timeout_ms = static_cast<uint64_t>(o.handshake_timeout_s * 1000);
  options.limits.request_timeout_ms = static_cast<uint64_t>(o.request_timeout_s * 1000);
  options.poll_interval_ms = static_cast<uint64_t>(PollInterval(o) * 1000);
  options.max_connections = o.max_connections;
  options.max_handshakes = o.max_handshakes;
  options.max_handshakes_per_address = o.max_handshakes_per_address;
  options.session_tickets = !o.refuse_tickets;
  return options;
}

JobConfig ServedConfig(const ServeRequest& o, uint32_t devices, const History& history,
                       const JobEntry* resumed) {
  JobConfig config;
  ServeRequest then = o;
  if (resumed != nullptr) KeepBegun(history.store, resumed->configuration, &then);
  RequireAskable(o.store, history, then.job.plan);
  // --epsilon of a job of passes is for this job alone; its budget counts all jobs.
  const bool is_own = then.job.plan.sampling == privacy::Sampling::kPasses;
  const auto before = [is_own](std::vector<privacy::SpentRounds> spent) {
    return is_own ? std::vector<privacy::SpentRounds>() : std::move(spent);
  };
  if (resumed == nullptr) {
    config = MakeJobAfter(o, devices, before(SpentBefore(history, nullptr)));
    RequireSmallDelta(o, config, o.accepts_delta);
  } else {
    const privacy::Plan began = PlanOf(history, *resumed);
    then.job.plan.rounds = std::min(o.job.plan.rounds, began.rounds);
    config = MakeJobAfter(then, static_cast<uint32_t>(began.devices),
                          before(SpentAtBeginning(history, *resumed)));
    const bool follows = config.plan.sampling == privacy::Sampling::kPasses && !o.Has("rounds");
    if (!follows) config.plan.rounds = o.job.plan.rounds;
  }
  if (config.codec->noise) config.spent_before = SpentBefore(history, resumed);
  GoOnInLife(o.store, history, resumed, o.agrees_to_sum, &config);
  if (is_own && !o.epsilon_budget) SetBudgetOfPasses(history, resumed, &config);
  config.owned_model = o.opened_model;
  config.description = std::make_shared<const std::vector<uint8_t>>(posix::BundleOf(*config.model));
  config.seeded = o.seed.has_value();
  config.process.poll_interval_ms = static_cast<uint32_t>(PollInterval(o) * 1000);
  if (config.plan.timed_reports) {
    config.process.report_after_ms = static_cast<uint32_t>(o.round_timeout_s * 1000 * 2 / 3);
  }
  // A device that waits for work is heard at least so often: its Hello is kept, or it polls.
  config.process.heard_within_ms = 2 * kMostHoldMs + 3 * config.process.poll_interval_ms;
  config.process.constant_work = !config.close_early();
  return config;
}

ServeRequest RequestOf(const ServeRequest& server, const JobAsk& ask) {
  if (ask.model.empty()) return WithSettings(server, ask.settings);
  ServeRequest request = WithSettings(server, ask.settings, {"model"});
  request.opened_model = posix::ParseBundle({ask.model.data(), ask.model.size()});
  request.job.model = request.opened_model.get();
  return request;
}

ServeRequest ResumingRequest(const ServeRequest& request, Store& store, const JobEntry& job) {
  ServeRequest resuming = request;
  if (request.Has("model")) return resuming;
  const std::vector<uint8_t> bundle = store.ReadDescription(job.number);
  resuming.opened_model = posix::ParseBundle({bundle.data(), bundle.size()});
  resuming.job.model = resuming.opened_model.get();
  return resuming;
}

bool IsRestart(const ServeRequest& o, uint32_t devices, const History& history) {
  const JobEntry* last = LastJob(history);
  if (last == nullptr) return false;
  try {
    const JobConfig config = ServedConfig(o, devices, history, last);
    uint8_t digest[kSha256Size] = {};
    posix::Check(ModelDigest(*config.model, digest), "the model's digest");
    return GoesOnWithLastJob(history, {last->job_id, digest, config}, posix::IsService());
  } catch (const std::exception&) {
    return false;  // these options do not even make that job
  }
}

JobChoice GoOnWith(const ServeRequest& o, const History& history, const JobEntry& job) {
  const std::optional<std::string> settings = SettingsOf(history, job.number);
  if (!settings) {
    throw std::invalid_argument(
        fmt::format("{}: its job {} was begun without a record of its options; name them", o.store,
                    job.number));
  }
  return {WithSettings(o, *settings, kInStore)};
}

namespace {

// Whether these options make the last job, whatever rounds and budget they ask for: fewer rounds
// are no other job, and the store refuses them.
bool MakesLastJob(const ServeRequest& o, uint32_t devices, const History& history, Store& store) {
  const JobEntry& last = *LastJob(history);
  try {
    JobConfig config = ServedConfig(ResumingRequest(o, store, last), devices, history, &last);
    const JobExtension now = PlanNow(history.store, last);
    config.plan.rounds = std::max(config.plan.rounds, now.rounds);
    config.epsilon_budget = std::max(config.epsilon_budget, now.epsilon_budget);
    uint8_t digest[kSha256Size] = {};
    posix::Check(ModelDigest(*config.model, digest), "the model's digest");
    return JobToResume(history, {last.job_id, digest, config}, false) != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

// The same options can name files that hold something else by now. What has changed since the job
// began, for people; empty: nothing.
std::string ChangedFile(const ServeRequest& o, const JobEntry& begun, Store& store) {
  if (!o.model_file.empty()) {
    const std::vector<uint8_t> bundle = store.ReadDescription(begun.number);
    const posix::SharedModel model = posix::ParseBundle({bundle.data(), bundle.size()});
    const std::string was = posix::ModelDigestHex(*model);
    const std::string is = posix::ModelDigestHex(*o.job.model);
    if (was != is) {
      return fmt::format(
          "--model {}: job {} began with model_digest = {}, and the file has another "
          "net now, {}",
          o.model_file, begun.number, was, is);
    }
  }
  const std::vector<int64_t> kept = store.ListModels(begun.number);
  const bool has_first = !kept.empty() && kept.front() == kFirstModel;
  if (!o.initial_model || !has_first || !std::filesystem::exists(*o.initial_model)) return "";
  if (store.ReadModel(begun.number, kFirstModel).parameters ==
      ReadParameters(*o.initial_model, *o.job.model)) {
    return "";
  }
  return fmt::format("--initial-model {}: job {} began with other parameters than the file has now",
                     *o.initial_model, begun.number);
}

// The job of the options: begun, or gone on with.
std::optional<JobChoice> ChooseNamed(const ServeRequest& o, uint32_t devices,
                                     const History& history, Store& store) {
  const JobEntry* last = LastJob(history);
  JobChoice choice{o, true, 0, JobAsk{JobAct::kStart, 0, JobSettings(o), false}};
  if (last == nullptr) return choice;
  const std::optional<HaltEntry> end = EndOf(history, *last);
  if (o.new_job && !IsRestart(o, devices, history)) return choice;
  if (MakesLastJob(o, devices, history, store)) {
    choice.begins = false;
    if (SettingsOf(history, last->number) == choice.ask->settings) choice.ask.reset();
    const bool asks_other =
        o.Has("rounds") && PlanNow(history.store, *last).rounds != o.job.plan.rounds;
    const bool stays_over = end && !MayReopen(end->kind) && !asks_other && !o.once;
    return stays_over ? std::nullopt : std::make_optional(choice);
  }
  if (const JobEntry* begun = JobBegunWith(history, choice.ask->settings)) {
    const std::string changed = ChangedFile(o, *begun, store);
    const bool is_replaced = !changed.empty() && !end && begun == last && last->released == 0;
    if (!changed.empty() && !is_replaced) {
      throw std::runtime_error(
          changed +
          "; leave the option out to go on with the job, or begin another job: "
          "`sotto job start`");
    }
    if (changed.empty()) {
      return end && !o.once ? std::nullopt : std::make_optional(GoOnWith(o, history, *last));
    }
  }
  // A job that has released something keeps its options, and the store says which one differs.
  choice.begins = end || last->released == 0;
  if (!choice.begins) choice.ask.reset();
  return choice;
}

// Whether all of these lines are in the settings.
bool HasLines(const std::string& settings, const std::string& lines) {
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = lines.find('\n', begin) + 1;
    if (("\n" + settings).find("\n" + lines.substr(begin, end - begin)) == std::string::npos) {
      return false;
    }
    begin = end;
  }
  return true;
}

// The last job that has had this budget and these rounds: a service's options are read at each of
// its starts, and extend one job once.
const JobEntry* ExtendedBefore(const ServeRequest& o, const History& history) {
  if (o.new_job || !OnlyExtends(o)) return nullptr;
  const std::string lines = JobSettings(o);
  const JobEntry* found = nullptr;
  for (const JobEntry& job : history.jobs) {
    const std::optional<std::string> settings = SettingsOf(history, job.number);
    if (settings && HasLines(*settings, lines)) found = &job;
  }
  return found;
}

// The last job with more budget, so that nobody names all of its options again; absent: these
// options do not mean that, or it cannot go on.
std::optional<JobChoice> ExtendLast(const ServeRequest& o, const History& history) {
  const JobEntry* last = LastJob(history);
  if (last == nullptr || o.new_job || !OnlyExtends(o)) return std::nullopt;
  const std::optional<HaltEntry> end = EndOf(history, *last);
  if (end && !MayReopen(end->kind) && end->kind != Halt::kAllRounds) return std::nullopt;
  const std::optional<std::string> settings = SettingsOf(history, last->number);
  if (!settings) return std::nullopt;
  const std::string merged = Merged(*settings, JobSettings(o));
  return JobChoice{WithSettings(o, merged, kInStore), false, 0,
                   JobAsk{JobAct::kStart, 0, merged, false}};
}

}  // namespace

std::optional<JobChoice> ChooseFirstJob(const ServeRequest& o, uint32_t devices,
                                        const History& history, Store& store) {
  const JobEntry* last = LastJob(history);
  const JobEntry* extended = ExtendedBefore(o, history);
  if (extended == nullptr) {
    if (std::optional<JobChoice> choice = ExtendLast(o, history)) return choice;
    if (NamesJob(o) || o.new_job) return ChooseNamed(o, devices, history, store);
  } else if (extended != last) {
    fmt::print(stderr,
               "note: --epsilon-budget {} was for job {}, and changes nothing of job {}; to extend "
               "that, name another figure\n",
               *o.epsilon_budget, extended->number, last->number);
  }
  if (o.once && last == nullptr) return ChooseNamed(o, devices, history, store);
  if (!o.once) last = JobToGoOnWith(history);
  if (last == nullptr) return std::nullopt;
  return GoOnWith(o, history, *last);
}

SharedDataset OpenTestSet(const ServeRequest& o, const ModelInfo& model) {
  if (o.test.empty() || o.evaluate_every == 0) return nullptr;
  SharedDataset test = OpenTest(o.test, &model);
  if (test->size() == 0) {
    throw std::invalid_argument(fmt::format("--test {}: it has no samples", o.test));
  }
  RequireEvaluable(model, *test);
  fmt::print(stderr, "{}", NotesText({test}));
  return test;
}

}  // namespace sotto::server
