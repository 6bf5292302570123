#include "overview/live_overview.h"

#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include <nlohmann/json.hpp>

#include "aggregate/spectrum.h"
#include "base/json_text.h"
#include "overview/overview.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLogLines = 200;
constexpr double kMs = 1e-3;  // seconds

double Now() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

std::string Array(const std::vector<std::string>& texts) {
  return fmt::format("[{}]", fmt::join(texts, ","));
}

// {"a":1,"b":2}: "a":1,"b":2
std::string Inside(const Json& object) {
  const std::string text = ForgivingJsonText(object);
  return text.substr(1, text.size() - 2);
}

Json Frequencies() {
  Json frequencies = Json::array();
  for (size_t band = 0; band < kSpectrumBands; ++band) {
    frequencies.push_back((static_cast<double>(band) + 0.5) / (2.0 * kSpectrumBands));
  }
  return frequencies;
}

const char* StateOf(const ServerPhase& phase, bool is_paused) {
  switch (phase.kind) {
    case ServerPhase::Kind::kOpen:
    case ServerPhase::Kind::kClosed:
      return "running";
    case ServerPhase::Kind::kWaiting:
      return is_paused ? "paused" : "waiting";
    case ServerPhase::Kind::kFinished:
      return KindOf(phase.end).state;
  }
  return "running";
}

}  // namespace

// The parts that are JSON.
struct LiveOverview::Parts {
  Json job;  // the one that runs, without rounds and evaluations
  Json devices;
  Json queue;
  Json network;
};

LiveOverview::LiveOverview() : parts_(std::make_unique<Parts>()), started_(Now()) {}

LiveOverview::~LiveOverview() = default;

std::string LiveOverview::Begin(const Json& overview, bool seeded) {
  Json head = overview;
  head.erase("jobs");
  head.erase("devices");
  head.erase("queue");
  for (const char* field : {"live", "sequence", "now"}) head.erase(field);
  head["started"] = started_;
  head_ = Inside(head);
  parts_->devices = overview.at("devices");
  parts_->queue = overview.value("queue", Json::array());
  past_.clear();
  rounds_.clear();
  evaluations_.clear();
  parts_->job = nullptr;
  has_begun_ = true;
  const Json& jobs = overview.at("jobs");
  for (size_t i = 0; i + 1 < jobs.size(); ++i) past_.push_back(ForgivingJsonText(jobs[i]));
  if (jobs.empty()) return Event("begin", Json::object());
  Json& job = parts_->job;
  job = jobs.back();
  for (const Json& round : job["rounds"]) rounds_.push_back(ForgivingJsonText(round));
  for (const Json& evaluation : job["evaluations"])
    evaluations_.push_back(ForgivingJsonText(evaluation));
  job.erase("rounds");
  job.erase("evaluations");
  if (job["turns"].is_object()) job["turns"].erase("devices");
  if (job["ended"].is_null()) {
    job["state"] = "running";
    job["reason"] = "";
  }
  job["seeded"] = job["seeded"].get<bool>() || seeded;
  job["attempt"] = nullptr;
  job["spectrum"] = nullptr;
  return Event("begin", Json::object());
}

std::string LiveOverview::Text() const {
  const std::string log = ForgivingJsonText(Json(log_));
  std::string jobs;
  if (!parts_->job.is_null()) {
    std::vector<std::string> all = past_;
    all.push_back(fmt::format(R"({{{},"rounds":{},"evaluations":{}}})", Inside(parts_->job),
                              Array(rounds_), Array(evaluations_)));
    jobs = Array(all);
  } else {
    jobs = "[]";
  }
  return fmt::format(
      R"({{{}{}"live":true,"sequence":{},"now":{:.3f},"jobs":{},"devices":{},"queue":{},)"
      R"("network":{},"log":{}}})",
      head_, head_.empty() ? "" : ",", sequence_, Now(), jobs, ForgivingJsonText(parts_->devices),
      ForgivingJsonText(parts_->queue), ForgivingJsonText(parts_->network), log);
}

std::string LiveOverview::Event(const char* name, const Json& data) {
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", ++sequence_, name, ForgivingJsonText(data));
}

std::string LiveOverview::SpectrumEvent(const RoundOutcome& outcome) {
  Json& job = parts_->job;
  job["spectrum"] = {{"round", outcome.round + 1},
                     {"frequency", Frequencies()},
                     {"before", outcome.figures->before},
                     {"after", outcome.figures->after},
                     {"noise", outcome.figures->noise}};
  return Event("spectrum", {{"job", job["job"]}, {"spectrum", job["spectrum"]}});
}

std::string LiveOverview::OnOutcome(const RoundOutcome& outcome,
                                    const std::optional<LedgerEntry>& release,
                                    const JobTurns& turns) {
  Json& job = parts_->job;
  if (job.is_null() || !release) return "";
  const Json round = OverviewOfRound(*release, Audience::kOperator, &outcome);
  rounds_.push_back(ForgivingJsonText(round));
  if (job["private"].get<bool>()) job["claims"] = OverviewOfClaims(release->claims);
  job["attempts"] = release->attempts;
  job["rounds_released"] = release->round + 1;
  job["seeded"] = release->seeded;
  job["turns"] = OverviewOfTurns(turns);
  if (job["turns"].is_object()) job["turns"].erase("devices");
  const std::string event = Event("round", {{"job", job["job"]},
                                            {"round", round},
                                            {"claims", job["claims"]},
                                            {"turns", job["turns"]},
                                            {"attempts", job["attempts"]},
                                            {"rounds_released", job["rounds_released"]}});
  return outcome.figures ? event + SpectrumEvent(outcome) : event;
}

std::string LiveOverview::OnClaims(uint32_t round, const std::vector<privacy::Claim>& claims) {
  Json& job = parts_->job;
  if (job.is_null() || job["rounds_released"] != round + 1) return "";
  job["claims"] = OverviewOfClaims(claims);
  return Event("claims", {{"job", job["job"]}, {"claims", job["claims"]}});
}

std::string LiveOverview::StateEvent() {
  Json state = Json::object();
  for (const char* field :
       {"job", "state", "ended", "reason", "rounds_planned", "epsilon_budget"}) {
    state[field] = parts_->job[field];
  }
  return Event("state", state);
}

std::string LiveOverview::OnPhase(const ServerPhase& phase, bool is_paused) {
  Json& job = parts_->job;
  if (job.is_null()) return "";
  job["attempt"] = nullptr;
  if (phase.kind == ServerPhase::Kind::kOpen) {
    job["attempt"] = {{"round", phase.round + 1},
                      {"attempt", phase.attempt + 1},
                      {"drawn", phase.drawn},
                      {"opened", static_cast<double>(phase.opened_ms) * kMs},
                      {"deadline", static_cast<double>(phase.deadline_ms) * kMs}};
  }
  std::string events = Event("attempt", {{"job", job["job"]}, {"attempt", job["attempt"]}});
  const char* state = StateOf(phase, is_paused);
  if (job["state"] != state || job["reason"] != phase.reason) {
    job["state"] = state;
    job["ended"] = IsEnd(phase.end) ? Json(Name(phase.end)) : Json(nullptr);
    job["reason"] = phase.reason;
    events += StateEvent();
  }
  return events;
}

std::string LiveOverview::OnEvaluation(uint32_t round, const EvaluatedData& data,
                                       const Evaluation& evaluation) {
  if (parts_->job.is_null()) return "";
  const Json json = OverviewOfEvaluation(round, data.name, evaluation);
  parts_->job["classes"] = OverviewOfClasses(round, data, evaluation);
  evaluations_.push_back(ForgivingJsonText(json));
  return Event(
      "evaluation",
      {{"job", parts_->job["job"]}, {"evaluation", json}, {"classes", parts_->job["classes"]}});
}

std::string LiveOverview::OnDevices(Json devices) {
  if (devices == parts_->devices) return "";
  parts_->devices = std::move(devices);
  return Event("devices", parts_->devices);
}

std::string LiveOverview::OnQueue(Json queue) {
  if (queue == parts_->queue) return "";
  parts_->queue = std::move(queue);
  return Event("queue", {{"queue", parts_->queue}});
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
  if (network == parts_->network) return "";
  parts_->network = std::move(network);
  return Event("network", parts_->network);
}

std::string LiveOverview::OnLog(const std::string& line) {
  log_.push_back(line);
  if (log_.size() > kLogLines) log_.pop_front();
  return Event("log", {{"line", line}});
}

std::string LiveOverview::OnEnd() { return Event("end", Json::object()); }

}  // namespace sotto::server
