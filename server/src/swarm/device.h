// A device of a swarm: the SDK's client and link over a socket, driven by an event loop. Part of
// sotto::server/swarm.
//
//   paused --time--> thinking --no link--> connecting --> talking --reply--> paused
//      any state --link lost--> paused
//      thinking --the job is done, or the server refuses the device--> ended
//
// One thread at a time: the loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <uv.h>
#include <vector>

#include "round/devices.h"
#include "sotto/client.h"
#include "sotto/data/device_share.h"
#include "sotto/posix/tcp.h"
#include "sotto/random.h"
#include "sotto/secure_link.h"
#include "swarm/swarm.h"

namespace sotto::server {

// The memory of a training, which the devices of a loop share: a device trains from its first
// Step() to its last without giving the loop back, and needs none of it before or after.
class SharedMemory {
 public:
  explicit SharedMemory(const ModelInfo& model);

  // The buffers of a device with its own memory.
  //   base  the device's; empty: a shared one, which keeps no model from round to round
  ClientBuffers With(Span<float> base, Span<float> update, MutableByteSpan chunk,
                     Span<uint64_t> words);

 private:
  std::vector<float> base_;
  std::vector<float> scratch_;
  std::vector<uint32_t> indices_;
  std::vector<float> velocity_;
  std::vector<float> gradient_;
};

// Models that a device of the loop has decoded and checked, by their checks. The devices of a round
// get the same one: each of them downloads all of its bytes, and one decodes them.
class DecodedModels {
 public:
  // Null: none has.
  const std::vector<float>* Find(ByteSpan check) const;
  void Keep(ByteSpan check, const std::vector<float>& model);

 private:
  using Check = std::vector<uint8_t>;
  std::deque<std::pair<Check, std::vector<float>>> models_;  // the newest first
};

// What the devices of a loop have in common.
struct Surroundings {
  uv_loop_t* loop = nullptr;
  const SwarmOptions& options;
  const ModelInfo& model;
  const std::optional<SwarmSamples>& samples;
  Figures& figures;
  SharedMemory memory;
  DecodedModels decoded;
  // Called instead of letting an exception pass through libuv: in its catch block.
  std::function<void()> on_failure;
};

class SwarmDevice {
 public:
  // Both outlive the device.
  //   index  in the swarm
  SwarmDevice(Surroundings& around, const Device& identity, uint32_t index);
  SwarmDevice(const SwarmDevice&) = delete;
  SwarmDevice& operator=(const SwarmDevice&) = delete;

  // Begins to take part.
  void Start();

  // Ends what the server has not answered in time. Call it several times a second.
  void OnTick();

  // Closes the link and the handles. The device may be destroyed once the loop has run.
  void Stop();

  bool has_ended() const { return state_ == State::kEnded; }

 private:
  enum class State { kPaused, kThinking, kConnecting, kTalking, kEnded };

  ClientConfig MakeConfig();
  void Run();
  bool Advance();
  bool Think();
  bool Connect();
  bool FinishConnect();
  Request NextRequest() const;
  bool Talk();
  void UseDecoded(const ModelOffer& offer);
  void KeepDecoded();
  void OnFetched(const Reply& reply);
  bool Rest();
  bool TakeReply(const Reply& reply);
  void OnTask();
  void OnFinalError(Client::State during, const Reply& reply);
  void Train();
  void Pause(uint64_t ms);
  void BackOff();
  void HangUp();
  void LoseLink();
  void CloseLink();
  void End();
  void Watch(int events);
  void WaitForLink();
  uint64_t now_ms() const { return uv_now(around_.loop); }
  Figures::Task CurrentTask() const { return {client_.task().round, client_.task().attempt}; }

  template <class Move>
  int Moved(size_t size, ByteRate& rate, uint64_t& moved, Move move);
  static int Send(void* context, const uint8_t* bytes, size_t size);
  static int Receive(void* context, uint8_t* out, size_t size);

  Surroundings& around_;
  const Device& identity_;
  const uint32_t index_;
  std::optional<DeviceShare> share_;
  RandomStream jitter_;

  std::vector<float> base_;  // the model that the device holds; empty: it holds none
  std::vector<float> update_;
  std::vector<uint8_t> chunk_;
  std::vector<uint64_t> words_;
  std::vector<uint8_t> send_;
  std::vector<uint8_t> receive_;
  Client client_;
  SecureLink link_;
  posix::TcpStream stream_;
  uv_poll_t* poll_ = nullptr;  // of the stream; freed by its closing
  int watched_ = 0;            // events
  uv_timer_t timer_{};
  State state_ = State::kThinking;
  bool is_connected_ = false;
  uint64_t deadline_ms_ = 0;  // of connecting and talking
  uint64_t back_off_ms_;

  // The attempt that the device was last told of.
  std::optional<Figures::Task> task_;
  uint64_t task_began_ns_ = 0;
  Participation cost_;
  std::vector<uint8_t> offered_;  // the check of the model that the client downloads
  // A download of a model that was decoded already.
  struct Fetch {
    uint32_t code = 0;
    uint32_t missing = 0;  // bytes
    uint32_t offset = 0;
  };
  std::optional<Fetch> fetch_;
  Fate fate_;

  ByteRate in_rate_;
  ByteRate out_rate_;
  bool is_throttled_ = false;
  uint64_t bytes_in_ = 0;  // not yet counted
  uint64_t bytes_out_ = 0;
};

}  // namespace sotto::server
