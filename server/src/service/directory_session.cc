#include "service/directory_session.h"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "base/counted.h"
#include "base/gave_up.h"
#include "net/directory_server.h"
#include "peers/directory_folder.h"
#include "service/log.h"
#include "sotto/key_labels.h"
#include "sotto/model/model_file.h"
#include "sotto/options/numbers.h"
#include "sotto/peer/peer_options.h"
#include "sotto/peer_trainer.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/signals.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Output> OutputsOf(const DirectoryRequest& o) {
  return {{"--port-file", o.port_file},
          JsonOutput(o.json, Readers::kOwner),
          {"--model-out", o.model_out}};
}

void Check(const DirectoryRequest& o) {
  if (o.seed.has_value() != o.insecure_seed) {
    throw std::invalid_argument("--seed is for tests and not private: it needs --insecure-seed");
  }
  if (o.order == LeaseOrder::kTurns && (!o.insecure_seed || !o.peers)) {
    throw std::invalid_argument(
        "--order turns repeats a simulation and waits for every node: it needs --insecure-seed and "
        "--peers");
  }
  if (!o.model_out.empty() && !o.relay) {
    throw std::invalid_argument("--model-out needs --relay: without it no model comes here");
  }
  RequireOutputs(OutputsOf(o), o.store, {o.model, o.job.file});
}

// The devices of the store, in the order in which they were added.
std::vector<DeviceRecord> RosterOf(const DirectoryRequest& o, Store& store) {
  std::vector<DeviceRecord> devices = store.ListDevices();
  const size_t wanted = o.peers.value_or(devices.size());
  if (devices.empty() || wanted > devices.size()) {
    throw std::invalid_argument(
        fmt::format("{} holds {}{}; add some with `sotto keys new`", o.store,
                    devices.empty() ? "no devices" : Counted(devices.size(), "device"),
                    o.peers ? fmt::format(", and --peers asks for {}", wanted) : ""));
  }
  devices.resize(wanted);
  return devices;
}

std::vector<std::string> NamesOf(const std::vector<DeviceRecord>& roster) {
  std::vector<std::string> names;
  for (const DeviceRecord& device : roster) names.push_back(device.id);
  return names;
}

// One start of the directory: what it has opened, in the order in which it needs it.
class ServedDirectory {
 public:
  explicit ServedDirectory(const DirectoryRequest& request);

  // Serves, and writes the results. Throws Stopped after a signal.
  void Run();

 private:
  DirectoryState LoadState();
  DirectoryOptions MakeOptions();
  DirectoryServerOptions MakeServerOptions() const;
  Key MakeKey() const;
  void Tell(const std::string& line, bool is_detail) const;
  void TellStart() const;
  Json Results() const;
  void WriteHead() const;

  const DirectoryRequest& request_;
  const ServeLog log_;
  const posix::SharedModel model_;
  const PeerJob job_;
  const std::unique_ptr<Store> store_;
  const std::vector<DeviceRecord> roster_;
  DeviceRegistry devices_;
  DirectoryFolder folder_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<DirectoryServer> server_;
};

ServedDirectory::ServedDirectory(const DirectoryRequest& request)
    : request_(request),
      log_(request.log, request.verbose ? "debug" : request.log_level),
      model_(posix::OpenModel(request.model)),
      job_(posix::PeerJobOf(request.job)),
      store_(OpenStore(request.store, StoreMode::kRead)),
      roster_(RosterOf(request, *store_)),
      devices_(store_->LoadDevices()),
      folder_(request.state) {
  posix::RequirePeerJobSuits(*model_, job_);
  devices_.Lock();
  const DirectoryState state = LoadState();
  std::vector<uint8_t> head;
  std::vector<uint8_t> parent;
  if (request.relay) {
    head = folder_.LoadPublication(state.head);
    parent = folder_.LoadPublication(state.parent);
  }
  try {
    directory_ = std::make_unique<Directory>(MakeOptions(), state, MakeKey(), std::move(head),
                                             std::move(parent), &folder_);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: it is damaged: {}", request.state, error.what()));
  }
  for (uint32_t node = 0; node < roster_.size(); ++node) {
    if (!roster_[node].is_eligible()) directory_->Exclude(node);
  }
  server_ = std::make_unique<DirectoryServer>(
      MakeServerOptions(), devices_, directory_.get(),
      [this](const std::string& line, bool is_detail) { Tell(line, is_detail); });
}

DirectoryState ServedDirectory::LoadState() {
  DirectoryState state = folder_.LoadState();
  try {
    ContinueState(*model_, job_, request_.relay, NamesOf(roster_), &state);
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument(fmt::format("--state {}: {}", request_.state, error.what()));
  }
  folder_.Save(state, {});
  return state;
}

DirectoryOptions ServedDirectory::MakeOptions() {
  DirectoryOptions options;
  options.model = model_.get();
  options.job = job_;
  options.order = request_.order;
  options.lease_ms = static_cast<uint64_t>(request_.lease_s * 1000);
  options.tell = [this](const std::string& line, bool is_detail) { Tell(line, is_detail); };
  return options;
}

DirectoryServerOptions ServedDirectory::MakeServerOptions() const {
  const std::optional<posix::HostPort> listen = posix::ParseHostPort(request_.listen);
  if (!listen) {
    throw std::invalid_argument(
        fmt::format("--listen {}: expected ADDRESS:PORT or [ADDRESS]:PORT", request_.listen));
  }
  DirectoryServerOptions options;
  options.host = listen->host;
  options.port = listen->port;
  options.stop_descriptor = posix::StopDescriptor();
  options.stays = request_.stay;
  options.must_stop = [] { return posix::StopSignal() != 0; };
  return options;
}

Key ServedDirectory::MakeKey() const {
  if (!request_.seed) return folder_.LoadKey();
  return posix::DeriveKey(posix::RunKey(request_.seed), key_label::kServer);
}

void ServedDirectory::Tell(const std::string& line, bool is_detail) const {
  log_.Write(is_detail ? event::kDetail : event::kInfo, line);
}

void ServedDirectory::TellStart() const {
  const DirectoryState& state = directory_->state();
  if (request_.insecure_seed) log_.Write("INSECURE: everything derives from --seed; for tests");
  log_.Write(fmt::format("job {} of {}: {}, rule {}, unit {}, {}", posix::Hex(state.job_id),
                         model_->name, Counted(state.nodes.size(), "node"), Name(job_.rule),
                         Name(job_.unit), state.has_relay ? "with a relay" : "without a relay"));
  if (state.head.version != 0) log_.Write(fmt::format("goes on at version {}", state.head.version));
  log_.Write(event::kListening, fmt::format("listening on port {}", server_->port()),
             {{"port", uint64_t{server_->port()}}});
}

Json ServedDirectory::Results() const {
  const DirectoryState& state = directory_->state();
  const DirectoryCounts& counts = directory_->counts();
  Json nodes = Json::array();
  for (const DirectoryNode& node : state.nodes) {
    nodes.push_back({{"device", node.id},
                     {"publications", node.publications},
                     {"last_version", node.last.version},
                     {"finished", node.is_finished},
                     {"private_policy", node.has_private_policy}});
  }
  return {{"job", posix::Hex(state.job_id)},
          {"model", model_->name},
          {"finished", directory_->is_finished()},
          {"relay", state.has_relay},
          {"version", state.head.version},
          {"publisher", state.head.publisher},
          {"sha256", posix::Hex(state.head.digest)},
          {"bytes", state.head.size},
          {"nodes", std::move(nodes)},
          {"since_start",
           {{"leases", counts.leases},
            {"expired", counts.expired},
            {"versions", counts.versions},
            {"stale", counts.stale},
            {"refused", counts.refused},
            {"bytes_in", counts.bytes_in},
            {"bytes_out", counts.bytes_out}}}};
}

void ServedDirectory::WriteHead() const {
  if (request_.model_out.empty()) return;
  std::vector<float> parameters(model_->parameters);
  const Span<float> out(parameters.data(), parameters.size());
  PublicationHeader header;
  const ByteSpan head = directory_->head_bytes();
  const Status status = head.empty() ? PeerInitialModel(*model_, job_, out)
                                     : DecodePublication(head, job_.range, &header, out);
  if (status != Status::kOk) {
    throw std::runtime_error(fmt::format("decoding the head failed: {}", StatusName(status)));
  }
  WriteModel({"--model-out", request_.model_out}, out);
}

void ServedDirectory::Run() {
  WriteOutput({"--port-file", request_.port_file}, std::to_string(server_->port()) + '\n');
  TellStart();
  const bool is_finished = server_->Run();
  WriteHead();
  WriteJson(request_.json, Results(), Readers::kOwner);
  const std::string summary =
      fmt::format("version {} after {} since the start", directory_->state().head.version,
                  Counted(directory_->counts().versions, "publication"));
  if (!is_finished) {
    const char* rest =
        directory_->is_finished() ? "; all nodes have finished" : "; a later start goes on here";
    throw Stopped(posix::StopSignal(), "stopped at " + summary + rest);
  }
  log_.Write(event::kJobOver, "all nodes have finished: " + summary, {{"ended", "all-steps"}});
}

}  // namespace

void RunDirectory(const DirectoryRequest& o) {
  LogLastWords(o.log);
  Check(o);
  posix::IgnoreWriteSignals();
  posix::IgnoreHangUp();
  posix::CatchStopSignals();
  ServedDirectory(o).Run();
}

}  // namespace sotto::server
