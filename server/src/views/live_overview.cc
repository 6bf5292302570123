#include "views/live_overview.h"

#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "aggregate/spectrum.h"
#include "views/overview.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLogLines = 200;
constexpr double kMs = 1e-3;  // seconds

double Now() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

// Whatever bytes a text has: a log line may quote a name from the network.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Array(const std::vector<std::string>& texts) {
  return fmt::format("[{}]", fmt::join(texts, ","));
}

// {"a":1,"b":2}: "a":1,"b":2
std::string Inside(const Json& object) {
  const std::string text = Dump(object);
  return text.substr(1, text.size() - 2);
}

Json Frequencies() {
  Json frequencies = Json::array();
  for (size_t band = 0; band < kSpectrumBands; ++band) {
    frequencies.push_back((static_cast<double>(band) + 0.5) / (2.0 * kSpectrumBands));
  }
  return frequencies;
}

const char* StateOf(const ServerPhase& phase, bool is_paused, bool gave_up) {
  switch (phase.kind) {
    case ServerPhase::Kind::kOpen:
    case ServerPhase::Kind::kClosed:
      return "running";
    case ServerPhase::Kind::kWaiting:
      return is_paused ? "paused" : "waiting";
    case ServerPhase::Kind::kFinished:
      return gave_up ? "gave-up" : "finished";
  }
  return "running";
}

}  // namespace

LiveOverview::LiveOverview() : job_(nullptr), started_(Now()) {}

void LiveOverview::Begin(const Json& overview, bool seeded) {
  Json head = overview;
  head.erase("jobs");
  head.erase("devices");
  for (const char* field : {"live", "sequence", "now"}) head.erase(field);
  head["started"] = started_;
  head_ = Inside(head);
  devices_ = overview.at("devices");
  past_.clear();
  const Json& jobs = overview.at("jobs");
  for (size_t i = 0; i + 1 < jobs.size(); ++i) past_.push_back(Dump(jobs[i]));
  job_ = jobs.back();
  for (const Json& round : job_["rounds"]) rounds_.push_back(Dump(round));
  for (const Json& evaluation : job_["evaluations"]) evaluations_.push_back(Dump(evaluation));
  job_.erase("rounds");
  job_.erase("evaluations");
  job_["state"] = "running";
  job_["reason"] = "";
  job_["seeded"] = seeded;
  job_["attempt"] = nullptr;
  job_["spectrum"] = nullptr;
  has_begun_ = true;
}

std::string LiveOverview::Text() const {
  const std::string log = Dump(Json(log_));
  std::string jobs;
  if (!job_.is_null()) {
    std::vector<std::string> all = past_;
    all.push_back(fmt::format(R"({{{},"rounds":{},"evaluations":{}}})", Inside(job_),
                              Array(rounds_), Array(evaluations_)));
    jobs = Array(all);
  } else {
    jobs = "[]";
  }
  return fmt::format(
      R"({{{}{}"live":true,"sequence":{},"now":{:.3f},"jobs":{},"devices":{},"network":{},"log":{}}})",
      head_, head_.empty() ? "" : ",", sequence_, Now(), jobs, Dump(devices_), Dump(network_), log);
}

std::string LiveOverview::Event(const char* name, const Json& data) {
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", ++sequence_, name, Dump(data));
}

std::string LiveOverview::SpectrumEvent(const RoundOutcome& outcome) {
  job_["spectrum"] = {{"round", outcome.round + 1},
                      {"frequency", Frequencies()},
                      {"before", outcome.figures->before},
                      {"after", outcome.figures->after},
                      {"noise", outcome.figures->noise}};
  return Event("spectrum", {{"job", job_["job"]}, {"spectrum", job_["spectrum"]}});
}

std::string LiveOverview::OnOutcome(const RoundOutcome& outcome,
                                    const std::optional<LedgerEntry>& release) {
  if (job_.is_null() || !release) return "";
  const Json round = OverviewOfRound(*release, Audience::kOperator, &outcome);
  rounds_.push_back(Dump(round));
  if (job_["private"].get<bool>()) job_["claims"] = OverviewOfClaims(release->claims);
  job_["attempts"] = release->attempts;
  job_["rounds_released"] = release->round + 1;
  job_["seeded"] = release->seeded;
  const std::string event = Event("round", {{"job", job_["job"]},
                                            {"round", round},
                                            {"claims", job_["claims"]},
                                            {"attempts", job_["attempts"]},
                                            {"rounds_released", job_["rounds_released"]}});
  return outcome.figures ? event + SpectrumEvent(outcome) : event;
}

std::string LiveOverview::StateEvent() {
  Json state = Json::object();
  for (const char* field : {"job", "state", "reason", "rounds_planned", "epsilon_budget"}) {
    state[field] = job_[field];
  }
  return Event("state", state);
}

std::string LiveOverview::OnPhase(const ServerPhase& phase, bool is_paused, bool gave_up) {
  if (job_.is_null()) return "";
  job_["attempt"] = nullptr;
  if (phase.kind == ServerPhase::Kind::kOpen) {
    job_["attempt"] = {{"round", phase.round + 1},
                       {"attempt", phase.attempt + 1},
                       {"drawn", phase.drawn},
                       {"opened", static_cast<double>(phase.opened_ms) * kMs},
                       {"deadline", static_cast<double>(phase.deadline_ms) * kMs}};
  }
  std::string events = Event("attempt", {{"job", job_["job"]}, {"attempt", job_["attempt"]}});
  const char* state = StateOf(phase, is_paused, gave_up);
  if (job_["state"] != state || job_["reason"] != phase.reason) {
    job_["state"] = state;
    job_["reason"] = phase.reason;
    events += StateEvent();
  }
  return events;
}

std::string LiveOverview::OnEvaluation(uint32_t round, const std::string& data,
                                       const Evaluation& evaluation) {
  if (job_.is_null()) return "";
  const Json json = OverviewOfEvaluation(round, data, evaluation);
  evaluations_.push_back(Dump(json));
  return Event("evaluation", {{"job", job_["job"]}, {"evaluation", json}});
}

std::string LiveOverview::OnDevices(Json devices) {
  if (devices == devices_) return "";
  devices_ = std::move(devices);
  return Event("devices", devices_);
}

std::string LiveOverview::OnNetwork(const NetworkFigures& figures) {
  Json network = {{"connections", figures.connections},
                  {"connections_limit", figures.max_connections},
                  {"handshakes", figures.handshakes},
                  {"held", figures.held},
                  {"accepted", figures.accepted},
                  {"refused", figures.refused},
                  {"failed_handshakes", figures.failed_handshakes},
                  {"overdue", figures.overdue},
                  {"loop_stall_ms_max", figures.loop_stall_ms_max}};
  if (network == network_) return "";
  network_ = std::move(network);
  return Event("network", network_);
}

std::string LiveOverview::OnLog(const std::string& line) {
  log_.push_back(line);
  if (log_.size() > kLogLines) log_.pop_front();
  return Event("log", {{"line", line}});
}

std::string LiveOverview::OnEnd() { return Event("end", Json::object()); }

}  // namespace sotto::server
