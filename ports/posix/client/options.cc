#include "options.h"

#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <CLI/CLI.hpp>

namespace sotto::posix {
namespace {

void AddDeviceOptions(CLI::App& app, ClientOptions& o) {
  app.add_option("--server", o.server, "HOST:PORT")->capture_default_str();
  app.add_option("--key", o.key, "this device's key file, from `sotto keys new`")->required();
  app.add_option("--data", o.data,
                 "the samples, FILE[:KEY=VALUE,...], as it is or gzip: CSV, NPZ, LIBSVM, IDX and "
                 "more, see server/DATA.md")
      ->required();
  app.add_option("--labels", o.labels, "IDX file of the labels, if --data is one of images");
  app.add_option("--model", o.model, "model by name, or a file: FILE.toml")->capture_default_str();
  app.add_option("--mark", o.mark,
                 "file that remembers the last round trained for (default: KEY.mark)");
  app.add_option(
         "--hold", o.hold_s,
         "seconds for which the server may hold its answer until there is work, 50 at most; "
         "0: poll as often as the server says")
      ->capture_default_str();
  app.add_option("--give-up", o.give_up_s, "seconds without a server before giving up; 0: never")
      ->capture_default_str();
}

void AddShareOptions(CLI::App& app, ClientOptions& o) {
  app.add_option("--samples", o.samples, "FIRST:COUNT, this device's share (default: all)");
  app.add_option("--device", o.device,
                 "this device's number, from 0: it holds what `sotto simulate` gives device N")
      ->excludes("--samples");
  app.add_option("--devices", o.devices, "devices in the fleet, for --device")->needs("--device");
  app.add_option("--samples-per-device", o.samples_per_device, "as in the simulator, for --device")
      ->capture_default_str()
      ->needs("--device");
  app.add_option("--partition", o.partition,
                 "how samples are dealt out, for --device: " + PartitionNames())
      ->capture_default_str()
      ->needs("--device");
  app.add_option("--partition-seed", o.partition_seed,
                 "the simulator's --seed or --partition-seed, for --device; it is no secret")
      ->needs("--device");
  app.add_option(
         "--held-out", o.held_out,
         "share of these samples, the last ones of each class, that the device never trains "
         "on and evaluates on if a job asks for it; keep it the same in every job")
      ->capture_default_str();
}

void AddPrivacyOptions(CLI::App& app, ClientOptions& o) {
  app.add_flag("--allow-no-privacy", o.allow_no_privacy, "also take jobs without Gaussian dither");
  app.add_option(
         "--min-private-noise", o.min_private_noise,
         "refuse a job that asks for less noise of this device's own, against the server; in "
         "twice the clipping bound, 0: the server is trusted")
      ->capture_default_str();
  app.add_option("--max-private-updates", o.max_private_updates,
                 "refuse a job once this device has sent so many updates with noise of its own, in "
                 "all jobs, over restarts; needs --min-private-noise, 0: no limit")
      ->capture_default_str();
  app.add_option("--ledger", o.ledger,
                 "file that counts these updates, or a node's publications; never restore an older "
                 "copy (default: KEY.updates, with --peer KEY.peer)");
}

void AddOutputOptions(CLI::App& app, ClientOptions& o) {
  app.add_option("--log", o.log, "how events are written to standard error: lines for people, json")
      ->capture_default_str()
      ->check(CLI::IsMember(LogFormatNames()));
  CLI::Option* const level =
      app.add_option("--log-level", o.log_level, "the least important events to write")
          ->capture_default_str()
          ->check(CLI::IsMember(LogLevelNames()));
  app.add_flag("-v,--verbose", o.verbose, "the same as --log-level debug")->excludes(level);
  app.add_option("--json", o.json,
                 "write the results to this file at the end, for its owner alone");
  app.add_option(
      "--model-out", o.model_out,
      "write the newest global model that was downloaded to this file at the end, float32 "
      "LE");
}

void AddTestOptions(CLI::App& app, ClientOptions& o) {
  app.add_option("--seed", o.seed, "for tests: repeatable, NOT PRIVATE");
  app.add_flag("--insecure-seed", o.insecure_seed, "confirms --seed");
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
  if (!(options.held_out >= 0 && options.held_out <= 0.9)) {
    throw std::invalid_argument(fmt::format(
        "--held-out {}: expected 0 to 0.9, the share of this device's samples", options.held_out));
  }
  if (!options.device) return;
  if (!options.devices) {
    throw std::invalid_argument(fmt::format(
        "--device {}: expected --devices, too: the devices in the fleet", *options.device));
  }
  if (options.samples_per_device == 0 || *options.device >= *options.devices) {
    throw std::invalid_argument(
        fmt::format("--device {}: expected a number below --devices, the devices in the fleet, and "
                    "--samples-per-device at least 1",
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

void AddOptions(CLI::App& app, ClientOptions& options) {
  app.set_config("--config", "", "read options from a TOML file, same names");
  app.allow_config_extras(CLI::config_extras_mode::error);
  AddDeviceOptions(app, options);
  AddShareOptions(app, options);
  AddPrivacyOptions(app, options);
  AddOutputOptions(app, options);
  AddTestOptions(app, options);
  AddPeerOptions(app, options.peer);
  app.footer(kExitStatuses);
}

void CheckOptions(const ClientOptions& options) {
  if (options.seed.has_value() != options.insecure_seed) {
    throw std::invalid_argument("--seed is for tests and not private: it needs --insecure-seed");
  }
  if (!(options.min_private_noise >= 0)) {
    throw std::invalid_argument("--min-private-noise must not be negative");
  }
  if (options.max_private_updates > 0 && options.min_private_noise == 0) {
    throw std::invalid_argument(
        "--max-private-updates needs --min-private-noise: a server that is not trusted could ask "
        "for "
        "updates without noise, which are not counted");
  }
  if (!(options.hold_s >= 0 && options.hold_s <= 50)) {
    throw std::invalid_argument("--hold must be from 0 to 50 seconds");
  }
  if (!(options.give_up_s >= 0)) throw std::invalid_argument("--give-up must not be negative");
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
