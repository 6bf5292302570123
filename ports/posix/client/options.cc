#include "options.h"

#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto::posix {
namespace {

using Rows = std::vector<Field<ClientOptions>>;

constexpr auto Row = RowOf<ClientOptions>;
constexpr double kMostDevices = 1e6;
constexpr double kMostSeconds = 1e9;

Rows DeviceRows() {
  return {
      Row("server", "HOST:PORT of the server").Asked(&ClientOptions::server),
      Row("key", "this device's key file, from `sotto keys new`")
          .Required()
          .Asked(&ClientOptions::key),
      Row("data",
          "the samples, FILE[:KEY=VALUE,...], as it is or gzip: CSV, NPZ, LIBSVM, IDX and more, "
          "see server/DATA.md")
          .Required()
          .Asked(&ClientOptions::data),
      Row("labels", "IDX file of the labels, if --data is one of images")
          .Asked(&ClientOptions::labels),
      Row("model", "model by name, or a file: FILE.toml").Asked(&ClientOptions::model),
      Row("mark", "file that remembers the last round trained for")
          .ByDefault("KEY.mark")
          .Asked(&ClientOptions::mark),
      Row("hold",
          "seconds for which the server may hold its answer until there is work; 0: poll as often "
          "as the server says")
          .Within({0, 50})
          .Asked(&ClientOptions::hold_s),
      Row("give-up", "seconds without a server before giving up; 0: never")
          .Within({0, kMostSeconds})
          .Asked(&ClientOptions::give_up_s),
  };
}

Rows ShareRows() {
  return {
      Row("samples", "FIRST:COUNT, this device's share")
          .ByDefault("all")
          .Asked(&ClientOptions::samples),
      Row("device", "this device's number, from 0: it holds what `sotto simulate` gives device N")
          .Within({0, kMostDevices - 1})
          .Excludes("samples")
          .Asked(&ClientOptions::device),
      Row("devices", "devices in the fleet, for --device")
          .Within({1, kMostDevices})
          .Needs("device")
          .Asked(&ClientOptions::devices),
      Row("samples-per-device", "samples on each device, as in the simulator, for --device")
          .Within({1, 1e6})
          .Needs("device")
          .Asked(&ClientOptions::samples_per_device),
      Row("partition", "how samples are dealt out, for --device: " + PartitionNames())
          .Needs("device")
          .Asked(&ClientOptions::partition),
      Row("partition-seed",
          "the simulator's --seed or --partition-seed, for --device; it is no secret")
          .Needs("device")
          .Asked(&ClientOptions::partition_seed),
      Row("held-out",
          "share of these samples, the last ones of each class, that the device never trains on "
          "and evaluates on if a job asks for it; keep it the same in every job")
          .Within({0, 0.9})
          .Asked(&ClientOptions::held_out),
  };
}

Rows PrivacyRows() {
  return {
      Row("allow-no-privacy", "also take jobs without Gaussian dither")
          .Asked(&ClientOptions::allow_no_privacy),
      Row("min-private-noise",
          "refuse a job that asks for less noise of this device's own, against the server; in "
          "twice the clipping bound, 0: the server is trusted")
          .Within({0, 1e9})
          .Asked(&ClientOptions::min_private_noise),
      Row("max-private-updates",
          "refuse a job once this device has sent so many updates with noise of its own, in all "
          "jobs, over restarts; needs --min-private-noise, 0: no limit")
          .Within({0, 1e9})
          .Asked(&ClientOptions::max_private_updates),
      Row("ledger",
          "file that counts these updates, or a node's publications; never restore an older copy")
          .ByDefault("KEY.updates, with --peer KEY.peer")
          .Asked(&ClientOptions::ledger),
  };
}

Rows OutputRows() {
  return {
      Row("log", "how events are written to standard error: lines for people, json")
          .OneOfNames(LogFormatNames())
          .Asked(&ClientOptions::log),
      Row("log-level", "the least important events to write")
          .OneOfNames(LogLevelNames())
          .Asked(&ClientOptions::log_level),
      Row("verbose", "the same as --log-level debug")
          .Letter("v")
          .Excludes("log-level")
          .Asked(&ClientOptions::verbose),
      Row("json", "write the results to this file at the end, for its owner alone")
          .Asked(&ClientOptions::json),
      Row("model-out",
          "write the newest global model that was downloaded to this file at the end, float32 LE")
          .Asked(&ClientOptions::model_out),
  };
}

Rows TestRows() {
  return {
      Row("seed", "for tests: repeatable, NOT PRIVATE").Asked(&ClientOptions::seed),
      Row("insecure-seed", "confirms --seed").Asked(&ClientOptions::insecure_seed),
  };
}

// FIRST:COUNT of some file.
struct Samples {
  uint64_t first = 0;
  uint64_t count = 0;  // 0: no text
};

Samples ParseSamples(const std::string& text) {
  if (text.empty()) return {};
  const size_t colon = text.find(':');
  const std::optional<uint64_t> first = ParseCount(std::string_view(text).substr(0, colon));
  const std::string_view rest =
      colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  const uint64_t count = ParseCount(rest).value_or(0);
  if (!first || count == 0) {
    throw std::invalid_argument(fmt::format(
        "--samples {}: expected FIRST:COUNT, two whole numbers, COUNT at least 1", text));
  }
  return {*first, count};
}

// Of the options that say which samples the device holds.
void CheckShare(const ClientOptions& options) {
  if (!options.device) return;
  if (!options.devices) {
    throw std::invalid_argument(fmt::format(
        "--device {}: expected --devices, too: the devices in the fleet", *options.device));
  }
  if (*options.device >= *options.devices) {
    throw std::invalid_argument(
        fmt::format("--device {}: expected a number below --devices, the devices in the fleet",
                    *options.device));
  }
  const bool has_seed = options.partition_seed || options.seed;
  if (FindPartition(options.partition).is_random && !has_seed) {
    throw std::invalid_argument(
        fmt::format("--partition {} is drawn: it needs --partition-seed, the same in the whole "
                    "fleet",
                    options.partition));
  }
}

constexpr char kExitStatuses[] =
    "Exit status: 0 the job is done; 1 this machine failed, for example its disk is full: try "
    "again; 2 an option or a file is wrong; 3 this device's options refuse the job, or the server "
    "refuses this device's model or version; 4 no server in the time of --give-up; 130 stopped by "
    "SIGINT (Ctrl-C), 143 by SIGTERM.";

}  // namespace

Command ClientCommand(std::function<void(const ClientOptions&)> run) {
  return CommandFor<ClientOptions>("sotto-client", "Takes part in a Sotto job as one device.")
      .Takes(DeviceRows())
      .Takes(ShareRows())
      .Takes(PrivacyRows())
      .Takes(OutputRows())
      .Takes(TestRows())
      .Takes(PeerRows())
      .Takes(PeerJobOptionFields(), AllRows(),
             [](ClientOptions& o) -> PeerJobOptions& { return o.peer.job; })
      .Footer(kExitStatuses)
      .KeepsSettingsFile(&ClientOptions::config)
      .Runs(std::move(run));
}

void CheckOptions(const ClientOptions& options) {
  if (options.seed.has_value() != options.insecure_seed) {
    throw std::invalid_argument("--seed is for tests and not private: it needs --insecure-seed");
  }
  if (options.max_private_updates > 0 && options.min_private_noise == 0) {
    throw std::invalid_argument(
        "--max-private-updates needs --min-private-noise: a server that is not trusted could ask "
        "for "
        "updates without noise, which are not counted");
  }
  (void)ParseServerAddress(options.server);
  CheckPeerOptions(options);
  CheckShare(options);
  (void)ParseSamples(options.samples);  // whether the file has them is known later
}

SharedModel ModelOf(const ClientOptions& options) {
  try {
    return OpenModel(options.model);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--model {}", error.what()));
  }
}

LogOptions LogOptionsOf(const ClientOptions& options) {
  LogOptions log;
  log.format = LogFormatFor(options.log);
  log.level = options.verbose ? LogLevel::kDebug : LogLevelOf(options.log_level);
  return log;
}

std::string MarkPath(const ClientOptions& options) {
  return options.mark.empty() ? options.key + ".mark" : options.mark;
}

std::string LedgerPath(const ClientOptions& options) {
  return !options.ledger.empty() ? options.ledger
                                 : options.key + (options.peer.is_on ? ".peer" : ".updates");
}

HostPort ParseServerAddress(const std::string& text) {
  const std::optional<HostPort> address = ParseHostPort(text);
  if (!address || address->port == 0) {
    throw std::invalid_argument(
        fmt::format("--server {}: expected HOST:PORT or [ADDRESS]:PORT", text));
  }
  return *address;
}

SampleRange ParseSampleRange(const std::string& text) {
  const Samples samples = ParseSamples(text);
  if (text.empty()) return {0, std::numeric_limits<size_t>::max()};
  return {static_cast<size_t>(samples.first), static_cast<size_t>(samples.count)};
}

SampleRange ParseSampleRange(const std::string& text, size_t total) {
  const Samples samples = ParseSamples(text);
  if (samples.first > total || samples.count > total - samples.first) {
    throw std::invalid_argument(
        fmt::format("--samples {}: the file has {} samples; expected FIRST:COUNT within 0:{}", text,
                    total, total));
  }
  return {static_cast<size_t>(samples.first),
          static_cast<size_t>(text.empty() ? total : samples.count)};
}

}  // namespace sotto::posix
