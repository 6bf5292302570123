// sotto-client: a device of the fleet on Linux, for example on a Raspberry Pi. Part of
// ports/posix/client.
//
// Reads its share of an IDX data set and its key file, connects, and takes part in rounds until the
// job is done. One thread. Exit codes: 0 the job is done, 1 a failure, 2 wrong arguments, 3 the
// server refused this device for good, 4 no server in time (--give-up).
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sotto/bytes.h"
#include "sotto/client.h"
#include "sotto/data/idx.h"
#include "sotto/data/partition.h"
#include "sotto/key_labels.h"
#include "sotto/models.h"
#include "sotto/posix/client_memory.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/port.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/sleep.h"
#include "sotto/posix/tcp.h"
#include "sotto/random.h"
#include "sotto/secure_link.h"
#include "sotto/seeded_entropy.h"
#include "sotto/version.h"

namespace sotto {
namespace {

constexpr int kDone = 0;
constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kRefused = 3;
constexpr int kNoServer = 4;

constexpr uint32_t kMaxFrame = 4096;
constexpr uint32_t kMaxBatchSize = 1024;
constexpr int kConnectTimeoutMs = 10000;
constexpr int kReplyTimeoutMs = 60000;
constexpr uint32_t kFirstBackOffMs = 500;
constexpr uint32_t kLastBackOffMs = 30000;

struct Options {
  std::string server = "127.0.0.1:7177";
  std::string key;
  std::string data;
  std::string labels;
  std::string samples;
  std::string model = "softmax-784-10";
  std::string mark;
  double give_up_s = 0;
  bool allow_no_privacy = false;
  double min_private_noise = 0;
  bool verbose = false;
  std::optional<uint64_t> seed;
  bool insecure_seed = false;
};

void AddOptions(CLI::App& app, Options& o) {
  app.add_option("--server", o.server, "HOST:PORT")->capture_default_str();
  app.add_option("--key", o.key, "this device's key file, from `sotto keys new`")->required();
  app.add_option("--data", o.data, "IDX file of images, as it is or gzip")->required();
  app.add_option("--labels", o.labels, "IDX file of labels")->required();
  app.add_option("--samples", o.samples, "FIRST:COUNT, this device's share (default: all)");
  app.add_option("--model", o.model, "model by name")->capture_default_str();
  app.add_option("--mark", o.mark,
                 "file that remembers the last round trained for (default: KEY.mark)");
  app.add_option("--give-up", o.give_up_s, "seconds without a server before giving up; 0: never")
      ->capture_default_str();
  app.add_flag("--allow-no-privacy", o.allow_no_privacy, "also take jobs without Gaussian dither");
  app.add_option(
         "--min-private-noise", o.min_private_noise,
         "refuse a job that asks for less noise of this device's own, against the server; in "
         "twice the clipping bound, 0: the server is trusted")
      ->capture_default_str();
  app.add_flag("-v,--verbose", o.verbose, "a line for each step of a round and for each failure");
  app.add_option("--seed", o.seed, "for tests: repeatable, NOT PRIVATE");
  app.add_flag("--insecure-seed", o.insecure_seed, "confirms --seed");
}

// The samples of this device, in memory.
struct Share {
  Dataset data;
  std::vector<uint32_t> indices;

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    const auto* self = static_cast<const Share*>(context);
    const uint32_t sample = self->indices[index];
    self->data.CopyFeatures(sample, features);
    *label = self->data.labels[sample];
    return Status::kOk;
  }
};

// Parses FIRST:COUNT within `total`; an empty text means all samples.
void ParseSamples(const std::string& text, size_t total, size_t* first, size_t* count) {
  *first = 0;
  *count = total;
  if (text.empty()) return;
  const size_t colon = text.find(':');
  const bool parsed = colon != std::string::npos &&
                      CLI::detail::lexical_cast(text.substr(0, colon), *first) &&
                      CLI::detail::lexical_cast(text.substr(colon + 1), *count);
  if (!parsed || *count == 0 || *first > total || *count > total - *first) {
    throw std::invalid_argument(fmt::format(
        "--samples {}: expected FIRST:COUNT within the file's {} samples", text, total));
  }
}

Share LoadShare(const Options& o, const ModelInfo& model) {
  Share share;
  share.data = ReadIdxDataset(o.data, o.data, o.labels, static_cast<int>(model.classes));
  if (share.data.input_size() != model.inputs) {
    throw std::invalid_argument(fmt::format("model {} takes {} inputs, but {} has {}", model.name,
                                            model.inputs, o.data, share.data.input_size()));
  }
  size_t first = 0;
  size_t count = 0;
  ParseSamples(o.samples, share.data.size(), &first, &count);
  if (!o.seed) {
    for (size_t i = first; i < first + count; ++i) {
      share.indices.push_back(static_cast<uint32_t>(i));
    }
    return share;
  }
  // As in the simulator, FIRST:COUNT counts in the seed's permutation of the file.
  RandomStream random(posix::DeriveKey(posix::RunKey(o.seed), key_label::kPartition), 0);
  const Partition partition(share.data.size(), first + count, 1,
                            [&](uint32_t bound) { return random.Below(bound); });
  for (size_t i = first; i < first + count; ++i) {
    share.indices.push_back(partition.DeviceSamples(i)[0]);
  }
  return share;
}

class Device {
 public:
  Device(const Options& options, const ModelInfo& model, const posix::DeviceKey& key, Share share)
      : options_(options),
        key_(key),
        share_(std::move(share)),
        memory_(model, kMaxBatchSize, MaxChunkBytes(kMaxFrame)),
        entropy_(key.secret),
        client_(MakeConfig(model), memory_.buffers()),
        link_({send_.data(), send_.size()}, {receive_.data(), receive_.size()}) {
    entropy_.Attach(&client_.task());
    const size_t colon = options.server.rfind(':');
    if (colon == std::string::npos ||
        !CLI::detail::lexical_cast(options.server.substr(colon + 1), port_)) {
      throw std::invalid_argument(fmt::format("--server {}: expected HOST:PORT", options.server));
    }
    host_ = options.server.substr(0, colon);
    mark_ = options.mark.empty() ? options.key + ".mark" : options.mark;
    last_contact_ms_ = posix::NowMs();
  }

  int Run();

 private:
  ClientConfig MakeConfig(const ModelInfo& model);
  bool Connect();
  Status Exchange(Reply* reply);
  void LoseLink(const std::string& why);
  void BackOff();
  void RememberRound();
  void SayWhatChanged(Client::Progress progress);
  bool GivenUp() const {
    return options_.give_up_s > 0 &&
           static_cast<double>(posix::NowMs() - last_contact_ms_) > options_.give_up_s * 1000;
  }
  void Say(const std::string& line) const {
    if (options_.verbose) fmt::print(stderr, "{}: {}\n", key_.device_id, line);
  }

  const Options& options_;
  posix::DeviceKey key_;
  Share share_;
  posix::ClientMemory memory_;
  SeededEntropy entropy_;
  Client client_;
  std::vector<uint8_t> send_ = std::vector<uint8_t>(kFrameHeaderSize + kMaxFrame);
  std::vector<uint8_t> receive_ = std::vector<uint8_t>(kMaxFrame);
  SecureLink link_;
  posix::TcpStream stream_;
  std::string host_;
  uint16_t port_ = 0;
  std::string mark_;
  std::string marked_;
  std::string said_;
  uint32_t back_off_ms_ = kFirstBackOffMs;
  uint64_t last_contact_ms_ = 0;
};

ClientConfig Device::MakeConfig(const ModelInfo& model) {
  ClientConfig config;
  config.model = &model;
  config.device_id = {reinterpret_cast<const uint8_t*>(key_.device_id.data()),
                      key_.device_id.size()};
  config.secret = key_.secret;
  config.samples = {static_cast<uint32_t>(share_.indices.size()), Share::Read, &share_};
  config.port = posix::SystemPort();
  if (options_.seed) {
    config.port.entropy = SeededEntropy::Fill;
    config.port.context = &entropy_;
  }
  config.allow_training_without_privacy = options_.allow_no_privacy;
  config.min_private_noise_q20 = PrivateNoiseLimitQ20(options_.min_private_noise);
  config.max_frame = kMaxFrame;
  return config;
}

int TlsSend(void* context, const uint8_t* bytes, size_t size) {
  return static_cast<posix::TcpStream*>(context)->Send({bytes, size});
}

int TlsReceive(void* context, uint8_t* out, size_t size) {
  return static_cast<posix::TcpStream*>(context)->Receive({out, size});
}

bool Device::Connect() {
  if (stream_.Connect(host_.c_str(), port_, kConnectTimeoutMs) != Status::kOk) {
    Say(fmt::format("cannot connect to {}: {}", options_.server, stream_.error()));
    return false;
  }
  const ByteSpan id(reinterpret_cast<const uint8_t*>(key_.device_id.data()), key_.device_id.size());
  const Status status =
      link_.Begin(posix::SystemPort(), id, key_.secret, {TlsSend, TlsReceive, &stream_});
  if (status != Status::kOk) {
    throw std::runtime_error(fmt::format("TLS cannot start: {}", StatusName(status)));
  }
  return true;
}

Status Device::Exchange(Reply* reply) {
  const uint64_t deadline_ms = posix::NowMs() + kReplyTimeoutMs;
  for (;;) {
    const Status status = link_.Exchange(client_.request(), reply);
    if (status != Status::kWouldBlock) return status;
    const uint64_t now_ms = posix::NowMs();
    if (now_ms >= deadline_ms) return Status::kLinkLost;
    stream_.Wait(link_.wants_write(), static_cast<int>(deadline_ms - now_ms));
  }
}

void Device::LoseLink(const std::string& why) {
  Say(why);
  link_.Close();
  stream_.Close();
  client_.OnLinkLost();
}

// Pauses before the next try. The pause doubles with each try and has a random part, so that a
// fleet does not reconnect all at once.
void Device::BackOff() {
  uint8_t random[4] = {};
  if (posix::Entropy(random) != Status::kOk) throw std::runtime_error("no entropy");
  const uint32_t jitter = LoadU32Le(random) % back_off_ms_;
  posix::SleepMs(back_off_ms_ / 2 + jitter);
  back_off_ms_ = std::min(2 * back_off_ms_, kLastBackOffMs);
}

// Writes down the last round that this device trained for: for people, and for a start after a
// crash.
void Device::RememberRound() {
  const TrainTask& task = client_.task();
  const std::string mark = fmt::format("sotto-mark 1\njob {}\nround {}\nattempt {}\n",
                                       posix::Hex(task.job_id), task.round, task.attempt);
  if (mark == marked_) return;
  posix::ReplaceTextFile(mark_, mark);
  marked_ = mark;
}

// Prints a line when the device's activity changes.
void Device::SayWhatChanged(Client::Progress progress) {
  const TrainTask& task = client_.task();
  const Client::State state = client_.state();
  std::string line = "waits to be drawn";
  if (progress != Client::Progress::kWait) {
    if (state == Client::State::kHello || state == Client::State::kDone) return;
    line = fmt::format("round {} attempt {}: {}", task.round + 1, task.attempt + 1,
                       state == Client::State::kDownload ? "drawn; takes the model"
                       : state == Client::State::kTrain  ? "trains"
                                                         : "sends its update");
  }
  if (line == said_) return;
  Say(said_ = line);
}

// Why this device takes no part in a task.
std::string WhyRefused(const Options& options, const TrainTask& task) {
  if (!task.is_private() && !options.allow_no_privacy) {
    return "the job trains without privacy; --allow-no-privacy takes part all the same";
  }
  return fmt::format("the job's private noise multiplier is {}, and --min-private-noise {}",
                     task.private_noise_multiplier(), options.min_private_noise);
}

int Device::Run() {
  Client::Progress progress = Client::Progress::kAgain;
  for (;;) {
    if (GivenUp()) {
      fmt::print(stderr, "sotto-client: no server at {} for {} s\n", options_.server,
                 options_.give_up_s);
      return kNoServer;
    }
    if (const Status status = client_.Step(&progress); status != Status::kOk) {
      if (status == Status::kInvalidArgument || status == Status::kEntropyFailed) {
        throw std::runtime_error(
            fmt::format("the device cannot take part: {}", StatusName(status)));
      }
      Say(fmt::format("gave round {} up: {}", client_.task().round + 1, StatusName(status)));
      BackOff();
      continue;
    }
    if (progress == Client::Progress::kDone) break;
    SayWhatChanged(progress);
    if (progress == Client::Progress::kWait) posix::SleepMs(client_.wait_ms());
    if (client_.state() == Client::State::kTrain) RememberRound();
    if (progress != Client::Progress::kSend) continue;

    Reply reply;
    Status status = Status::kLinkLost;
    if (stream_.is_open() || Connect()) status = Exchange(&reply);
    if (status == Status::kPeerRefused || status == Status::kMismatch) {
      fmt::print(stderr, "sotto-client: the server does not accept the key of {}\n",
                 key_.device_id);
      return kRefused;
    }
    if (status != Status::kOk) {
      LoseLink(fmt::format("link to {}: {}", options_.server, StatusName(status)));
      BackOff();
      continue;
    }
    back_off_ms_ = kFirstBackOffMs;
    last_contact_ms_ = posix::NowMs();
    if (status = client_.OnReply(reply); status == Status::kOk) continue;
    if (reply.code == ErrorCode::kModelMismatch || reply.code == ErrorCode::kVersion ||
        (status == Status::kPeerRefused && reply.kind == Reply::Kind::kTrain)) {
      fmt::print(stderr, "sotto-client: {}\n",
                 reply.kind == Reply::Kind::kTrain
                     ? WhyRefused(options_, reply.task)
                     : fmt::format("the server refuses: {}", ErrorCodeName(reply.code)));
      return kRefused;
    }
    Say(fmt::format("round given up: {} {}", StatusName(status), ErrorCodeName(reply.code)));
    BackOff();
  }
  link_.Close();
  Say("the job is done");
  return kDone;
}

int RunClient(int argc, char** argv) {
  CLI::App app("Takes part in a Sotto job as one device.", "sotto-client");
  app.set_version_flag("--version", kVersion);
  app.set_config("--config", "", "read options from a TOML file, same names");
  app.allow_config_extras(CLI::config_extras_mode::error);
  Options options;
  AddOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (options.seed.has_value() != options.insecure_seed) {
    throw std::invalid_argument("--seed is for tests and not private: it needs --insecure-seed");
  }
  if (!(options.min_private_noise >= 0)) {
    throw std::invalid_argument("--min-private-noise must not be negative");
  }
  const ModelInfo* model = FindModel(options.model.c_str());
  if (model == nullptr) {
    std::string known;
    for (const ModelInfo& each : Models()) known += fmt::format(" {}", each.name);
    throw std::invalid_argument(
        fmt::format("--model {}: no such model; known are:{}", options.model, known));
  }
  Share share = LoadShare(options, *model);
  Device device(options, *model, posix::ReadKeyFile(options.key), std::move(share));
  return device.Run();
}

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  try {
    return sotto::RunClient(argc, argv);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "sotto-client: {}\n", error.what());
    return sotto::kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sotto-client: {}\n", error.what());
    return sotto::kFailure;
  }
}
