// The model that a client holds: downloads, and the released model.
#include "sotto/client.h"

namespace sotto {

Status internal::WriteToMemory(void* base, Span<const float> model) {
  __builtin_memcpy(base, model.data(), sizeof(float) * model.size());
  return Status::kOk;
}

// A device that holds the model already downloads nothing.
Status Client::BeginDownload(const ModelOffer& offer) {
  downloaded_bytes_ = 0;
  fetch_began_ = IsInFetch();
  if (held_.is(offer.check)) return UseModel();
  const Span<const float> held = held_.check().empty() ? Span<const float>() : buffers_.base;
  const Status status = download_.Begin(offer, *config_.model, held, DownloadMemory());
  if (status != Status::kOk) return OnWrongModel(status);
  return download_.is_whole() ? OnDownloaded() : Status::kOk;
}

Status Client::OnModelChunk(ByteSpan bytes) {
  if (Status s = download_.Take(bytes); s != Status::kOk) return OnWrongModel(s);
  return download_.is_whole() ? OnDownloaded() : Status::kOk;
}

Status Client::OnDownloaded() {
  if (Status s = download_.Check(); s != Status::kOk) return OnWrongModel(s);
  if (Status s = WriteModel(); s != Status::kOk) return s;
  downloaded_bytes_ = download_.received();
  return UseModel();
}

// What was sent is not what was offered. From the held model: that one may be another than the
// server takes it for, so the device forgets it and asks anew; it is then offered a difference from
// a model that it can make. Else nothing helps but patience.
Status Client::OnWrongModel(Status status) {
  if (status == Status::kCryptoFailed) return status;
  if (held_.check().empty() || !download_.is_from_held()) {
    WaitAsAsked(0);
    return status;
  }
  held_.Set({});
  server_features_ = 0;  // a whole Hello says that there is no model
  fetch_began_ = false;
  if (IsInFetch()) {
    state_ = State::kAskRelease;
  } else {
    EndRound();
  }
  return Status::kOk;
}

// Between the first and the last byte nobody knows what lies in `base`.
Status Client::WriteModel() {
  held_.Set({});
  holds_release_ = false;
  const ModelWriter& writer = buffers_.writer;
  const Status status = writer.write(writer.context, DownloadMemory());
  if (status == Status::kOk) held_.Set(download_.check());
  has_said_held_ = false;
  if (held_.check().empty()) server_features_ = 0;
  return status;
}

// `base` holds the model that the device has asked for.
Status Client::UseModel() {
  if (IsInFetch()) {
    holds_release_ = true;
    fetched_release_ = newest_release_;
    EndFetch();
    return Status::kOk;
  }
  state_ = State::kTrain;
  return round_.Begin(task_, config_, buffers_);
}

Status Client::RestoreModel() {
  uint8_t check[kModelCheckSize] = {};
  if (Status s = ModelCheck(buffers_.base, check); s != Status::kOk) return s;
  RestoreModel(check);
  return Status::kOk;
}

void Client::RestoreModel(ByteSpan check) {
  held_.Set(check);
  has_said_held_ = false;
}

void Client::FetchRelease(MutableByteSpan claims) {
  is_fetching_ = true;
  fetch_began_ = false;
  claims_ = claims;
}

Client::News Client::news() const {
  const bool names_them = (server_features_ & kServerNamesReleases) != 0;
  if (!config_.wants_news || !names_them) return News::kUnknown;
  const bool has_it = newest_release_ == 0 || newest_release_ == fetched_release_;
  return has_it ? News::kNone : News::kReleased;
}

// Asks for the release once no round is under way, and the server of this connection knows the
// device's model by its Hello. A wait that was asked for begins after that.
void Client::StepTowardsFetch() {
  const bool is_idle = state_ == State::kDone || (state_ == State::kHello && resume_ == state_);
  if (!is_idle) return;
  if (!has_said_hello_) {
    state_ = State::kHello;
    return;
  }
  after_fetch_ = state_;
  state_ = State::kAskRelease;
  waits_after_fetch_ = wait_pending_;
  wait_pending_ = false;
}

void Client::EndFetch() {
  LeaveFetch();
  is_fetching_ = false;
}

void Client::LeaveFetch() {
  state_ = after_fetch_;
  awaiting_reply_ = false;
  wait_pending_ = wait_pending_ || waits_after_fetch_;
}

Status Client::OnRelease(const Reply& reply) {
  if (reply.job_id.size() != kJobIdSize || reply.model.check.empty()) return Status::kMalformed;
  const bool goes_on = fetch_began_ && download_.IsOf(reply.model);
  holds_release_ = false;
  __builtin_memcpy(release_.job_id, reply.job_id.data(), kJobIdSize);
  release_.rounds = reply.rounds;
  release_.is_final = reply.final;
  release_.threshold = reply.threshold;
  const size_t size = reply.claims.size() < claims_.size() ? reply.claims.size() : claims_.size();
  if (size != 0) __builtin_memcpy(claims_.data(), reply.claims.data(), size);
  release_.claims = claims_.first(size);
  state_ = State::kFetchRelease;
  return goes_on ? Status::kOk : BeginDownload(reply.model);
}

// Rounds go on: a server that has released nothing yet says kBusy, and will never release anything
// if its devices wait for that.
Status Client::OnErrorOfFetch(const Reply& reply, bool is_old_key) {
  if (is_old_key) Refuse();
  if (is_old_key || reply.final || state_ == State::kAskRelease) return Status::kPeerRefused;
  WaitAsAsked(reply.wait_ms);
  state_ = State::kAskRelease;
  return Status::kOk;
}

}  // namespace sotto
