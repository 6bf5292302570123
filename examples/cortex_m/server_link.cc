#include "server_link.h"

#include "link_pipe.h"
#include "sotto/bytes.h"
#include "sotto/emulated/clock.h"
#include "sotto/emulated/semihosting.h"

namespace sotto {
namespace {

// The most plaintext bytes in a record, for both sides: see mbedtls_config.h.
constexpr uint16_t kMaxFragment = 512;

}  // namespace

int ServerLink::Send(void* context, const uint8_t* bytes, size_t size) {
  const int sent = PipeSend({bytes, size});
  if (sent > 0) static_cast<ServerLink*>(context)->last_byte_ms_ = emulated::NowMs();
  return sent;
}

int ServerLink::Receive(void* context, uint8_t* out, size_t size) {
  const int received = PipeReceive({out, size});
  if (received > 0) static_cast<ServerLink*>(context)->last_byte_ms_ = emulated::NowMs();
  return received;
}

// Pauses first, even after a start: the other end of the UART may have just started, too.
Status ServerLink::Open() {
  BackOff();
  if (const Status s = OpenPipe(port_); s != Status::kOk) return s;
  TlsConfig config;
  config.max_fragment = kMaxFragment;
#if defined(SOTTO_RESUME_TLS)
  config.ticket = &ticket_;
#endif
  const Status status = link_.Begin(port_, device_id_, secret_, {Send, Receive, this}, config);
  is_open_ = status == Status::kOk;
  return status;
}

// The beginning of an exchange.
Status ServerLink::Start() {
#if defined(SOTTO_RESUME_TLS)
  ticket_.Retire(emulated::NowMs());
#endif
  const Status status = is_open_ ? Status::kOk : Open();
  last_byte_ms_ = emulated::NowMs();
  return status;
}

// Returns kLinkLost after too long a silence.
Status ServerLink::AwaitBytes() {
  if (emulated::NowMs() - last_byte_ms_ > kLinkTimes.silence_ms) return Status::kLinkLost;
  PipeWait(port_, link_.wants_write());
  return Status::kOk;
}

// The end of an exchange.
Status ServerLink::Finish(Status status) {
  if (status == Status::kOk) {
    pause_ms_ = kLinkTimes.first_pause_ms;
    return status;
  }
  emulated::Print("link: ");
  emulated::Print(StatusName(status));
  emulated::Print("\n");
  // After silence no peer reads the close_notify, and the next peer must not receive it.
  if (status != Status::kLinkLost) Close();
  is_open_ = false;
  return status;
}

void ServerLink::Close() {
  link_.Close();
  ClosePipe(port_);
  is_open_ = false;
}

void ServerLink::BackOff() {
  uint8_t random[4] = {};
  // An error can be ignored: without entropy there is no jitter, but no session either.
  (void)port_.entropy(port_.context, MutableByteSpan(random));
  emulated::SleepMs(pause_ms_ / 2 + LoadU32Le(random) % (pause_ms_ / 2));
  pause_ms_ = pause_ms_ < kLinkTimes.last_pause_ms / 2 ? 2 * pause_ms_ : kLinkTimes.last_pause_ms;
}

}  // namespace sotto
