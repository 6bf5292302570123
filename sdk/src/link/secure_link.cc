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
  if (Status s = Handshake(); s != Status::kOk) return s;
  if (state_ == State::kIdle) {
    if (Status s = EncodeRequest(request, max_frame(), send_, &size_); s != Status::kOk) return s;
  }
  ByteSpan body;
  if (Status s = ExchangeFrame({send_.data(), size_}, &body); s != Status::kOk) return s;
  return DecodeReply(body, reply);
}

Status SecureLink::ExchangeFrame(ByteSpan frame, ByteSpan* body) {
  if (Status s = Handshake(); s != Status::kOk) return s;
  if (state_ != State::kReceiving) {
    if (Status s = Send(frame); s != Status::kOk) return s;
  }
  return Receive(body);
}

Status SecureLink::Handshake() {
  if (state_ != State::kHandshake) return Status::kOk;
  if (Status s = tls_.Handshake(); s != Status::kOk) return s;
  state_ = State::kIdle;
  return Status::kOk;
}

Status SecureLink::Send(ByteSpan frame) {
  if (state_ == State::kIdle) {
    sent_ = 0;
    state_ = State::kSending;
  }
  while (sent_ < frame.size()) {
    size_t written = 0;
    if (Status s = tls_.Write(frame.subspan(sent_), &written); s != Status::kOk) return s;
    sent_ += written;
  }
  reader_.Next();
  state_ = State::kReceiving;
  return Status::kOk;
}

Status SecureLink::Receive(ByteSpan* body) {
  while (!reader_.complete()) {
    size_t got = 0;
    if (Status s = tls_.Read(reader_.missing(), &got); s != Status::kOk) return s;
    if (got == 0) return Status::kLinkLost;
    if (Status s = reader_.Received(got); s != Status::kOk) return s;
  }
  state_ = State::kIdle;
  *body = reader_.body();
  return Status::kOk;
}

void SecureLink::Close() { (void)tls_.Close(); }

}  // namespace sotto
