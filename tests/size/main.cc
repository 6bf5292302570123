// A device with softmax-784-10 and without TLS, to be measured and not to be run: client, training,
// encoder and messages over the board's UART, as they are where a modem or a gateway encrypts.
// table.sh builds it.
#include "sotto/client.h"
#include "sotto/models.h"
#include "sotto/mps2/clock.h"
#include "sotto/mps2/uart.h"
#include "sotto/wire.h"

namespace sotto {
namespace {

using Net = Softmax784x10;

constexpr ModelInfo kModel = MakeModelInfo<Net>("softmax-784-10");
constexpr uint32_t kMaxFrame = 510;
constexpr uint32_t kMaxBatchSize = 16;
constexpr size_t kChunkSize = MaxChunkBytes(kMaxFrame);
constexpr uint8_t kDeviceId[] = {'b', 'o', 'a', 'r', 'd'};

float g_parameters[2 * Net::kParameters];
std::byte g_workspace[ClientWorkspaceBytes<Net, kMaxBatchSize, kChunkSize>()];
uint8_t g_send[kFrameHeaderSize + kMaxFrame];
uint8_t g_receive[kMaxFrame];

// The samples and the source of entropy are not what is measured.
Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  *label = index % Net::kClasses;
  for (float& feature : features) feature = 0.5f;
  return Status::kOk;
}

Status NoEntropy(void*, MutableByteSpan) { return Status::kEntropyFailed; }

uint64_t NowMs(void*) { return mps2::NowMs(); }

bool Exchange(const Request& request, Reply* reply) {
  size_t size = 0;
  if (EncodeRequest(request, kMaxFrame, g_send, &size) != Status::kOk) return false;
  for (size_t sent = 0; sent < size;) {
    sent += static_cast<size_t>(mps2::UartSend({g_send + sent, size - sent}));
  }
  FrameReader reader(g_receive);
  while (!reader.complete()) {
    const int received = mps2::UartReceive(reader.missing());
    if (received < 0) return false;
    if (reader.Received(static_cast<size_t>(received)) != Status::kOk) return false;
  }
  return DecodeReply(reader.body(), reply) == Status::kOk;
}

void TakePart(Client& client) {
  using Progress = Client::Progress;
  for (Progress progress = Progress::kAgain; progress != Progress::kDone;) {
    if (client.Step(&progress) != Status::kOk) mps2::SleepMs(1000);
    if (progress == Progress::kWait) mps2::SleepMs(client.wait_ms());
    if (progress != Progress::kSend) continue;
    Reply reply;
    if (!Exchange(client.request(), &reply)) {
      client.OnLinkLost();
    } else if (client.OnReply(reply) != Status::kOk) {
      mps2::SleepMs(1000);
    }
  }
}

void Run() {
  mps2::StartClock();
  mps2::StartUart();
  ClientConfig config;
  config.model = &kModel;
  config.device_id = kDeviceId;
  config.samples = {50, ReadSample, nullptr};
  config.port = {NowMs, NoEntropy, nullptr};
  config.max_frame = kMaxFrame;
  static Client client(
      config, MakeClientBuffers<Net, kMaxBatchSize, kChunkSize>(g_parameters, g_workspace));
  TakePart(client);
}

}  // namespace
}  // namespace sotto

int main(int, char**) {
  sotto::Run();
  return 0;
}
