// The firmware of a device of the fleet: trains on the samples in its flash, round after round. The
// header SOTTO_DEVICE_NET has its net and its samples, see nets/softmax.h.
//
// Messages go to QEMU's standard error. Exit status: 0 the job is done, 2 the firmware was built
// from the wrong files, 3 the device refuses the job, or the server, which has proved who it is,
// the device's model. A real board would not exit, but wait for the next job.
//
// Built with SOTTO_KEEP_MODEL it waits: its model lies in flash, and it fetches the released model
// and classifies its samples with it, see keeper.h. One thread. Part of examples/cortex_m.
#include SOTTO_DEVICE_KEY
#include SOTTO_DEVICE_NET

#include "classify.h"
#include "keeper.h"
#include "server_link.h"
#include "sotto/client.h"
#include "sotto/emulated/clock.h"
#include "sotto/emulated/insecure_entropy.h"
#include "sotto/emulated/model_flash.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/emulated/stack.h"
#include "sotto/emulated/uart.h"
#include "sotto/seeded_entropy.h"
#include "sotto/self_test.h"
#include "tls_pool.h"

namespace sotto {
namespace {

using emulated::Print;

constexpr int kDone = 0;
constexpr int kBadBuild = 2;
constexpr int kRefused = 3;

// True if the device draws the same nonces as the simulator's seeded device. TLS has its own
// entropy in both cases.
constexpr bool kSeeded = SOTTO_SEEDED;

// True if the device also takes a job without noise: for trials.
constexpr bool kAllowsNoPrivacy = SOTTO_ALLOW_NO_PRIVACY;

// True if the model lies in flash, and the device stays when a job is over.
constexpr bool kKeepsModel = SOTTO_KEEP_MODEL;
static_assert(!kKeepsModel || (Net::kClasses > 0 && Net::kArithmetic == nn::Arithmetic::kFloat32),
              "classify.h has no memory for another net");

// The least wait, in milliseconds, before which the board closes the link if its session resumes: a
// radio can then sleep. A board that sleeps itself keeps its RAM, which has the session, or makes a
// full handshake.
[[maybe_unused]] constexpr uint32_t kCloseBeforeMs = 2000;

constexpr size_t kChunkSize = MaxChunkBytes(kMaxFrame);

// Training and messages take turns in the workspace.
float parameters[(kKeepsModel ? 1 : 2) * Net::kParameters];
std::byte workspace[ClientWorkspaceBytes<Net, kMaxBatchSize, kChunkSize, kFrameBytes>()];

ByteSpan DeviceId() {
  return {reinterpret_cast<const uint8_t*>(kSottoDeviceId), sizeof(kSottoDeviceId) - 1};
}

Key DeviceSecret() {
  Key key;
  static_assert(sizeof(kSottoDeviceSecret) == sizeof(key.bytes), "not a header of sotto keys");
  __builtin_memcpy(key.bytes, kSottoDeviceSecret, sizeof(key.bytes));
  return key;
}

uint64_t NowMs(void*) { return emulated::NowMs(); }

ClientConfig MakeConfig(const Port& port) {
  ClientConfig config;
  config.model = &kModel;
  config.device_id = DeviceId();
  config.secret = DeviceSecret();
  config.samples = DeviceSamples();
  config.port = port;
  config.max_frame = kMaxFrame;
  config.stays = config.wants_news = kKeepsModel;
  config.allow_training_without_privacy = kAllowsNoPrivacy;
  return config;
}

// "round 1 attempt 1: ", counted from 1 as the server's log counts.
void PrintRound(const TrainTask& task) {
  Print("round ");
  Print(task.round + 1);
  Print(" attempt ");
  Print(task.attempt + 1);
  Print(": ");
}

// Prints "mean loss 0.693", which falls from round to round while the net learns. It stays on the
// device.
void ReportLoss(const Client& client) {
  const float loss = client.mean_loss();
  if (!(loss < 1e6f)) return;
  const auto thousandths = static_cast<uint32_t>(loss * 1000.0f + 0.5f);
  PrintRound(client.task());
  Print("mean loss ");
  Print(thousandths / 1000);
  const char digits[] = {'.',
                         static_cast<char>('0' + thousandths / 100 % 10),
                         static_cast<char>('0' + thousandths / 10 % 10),
                         static_cast<char>('0' + thousandths % 10),
                         '\n',
                         '\0'};
  Print(digits);
}

// A nonce is no secret: it is sent with the update. Equal nonces show that the same bytes were
// repeated, different nonces that a new training began.
void ReportUpload(const Client& client) {
  PrintRound(client.task());
  Print("upload under nonce ");
  for (const uint8_t byte : client.request().nonce) {
    const char hex[] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15], '\0'};
    Print(hex);
  }
  Print("\n");
  if (client.local_round().failure() != Status::kOk) {
    PrintRound(client.task());
    Print("training failed, the update is zeros: ");
    Print(StatusName(client.local_round().failure()));
    Print("\n");
    return;
  }
  ReportLoss(client);
  if constexpr (Net::kArithmetic == nn::Arithmetic::kFixedPoint) {
    if (client.local_round().saturated_steps() == 0) return;
    PrintRound(client.task());
    Print("fixed point saturated: lower the learning rate or scale the features\n");
  }
}

void ReportFailure(const Client& client, Status status) {
  PrintRound(client.task());
  Print("given up: ");
  Print(StatusName(status));
  Print("\n");
}

// Why every later round would also fail; nullptr: a later round may succeed. Only for the reply of
// an authenticated server: the board repeats everything before that.
const char* ReasonToEnd(Status status, const Reply& reply) {
  if (reply.kind == Reply::Kind::kTrain && status == Status::kPeerRefused) {
    return "this job has too little privacy for this device\n";
  }
  if (reply.kind != Reply::Kind::kError) return nullptr;
  if (reply.code == ErrorCode::kModelMismatch) return "the server serves another model\n";
  if (reply.code == ErrorCode::kVersion) return "the server speaks another version\n";
  return nullptr;
}

// A fetch that fails is no round that is given up.
bool IsInFetch(const Client& client) {
  return client.state() == Client::State::kAskRelease ||
         client.state() == Client::State::kFetchRelease;
}

// Waits as the client asks. Between two polls the board closes a session that resumes. Within a
// round the link stays as it is: the beginning of such a wait tells how long the training took.
void Wait(Client& client, [[maybe_unused]] ServerLink& link, [[maybe_unused]] Keeper* keeper) {
  const uint64_t end_ms = emulated::NowMs() + client.wait_ms();
  if constexpr (kKeepsModel) keeper->OnWait(emulated::NowMs());
#if defined(SOTTO_RESUME_TLS)
  if (client.state() == Client::State::kHello && client.wait_ms() >= kCloseBeforeMs) {
    link.Close();
    client.OnLinkLost();
  }
#endif
  const uint64_t now_ms = emulated::NowMs();
  if (now_ms < end_ms) emulated::SleepMs(static_cast<uint32_t>(end_ms - now_ms));
}

// Takes part in rounds until the job is done.
//   keeper  nullptr if the firmware keeps no model
int TakePart(Client& client, ServerLink& link, [[maybe_unused]] Keeper* keeper) {
  using Progress = Client::Progress;
  for (Progress progress = Progress::kAgain; progress != Progress::kDone;) {
    if (const Status s = client.Step(&progress); s != Status::kOk) {
      ReportFailure(client, s);
      link.BackOff();
    }
    if (progress == Progress::kWait) Wait(client, link, keeper);
    if (progress != Progress::kSend) continue;
    if (client.state() == Client::State::kUploadBegin) ReportUpload(client);
    Reply reply;
    if (link.Exchange(client.request(), &reply) != Status::kOk) {
      client.OnLinkLost();
      continue;
    }
    const bool is_fetch = IsInFetch(client);
    const Status s = client.OnReply(reply);
    if constexpr (kKeepsModel) keeper->OnReply(s, reply);
    if (s != Status::kOk && !is_fetch) {
      ReportFailure(client, s);
      if (const char* reason = ReasonToEnd(s, reply); reason != nullptr) {
        Print(reason);
        return kRefused;
      }
      link.BackOff();
    }
  }
  link.Close();
  Print("the job is done\n");
  return kDone;
}

// "stack: 1900 of 2880 bytes used"
void PrintUse(const char* name, uint32_t used, uint32_t size) {
  Print(name);
  Print(used);
  Print(" of ");
  Print(size);
  Print(" bytes used\n");
}

void ReportMemory() {
  PrintUse("stack: ", emulated::StackUsed(), emulated::StackSize());
  PrintUse("TLS pool: ", TlsPoolUsed(), TlsPoolSize());
}

// Prints the first messages. False if the firmware was built from the wrong files.
bool Announce() {
  Print(kSottoDeviceId);
  Print(": INSECURE entropy, for tests only\n");
  if (kSeeded) Print("seeded: not private\n");
  if (kAllowsNoPrivacy) Print("jobs without privacy are allowed\n");
  if (SelfTest() != Status::kOk) {
    Print("this build computes other bits: sotto/self_test.h\n");
    return false;
  }
  if (DeviceSamples().count != 0) return true;
  Print("no sample to train on\n");
  return false;
}

// The model in flash, or nullptr: it is in RAM.
KeptModel* OpenKeptModel() {
  if constexpr (kKeepsModel) {
    static KeptModel kept(emulated::OpenModelFlash(kSottoDeviceId), Net::kParameters);
    return &kept;
  }
  return nullptr;
}

ClientBuffers MakeBuffers([[maybe_unused]] KeptModel* kept) {
  if constexpr (kKeepsModel) {
    return MakeClientBuffers<Net, kMaxBatchSize, kChunkSize, kFrameBytes>(
        kept->base(), kept->writer(), parameters, workspace);
  } else {
    return MakeClientBuffers<Net, kMaxBatchSize, kChunkSize, kFrameBytes>(parameters, workspace);
  }
}

Keeper* StartKeeper([[maybe_unused]] KeptModel* kept, [[maybe_unused]] Client* client) {
  if constexpr (kKeepsModel) {
    static float memory[ClassifyFloats(kModel)];
    static Keeper keeper(kModel, kept, client, DeviceSamples(), memory);
    keeper.Start();
    return &keeper;
  }
  return nullptr;
}

int Run() {
  emulated::StartClock();
  emulated::StartUart();
  StartTlsPool();
  if (!Announce()) return kBadBuild;
  static emulated::InsecureEntropy entropy(DeviceSecret());
  static SeededEntropy nonces(DeviceSecret());
  const Port port = {NowMs, emulated::InsecureEntropy::Fill, &entropy};
  const Port seeded_port = {NowMs, SeededEntropy::Fill, &nonces};
  KeptModel* const kept = OpenKeptModel();
  const ClientBuffers buffers = MakeBuffers(kept);
  static Client client(MakeConfig(kSeeded ? seeded_port : port), buffers);
  nonces.Attach(&client.task());
  static ServerLink link(port, DeviceId(), DeviceSecret(), buffers.frames);
  const int status = TakePart(client, link, StartKeeper(kept, &client));
  ReportMemory();
  return status;
}

}  // namespace
}  // namespace sotto

int main(int, char**) { return sotto::Run(); }
