#include <algorithm>
#include <cstdint>
#include <filesystem>
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
#include "cli/rows.h"
#include "data/catalog.h"
#include "lab/commands.h"
#include "sotto/data/device_share.h"
#include "sotto/data/partitions.h"
#include "sotto/key_labels.h"
#include "sotto/model/model_file.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/signals.h"
#include "sotto/posix/tcp.h"
#include "swarm/swarm.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kDevicesOfAnAddress = 64;
constexpr size_t kMostDevices = 1000000;

// The options as the user typed them.
struct SwarmRequest {
  SwarmOptions swarm;
  std::string server = "127.0.0.1:7177";
  std::string store;
  std::string keys;
  std::optional<uint32_t> devices;
  std::optional<uint32_t> addresses;
  std::string model = "softmax-784-10";
  double hold_s = 25;
  bool train = false;
  std::string data = "synthetic";
  std::string partition = kDefaultPartition;
  uint32_t samples_per_device = 50;
  std::optional<uint64_t> seed;
  std::string json;
};

using SwarmRow = posix::Field<SwarmRequest>;

std::vector<Device> ReadKeys(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".key") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Device> devices;
  for (const std::string& path : paths) {
    posix::DeviceKey key = posix::ReadKeyFile(path);
    devices.push_back({std::move(key.device_id), key.secret});
  }
  return devices;
}

std::vector<Device> ReadStore(const std::string& where) {
  const DeviceRegistry registry = OpenStore(where, StoreMode::kRead)->LoadDevices();
  std::vector<Device> devices;
  for (uint32_t i = 0; i < registry.size(); ++i) devices.push_back(registry[i]);
  return devices;
}

std::vector<Device> DevicesOf(const SwarmRequest& o) {
  if (o.store.empty() == o.keys.empty()) {
    throw std::invalid_argument(
        "swarm: name the devices' keys, with --store RUN or with --keys FOLDER");
  }
  std::vector<Device> devices = o.store.empty() ? ReadKeys(o.keys) : ReadStore(o.store);
  const std::string& source = o.store.empty() ? o.keys : o.store;
  const size_t wanted = o.devices.value_or(devices.size());
  if (devices.empty() || wanted > devices.size()) {
    throw std::invalid_argument(
        fmt::format("{} has the keys of {}{}", source, Counted(devices.size(), "device"),
                    o.devices ? fmt::format(", and --devices asks for {}", wanted)
                              : "; `sotto keys new` makes some"));
  }
  devices.resize(wanted);
  return devices;
}

SwarmOptions OptionsOf(const SwarmRequest& o, size_t devices) {
  SwarmOptions options = o.swarm;
  const std::optional<posix::HostPort> server = posix::ParseHostPort(o.server);
  if (!server || server->port == 0) {
    throw std::invalid_argument(fmt::format("--server {}: expected HOST:PORT", o.server));
  }
  options.address = posix::NumericAddress(server->host);
  options.port = server->port;
  const bool is_local = IsLocal(options.address);
  if (o.addresses && !is_local) {
    throw std::invalid_argument(
        fmt::format("--addresses is for a server of this machine, 127.x.y.z; {} is not", o.server));
  }
  const auto each =
      static_cast<uint32_t>((devices + kDevicesOfAnAddress - 1) / kDevicesOfAnAddress);
  options.addresses = is_local ? o.addresses.value_or(each) : 0;
  options.hold_ms = static_cast<uint32_t>(o.hold_s * 1000);
  options.seed = posix::RunKey(o.seed);
  return options;
}

std::optional<SwarmSamples> SamplesOf(const SwarmRequest& o, const Key& seed, size_t devices,
                                      const ModelInfo& model) {
  if (!o.train) return std::nullopt;
  const SharedDataset data =
      OpenForFleet(o.data, "", &model, uint64_t{devices} * o.samples_per_device).train;
  RequireFits(model, *data);
  return SwarmSamples{data, MakePartition(o.partition, *data, devices, o.samples_per_device,
                                          posix::DeriveKey(seed, key_label::kPartition))};
}

void ShowProgress(const SwarmProgress& progress) {
  const SwarmCounts& counts = progress.counts;
  fmt::print(stderr, "{:.0f} s: {} connected, {} begun, {} accepted, {:.0f} updates/s\n",
             progress.seconds, counts.connected, Counted(progress.rounds, "round"), counts.accepted,
             progress.updates_s);
}

std::string Describe(const SwarmSummary& s, size_t devices) {
  const SwarmCounts& c = s.counts;
  return fmt::format(
      "  devices     {}, {} connected at a time, {} told that the job is done\n"
      "  handshakes  {}, {} failed; {} failed to connect, {} lost\n"
      "  updates     {} accepted in {}, {} rejected, {} late; {} damaged, {} on purpose cut off\n"
      "  rate        {:.0f} updates/s in {:.1f} s; of a round {:.0f} at best, median {:.0f}\n"
      "  latency     {:.1f} ms median, {:.1f} ms of 95 %, {:.1f} ms of 99 %, from task to "
      "acknowledgement\n"
      "  traffic     {:.1f} MB in, {:.1f} MB out\n"
      "  an update   {:.0f} bytes up, {:.0f} bytes down, {:.1f} turnarounds\n"
      "  this load   {:.1f} s of CPU in {:.1f} s\n",
      devices, c.connected_max, c.told_done, c.handshakes, c.failed_handshakes, c.failed_connects,
      c.lost_links, c.accepted, Counted(s.rounds, "round"), c.rejected, c.late, c.corrupted,
      c.dropped, s.updates_s, s.busy_seconds, s.best_round_updates_s, s.median_round_updates_s,
      s.latency_ms_p50, s.latency_ms_p95, s.latency_ms_p99, 1e-6 * static_cast<double>(c.bytes_in),
      1e-6 * static_cast<double>(c.bytes_out), c.OfAnUpdate(&SwarmCounts::bytes_up),
      c.OfAnUpdate(&SwarmCounts::bytes_down), c.OfAnUpdate(&SwarmCounts::turns), s.cpu_seconds,
      s.wall_seconds);
}

Json ToJson(const SwarmSummary& s, size_t devices) {
  const SwarmCounts& c = s.counts;
  return {{"devices", devices},
          {"connected_max", c.connected_max},
          {"told_done", c.told_done},
          {"refused", c.refused},
          {"handshakes", c.handshakes},
          {"failed_handshakes", c.failed_handshakes},
          {"failed_connects", c.failed_connects},
          {"lost_links", c.lost_links},
          {"rounds", s.rounds},
          {"tasks", c.tasks},
          {"accepted", c.accepted},
          {"rejected", c.rejected},
          {"late", c.late},
          {"dropped", c.dropped},
          {"corrupted", c.corrupted},
          {"bytes_in", c.bytes_in},
          {"bytes_out", c.bytes_out},
          {"update_bytes_up", c.OfAnUpdate(&SwarmCounts::bytes_up)},
          {"update_bytes_down", c.OfAnUpdate(&SwarmCounts::bytes_down)},
          {"update_turns", c.OfAnUpdate(&SwarmCounts::turns)},
          {"busy_seconds", s.busy_seconds},
          {"updates_per_second", s.updates_s},
          {"best_round_updates_per_second", s.best_round_updates_s},
          {"median_round_updates_per_second", s.median_round_updates_s},
          {"latency_ms",
           {{"p50", s.latency_ms_p50}, {"p95", s.latency_ms_p95}, {"p99", s.latency_ms_p99}}},
          {"wall_seconds", s.wall_seconds},
          {"cpu_seconds", s.cpu_seconds}};
}

// Why no update was accepted, for people.
std::string WhyNone(const SwarmSummary& s) {
  if (s.counts.refused > 0) {
    return fmt::format("the server refused {}: --model must name the model of its job",
                       Counted(s.counts.refused, "device"));
  }
  return s.counts.tasks == 0 ? "no device was drawn" : "no update was in time and valid";
}

void RunSwarmCommand(const SwarmRequest& o) {
  RequireOutputs({JsonOutput(o.json, Readers::kOwner)}, o.store);
  const std::vector<Device> devices = DevicesOf(o);
  const SwarmOptions options = OptionsOf(o, devices.size());
  const posix::SharedModel model = posix::OpenModel(o.model);
  if (model->personal > 0) {
    throw std::invalid_argument(
        fmt::format("--model {}: a swarm's devices have no store for personal layers", o.model));
  }
  const std::optional<SwarmSamples> samples = SamplesOf(o, options.seed, devices.size(), *model);
  posix::CatchStopSignals();
  const SwarmSummary summary = RunSwarm(options, devices, *model, samples, ShowProgress);
  PrintResults(o.json, Describe(summary, devices.size()), ToJson(summary, devices.size()),
               Readers::kOwner);
  if (summary.counts.accepted == 0) {
    throw GaveUp("the server never accepted an update: " + WhyNone(summary));
  }
}

std::vector<SwarmRow> Devices() {
  return {
      SwarmRow("store", &SwarmRequest::store,
               "take the keys of this store, also while its server runs")
          .Argument("STORE"),
      SwarmRow("keys", &SwarmRequest::keys,
               "instead of STORE: take the key files NAME.key of this folder")
          .Excludes("store"),
      SwarmRow("devices", &SwarmRequest::devices, "take the first N of these devices")
          .Within({1, kMostDevices})
          .ByDefault("all"),
      SwarmRow("model", &SwarmRequest::model, "model by name, or a file: FILE.toml"),
      SwarmRow(
          "train", &SwarmRequest::train,
          "train on a share of --data; without it devices hold no samples and send zeros, with "
          "noise"),
      SwarmRow("data", &SwarmRequest::data, "samples, as for `sotto simulate`").Needs("train"),
      SwarmRow("partition", &SwarmRequest::partition,
               "how samples are dealt out: " + PartitionNames())
          .Needs("train"),
      SwarmRow("samples-per-device", &SwarmRequest::samples_per_device, "samples on each device")
          .Needs("train")
          .Within({1, 1000000}),
  };
}

std::vector<SwarmRow> Network() {
  return {
      SwarmRow("server", &SwarmRequest::server, "HOST:PORT of the server"),
      SwarmRow(
          "addresses", &SwarmRequest::addresses,
          "connect from this many addresses of 127.0.0.0/8, since a server limits the handshakes "
          "of one address")
          .Within({1, 1000000})
          .ByDefault("one for 64 devices"),
      SwarmRow("threads", posix::At(&SwarmRequest::swarm, &SwarmOptions::threads),
               "number of threads, each with an event loop")
          .Within({1, 256}),
      SwarmRow("connect-rate", posix::At(&SwarmRequest::swarm, &SwarmOptions::connect_rate),
               "devices a second that begin to connect")
          .Within({0.1, 1e6}),
      SwarmRow("max-frame", posix::At(&SwarmRequest::swarm, &SwarmOptions::max_frame),
               "most bytes of a message to a device")
          .Within({kMinMaxFrame, kMaxMaxFrame}),
      SwarmRow("float32", posix::At(&SwarmRequest::swarm, &SwarmOptions::float32),
               "take models as float32, as older devices do, and not as differences"),
      SwarmRow("hold", &SwarmRequest::hold_s, "seconds for which the server may hold its answer")
          .Within({0, 50}),
  };
}

std::vector<SwarmRow> Faults() {
  return {
      SwarmRow("latency",
               posix::At(&SwarmRequest::swarm, &SwarmOptions::faults, &FaultOptions::latency_ms),
               "delay before each request, ms, varied at random by up to 50 %")
          .Within({0, 60000}),
      SwarmRow("drop-out",
               posix::At(&SwarmRequest::swarm, &SwarmOptions::faults, &FaultOptions::drop_out),
               "chance that a drawn device hangs up before its upload, and comes back after 1 to 3 "
               "seconds")
          .Within({0, 1}),
      SwarmRow("corrupt",
               posix::At(&SwarmRequest::swarm, &SwarmOptions::faults, &FaultOptions::corrupt),
               "chance that a byte of an update is damaged")
          .Within({0, 1}),
      SwarmRow("slow",
               posix::At(&SwarmRequest::swarm, &SwarmOptions::faults, &FaultOptions::slow_bytes_s),
               "speed of a device's link in each direction, bytes a second; 0: no limit"),
  };
}

}  // namespace

posix::Command SwarmCommand() {
  return posix::CommandFor<SwarmRequest>(
             "swarm", "load a server with thousands of simulated devices over the network")
      .Takes(Devices())
      .Takes(Network())
      .Takes(Faults())
      .Takes({
          SwarmRow("duration", posix::At(&SwarmRequest::swarm, &SwarmOptions::duration_s),
                   "seconds that the load lasts; 0: until the job is done")
              .Within({0, 1e7}),
          SwarmRow("seed", &SwarmRequest::seed,
                   "seed of the faults and of the shares of --data; it is no secret"),
          JsonRow<SwarmRequest>(),
      })
      .Footer(
          "Exit status: 0 the job is done, the time is over or Ctrl-C; 1 it failed, for example "
          "no\n"
          "server; 2 bad usage; 3 the server never accepted an update")
      .Runs(RunSwarmCommand);
}

}  // namespace sotto::server
