// The firmware of a node without a server: learns on the samples in its flash, and publishes its
// model through a relay when its policy says so. The header SOTTO_DEVICE_NET has net and samples;
// the header SOTTO_PEER_JOB, which `sotto simulate --job-out FILE.h` writes, has the job.
//
// The ledger is in the board's persistent store: a board that is reset goes on where its last
// publication left it. Messages go to QEMU's standard error. Exit status: 0 the node has taken all
// its steps, 2 the firmware was built from the wrong files, 3 the ledger does not pay for more or
// the directory refuses the node, 4 the board failed (entropy, store). One thread. Part of
// examples/cortex_m.
#include SOTTO_DEVICE_KEY
#include SOTTO_DEVICE_NET
#include SOTTO_PEER_JOB

#include "server_link.h"
#include "sotto/emulated/clock.h"
#include "sotto/emulated/insecure_entropy.h"
#include "sotto/emulated/record_store.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/emulated/stack.h"
#include "sotto/emulated/uart.h"
#include "sotto/peer_node.h"
#include "sotto/peer_wire.h"
#include "sotto/self_test.h"
#include "tls_pool.h"

namespace sotto {
namespace {

using emulated::Print;
using Progress = PeerNode::Progress;

constexpr int kDone = 0;
constexpr int kBadBuild = 2;
constexpr int kRefused = 3;
constexpr int kFailed = 4;

// True if the node draws the noise of the simulator's seeded node. TLS has its own entropy in both
// cases.
constexpr bool kSeeded = SOTTO_SEEDED;

static_assert(kPeerJob.batch_size <= kMaxBatchSize, "the net's header has room for such batches");

float vectors[4 * Net::kParameters];
std::byte workspace[PeerWorkspaceBytes<Net, kPeerJob.batch_size, kFrameBytes>()];

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

PeerConfig MakeConfig(const Port& port, const PersistentStore& store) {
  PeerConfig config;
  config.model = &kModel;
  config.job = kPeerJob;
  config.device_id = DeviceId();
  config.secret = DeviceSecret();
  config.samples = DeviceSamples();
  config.port = port;
  config.store = store;
  return config;
}

// The policy that the firmware was built with.
SharePolicy Policy(const PeerTrainer& trainer) {
#if defined(SOTTO_PEER_PERIOD)
  (void)trainer;
  static PeriodPolicy period(SOTTO_PEER_PERIOD);
  return period.policy();
#else
  static CoinPolicy coin(DeviceSecret(), trainer.job_id(),
                         static_cast<uint32_t>(SOTTO_PEER_COIN * 4294967296.0));
  return coin.policy();
#endif
}

// "step 12 of 30: version 4 published" and the like. Everybody may know it.
void PrintStep(uint32_t step, uint32_t steps, const char* text, uint32_t number) {
  Print("step ");
  Print(step);
  Print(" of ");
  Print(steps);
  Print(text);
  Print(number);
  Print("\n");
}

// Goes through a step, or sends one request.
int TakePart(PeerTrainer& trainer, PeerNode& node, ServerLink& link) {
  uint32_t told = 0;
  for (Progress progress = Progress::kAgain; progress != Progress::kDone;) {
    if (const Status s = node.Step(&progress); s != Status::kOk) {
      Print("failed: ");
      Print(StatusName(s));
      Print("\n");
      return kFailed;
    }
    if (trainer.publication_version() != told) {
      told = trainer.publication_version();
      PrintStep(trainer.step(), trainer.steps(), ": publication fixed, version ", told);
    }
    if (progress == Progress::kWait) emulated::SleepMs(node.wait_ms());
    if (progress != Progress::kSend) continue;
    PeerReply reply;
    const bool is_directory = node.where().is_directory;
    if (!is_directory || link.Exchange(node.request(), &reply) != Status::kOk) {
      node.OnLinkLost();
    } else if (node.OnReply(reply) != Status::kOk) {
      link.Close();
      link.BackOff();
    }
  }
  link.Close();
  return node.is_refused() ? kRefused : kDone;
}

void Report(const PeerTrainer& trainer, const PeerNode& node) {
  PrintStep(trainer.step(), trainer.steps(), ": publications accepted ", node.accepted());
  Print("stack: ");
  Print(emulated::StackUsed());
  Print(" of ");
  Print(emulated::StackSize());
  Print(" bytes used\nTLS pool: ");
  Print(TlsPoolUsed());
  Print(" of ");
  Print(TlsPoolSize());
  Print(" bytes used\n");
}

bool Announce() {
  Print(kSottoDeviceId);
  Print(": INSECURE entropy, for tests only\n");
  if (kSeeded) Print("seeded: not private\n");
  if (SelfTest() != Status::kOk) {
    Print("this build computes other bits: sotto/self_test.h\n");
    return false;
  }
  if (DeviceSamples().count != 0) return true;
  Print("no sample to train on\n");
  return false;
}

int Run() {
  emulated::StartClock();
  emulated::StartUart();
  StartTlsPool();
  if (!Announce()) return kBadBuild;
  static emulated::InsecureEntropy entropy(DeviceSecret());
  static PeerTrainer trainer;
  static SeededPeerEntropy noise(DeviceSecret(), &trainer);
  const Port port = {NowMs, emulated::InsecureEntropy::Fill, &entropy};
  const Port seeded_port = {NowMs, SeededPeerEntropy::Fill, &noise};
  static emulated::RecordStore store(kSottoDeviceId);
  const PeerMemory memory =
      MakePeerBuffers<Net, kPeerJob.batch_size, kFrameBytes>(vectors, workspace);
  const Status s =
      trainer.Begin(MakeConfig(kSeeded ? seeded_port : port, store.store()), memory.trainer);
  if (s != Status::kOk) {
    Print("cannot begin: ");
    Print(StatusName(s));
    Print("\n");
    return s == Status::kStoreFailed || s == Status::kMalformed ? kFailed : kBadBuild;
  }
  if (trainer.step() > 0)
    PrintStep(trainer.step(), trainer.steps(), ": goes on, version ",
              trainer.publication_version());
  PeerNodeConfig config;
  config.port = port;
  config.max_frame = kMaxFrame;
  config.fetched = memory.fetched;
  static PeerNode node(&trainer, Policy(trainer), config);
  static ServerLink link(port, DeviceId(), DeviceSecret(), memory.frames);
  const int status = TakePart(trainer, node, link);
  Report(trainer, node);
  return status;
}

}  // namespace
}  // namespace sotto

int main(int, char**) { return sotto::Run(); }
