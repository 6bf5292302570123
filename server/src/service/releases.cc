#include "service/releases.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "accounting/figures.h"
#include "round/attempt.h"
#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "sotto/model/model_bundle.h"
#include "sotto/posix/check.h"
#include "store/history.h"
#include "store/stored_codes.h"
#include "views/claims_output.h"

namespace sotto::server {
namespace {

constexpr uint32_t kMarks = 1 << 21;

ByteSpan BytesOfText(const std::string& text, size_t most) {
  return {reinterpret_cast<const uint8_t*>(text.data()), std::min(text.size(), most)};
}

// Of each job the claims of its last release, and whether its noise is seeded.
std::map<int64_t, LedgerEntry> LastEntries(Store& store) {
  std::map<int64_t, LedgerEntry> last;
  for (LedgerEntry& entry : store.Ledger()) last[entry.job] = std::move(entry);
  return last;
}

// Two answers have the same mark once in 2^21 times: three bytes of a varint. A server that starts
// anew says the same, and needs no store for it.
//   threshold  0: there is none
uint32_t MarkOf(ByteSpan check, uint32_t rounds, bool is_final, float threshold) {
  std::vector<uint8_t> bytes(check.begin(), check.end());
  const size_t size = check.size();
  bytes.resize(size + (threshold != 0 ? 9 : 5));
  StoreU32Le(rounds, &bytes[size]);
  bytes[size + 4] = is_final ? 1 : 0;
  if (threshold != 0) StoreU32Le(FloatBits(threshold), &bytes[size + 5]);
  uint8_t digest[kSha256Size];
  posix::Check(Sha256Digest({bytes.data(), bytes.size()}, digest), "the mark of a release");
  return std::max<uint32_t>(1, LoadU32Le(digest) % kMarks);
}

}  // namespace

std::string ClaimsInBrief(const std::vector<privacy::Claim>& claims, bool is_seeded) {
  if (claims.empty() || !std::isfinite(claims.front().epsilon)) return "no privacy";
  if (is_seeded) return "seeded noise: not private";
  std::string brief = fmt::format("epsilon {} at delta {}",
                                  privacy::EpsilonText(claims.front().epsilon, privacy::kDecimals),
                                  privacy::DeltaText(claims.front().delta));
  for (const std::string& other : DescribeOtherClaims(claims)) {
    if (brief.size() + 2 + other.size() > kMaxClaimsSize) break;
    brief += "; " + other;
  }
  return brief;
}

Releases::Digest Releases::DigestOf(const ModelInfo& model) {
  uint8_t digest[kSha256Size];
  posix::Check(ModelDigest(model, digest), "the model's digest");
  Digest copy{};
  std::copy_n(digest, kSha256Size, copy.begin());
  return copy;
}

void Releases::Show(const Digest& digest, Entry entry) {
  newest_model_ = entry.model;
  SetThreshold(&entry);
  newest_[digest] = std::move(entry);
}

// With the mark, which covers it.
void Releases::SetThreshold(Entry* entry) const {
  entry->threshold = 0;
  for (const ModelThreshold& each : thresholds_) {
    const bool is_its = each.job == entry->job && each.round + 1 == int64_t{entry->rounds};
    if (is_its) entry->threshold = each.threshold;
  }
  const std::array<uint8_t, kModelCheckSize> check = entry->codes->NewestCheck();
  entry->mark =
      MarkOf({check.data(), check.size()}, entry->rounds, entry->is_final, entry->threshold);
}

void Releases::OnThresholds(std::vector<ModelThreshold> thresholds) {
  for (const ModelThreshold& known : thresholds_) {
    const auto is_its = [&known](const ModelThreshold& read) {
      return read.job == known.job && read.round == known.round;
    };
    if (std::none_of(thresholds.begin(), thresholds.end(), is_its)) thresholds.push_back(known);
  }
  thresholds_ = std::move(thresholds);
  for (auto& [digest, entry] : newest_) SetThreshold(&entry);
}

Releases::Entry Releases::ReadEntry(Store& store, const History& history, const JobEntry& job,
                                    const posix::SharedModel& model) {
  Entry entry;
  entry.job = job.number;
  std::copy_n(job.job_id, kJobIdSize, entry.job_id.begin());
  entry.model = model->name;
  entry.rounds = static_cast<uint32_t>(job.released);
  const auto end = EndOf(history, job);
  entry.is_final = end && !IsRetried(end->kind);
  entry.codes = ReadCodes(store, job);
  entry.codes->Prepare(std::make_shared<const std::vector<float>>(
      store.ReadModel(job.number, job.released - 1).parameters));
  entry.codes->Publish();
  return entry;
}

std::vector<std::string> Releases::Load(Store& store, int64_t served) {
  const History history = store.ReadHistory();
  const std::map<int64_t, LedgerEntry> entries = LastEntries(store);
  thresholds_ = store.Thresholds();
  std::vector<std::string> wrong;
  const auto try_with = [&](const JobEntry& job, const auto& read) {
    try {
      read();
    } catch (const std::exception& error) {
      wrong.push_back(
          fmt::format("no device can fetch the release of job {}: {}", job.number, error.what()));
    }
  };
  std::map<Digest, std::pair<const JobEntry*, posix::SharedModel>> last;
  for (const JobEntry& job : history.jobs) {
    if (job.released == 0) continue;
    try_with(job, [&] {
      const std::vector<uint8_t> bundle = store.ReadDescription(job.number);
      const posix::SharedModel model = posix::ParseBundle({bundle.data(), bundle.size()});
      last[DigestOf(*model)] = {&job, model};
    });
  }
  std::map<int64_t, const Digest*> shown;  // in the order of the jobs: the newest is the last
  for (const auto& [digest, found] : last) shown[found.first->number] = &digest;
  for (const auto& [number, digest] : shown) {
    if (number == served) continue;
    const auto& [job, model] = last.at(*digest);
    try_with(*job, [&, job = job, digest = digest, model = model] {
      Entry entry = ReadEntry(store, history, *job, model);
      if (const auto claims = entries.find(job->number); claims != entries.end()) {
        entry.claims = ClaimsInBrief(claims->second.claims, claims->second.seeded);
      }
      Show(*digest, std::move(entry));
    });
  }
  return wrong;
}

void Releases::OnBegin(int64_t number, const Job& job, const std::vector<privacy::Claim>& claims,
                       bool is_seeded) {
  served_ = {};
  served_.job = number;
  served_digest_ = DigestOf(*job.config().model);
  std::copy_n(job.job_id(), kJobIdSize, served_.job_id.begin());
  served_.model = job.config().model->name;
  served_.is_seeded = is_seeded;
  served_.codes = job.codes();
  if (job.round() > 0) OnRelease(job.round(), claims);
}

void Releases::OnRelease(uint32_t rounds, const std::vector<privacy::Claim>& claims,
                         std::optional<double> threshold) {
  served_.rounds = rounds;
  if (threshold) {
    thresholds_.push_back({served_.job, int64_t{rounds} - 1, static_cast<float>(*threshold)});
  }
  served_.claims = ClaimsInBrief(claims, served_.is_seeded);
  Show(served_digest_, served_);
}

void Releases::OnEnd(bool is_final) {
  if (served_.rounds == 0) return;
  served_.is_final = is_final;
  Show(served_digest_, served_);
}

Reply Releases::AnswerRelease(const Request& request) {
  Reply reply;
  if (request.model_digest.empty()) {  // no Hello came
    reply.code = ErrorCode::kVersion;
    reply.final = true;
    return reply;
  }
  Digest digest{};
  std::copy_n(request.model_digest.data(), kSha256Size, digest.begin());
  const auto found = newest_.find(digest);
  if (found == newest_.end()) {
    const bool waits = newest_.empty() || digest == served_digest_;
    reply.code = waits ? ErrorCode::kBusy : ErrorCode::kModelMismatch;
    reply.final = !waits;
    if (waits) reply.wait_ms = poll_interval_ms_;
    if (!waits) reply.bytes = BytesOfText(newest_model_, kMaxModelNameSize);
    return reply;
  }
  const Entry& entry = found->second;
  reply.kind = Reply::Kind::kRelease;
  reply.model = entry.codes->Offer(request.held);
  reply.job_id = {entry.job_id.data(), entry.job_id.size()};
  reply.rounds = entry.rounds;
  reply.final = entry.is_final;
  reply.claims = BytesOfText(entry.claims, kMaxClaimsSize);
  reply.threshold = entry.threshold;
  return reply;
}

uint32_t Releases::NewestRelease(const Request& hello) const {
  Digest digest{};
  if (hello.model_digest.size() != digest.size()) return 0;
  std::copy_n(hello.model_digest.data(), digest.size(), digest.begin());
  const auto found = newest_.find(digest);
  return found == newest_.end() ? 0 : found->second.mark;
}

Reply Releases::AnswerCode(const Request& request) {
  for (const auto& [digest, entry] : newest_) {
    const Reply reply = sotto::server::AnswerCode(request, *entry.codes);
    if (reply.kind == Reply::Kind::kModelChunk) return reply;
  }
  Reply unknown;
  unknown.code = ErrorCode::kWrongAttempt;
  unknown.final = true;
  return unknown;
}

}  // namespace sotto::server
