#include "sotto/secure_link.h"

#include "sotto/keys.h"

namespace sotto {

Status SecureLink::Begin(const Port& port, ByteSpan device_id, const Key& secret, const TlsIo& io,
                         const TlsConfig& config) {
  Key psk;
  if (Status s = DeriveTlsKey(secret, &psk); s != Status::kOk) return s;
  reader_.Next();
  state_ = State::kHandshake;
  if (Status s = context_.InitClient(port, device_id, psk, config); s != Status::kOk) return s;
  return tls_.Start(&context_, io);
}

Status SecureLink::Exchange(const Request& request, Reply* reply) {
  if (state_ == State::kHandshake) {
    if (Status s = tls_.Handshake(); s != Status::kOk) return s;
    state_ = State::kIdle;
  }
  if (state_ != State::kReceiving) {
    if (Status s = Send(request); s != Status::kOk) return s;
  }
  return Receive(reply);
}

Status SecureLink::Send(const Request& request) {
  if (state_ == State::kIdle) {
    const auto max_frame = static_cast<uint32_t>(receive_.size());
    if (Status s = EncodeRequest(request, max_frame, send_, &size_); s != Status::kOk) return s;
    sent_ = 0;
    state_ = State::kSending;
  }
  while (sent_ < size_) {
    size_t written = 0;
    if (Status s = tls_.Write({send_.data() + sent_, size_ - sent_}, &written); s != Status::kOk) {
      return s;
    }
    sent_ += written;
  }
  reader_.Next();
  state_ = State::kReceiving;
  return Status::kOk;
}

Status SecureLink::Receive(Reply* reply) {
  while (!reader_.complete()) {
    size_t got = 0;
    if (Status s = tls_.Read(reader_.missing(), &got); s != Status::kOk) return s;
    if (got == 0) return Status::kLinkLost;
    if (Status s = reader_.Received(got); s != Status::kOk) return s;
  }
  state_ = State::kIdle;
  return DecodeReply(reader_.body(), reply);
}

void SecureLink::Close() { (void)tls_.Close(); }

}  // namespace sotto
