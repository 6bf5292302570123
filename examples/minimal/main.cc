// A device's complete loop. Four functions are the board's: its link, delay, port and secret.
#include "sotto/client.h"
#include "sotto/self_test.h"

using Net = sotto::nn::Sequential<sotto::nn::Dense<64, 10>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("softmax-64-10");
constexpr uint8_t kDeviceId[] = {'b', 'o', 'a', 'r', 'd', '-', '1'};

bool Exchange(const sotto::Request& request, sotto::Reply* reply);  // false: the link was cut
void SleepMs(uint32_t ms);
sotto::Port BoardPort();    // clock and entropy
sotto::Key DeviceSecret();  // 32 random bytes, known to this device and the server only

static float params[2 * Net::kParameters];
static std::byte workspace[sotto::ClientWorkspaceBytes<Net>()];

// Sample `index` of this device: made up here, from flash or a sensor's log on a board.
static sotto::Status ReadSample(void*, uint32_t index, sotto::Span<float> x, uint32_t* label) {
  *label = index % Net::kClasses;
  for (uint32_t i = 0; i < Net::kInputs; ++i) x[i] = i % Net::kClasses == *label ? 1.0f : 0.0f;
  return sotto::Status::kOk;
}

int main() {
  using Progress = sotto::Client::Progress;
  if (sotto::SelfTest() != sotto::Status::kOk) return 1;  // this build computes other bits
  sotto::ClientConfig config;
  config.model = &kModel;
  config.device_id = kDeviceId;
  config.secret = DeviceSecret();
  config.samples = {50, ReadSample, nullptr};
  config.port = BoardPort();
  sotto::Client client(config, sotto::MakeClientBuffers<Net>(params, workspace));
  for (Progress progress = Progress::kAgain; progress != Progress::kDone;) {
    // A round that fails, or that ends without this device, is over; the next one starts anew.
    if (client.Step(&progress) != sotto::Status::kOk) SleepMs(1000);
    if (progress == Progress::kWait) SleepMs(client.wait_ms());
    if (progress != Progress::kSend) continue;
    if (sotto::Reply reply; !Exchange(client.request(), &reply)) {
      client.OnLinkLost();
    } else if (client.OnReply(reply) != sotto::Status::kOk) {
      SleepMs(1000);
    }
  }
  return 0;
}
