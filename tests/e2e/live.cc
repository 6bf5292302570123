#include "e2e/live.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/synthetic.h"
#include "sotto/data/idx.h"
#include "sotto/models.h"
#include "sotto/posix/port.h"
#include "unit/sdk/hex.h"
#include "unit/stored_bytes.h"

namespace sotto::live {
namespace {

void StoreU32Be(uint32_t value, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) *out += static_cast<char>(value >> shift & 0xff);
}

void WriteIdx(const std::string& path, uint32_t magic, const std::vector<uint32_t>& dimensions,
              const std::vector<uint8_t>& bytes) {
  std::string header;
  StoreU32Be(magic, &header);
  for (const uint32_t dimension : dimensions) StoreU32Be(dimension, &header);
  std::ofstream file(path, std::ios::binary);
  file << header;
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void WriteDataset(const std::string& prefix, const Dataset& data) {
  const auto count = static_cast<uint32_t>(data.size());
  const std::vector<uint32_t> labels = LabelsOf(data);
  WriteIdx(prefix + "-images-idx3-ubyte", kIdxImagesMagic, {count, 28, 28}, BytesOf(data));
  WriteIdx(prefix + "-labels-idx1-ubyte", kIdxLabelsMagic, {count}, {labels.begin(), labels.end()});
}

// Never returns.
void BecomeChild(const Arguments& arguments, const std::string& log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int in = open("/dev/null", O_RDONLY);
  dup2(in, 0);
  dup2(out, 1);
  dup2(out, 2);
  for (int file = 3; file < 1024; ++file) close(file);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  signal(SIGPIPE, SIG_DFL);  // as for a program started by a shell, whatever the parent's setting
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

bool Eventually(const std::function<bool()>& is_so, int timeout_ms) {
  const uint64_t deadline_ms = posix::NowMs() + static_cast<uint64_t>(timeout_ms);
  while (!is_so()) {
    if (posix::NowMs() >= deadline_ms) return false;
    posix::SleepMs(10);
  }
  return true;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

bool Says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

const std::string& Host() {
  const auto pid = static_cast<uint32_t>(getpid());
  static const std::string host =
      fmt::format("127.{}.{}.{}", 1 + (pid >> 16 & 0x7f), pid >> 8 & 0xff, pid & 0xff);
  return host;
}

std::string Address(uint16_t port) { return fmt::format("{}:{}", Host(), port); }

Process::Process(const Arguments& arguments, const std::string& log) {
  pid_ = fork();
  EXPECT_GE(pid_, 0);
  if (pid_ == 0) BecomeChild(arguments, log);
}

Process::Process(Process&& other) noexcept : pid_(other.pid_), exit_code_(other.exit_code_) {
  other.pid_ = -1;
}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(exit_code_, other.exit_code_);
  return *this;
}

void Process::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

int Process::Wait(int timeout_ms) {
  Eventually(
      [&] {
        int status = 0;
        if (pid_ <= 0) return true;
        if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        pid_ = -1;
        return true;
      },
      timeout_ms);
  return exit_code_;
}

void Process::End() {
  Signal(SIGKILL);
  Wait();
}

bool Server::WaitForReleases(size_t count) const {
  return Eventually([&] { return releases() >= count; });
}

bool Server::WaitForDraw() const {
  return Eventually([&] { return Count(ReadFile(log), " drawn\n") > 0; });
}

size_t Server::memory_bytes() const {
  std::ifstream file("/proc/" + std::to_string(process.pid()) + "/statm");
  size_t total = 0;
  size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t Server::open_files() const {
  std::error_code denied;
  const std::filesystem::directory_iterator files("/proc/" + std::to_string(process.pid()) + "/fd",
                                                  denied);
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

Site::Site(uint32_t devices, const Arguments& key_arguments) {
  Arguments arguments = {"keys",  "new",       Path("store"), "--count", std::to_string(devices),
                         "--out", Path("keys")};
  arguments.insert(arguments.end(), key_arguments.begin(), key_arguments.end());
  EXPECT_EQ(Sotto(arguments, "keys.log").Wait(), 0) << ReadFile(Path("keys.log"));
  ReadKeys();
  WriteData();
}

Site::~Site() { ExpectNoSecretInLogs(); }

void Site::ReadKeys() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(Path("keys"))) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) keys_.push_back(posix::ReadKeyFile(path));
}

void Site::WriteData() const {
  const TrainTest data = server::MakeSynthetic({kSamples * devices(), 100, 1});
  std::filesystem::create_directory(Path("data"));
  WriteDataset(Path("data/train"), *data.train);
  WriteDataset(Path("data/t10k"), *data.test);
}

// No log contains sixteen digits of a secret or of the TLS key that is derived from it.
void Site::ExpectNoSecretInLogs() const {
  std::string logs;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    if (entry.path().extension() == ".log") logs += ReadFile(entry.path());
  }
  std::transform(logs.begin(), logs.end(), logs.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const posix::DeviceKey& key : keys_) {
    Key psk;
    EXPECT_EQ(DeriveTlsKey(key.secret, &psk), Status::kOk);
    for (const std::string& hex : {ToHex(key.secret.bytes), ToHex(psk.bytes)}) {
      for (size_t i = 0; i < hex.size(); i += 16) {
        EXPECT_EQ(logs.find(hex.substr(i, 16)), std::string::npos) << key.device_id;
      }
    }
  }
}

Process Site::Sotto(const Arguments& arguments, const std::string& log) const {
  return Start(SOTTO_PROGRAM, arguments, log);
}

Process Site::Start(const std::string& program, const Arguments& arguments,
                    const std::string& log) const {
  Arguments all = {program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return {all, Path(log)};
}

Process Site::StartServe(const Arguments& arguments, const Arguments& wrapper) const {
  Arguments all = wrapper;
  all.insert(all.end(), {SOTTO_PROGRAM, "serve", "-v", "--store", Path("store")});
  const auto sets = [&](const char* option) {
    return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
  };
  if (!sets("--port-file")) all.insert(all.end(), {"--port-file", Path("port")});
  if (!sets("--listen")) all.insert(all.end(), {"--listen", Address(0)});
  if (stays) {
    all.insert(all.end(), arguments.begin(), arguments.end());
    return {all, Path("serve.log")};
  }
  all.emplace_back("--once");
  if (!sets("--release-allowance")) all.push_back("--close-early");
  if (!sets("--sampling")) all.insert(all.end(), {"--sampling", "uniform"});
  all.push_back("--accept-delta");  // of fleets so small, most of the deltas here leave some out
  all.insert(all.end(), arguments.begin(), arguments.end());
  return {all, Path("serve.log")};
}

Server Site::Serve(const Arguments& arguments, const Arguments& wrapper) const {
  std::filesystem::remove(Path("port"));
  Server server{StartServe(arguments, wrapper), 0, Path("serve.log")};
  const bool up = Eventually([&] {
    std::ifstream file(Path("port"));
    std::string line;
    if (std::getline(file, line) && !file.eof()) {
      server.port = static_cast<uint16_t>(std::stoi(line));
    }
    return server.port != 0 || server.process.Wait(0) != -1;
  });
  EXPECT_TRUE(up && server.port != 0) << ReadFile(server.log);
  return server;
}

std::string Site::ClientLog(size_t device) const {
  return Path("client-" + std::to_string(device) + ".log");
}

Process Site::Client(size_t device, uint16_t port, const Arguments& arguments,
                     const Arguments& program) const {
  Arguments once = arguments;
  if (!stays) once.emplace_back("--once");
  return StartClient(device, port, once, program);
}

Process Site::StayingClient(size_t device, uint16_t port, const Arguments& arguments) const {
  return StartClient(device, port, arguments, {SOTTO_CLIENT_PROGRAM});
}

Process Site::StartClient(size_t device, uint16_t port, const Arguments& arguments,
                          const Arguments& program) const {
  Arguments all = program;
  const auto says = [&](const char* option) {
    return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
  };
  if (!says("--log-level")) all.emplace_back("-v");
  if (!says("--server")) all.insert(all.end(), {"--server", Address(port)});
  all.insert(all.end(), {"--key", Path("keys/" + key(device).device_id + ".key")});
  if (!says("--data")) {
    all.insert(all.end(), {"--data", Path("data/train-images-idx3-ubyte"), "--labels",
                           Path("data/train-labels-idx1-ubyte")});
  }
  if (!says("--device")) {
    all.insert(all.end(), {"--samples", fmt::format("{}:{}", kSamples * device, kSamples)});
  }
  all.insert(all.end(), arguments.begin(), arguments.end());
  return {all, ClientLog(device)};
}

std::vector<Process> Site::Clients(uint16_t port, const Arguments& arguments) const {
  std::vector<Process> clients;
  for (size_t i = 0; i < devices(); ++i) clients.push_back(Client(i, port, arguments));
  return clients;
}

Caller::Caller(uint16_t port, const posix::DeviceKey& key, TlsTicket* ticket)
    : port_(port), key_(key), ticket_(ticket), reader_({buffer_.data(), buffer_.size()}) {}

Status Caller::Await(const std::function<Status()>& step, int timeout_ms) {
  const uint64_t deadline_ms = posix::NowMs() + static_cast<uint64_t>(timeout_ms);
  for (;;) {
    const Status status = step();
    const uint64_t now_ms = posix::NowMs();
    if (status != Status::kWouldBlock || now_ms >= deadline_ms) return status;
    stream_.Wait(tls_.wants_write(), static_cast<int>(deadline_ms - now_ms));
  }
}

Status Caller::Connect() {
  if (Status s = stream_.Connect(Host().c_str(), port_, kPatienceMs); s != Status::kOk) return s;
  Key psk;
  if (Status s = DeriveTlsKey(key_.secret, &psk); s != Status::kOk) return s;
  TlsConfig config;
  config.ticket = ticket_;
  if (Status s = context_.InitClient(posix::SystemPort(), View(key_.device_id), psk, config);
      s != Status::kOk) {
    return s;
  }
  const TlsIo io = {[](void* context, const uint8_t* bytes, size_t size) {
                      return static_cast<posix::TcpStream*>(context)->Send({bytes, size});
                    },
                    [](void* context, uint8_t* out, size_t size) {
                      return static_cast<posix::TcpStream*>(context)->Receive({out, size});
                    },
                    &stream_};
  if (Status s = tls_.Start(&context_, io); s != Status::kOk) return s;
  return Await([this] { return tls_.Handshake(); });
}

Status Caller::Send(ByteSpan bytes) {
  for (size_t done = 0; done < bytes.size();) {
    size_t written = 0;
    const Status status = Await([&] { return tls_.Write(bytes.subspan(done), &written); });
    if (status != Status::kOk) return status;
    done += written;
  }
  return Status::kOk;
}

Status Caller::Send(const Request& request) {
  std::vector<uint8_t> frame(kFrameHeaderSize + 4096);
  size_t size = 0;
  const Status status = EncodeRequest(request, 4096, {frame.data(), frame.size()}, &size);
  return status == Status::kOk ? Send(ByteSpan(frame.data(), size)) : status;
}

Status Caller::Receive(Reply* reply) {
  reader_.Next();
  while (!reader_.complete()) {
    size_t got = 0;
    const Status status = Await([&] { return tls_.Read(reader_.missing(), &got); });
    if (status != Status::kOk) return status;
    if (got == 0) return Status::kLinkLost;
    if (Status s = reader_.Received(got); s != Status::kOk) return s;
  }
  return DecodeReply(reader_.body(), reply);
}

Reply Caller::Ask(const Request& request) {
  Reply reply;
  Status status = Send(request);
  if (status == Status::kOk) status = Receive(&reply);
  return status == Status::kOk ? reply : Reply();
}

Status Caller::SendHello(ByteSpan receipt, uint32_t hold_ms, uint32_t features) {
  uint8_t digest[kSha256Size] = {};
  EXPECT_EQ(ModelDigest(*FindModel("softmax-784-10"), digest), Status::kOk);
  Request request;
  request.kind = Request::Kind::kHello;
  request.device_id = View(key_.device_id);
  request.model_digest = digest;
  request.max_frame = 4096;
  request.receipt = receipt;
  request.hold_ms = hold_ms;
  request.abilities.features = features;
  return Send(request);
}

Reply Caller::Hello(ByteSpan receipt, uint32_t hold_ms, uint32_t features) {
  Reply reply;
  Status status = SendHello(receipt, hold_ms, features);
  if (status == Status::kOk) status = Receive(&reply);
  return status == Status::kOk ? reply : Reply();
}

bool Caller::IsClosedWithin(int timeout_ms) {
  return Eventually(
      [this] {
        uint8_t bytes[4096];
        return stream_.Receive(bytes) < 0;
      },
      timeout_ms);
}

Request Caller::Begin(const TrainTask& task, ByteSpan nonce) {
  Request request;
  request.kind = Request::Kind::kUpdateBegin;
  request.round = task.round;
  request.attempt = task.attempt;
  request.job_id = task.job_id;
  request.nonce = nonce;
  request.coding = task.format.coding;
  request.clip_bit_q20 = task.clip_bit_q20;
  return request;
}

Request Caller::Chunk(uint32_t offset, ByteSpan bytes, bool last) {
  Request request;
  request.kind = Request::Kind::kUpdateChunk;
  request.offset = offset;
  request.bytes = bytes;
  request.last = last;
  return request;
}

Reply Caller::Upload(const TrainTask& task, ByteSpan nonce, ByteSpan bytes) {
  Reply reply = Ask(Begin(task, nonce));
  while (reply.kind == Reply::Kind::kAck && !reply.complete) {
    const size_t size = std::min<size_t>(bytes.size() - reply.offset, 2048);
    const bool last = reply.offset + size == bytes.size();
    reply = Ask(Chunk(reply.offset, bytes.subspan(reply.offset, size), last));
  }
  return reply;
}

// An upload may come too late for its round. A later pass then reports in time.
bool RoundCompletes(const Site& site, const Server& server) {
  const size_t before = server.releases();
  std::optional<uint32_t> round;  // not the one after it, before its release is seen
  return Eventually([&] {
    for (size_t i = 0; i < site.devices(); ++i) {
      Caller device(server.port, site.key(i));
      if (device.Connect() != Status::kOk) return false;
      const Reply reply = device.Hello();
      if (reply.kind != Reply::Kind::kTrain) continue;
      if (!round) round = reply.task.round;
      if (reply.task.round != *round) continue;
      uint8_t nonce[kNonceSize] = {};
      EXPECT_EQ(posix::Entropy(nonce), Status::kOk);
      const std::vector<uint8_t> zero_update(std::max(1u, reply.task.format.padding));
      device.Upload(reply.task, nonce, {zero_update.data(), zero_update.size()});
    }
    return server.releases() > before;
  });
}

void ExpectAllDone(const Site& site, std::vector<Process>& clients) {
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i].Wait(), 0) << ReadFile(site.ClientLog(i));
  }
}

bool AllowOpenFiles(size_t files) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= files) return true;
  limit.rlim_cur = std::min<rlim_t>(files, limit.rlim_max);
  return limit.rlim_cur >= files && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace sotto::live
