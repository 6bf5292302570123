#include "round/receipts.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "sotto/bytes.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

constexpr uint8_t kFormat = 1;
constexpr size_t kRoundAt = 1 + kJobIdSize;
constexpr size_t kAttemptAt = kRoundAt + 4;
constexpr size_t kTagAt = kAttemptAt + 4;
constexpr size_t kTagSize = 8;
constexpr size_t kMacAt = kTagAt + kTagSize;
constexpr size_t kMacSize = 16;
static_assert(kMacAt + kMacSize == kReceiptSize);

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

void Receipts::Sign(Receipt& receipt) const {
  CutHmac(mac_key_, ByteSpan(receipt.data(), kMacAt), kMacSize, receipt.data() + kMacAt);
}

void Receipts::Add(ByteSpan job_id, uint32_t round, uint32_t attempt, ByteSpan record) {
  Receipt receipt{kFormat};
  std::copy_n(job_id.begin(), kJobIdSize, receipt.begin() + 1);
  StoreU32Le(round, receipt.data() + kRoundAt);
  StoreU32Le(attempt, receipt.data() + kAttemptAt);
  CutHmac(tag_key_, record, kTagSize, receipt.data() + kTagAt);
  Sign(receipt);
  const std::lock_guard<std::mutex> lock(mutex_);
  known_.emplace(NameOf(job_id, round, attempt), receipt);
}

ByteSpan Receipts::Of(ByteSpan job_id, uint32_t round, uint32_t attempt) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = known_.find(NameOf(job_id, round, attempt));
  if (found == known_.end()) return {};
  return {found->second.data(), found->second.size()};
}

//   receipt  [kReceiptSize]
Receipts::Attempt Receipts::NameIn(ByteSpan receipt) {
  return NameOf(receipt.subspan(1, kJobIdSize), LoadU32Le(receipt.data() + kRoundAt),
                LoadU32Le(receipt.data() + kAttemptAt));
}

// Whether it is one that Of() gives: nearly all are, and that is cheaper to find than a MAC.
bool Receipts::IsKnown(ByteSpan receipt) const {
  if (receipt.size() != kReceiptSize) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = known_.find(NameIn(receipt));
  return found != known_.end() &&
         ConstantTimeEqual(receipt, ByteSpan(found->second.data(), found->second.size()));
}

void Receipts::Check(ByteSpan receipt) {
  if (receipt.empty() || IsKnown(receipt)) return;
  Receipt genuine{};
  const bool has_size = receipt.size() == kReceiptSize;
  std::copy_n(receipt.begin(), has_size ? kMacAt : 0, genuine.begin());
  Sign(genuine);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!has_size || genuine[0] != kFormat ||
      !ConstantTimeEqual(receipt, ByteSpan(genuine.data(), genuine.size()))) {
    ++ignored_;
    return;
  }
  const Attempt name = NameIn(receipt);
  const auto found = known_.find(name);
  if (found != known_.end() && found->second == genuine) return;
  throw StaleLog(fmt::format(
      "a device took part in attempt {} at round {} of a job, and this store {}: the store is an "
      "older copy, or two servers ran on two copies of it; restore the copy that was used last. If "
      "it is lost, begin a new job in a new store, with new devices or with what this store's "
      "devices have spent added by hand: what was released after this copy was made is not in its "
      "ledger",
      name.attempt + 1, name.round + 1,
      found == known_.end() ? "does not know that attempt" : "holds another one in its place"));
}

uint64_t Receipts::ignored() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ignored_;
}

}  // namespace sotto::server
