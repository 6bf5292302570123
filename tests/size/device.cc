#include "size/device.h"

#include "sotto/client.h"
#include "sotto/models.h"

namespace sotto {
namespace {

using Net = Softmax784x10;

constexpr ModelInfo kModel = MakeModelInfo<Net>("softmax-784-10");
constexpr uint32_t kMaxBatchSize = 16;
constexpr size_t kChunkSize = MaxChunkBytes(kMaxFrame);
constexpr uint8_t kDeviceId[] = {'b', 'o', 'a', 'r', 'd'};
constexpr uint32_t kSamples = 50;

float g_parameters[2 * Net::kParameters];
std::byte g_workspace[ClientWorkspaceBytes<Net, kMaxBatchSize, kChunkSize, kFrameBytes>()];

// Where samples and random bytes come from is not what is measured; that they are made up repeats
// every run.
Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  *label = index % Net::kClasses;
  for (float& feature : features) feature = 0.5f;
  return Status::kOk;
}

Status NoEntropy(void*, MutableByteSpan out) {
  for (uint8_t& byte : out) byte = 1;
  return Status::kOk;
}

uint64_t NoClock(void*) { return 0; }

}  // namespace

void TakePart() {
  using Progress = Client::Progress;
  ClientConfig config;
  config.model = &kModel;
  config.device_id = kDeviceId;
  config.samples = {kSamples, ReadSample, nullptr};
  config.port = {NoClock, NoEntropy, nullptr};
  config.max_frame = kMaxFrame;
  const ClientBuffers buffers =
      MakeClientBuffers<Net, kMaxBatchSize, kChunkSize, kFrameBytes>(g_parameters, g_workspace);
  static Client client(config, buffers);
  for (Progress progress = Progress::kAgain; progress != Progress::kDone;) {
    if (client.Step(&progress) != Status::kOk) SleepMs(1000);
    if (progress == Progress::kWait) SleepMs(client.wait_ms());
    if (progress != Progress::kSend) continue;
    Reply reply;
    if (!Exchange(client.request(), buffers.frames, &reply)) {
      client.OnLinkLost();
    } else if (client.OnReply(reply) != Status::kOk) {
      SleepMs(1000);
    }
  }
}

}  // namespace sotto
