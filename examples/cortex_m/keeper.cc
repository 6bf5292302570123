#include "keeper.h"

#include "classify.h"
#include "sotto/emulated/semihosting.h"

namespace sotto {
namespace {

using emulated::Print;

void PrintFailure(const char* what, Status status) {
  Print(what);
  Print(StatusName(status));
  Print("\n");
}

// "the released model in flash: job 0a1b2c3d, round 2, final; epsilon 1 at delta 1e-05"
void PrintRelease(const Release& release) {
  Print("the released model in flash: job ");
  for (size_t i = 0; i < 4; ++i) {
    const uint8_t byte = release.job_id[i];
    const char hex[] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15], '\0'};
    Print(hex);
  }
  Print(", round ");
  Print(release.rounds);
  Print(release.is_final ? ", final; " : ", the job goes on; ");
  for (const uint8_t byte : release.claims) {
    const bool is_text = byte >= ' ' && byte <= '~';
    const char text[] = {is_text ? static_cast<char>(byte) : '?', '\0'};
    Print(text);
  }
  Print("\n");
}

}  // namespace

void Keeper::Start() {
  Status status = kept_->Restore();
  if (status == Status::kOk) status = client_->RestoreModel();
  if (status != Status::kOk) PrintFailure("the model in flash: ", status);
  if (kept_->release() == nullptr) Print("no released model in flash\n");
  is_new_ = kept_->release() != nullptr;
  UseRelease();
  Ask();
}

void Keeper::Ask() {
  asks_ = true;
  client_->FetchRelease(claims_);
}

// A fetch that ends with another request's reply was cut with its link before the server answered.
void Keeper::OnReply(Status status, const Reply& reply) {
  if (reply.kind == Reply::Kind::kWait) has_rounds_ = reply.state == WaitState::kRounds;
  if (!asks_ || client_->is_fetching()) return;
  const Request::Kind kind = client_->request().kind;
  if (kind != Request::Kind::kGetRelease && kind != Request::Kind::kGetModel) return Ask();
  asks_ = false;
  if (status != Status::kOk) return PrintFailure("no release fetched: ", status);
  Keep(*client_->release());
}

void Keeper::OnWait(uint64_t now_ms) {
  UseRelease();
  const Client::News news = client_->news();
  if (client_->is_fetching() || news == Client::News::kNone) return;
  const bool is_due = news == Client::News::kReleased && !has_rounds_;
  if (!is_due && now_ms - asked_ms_ < kAskEveryMs) return;
  asked_ms_ = now_ms;
  Ask();
}

void Keeper::Keep(const Release& release) {
  Print("fetched ");
  Print(client_->downloaded_bytes());
  Print(" bytes\n");
  const Status status = kept_->Keep(release);
  if (status != Status::kOk) PrintFailure("the release is not kept: ", status);
  is_new_ = status == Status::kOk;
}

// A round may have written its model meanwhile.
void Keeper::UseRelease() {
  if (!is_new_ || kept_->release() == nullptr) return;
  is_new_ = false;
  PrintRelease(*kept_->release());
  const Status status = Classify(model_, kept_->base(), samples_, memory_);
  if (status != Status::kOk) PrintFailure("not classified: ", status);
}

}  // namespace sotto
