#include "round/receipts.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "round/job_config.h"
#include "sotto/bytes.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

constexpr uint8_t kFormat = 2;
constexpr uint8_t kFormerFormat = 1;
constexpr size_t kRoundAt = 1 + kJobIdSize;
constexpr size_t kAttemptAt = kRoundAt + 4;
constexpr size_t kTagAt = kAttemptAt + 4;
constexpr size_t kTagSize = 8;
constexpr size_t kTurnsAt = kTagAt + kTagSize;
constexpr size_t kMuSquaredAt = kTurnsAt + 2;
constexpr size_t kCoordinatesAt = kMuSquaredAt + 4;
constexpr size_t kTooLongAt = kCoordinatesAt + 4;
constexpr size_t kMacSize = 16;
static_assert(kTooLongAt + 4 + kMacSize == kReceiptSize);
static_assert(kTurnsAt + kMacSize == kFormerReceiptSize);
constexpr uint16_t kMostTurns = 0xffff;

// The first bytes of an HMAC.
void CutHmac(const Key& key, ByteSpan message, size_t size, uint8_t* out) {
  HmacSha256 hmac(key.bytes);
  uint8_t tag[kSha256Size] = {};
  posix::Check(hmac.Update(message), "a receipt");
  posix::Check(hmac.Finish(tag), "a receipt");
  std::copy_n(tag, size, out);
}

}  // namespace

bool Receipts::Attempt::operator<(const Attempt& other) const {
  return std::tie(job_id, round, attempt) < std::tie(other.job_id, other.round, other.attempt);
}

Receipts::Receipts(const Key& key)
    : tag_key_(posix::DeriveKey(key, key_label::kReceipt, 0)),
      mac_key_(posix::DeriveKey(key, key_label::kReceipt, 1)) {}

Receipts::Attempt Receipts::NameOf(ByteSpan job_id, uint32_t round, uint32_t attempt) {
  Attempt name{{}, round, attempt};
  std::copy_n(job_id.begin(), kJobIdSize, name.job_id.begin());
  return name;
}

void Receipts::Add(ByteSpan job_id, uint32_t round, uint32_t attempt, ByteSpan record) {
  Tag tag = {};
  CutHmac(tag_key_, record, kTagSize, tag.data());
  const std::lock_guard<std::mutex> lock(mutex_);
  known_.emplace(NameOf(job_id, round, attempt), tag);
  given_[1].swap(given_[0]);
  given_[0].clear();
}

ByteSpan Receipts::Of(ByteSpan job_id, uint32_t round, uint32_t attempt, int64_t device,
                      const privacy::Turns& turns) {
  const Attempt name = NameOf(job_id, round, attempt);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto known = known_.find(name);
  if (known == known_.end()) return {};
  const auto [given, is_new] = given_[0].try_emplace(Given::key_type(name, device));
  Receipt& receipt = given->second;
  if (!is_new) return {receipt.data(), receipt.size()};
  receipt[0] = kFormat;
  std::copy_n(job_id.begin(), kJobIdSize, receipt.begin() + 1);
  StoreU32Le(round, receipt.data() + kRoundAt);
  StoreU32Le(attempt, receipt.data() + kAttemptAt);
  std::copy_n(known->second.begin(), kTagSize, receipt.begin() + kTagAt);
  const auto count = static_cast<uint16_t>(std::clamp<int64_t>(turns.count, 0, kMostTurns));
  receipt[kTurnsAt] = static_cast<uint8_t>(count & 0xff);
  receipt[kTurnsAt + 1] = static_cast<uint8_t>(count >> 8);
  StoreU32Le(FloatBits(FloatAtLeast(turns.mu_squared)), receipt.data() + kMuSquaredAt);
  StoreU32Le(FloatBits(FloatAtLeast(turns.coordinates)), receipt.data() + kCoordinatesAt);
  StoreU32Le(FloatBits(FloatAtLeast(turns.too_long)), receipt.data() + kTooLongAt);
  const size_t mac_at = kReceiptSize - kMacSize;
  CutHmac(mac_key_, ByteSpan(receipt.data(), mac_at), kMacSize, receipt.data() + mac_at);
  return {receipt.data(), receipt.size()};
}

//   receipt  [kFormerReceiptSize or more]
Receipts::Attempt Receipts::NameIn(ByteSpan receipt) {
  return NameOf(receipt.subspan(1, kJobIdSize), LoadU32Le(receipt.data() + kRoundAt),
                LoadU32Le(receipt.data() + kAttemptAt));
}

bool Receipts::IsGenuine(ByteSpan receipt) const {
  const bool is_former = receipt.size() == kFormerReceiptSize && receipt[0] == kFormerFormat;
  if (!is_former && (receipt.size() != kReceiptSize || receipt[0] != kFormat)) return false;
  const size_t mac_at = receipt.size() - kMacSize;
  uint8_t mac[kMacSize] = {};
  CutHmac(mac_key_, receipt.subspan(0, mac_at), kMacSize, mac);
  return ConstantTimeEqual(receipt.subspan(mac_at, kMacSize), mac);
}

Receipts::Seen Receipts::Read(ByteSpan receipt) {
  Seen seen;
  if (receipt.empty()) return seen;
  seen.is_genuine = IsGenuine(receipt);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!seen.is_genuine) {
    ++ignored_;
    return seen;
  }
  const Attempt name = NameIn(receipt);
  seen.job_id = name.job_id;
  const auto found = known_.find(name);
  seen.is_known = found != known_.end() &&
                  std::equal(found->second.begin(), found->second.end(), receipt.begin() + kTagAt);
  if (!seen.is_known) {
    seen.why_stale = fmt::format(
        "a device took part in attempt {} at round {} of a job, and this store {}: {}, or two "
        "servers ran on two copies of it; restore the copy that was used last. If it is lost, "
        "`sotto store recover` goes on with this copy: the server then asks only devices that show "
        "their receipts",
        name.attempt + 1, name.round + 1,
        found == known_.end() ? "does not know that attempt" : "holds another one in its place",
        kOlderCopy);
  }
  const int64_t count =
      receipt[0] == kFormat ? receipt[kTurnsAt] + 256 * receipt[kTurnsAt + 1] : kMostTurns;
  if (count == kMostTurns) return seen;
  const auto number_at = [&](size_t at) {
    return static_cast<double>(FloatFromBits(LoadU32Le(receipt.data() + at)));
  };
  seen.turns = {count, number_at(kMuSquaredAt), number_at(kCoordinatesAt), number_at(kTooLongAt)};
  return seen;
}

void Receipts::Check(ByteSpan receipt) {
  const Seen seen = Read(receipt);
  if (!seen.why_stale.empty()) throw StaleLog(seen.why_stale);
}

uint64_t Receipts::ignored() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ignored_;
}

}  // namespace sotto::server
