#include "options.h"

#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "ending.h"
#include "sample_file.h"
#include "sotto/options/kit_file.h"
#include "sotto/peer_messages.h"
#include "sotto/policy/policies.h"

namespace sotto::posix {
namespace {

constexpr double kUnit = 1099511627776.0;  // 2^40
constexpr double kMostRho = 16777216.0;    // in units of 2^-40 it fits

void RequireAddress(const char* option, const std::string& text, bool may_be_any_port) {
  if (text.empty()) return;
  const std::optional<HostPort> address = ParseHostPort(text);
  const bool fits = text.size() <= kMaxPeerAddressSize;
  if (address && fits && (address->port != 0 || may_be_any_port)) return;
  throw std::invalid_argument(
      fmt::format("{} {}: expected HOST:PORT or [ADDRESS]:PORT, {} characters at most", option,
                  text, kMaxPeerAddressSize));
}

bool HasAnyPort(const std::string& listen) {
  const std::optional<HostPort> address = ParseHostPort(listen);
  return address && address->port == 0;
}

using Row = Field<ClientOptions>;
using PeerRow = Field<PeerClientOptions>;
using RecordRow = Field<RecordOptions>;

constexpr double kMostDevices = 1e6;
constexpr double kMostSeconds = 1e9;
constexpr char kDefaultModel[] = "softmax-784-10";

std::vector<Row> DeviceRows() {
  return {
      Row("kit", &ClientOptions::kit,
          "this device's kit, from `sotto keys new --kits`: key, server, models, data; other "
          "options win"),
      Row("server", &ClientOptions::server,
          "HOST:PORT of the server, or several, comma-separated: if one does not answer, the "
          "device "
          "tries the next, and stays with the one that answers"),
      Row("key", &ClientOptions::key, "this device's key file, from `sotto keys new`")
          .ByDefault("as --kit says"),
      Row("data", &ClientOptions::data,
          "file of the samples, FILE[:KEY=VALUE,...], plain or gzip: CSV, NPZ, LIBSVM, IDX and "
          "more, see server/DATA.md")
          .ByDefault("as --kit says"),
      Row("labels", &ClientOptions::labels,
          "IDX file of the labels, if --data is an IDX file of images"),
      Row("sample-log", &ClientOptions::sample_log,
          "file of the samples that this machine records, instead of --data: each round trains on "
          "the samples that the file holds when the round begins; see --record")
          .Excludes("data")
          .Excludes("labels")
          .Excludes("samples")
          .Excludes("device")
          .Excludes("peer"),
      Row("model", &ClientOptions::model, "model by name, or a file: FILE.toml")
          .ByDefault("softmax-784-10; with --accept-model the job's"),
      Row("accept-model", &ClientOptions::accept_model,
          "train the model of the server's job if it is another one: `any`, or the digests of "
          "models, comma-separated (`sotto model show`); without it the device trains --model only")
          .Checked(CheckAcceptModel),
      Row("model-memory", &ClientOptions::model_memory_mb,
          "most memory for a model of --accept-model, without the samples, MB; keep it below this "
          "machine's free memory")
          .Within({1, 1e6}),
      Row("round-seconds", &ClientOptions::round_s,
          "most seconds for the training of a round; then the device stops and sends an update of "
          "zeros; 0: no limit")
          .Within({0, kMostSeconds}),
      Row("mark", &ClientOptions::mark,
          "file that remembers the last round that the device trained")
          .ByDefault("KEY.mark, or NAME.mark beside the kit"),
      Row("hold", &ClientOptions::hold_s,
          "seconds for which the server may hold its answer until there is work; 0: poll as often "
          "as the server says")
          .Within({0, 50}),
      Row("resume-tls", &ClientOptions::resume_tls,
          "keep the TLS session in memory and resume it after a reconnection, which saves the key "
          "exchange. It costs forward secrecy for up to two days: a person who reads the memory of "
          "this program or of the server in that time can decrypt recorded sessions. Without it "
          "each connection does a full handshake")
          .Excludes("peer"),
      Row("give-up", &ClientOptions::give_up_s,
          "seconds without a server after which the program ends; 0: never, with --fetch-only at "
          "once")
          .Within({0, kMostSeconds}),
      Row("once", &ClientOptions::once,
          "end when the job is over, or when this device cannot take part in it; without it the "
          "device waits for the next job"),
      Row("check", &ClientOptions::check,
          "print the model, samples and labels of a run, and whether the server knows this device; "
          "take part in nothing. Exit status 0, or 2, 3 and 4 as below")
          .Excludes("peer"),
      Row("keep-model", &ClientOptions::keep_model,
          "folder that keeps the newest released model: model.bin, float32 LE, and model.release, "
          "which describes it; the device fetches the model between rounds and when the job is "
          "over")
          .Excludes("peer"),
      Row("fetch-only", &ClientOptions::fetch_only,
          "fetch the newest released model into --keep-model and end; take part in nothing. It "
          "needs no data, and tries again for the time of --give-up")
          .Needs("keep-model")
          .Excludes("check"),
  };
}

std::vector<Row> ShareRows() {
  return {
      Row("samples", &ClientOptions::samples, "this device's part of the samples, FIRST:COUNT")
          .ByDefault("all"),
      Row("device", &ClientOptions::device,
          "this device's number N, from 0: it holds the samples that `sotto simulate` gives device "
          "N")
          .Within({0, kMostDevices - 1})
          .Excludes("samples"),
      Row("devices", &ClientOptions::devices, "devices in the fleet, for --device")
          .Within({1, kMostDevices})
          .Needs("device"),
      Row("samples-per-device", &ClientOptions::samples_per_device,
          "samples on each device, as in the simulator, for --device")
          .Within({1, 1e6})
          .Needs("device")
          .ByDefault("50"),
      Row("partition", &ClientOptions::partition,
          "how samples are dealt out, for --device: " + PartitionNames())
          .Needs("device"),
      Row("partition-seed", &ClientOptions::partition_seed,
          "the simulator's --seed or --partition-seed, for --device; it is no secret")
          .Needs("device"),
      Row("held-out", &ClientOptions::held_out,
          "share of the samples that the device never trains on, and evaluates on if a job asks "
          "for it: the last ones of each class, or runs of windows of --sample-log; keep it the "
          "same in every job")
          .Within({0, 0.9}),
  };
}

std::vector<Row> PrivacyRows() {
  return {
      Row("allow-no-privacy", &ClientOptions::allow_no_privacy,
          "also take jobs without Gaussian dither"),
      Row("min-private-noise", &ClientOptions::min_private_noise,
          "least noise that this device adds itself, against the server, in units of twice the "
          "clipping bound: refuse a job that asks for less; 0: the device trusts the server")
          .Within({0, 1e9}),
      Row("max-private-updates", &ClientOptions::max_private_updates,
          "refuse every job once this device has sent this many updates with its own noise, "
          "counted over all jobs and restarts; needs --min-private-noise, 0: no limit")
          .Within({0, 1e9}),
      Row("ledger", &ClientOptions::ledger,
          "file that counts the updates of --max-private-updates, or a node's publications; never "
          "restore an older copy")
          .ByDefault("KEY.updates, with --peer KEY.peer; NAME... beside the kit"),
  };
}

std::vector<Row> OutputRows() {
  return {
      Row("log", &ClientOptions::log,
          "format of the events on standard error; lines: for people; json: one object a line")
          .OneOfNames(LogFormatNames()),
      Row("log-level", &ClientOptions::log_level, "the least important events to write")
          .OneOfNames(LogLevelNames()),
      Row("verbose", &ClientOptions::verbose, "the same as --log-level debug")
          .Letter("v")
          .Excludes("log-level"),
      Row("json", &ClientOptions::json,
          "write the results to this file at the end; only the file's owner can read it"),
      Row("model-out", &ClientOptions::model_out,
          "write the newest global model of this run to this file at the end, float32 LE"),
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
  if (options.samples_per_device) RequireTakesSamples(options.partition);
  const bool has_seed = options.partition_seed || options.seed;
  if (FindPartition(options.partition).is_random && !has_seed) {
    throw std::invalid_argument(
        fmt::format("--partition {} is random: it needs --partition-seed, the same in the whole "
                    "fleet",
                    options.partition));
  }
}

std::string ExitStatuses() {
  return DescribeExits(
      {{0, "done: the job (--once), a node's steps, or the download of the model (--fetch-only)"},
       {kExitFailure, "this machine failed, for example its disk is full: try again"},
       {kExitUsage, "an option or a file is wrong"},
       {kExitRefused,
        "with --once: this device's options refuse the job, or the server refuses this device's "
        "model or version; without it: --max-private-updates is used up, or its key was rotated or "
        "revoked"},
       {kExitNoServer,
        "no server answered in the time of --give-up; with --fetch-only: or nothing is released "
        "yet"}});
}

// The rows of the group "Recording".
std::vector<RecordRow> RecordRows() {
  const std::vector<RecordRow> rows = {
      RecordRow("record", &RecordOptions::is_on,
                "read lines from standard input, one reading a line, and write windows of them to "
                "--sample-log; take part in nothing. A line `label CLASS COUNT` gives the next "
                "COUNT windows their class")
          .Needs("sample-log")
          .Excludes("check")
          .Excludes("fetch-only"),
      RecordRow("axes", &RecordOptions::axes, "numbers in a reading, for a new file")
          .Needs("record")
          .Within({1, 4096}),
      RecordRow("window", &RecordOptions::window,
                "readings in a window, which is one sample, for a new file")
          .Needs("record")
          .Within({1, 1e6}),
      RecordRow("hop", &RecordOptions::hop,
                "readings from the beginning of a window to the beginning of the next, for a new "
                "file")
          .Needs("record")
          .ByDefault("half of --window")
          .Within({1, 1e6}),
      RecordRow("element", &RecordOptions::element,
                "type of the stored numbers in a new file; numbers beyond its range become the "
                "nearest that it has")
          .Needs("record")
          .ByDefault("float32")
          .OneOfNames(SampleElementNames()),
      RecordRow("scale", &RecordOptions::scale,
                "number for which a stored 1 stands, in a new file: 0.001 with int16 keeps three "
                "decimals of numbers up to 32")
          .Needs("record")
          .ByDefault("1")
          .Within({1e-30, 1e30}),
      RecordRow("capacity", &RecordOptions::capacity,
                "least number of windows that a new file keeps; then the newest replace the oldest")
          .Needs("record")
          .ByDefault("1000")
          .Within({1, 1e6}),
  };
  return Under("Recording", rows);
}

// The rows of the group "Without a server", but for the nodes' job.
std::vector<PeerRow> PeerRows() {
  const std::vector<PeerRow> rows = {
      PeerRow("peer", &PeerClientOptions::is_on,
              "be a node without a server: train with neighbours; --server then names the "
              "directory"),
      PeerRow("share", &PeerClientOptions::share, "when the node publishes: " + SharePolicyNames())
          .Needs("peer"),
      PeerRow("listen", &PeerClientOptions::listen,
              "HOST:PORT where this node serves its last publication to neighbours")
          .Needs("peer"),
      PeerRow("address", &PeerClientOptions::address,
              "HOST:PORT that the node gives its neighbours")
          .Needs("peer")
          .ByDefault("as --listen"),
      PeerRow("public-data", &PeerClientOptions::public_data,
              "file of public samples for deep-q-public, as --data")
          .Needs("peer"),
      PeerRow(
          "most-rho", &PeerClientOptions::most_rho,
          "most zCDP, rho, that publications on this ledger may cost in all jobs together; 0: only "
          "the job's limits hold")
          .Needs("peer")
          .Within({0, kMostRho}),
      PeerRow(
          "serve-after", &PeerClientOptions::serve_s,
          "seconds after its last step for which a node with --listen serves its last publication, "
          "if there is no relay")
          .Needs("peer")
          .Within({0, 1e6}),
      PeerRow(
          "head-out", &PeerClientOptions::head_out,
          "write the newest published model that the node knows to this file at the end, float32 "
          "LE")
          .Needs("peer"),
  };
  return Under("Without a server", rows);
}

void CheckPeerOptions(const ClientOptions& options) {
  const PeerClientOptions& o = options.peer;
  if (!o.is_on) return;
  RequireAddress("--listen", o.listen, true);
  RequireAddress("--address", o.address, false);
  if (!o.address.empty() && o.listen.empty()) {
    throw std::invalid_argument("--address needs --listen: neighbours would find nobody there");
  }
  if (o.address.empty() && HasAnyPort(o.listen)) {
    throw std::invalid_argument(
        fmt::format("--listen {}: with port 0 neighbours need --address HOST:PORT", o.listen));
  }
  const SharePolicyInfo& policy = FindSharePolicy(o.share);
  if (policy.needs_public_loss && o.public_data.empty()) {
    throw std::invalid_argument(
        fmt::format("--share {}: it needs --public-data, which everybody may know", o.share));
  }
  if (o.most_rho > 0 && MostRhoQ40(o) == 0) {
    throw std::invalid_argument("--most-rho is too small: expected 2^-40 at least, or 0 for none");
  }
}

}  // namespace

std::vector<Field<ClientOptions>> RowsOfKits() {
  return Joined({DeviceRows(), ShareRows(), PrivacyRows()});
}

Command ClientCommand(std::function<void(const ClientOptions&)> run) {
  return CommandFor<ClientOptions>("sotto-client", "Takes part in a Sotto job as one device.")
      .Takes(DeviceRows())
      .Takes(ShareRows())
      .Takes(PrivacyRows())
      .Takes(OutputRows())
      .Takes({
          Row("seed", &ClientOptions::seed, "for tests: repeatable, NOT PRIVATE"),
          Row("insecure-seed", &ClientOptions::insecure_seed, "confirms --seed"),
      })
      .TakesFor(&ClientOptions::record, RecordRows())
      .TakesFor(&ClientOptions::peer, PeerRows())
      .TakesFor(At(&ClientOptions::peer, &PeerClientOptions::job), PeerJobOptionFields())
      .Footer(ExitStatuses())
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
        "for updates without noise, which are not counted");
  }
  if (!options.data.empty() && !options.sample_log.empty()) {  // of a kit; else the rows say so
    throw std::invalid_argument("--data and --sample-log: expected one of them; see the kit");
  }
  (void)ParseServerAddresses(options.server);
  CheckPeerOptions(options);
  CheckShare(options);
  (void)ParseSamples(options.samples);  // whether the file has them is known later
}

SharedModel ModelOf(const ClientOptions& options) {
  const bool awaits_job = !options.accept_model.empty() && !options.peer.is_on;
  if (options.model.empty() && awaits_job) return nullptr;
  try {
    return OpenModel(options.model.empty() ? kDefaultModel : options.model);
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

const std::string& StatePath(const ClientOptions& options) {
  return options.state.empty() ? options.key : options.state;
}

std::string MarkPath(const ClientOptions& options) {
  return options.mark.empty() ? StatePath(options) + ".mark" : options.mark;
}

std::string PersonalPath(const ClientOptions& options) { return StatePath(options) + ".personal"; }

std::string LedgerPath(const ClientOptions& options) {
  return !options.ledger.empty() ? options.ledger
                                 : StatePath(options) + (options.peer.is_on ? ".peer" : ".updates");
}

uint64_t MostRhoQ40(const PeerClientOptions& options) {
  return static_cast<uint64_t>(options.most_rho * kUnit);
}

std::vector<HostPort> ParseServerAddresses(const std::string& text) {
  std::vector<HostPort> servers = ParseServers(text);
  if (!servers.empty()) return servers;
  throw std::invalid_argument(fmt::format(
      "--server {}: expected HOST:PORT or [ADDRESS]:PORT, or several with commas between them",
      text));
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
