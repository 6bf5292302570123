// The operator's page of a running server: HTTP on a loopback address, within the server's event
// loop. Part of sotto::server/service.
//
//   /             the page, and the files that it loads (overview/page_files.h)
//   /login        POST token=HEX: a cookie for the token
//   /api/overview the overview, JSON (overview.h)
//   /api/events   what happens, server-sent events (live_overview.h)
//   /api/devices  the devices by name with their states (device_states.h), how often they reported
//                 in this start of the server, and their turns: the operator asked for it
//   /metrics      the text format of Prometheus
//   /healthz      "ok": the event loop lives
// All but the page's own files, /login and /healthz want the token or its cookie (page_access.h).
// It only reads: nothing that a viewer sends changes the server.
//
// All calls come from the thread of Server::Run(), or before it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "net/serve_request.h"
#include "net/server.h"
#include "overview/live_overview.h"
#include "store/records.h"
#include "views/device_states.h"
#include "web/http_server.h"
#include "web/page_access.h"

namespace sotto::server {

// The file of --http-token, by default beside the store.
std::string PageTokenFile(const ServeRequest& request);

// What the page asks of the server while it answers.
struct PageSources {
  std::function<NetworkFigures()> network;
  std::function<std::string()> metrics;  // text
  std::function<std::string()> listens;  // HOST:PORT for devices
  // Every device that the store has, as it was last looked at; never null.
  std::function<std::shared_ptr<const std::vector<DeviceRecord>>()> devices;
  std::function<DeviceView(const DeviceRecord&)> state;
  std::function<std::map<std::string, uint64_t>()> counts;  // of devices in each state
};

class ServePage {
 public:
  // Listens. Throws std::invalid_argument for a wrong --http, and as HttpServer and
  // ReadOrMakeToken() do.
  ServePage(const ServeRequest& request, PageSources sources);

  // "http://127.0.0.1:8080/"
  const std::string& address() const { return address_; }

  LoopGuest Guest();

  // See LiveOverview. Call it again when another job begins.
  //   turns  of the job that runs
  void Begin(const nlohmann::ordered_json& overview, bool seeded, const JobTurns& turns);
  //   devices  the registry of the outcome's indices
  //   turns    of the job's devices, if the outcome is a release
  void OnOutcome(const RoundOutcome& outcome, const std::optional<LedgerEntry>& release,
                 const JobTurns& turns, const DeviceRegistry& devices);
  void OnClaims(uint32_t round, const std::vector<privacy::Claim>& claims);
  void OnPhase(const ServerPhase& phase, bool is_paused);
  void OnEvaluation(uint32_t round, const EvaluatedData& data, const Evaluation& evaluation);
  void OnQueue(const nlohmann::ordered_json& queue);
  void OnLog(const std::string& line);

  void OnDevice(const std::string& id, bool is_connected, uint64_t silent_ms);

  // ServerEvents::alive: publishes the figures of network and devices from time to time.
  void Alive(uint64_t now_ms);

  // Tells the viewers that the server ends.
  void End();

 private:
  struct Presence {
    bool is_connected = false;
    uint64_t reports = 0;        // that count in a release
    uint32_t last_reported = 0;  // the round of the last one, from 1
  };

  HttpReply Answer(const HttpRequest& request);
  HttpReply AnswerOperator(const HttpRequest& request);
  HttpReply LogIn(const HttpRequest& request);
  void KeepTurns(const JobTurns& turns);
  nlohmann::ordered_json DeviceCounts() const;
  nlohmann::ordered_json DeviceList() const;
  void Publish(const std::string& event);

  const PageSources sources_;
  LiveOverview overview_;
  std::unordered_map<std::string, Presence> seen_;
  std::unordered_map<std::string, DeviceTurns> turns_;  // of a job of passes, by the device's name
  size_t connected_ = 0;
  double last_seen_ = 0;
  uint64_t next_figures_ms_ = 0;
  uint64_t next_beat_ms_ = 0;
  std::optional<PageAccess> access_;
  std::unique_ptr<HttpServer> http_;
  std::string address_;
};

}  // namespace sotto::server
