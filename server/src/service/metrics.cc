#include "service/metrics.h"

#include <cmath>
#include <map>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "round/round_figures.h"

namespace sotto::server {
namespace {

struct Metric {
  std::string name;
  std::string help;
  double value;
};

// The gauges of rounds that are known.
void AddGauges(const RoundMetrics& rounds, std::vector<Metric>& metrics) {
  const Span<const RoundFigure> table = RoundFigures();
  for (size_t i = 0; i < table.size(); ++i) {
    const std::optional<double>& value = rounds.gauges[i];
    if (table[i].IsIn(kMetrics) && value && std::isfinite(*value)) {
      metrics.push_back({table[i].gauge(), table[i].gauge_help(), *value});
    }
  }
}

void AddSums(const RoundMetrics& rounds, std::vector<Metric>& metrics) {
  const Span<const RoundFigure> table = RoundFigures();
  for (size_t i = 0; i < table.size(); ++i) {
    const RoundFigure::Counter& counter = table[i].counter();
    if (counter.name != nullptr) metrics.push_back({counter.name, counter.help, rounds.sums[i]});
  }
}

void AddStore(const StoreFigures& store, int64_t attempts, std::vector<Metric>* metrics) {
  const auto real = [](auto value) { return static_cast<double>(value); };
  metrics->push_back({"sotto_store_bytes", "Bytes of the store's file", real(store.bytes)});
  metrics->push_back(
      {"sotto_store_free_bytes", "Free bytes of the store's file system", real(store.free_bytes)});
  metrics->push_back({"sotto_store_copy_attempts_behind",
                      "Attempts that the newest copy of the store does not know",
                      real(AttemptsBehind(store, attempts))});
  metrics->push_back({"sotto_store_copy_time_seconds",
                      "When the newest copy of the store was made, since 1970; 0: none is known",
                      real(store.copy ? store.copy->made : 0)});
}

// Figures that are not always known.
std::vector<Metric> KnownGauges(const JobFigures& job) {
  std::vector<Metric> known;
  const auto add = [&](const char* name, const char* help, const std::optional<double>& value) {
    if (value && std::isfinite(*value)) known.push_back({name, help, *value});
  };
  if (job.epsilon_budget > 0) {
    add("sotto_epsilon_budget", "The job ends before its epsilon exceeds it", job.epsilon_budget);
  }
  if (job.store) AddStore(*job.store, job.store_attempts, &known);
  if (!job.evaluation) return known;
  add("sotto_test_loss", "Loss of the last evaluated model on the test data", job.evaluation->loss);
  add("sotto_test_accuracy", "Accuracy of the last evaluated model on the test data",
      job.evaluation->accuracy());
  add("sotto_test_mean_squared_error", "Error of the last evaluated model on the test data",
      job.evaluation->mean_squared_error());
  return known;
}

// Epsilon and delta of each claim. An infinite epsilon is +Inf.
void AddClaims(const std::vector<privacy::Claim>& claims, prometheus::Registry& registry) {
  if (claims.empty()) return;
  auto& epsilon = prometheus::BuildGauge()
                      .Name("sotto_epsilon")
                      .Help("Upper bound on the privacy loss so far, by adversary and view")
                      .Register(registry);
  auto& delta = prometheus::BuildGauge()
                    .Name("sotto_delta")
                    .Help("Delta of the same claim")
                    .Register(registry);
  for (const privacy::Claim& claim : claims) {
    const std::map<std::string, std::string> labels = {
        {"adversary", privacy::Name(claim.adversary)},
        {"view", privacy::Name(claim.view)},
        {"adjacency", privacy::Name(claim.adjacency)},
        {"unit", privacy::Name(claim.unit)}};
    epsilon.Add(labels).Set(claim.epsilon);
    delta.Add(labels).Set(claim.delta);
  }
}

// Whether the job is over, and how it ended: one series for each end.
void AddEnds(Halt end, prometheus::Registry& registry) {
  prometheus::BuildGauge()
      .Name("sotto_job_over")
      .Help("1: the job is over, and opens no round")
      .Register(registry)
      .Add({})
      .Set(IsEnd(end) ? 1 : 0);
  auto& ended = prometheus::BuildGauge()
                    .Name("sotto_job_ended")
                    .Help("1: the job ended so")
                    .Register(registry);
  for (const HaltKind& kind : kHalts) {
    if (IsEnd(kind.value)) ended.Add({{"kind", kind.name}}).Set(kind.value == end ? 1 : 0);
  }
}

void AddStates(const std::map<std::string, uint64_t>& states, prometheus::Registry& registry) {
  if (states.empty()) return;
  auto& devices = prometheus::BuildGauge()
                      .Name("sotto_devices")
                      .Help("Devices of the store in each state")
                      .Register(registry);
  for (const auto& [name, count] : states) {
    devices.Add({{"state", name}}).Set(static_cast<double>(count));
  }
}

std::vector<Metric> Gauges(const NetworkFigures& network, const JobFigures& job) {
  const auto real = [](auto value) { return static_cast<double>(value); };
  std::vector<Metric> gauges = {
      {"sotto_connections", "Open connections, strangers included", real(network.connections)},
      {"sotto_connections_limit", "--max-connections, or fewer for want of files",
       real(network.max_connections)},
      {"sotto_handshakes", "TLS handshakes under way", real(network.handshakes)},
      {"sotto_handshakes_limit", "--max-handshakes", real(network.max_handshakes)},
      {"sotto_sessions", "Connections of devices", real(network.sessions)},
      {"sotto_held_answers", "Devices whose answer waits for work", real(network.held)},
      {"sotto_loop_stall_seconds_max", "Longest time in which the event loop served nobody else",
       network.loop_stall_ms_max / 1000},
      {"sotto_eligible_devices", "Devices that may be drawn", real(job.eligible_devices)},
      {"sotto_rounds_planned", "Rounds of the job's plan", real(job.rounds_planned)},
      {"sotto_rounds_released", "Rounds of the job that are released", real(job.rounds_released)},
  };
  AddGauges(job.rounds, gauges);
  return gauges;
}

std::vector<Metric> Counters(const NetworkFigures& network, const JobFigures& job) {
  const auto real = [](auto value) { return static_cast<double>(value); };
  std::vector<Metric> counters = {
      {"sotto_connections_accepted_total", "Connections taken in", real(network.accepted)},
      {"sotto_connections_refused_total", "Connections closed at once for want of room",
       real(network.refused)},
      {"sotto_connections_made_room_total", "Strangers closed for other connections",
       real(network.made_room)},
      {"sotto_no_client_hello_total",
       "Strangers whose bytes were no TLS, or no PROXY header of --proxies",
       real(network.no_client_hello)},
      {"sotto_overdue_total", "Strangers closed because they were slow", real(network.overdue)},
      {"sotto_failed_handshakes_total", "Handshakes begun and not completed",
       real(network.failed_handshakes)},
      {"sotto_resumed_sessions_total", "Sessions of devices that a TLS ticket has opened",
       real(network.resumed)},
      {"sotto_replaced_sessions_total", "Sessions whose device connected again",
       real(network.replaced)},
      {"sotto_delayed_requests_total", "Requests of devices that asked too often",
       real(network.delayed)},
      {"sotto_attempts_total", "Attempts that were closed", real(job.attempts)},
      {"sotto_warnings_total", "WARNING and ALARM lines of the log", real(job.warnings)},
  };
  AddSums(job.rounds, counters);
  return counters;
}

}  // namespace

std::string MetricsText(const NetworkFigures& network, const JobFigures& job) {
  prometheus::Registry registry;
  std::vector<Metric> gauges = Gauges(network, job);
  for (const Metric& known : KnownGauges(job)) gauges.push_back(known);
  const auto add = [&](auto builder, const Metric& metric) -> auto& {
    return builder.Name(metric.name).Help(metric.help).Register(registry).Add({});
  };
  for (const Metric& gauge : gauges) add(prometheus::BuildGauge(), gauge).Set(gauge.value);
  for (const Metric& counter : Counters(network, job)) {
    add(prometheus::BuildCounter(), counter).Increment(counter.value);
  }
  AddEnds(job.end, registry);
  AddClaims(job.claims, registry);
  AddStates(job.device_states, registry);
  return "# The operator's view: counts and times tell who took part; not for publication.\n" +
         prometheus::TextSerializer().Serialize(registry.Collect());
}

}  // namespace sotto::server
