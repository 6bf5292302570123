#include "service/page.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/built_in.h"
#include "base/json_text.h"
#include "base/wall_clock.h"
#include "jobs/job_start.h"
#include "overview/overview.h"
#include "overview/page_files.h"
#include "service/live_file.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kFiguresMs = 2000;
constexpr uint64_t kBeatMs = 15000;  // a dead viewer is found, and a proxy's patience renewed

// Nothing but this page's own files runs or is shown, and no other page may hold it in a frame or
// read it.
constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
     "blob: data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

posix::HostPort ParseHttp(const std::string& text) {
  posix::HostPort parsed = AddressOf("--http", text, "127.0.0.1:8080");
  if (parsed.host == "localhost") parsed.host = "127.0.0.1";
  RequireLoopback(parsed.host);
  return parsed;
}

// Empty if the library of charts is not built in.
HttpReply FileReply(const PageFile& file) {
  const BuiltInFile* built_in = FindBuiltIn(file.built_in);
  HttpReply reply = TextReply(200, built_in == nullptr ? "" : built_in->text);
  reply.type = file.type;
  return reply;
}

HttpReply JsonReply(std::string text) {
  HttpReply reply = TextReply(200, std::move(text));
  reply.type = "application/json";
  return reply;
}

}  // namespace

std::string PageTokenFile(const ServeRequest& request) {
  return request.http_token.empty() ? ServersFile(request.store, ".token") : request.http_token;
}

ServePage::ServePage(const ServeRequest& request, PageSources sources)
    : sources_(std::move(sources)) {
  const posix::HostPort address = ParseHttp(request.http);
  http_ = std::make_unique<HttpServer>(address.host, address.port,
                                       [this](const HttpRequest& asked) { return Answer(asked); });
  access_.emplace(ReadOrMakeToken(PageTokenFile(request)), address.host, http_->port(),
                  request.http_name);
  address_ =
      fmt::format("http://{}:{}/",
                  address.host.find(':') == std::string::npos ? address.host
                                                              : fmt::format("[{}]", address.host),
                  http_->port());
}

LoopGuest ServePage::Guest() {
  return {http_->descriptor(), [this] { return http_->Run(); }};
}

HttpReply ServePage::Answer(const HttpRequest& request) {
  HttpReply reply;
  if (!access_->IsOwnHost(request)) {
    reply = TextReply(421, "this is not the name of this page\n");
  } else if (request.path == "/healthz") {
    reply = TextReply(200, "ok\n");
  } else if (request.path == "/login") {
    reply = LogIn(request);
  } else if (request.method != "GET") {
    reply = TextReply(405, "this page can only be read\n");
  } else {
    reply = AnswerOperator(request);
  }
  for (const auto& [name, value] : kHeaders) reply.headers.emplace_back(name, value);
  reply.is_operators =
      access_->IsOwnHost(request) && (access_->IsOperator(request) || access_->HoldsToken(request));
  return reply;
}

HttpReply ServePage::LogIn(const HttpRequest& request) {
  if (request.method != "POST") return TextReply(405, "expected POST\n");
  if (!access_->IsOwnOrigin(request)) return TextReply(403, "another page asks\n");
  if (!access_->HoldsToken(request)) return TextReply(403, "this is not the token\n");
  HttpReply reply;
  reply.status = 204;
  reply.headers.emplace_back("Set-Cookie", access_->Cookie(request));
  return reply;
}

// What only the operator gets, and the page's files.
HttpReply ServePage::AnswerOperator(const HttpRequest& request) {
  for (const PageFile& file : PageFiles()) {
    if (request.path == file.path) return FileReply(file);
  }
  if (!access_->IsOwnOrigin(request)) return TextReply(403, "another page asks\n");
  if (!access_->IsOperator(request)) {
    return TextReply(401,
                     "the token of --http-token is missing: a cookie of /login, or "
                     "\"Authorization: Bearer TOKEN\"\n");
  }
  if (request.path == "/api/overview") return JsonReply(overview_.Text());
  if (request.path == "/api/devices") return JsonReply(JsonText(DeviceList()));
  if (request.path == "/metrics") {
    HttpReply reply = TextReply(200, sources_.metrics());
    reply.type = "text/plain; version=0.0.4; charset=utf-8";
    return reply;
  }
  if (request.path == "/api/events") {
    HttpReply reply = TextReply(200, ": follows\n\n");
    reply.type = "text/event-stream";
    reply.headers.emplace_back("X-Accel-Buffering", "no");  // a proxy passes events on at once
    reply.is_stream = true;
    return reply;
  }
  return TextReply(404, "there is no such page\n");
}

void ServePage::KeepTurns(const JobTurns& turns) {
  for (const DeviceTurns& device : turns.devices) turns_[device.id] = device;
}

void ServePage::Begin(const Json& overview, bool seeded, const JobTurns& turns) {
  turns_.clear();
  KeepTurns(turns);
  Json shown = overview;
  shown["listens"] = sources_.listens();
  const std::string begun = overview_.Begin(shown, seeded);
  overview_.OnDevices(DeviceCounts());
  Publish(begun);
}

void ServePage::Publish(const std::string& event) {
  if (!event.empty()) http_->Publish(event);
}

void ServePage::OnOutcome(const RoundOutcome& outcome, const std::optional<LedgerEntry>& release,
                          const JobTurns& turns, const DeviceRegistry& devices) {
  for (const uint32_t device : outcome.reporters) {
    if (!outcome.released) break;
    Presence& presence = seen_[devices[device].id];
    ++presence.reports;
    presence.last_reported = outcome.round + 1;
  }
  KeepTurns(turns);
  Publish(overview_.OnOutcome(outcome, release, turns));
}

void ServePage::OnClaims(uint32_t round, const std::vector<privacy::Claim>& claims) {
  Publish(overview_.OnClaims(round, claims));
}

void ServePage::OnPhase(const ServerPhase& phase, bool is_paused) {
  Publish(overview_.OnPhase(phase, is_paused));
}

void ServePage::OnEvaluation(uint32_t round, const EvaluatedData& data,
                             const Evaluation& evaluation) {
  Publish(overview_.OnEvaluation(round, data, evaluation));
}

void ServePage::OnQueue(const Json& queue) { Publish(overview_.OnQueue(queue)); }

void ServePage::OnLog(const std::string& line) { Publish(overview_.OnLog(line)); }

void ServePage::OnDevice(const std::string& id, bool is_connected, uint64_t silent_ms) {
  Presence& presence = seen_[id];
  if (presence.is_connected != is_connected) connected_ += is_connected ? 1 : size_t(-1);
  presence.is_connected = is_connected;
  last_seen_ = std::max(last_seen_, SecondsNow() - 1e-3 * static_cast<double>(silent_ms));
}

Json ServePage::DeviceCounts() const {
  Json counts = OverviewOfDevices(*sources_.devices());
  Json states = Json::object();
  for (const auto& [state, count] : sources_.counts()) {
    if (count != 0) states[state] = count;
  }
  counts["states"] = states;
  counts["seen"] = seen_.size();
  counts["connected"] = connected_;
  counts["last_seen"] = last_seen_ == 0 ? Json(nullptr) : Json(last_seen_);
  return counts;
}

Json ServePage::DeviceList() const {
  Json list = Json::array();
  for (const DeviceRecord& device : *sources_.devices()) {
    const auto found = seen_.find(device.id);
    const Presence presence = found == seen_.end() ? Presence() : found->second;
    list.push_back(StateToJson(device, sources_.state(device)));
    Json& entry = list.back();
    entry.update(
        {{"registered", device.created},
         {"revoked", device.revoked ? Json(*device.revoked) : Json(nullptr)},
         {"reports", presence.reports},
         {"last_reported", presence.reports == 0 ? Json(nullptr) : Json(presence.last_reported)},
         {"seeded", device.seeded}});
    const auto turns = turns_.find(device.id);
    const bool has_turns = turns != turns_.end();
    AddTurns(has_turns ? &turns->second : nullptr, &entry);
    if (has_turns) entry.update(TurnsToJson(turns->second));
  }
  return {{"devices", list}};
}

void ServePage::Alive(uint64_t now_ms) {
  if (now_ms >= next_figures_ms_) {
    next_figures_ms_ = now_ms + kFiguresMs;
    Publish(overview_.OnNetwork(sources_.network()));
    if (overview_.has_begun()) Publish(overview_.OnDevices(DeviceCounts()));
  }
  if (now_ms < next_beat_ms_) return;
  next_beat_ms_ = now_ms + kBeatMs;
  http_->Publish(": alive\n\n");
}

void ServePage::End() { Publish(overview_.OnEnd()); }

}  // namespace sotto::server
