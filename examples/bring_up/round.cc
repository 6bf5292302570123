#include "round.h"

#include SOTTO_DEVICE_KEY

#include <cstddef>
#include <new>

#include "board.h"
#include "sotto/bytes.h"
#include "sotto/client.h"
#include "sotto/models.h"
#include "sotto/secure_link.h"

namespace sotto {
namespace {

using Net = Softmax64x10;
using Progress = Client::Progress;
constexpr ModelInfo kModel = MakeModelInfo<Net>("softmax-64-10");

// With its length and the kind one TLS record of 512 bytes: MBEDTLS_SSL_IN_CONTENT_LEN.
constexpr uint32_t kMaxFrame = 510;
constexpr uint16_t kMaxFragment = 512;

// While the board computes, at most a turn of such frames arrives, 512 bytes on the UART.
constexpr uint8_t kLinkFrame = 60;
constexpr uint8_t kLinkWindow = 8;

constexpr uint32_t kRoundMs = 1000u * SOTTO_ROUND_SECONDS;
constexpr uint32_t kReplyMs = 60000;
constexpr uint32_t kPauseMs = 1000;
constexpr uint32_t kCloseMs = 2000;

// A reset board has one handshake refused; a board with a wrong key has all of them refused.
constexpr int kMostRefusals = 4;

float parameters[2 * Net::kParameters];
std::byte workspace[ClientWorkspaceBytes<Net>()];
uint8_t send_buffer[kFrameHeaderSize + kMaxFrame];
uint8_t receive_buffer[kMaxFrame];
uint8_t link_memory[FrameLinkBytes(kLinkFrame, kLinkWindow)];

constexpr FrameLinkConfig LinkConfig() {
  FrameLinkConfig config;
  config.max_frame = kLinkFrame;
  config.window = kLinkWindow;
  config.first_pause_ms = 300;
  config.longest_pause_ms = 2000;
  return config;
}

ByteSpan DeviceId() {
  return {reinterpret_cast<const uint8_t*>(kSottoDeviceId), sizeof(kSottoDeviceId) - 1};
}

Key DeviceSecret() {
  Key key;
  static_assert(sizeof(kSottoDeviceSecret) == sizeof(key.bytes), "not a header of sotto keys");
  __builtin_memcpy(key.bytes, kSottoDeviceSecret, sizeof(key.bytes));
  return key;
}

// A made-up sample: the round measures the board, not the data.
Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  *label = index % Net::kClasses;
  for (uint32_t i = 0; i < Net::kInputs; ++i) {
    features[i] = i % Net::kClasses == *label ? 1.0f : 0.0f;
  }
  return Status::kOk;
}

ClientConfig MakeConfig(const Port& port) {
  ClientConfig config;
  config.model = &kModel;
  config.device_id = DeviceId();
  config.secret = DeviceSecret();
  config.samples = {kRoundSamples, ReadSample, nullptr};
  config.port = port;
  config.max_frame = kMaxFrame;
  return config;
}

class Round {
 public:
  explicit Round(const Port& port)
      : port_(port),
        client_(MakeConfig(port), MakeClientBuffers<Net>(parameters, workspace)),
        frames_(LinkConfig(), link_memory),
        link_(send_buffer, receive_buffer),
        begin_ms_(NowMs()) {}

  RoundReport Run() {
    Progress progress = Progress::kAgain;
    while (progress != Progress::kDone && !is_sent_ && !is_over_ && HasTime()) {
      Step(&progress);
      if (progress == Progress::kWait) board::SleepMs(client_.wait_ms());
      if (progress == Progress::kSend) Exchange();
    }
    EndLink();
    report_.all_ms = static_cast<uint32_t>(NowMs() - begin_ms_);
    if (!is_sent_) Explain(progress == Progress::kDone);
    return report_;
  }

 private:
  uint64_t NowMs() const { return port_.now_ms(port_.context); }

  bool HasTime() const { return NowMs() - begin_ms_ < kRoundMs; }

  void Fail(const char* failure, const char* detail) {
    report_.failure = failure;
    report_.detail = detail;
  }

  void Step(Progress* progress) {
    const bool trains = client_.state() == Client::State::kTrain;
    const uint64_t before_ms = NowMs();
    const Status status = client_.Step(progress);
    if (trains) report_.train_ms += static_cast<uint32_t>(NowMs() - before_ms);
    if (status != Status::kOk) Pause(status);
  }

  void Pause(Status status) {
    last_ = status;
    board::SleepMs(kPauseMs);
  }

  // With its last part the update is sent; the last answer may be missing.
  void Exchange() {
    Reply reply;
    const Request& request = client_.request();
    const bool is_last = request.kind == Request::Kind::kUpdateChunk && request.last;
    if (!Ask(&reply)) {
      client_.OnLinkLost();
      board::SleepMs(kPauseMs);
      return;
    }
    if (const Status status = client_.OnReply(reply); status != Status::kOk) {
      is_over_ = client_.is_refused();
      if (!is_over_) Pause(status);
    } else if (is_last && reply.complete) {
      OnSent();
    }
  }

  void OnSent() {
    is_sent_ = true;
    const Status failure = client_.local_round().failure();
    if (failure == Status::kOk) return;
    Fail("the training failed, so the update was zeros", StatusName(failure));
  }

  // False: the link is dead, the next call begins another one.
  bool Ask(Reply* reply) {
    Status status = is_up_ ? Status::kOk : Begin();
    const uint64_t begin_ms = NowMs();
    if (status == Status::kOk) status = Status::kWouldBlock;
    while (status == Status::kWouldBlock && NowMs() - begin_ms < kReplyMs && HasTime()) {
      status = link_.Exchange(client_.request(), reply);
      NoteProgress(begin_ms);
      // A connection that is lost is what Exchange() then says.
      if (status == Status::kWouldBlock) (void)MoveFrames(&frames_, board::Frames(), port_, 10);
    }
    if (status == Status::kWouldBlock) status = Status::kLinkLost;  // too late
    is_up_ = status == Status::kOk;
    if (!is_up_) OnLinkLost(status);
    return is_up_;
  }

  Status Begin() {
    uint8_t nonce[4] = {};
    Status status = port_.entropy(port_.context, MutableByteSpan(nonce));
    if (status != Status::kOk) return status;
    board::RestartLink();
    status = frames_.Open(LoadU32Le(nonce), NowMs());
    if (status != Status::kOk) return status;
    is_in_handshake_ = true;
    return link_.Begin(port_, DeviceId(), DeviceSecret(),
                       {FrameLink::SendTo, FrameLink::ReceiveFrom, &frames_}, {kMaxFragment});
  }

  // The handshake's time without the wait for the gateway.
  void NoteProgress(uint64_t begin_ms) {
    if (!is_in_handshake_) return;
    const bool has_gateway =
        frames_.state() != FrameLink::State::kOpening && frames_.counts().received > 0;
    if (has_gateway && !has_gateway_) gateway_ms_ = NowMs();
    has_gateway_ = has_gateway_ || has_gateway;
    if (!link_.is_authenticated()) return;
    is_in_handshake_ = false;
    is_known_ = true;
    const uint64_t from_ms = gateway_ms_ > begin_ms ? gateway_ms_ : begin_ms;
    report_.handshake_ms = static_cast<uint32_t>(NowMs() - from_ms);
  }

  void OnLinkLost(Status status) {
    last_ = status;
    is_ended_ = frames_.state() == FrameLink::State::kEnded;
    CountFrames();
    if (status != Status::kPeerRefused || is_known_) return;
    is_over_ = ++refusals_ == kMostRefusals;
  }

  void CountFrames() {
    report_.frames_sent += frames_.counts().sent;
    report_.frames_repeated += frames_.counts().repeated;
  }

  // The server gets the last bytes, so that it need not wait for a connection that is over.
  void EndLink() {
    if (!is_up_) return;
    const uint64_t begin_ms = NowMs();
    link_.Close();
    frames_.Close();
    while (frames_.state() == FrameLink::State::kClosing && NowMs() - begin_ms < kCloseMs) {
      if (MoveFrames(&frames_, board::Frames(), port_, 10) != Status::kOk) break;
    }
    CountFrames();
  }

  // The last step that succeeded says where to look.
  void Explain(bool is_job_over) {
    if (is_job_over)
      return Fail("the job was over before it asked this board; start another one", "");
    if (client_.is_refused()) return ExplainRefusal();
    const char* const detail = StatusName(last_);
    if (last_ == Status::kEntropyFailed || last_ == Status::kCryptoFailed) {
      Fail("the generator or TLS failed; ports/PORTING.md, 3 and 8", detail);
    } else if (!has_gateway_) {
      Fail("no frame came back; check sotto-gateway, its rate and device, and TX to RX", detail);
    } else if (refusals_ == kMostRefusals) {
      Fail("the server does not accept the key; export it anew from the server's store", detail);
    } else if (!is_known_ && is_ended_) {
      Fail("no server behind sotto-gateway, or the handshake took too long; their logs say it",
           detail);
    } else if (!is_known_) {
      Fail("too many frames are lost or damaged; is ground joined, is the rate exact?", detail);
    } else if (last_ != Status::kOk) {
      Fail("no round came to its end; the server's log says what it waits for", detail);
    } else {
      Fail("the server had no work for this board; its log says what it waits for", "");
    }
  }

  void ExplainRefusal() {
    const ErrorCode code = client_.error_code();
    const char* const detail = ErrorCodeName(code);
    if (code == ErrorCode::kModelMismatch) {
      Fail("the server trains another model; start its job with --model softmax-64-10", detail);
    } else if (code == ErrorCode::kVersion) {
      Fail("the server speaks another version; take both programs from one checkout", detail);
    } else if (code == ErrorCode::kUnknown) {
      Fail("the job adds no noise; start it without --mechanism none", "");
    } else {
      Fail("the server refuses this device; its log says why", detail);
    }
  }

  Port port_;
  Client client_;
  FrameLink frames_;
  SecureLink link_;
  const uint64_t begin_ms_;
  bool is_up_ = false;
  bool is_in_handshake_ = false;
  bool has_gateway_ = false;  // a frame has come back
  bool is_ended_ = false;     // the gateway has ended the last connection
  bool is_known_ = false;     // the server has proved that it knows the key
  bool is_sent_ = false;
  bool is_over_ = false;  // nothing goes better by another try
  int refusals_ = 0;
  uint64_t gateway_ms_ = 0;
  Status last_ = Status::kOk;
  RoundReport report_;
};

}  // namespace

RoundBytes BytesOfRound() {
  return {sizeof(Client), sizeof(parameters), sizeof(workspace),
          sizeof(FrameLink) + sizeof(link_memory) + sizeof(SecureLink) + sizeof(send_buffer) +
              sizeof(receive_buffer)};
}

// Not a static object, whose destructor a board without an end would have to register.
RoundReport RunRound(const Port& port) {
  alignas(Round) static std::byte memory[sizeof(Round)];
  Round* const round = new (memory) Round(port);
  const RoundReport report = round->Run();
  round->~Round();
  return report;
}

}  // namespace sotto
