#include "sotto/policy/policies.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <utility>

#include "sotto/key_labels.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/check.h"

namespace sotto {
namespace {

using Owned = std::unique_ptr<OwnedSharePolicy>;

// What VALUE may be.
struct Range {
  double least;
  double most;
  bool is_whole;
  const char* text;
};

constexpr Range kProbability = {0x1p-32, 1, false, "a number from 2^-32 to 1"};
constexpr Range kPeriod = {1, UINT32_MAX, true, "a whole number from 1 to 4294967295"};
constexpr Range kDiscount = {0, 1, false, "a number from 0 to 1"};
constexpr Range kNoValue = {0, 0, false, ""};

// A row of the table, and how its policy is made.
struct Row {
  SharePolicyInfo info;
  Range range;
  Owned (*make)(const SharePolicyContext& context, double value);
};

// A policy without state.
class PlainPolicy : public OwnedSharePolicy {
 public:
  explicit PlainPolicy(SharePolicy policy) : policy_(policy) {}
  SharePolicy policy() override { return policy_; }

 private:
  SharePolicy policy_;
};

template <typename Held>
class HeldPolicy : public OwnedSharePolicy {
 public:
  template <typename... Args>
  explicit HeldPolicy(Args&&... args) : held_(std::forward<Args>(args)...) {}
  SharePolicy policy() override { return held_.policy(); }

 private:
  Held held_;
};

Owned MakeNever(const SharePolicyContext&, double) {
  return std::make_unique<PlainPolicy>(NeverShare());
}

Owned MakeAlways(const SharePolicyContext&, double) {
  return std::make_unique<PlainPolicy>(AlwaysShare());
}

Owned MakeCoin(const SharePolicyContext& context, double p) {
  if (p == 1) return std::make_unique<PlainPolicy>(AlwaysShare());
  return std::make_unique<HeldPolicy<CoinPolicy>>(context.secret, context.job_id,
                                                  static_cast<uint32_t>(std::floor(p * 0x1p32)));
}

Owned MakePeriod(const SharePolicyContext&, double k) {
  return std::make_unique<HeldPolicy<PeriodPolicy>>(static_cast<uint32_t>(k));
}

void RequireSmallModel(const SharePolicyContext& context) {
  if (context.parameters >= 1 && context.parameters <= kMostDeepQParameters) return;
  throw std::invalid_argument(
      fmt::format("deep-q learns from each parameter of the model, 1 to {} of them; this one has "
                  "{}; choose never, always, coin or period",
                  kMostDeepQParameters, context.parameters));
}

DeepQOptions WithDiscount(double discount) {
  DeepQOptions options;
  options.discount = discount;
  return options;
}

// HKDF(secret, salt = job id, info = key_label::kPeerPolicy).
Key DeepQKey(const SharePolicyContext& context) {
  Key key;
  const ByteSpan label = {reinterpret_cast<const uint8_t*>(key_label::kPeerPolicy),
                          sizeof(key_label::kPeerPolicy) - 1};
  posix::Check(HkdfSha256(context.secret.bytes, context.job_id, label, &key),
               "deriving the key of deep-q");
  return key;
}

Owned MakeDeepQ(const SharePolicyContext& context, double discount) {
  RequireSmallModel(context);
  return std::make_unique<HeldPolicy<DeepQPolicy>>(context.parameters, DeepQKey(context),
                                                   WithDiscount(discount));
}

Owned MakePublicDeepQ(const SharePolicyContext& context, double discount) {
  RequireSmallModel(context);
  if (context.public_loss == nullptr) {
    throw std::invalid_argument("deep-q-public needs public data, to compute losses on");
  }
  return std::make_unique<HeldPolicy<PublicDeepQPolicy>>(
      context.parameters, DeepQKey(context), context.public_loss, context.public_loss_context,
      WithDiscount(discount));
}

constexpr char kWhyNoEpsilon[] =
    "deep-q decides by private losses: when a node publishes tells about its samples, and no noise "
    "covers that; no epsilon is stated";

constexpr bool kOnBoards = true;
constexpr bool kPublicLoss = true;

constexpr Row kRows[] = {
    {{"never", nullptr, nullptr, "never: each node learns alone"}, kNoValue, MakeNever},
    {{"always", nullptr, nullptr, "at every step"}, kNoValue, MakeAlways},
    {{"coin", "P", "0.5", "with probability P at each step, whatever the data are"},
     kProbability,
     MakeCoin},
    {{"period", "K", nullptr, "at every K-th step"}, kPeriod, MakePeriod},
    {{"deep-q", "DISCOUNT", "0.99",
      "as a deep-Q learner decides by the node's own model and losses (Jin et al., Algorithm 2)",
      kWhyNoEpsilon, !kOnBoards},
     kDiscount,
     MakeDeepQ},
    {{"deep-q-public", "DISCOUNT", "0.99",
      "as the same learner decides by the published model, its loss on public data, and the step",
      nullptr, !kOnBoards, kPublicLoss},
     kDiscount,
     MakePublicDeepQ},
};

std::string NameWithValue(const SharePolicyInfo& info) {
  if (info.value == nullptr) return info.name;
  return fmt::format(info.default_value == nullptr ? "{}:{}" : "{}[:{}]", info.name, info.value);
}

const Row& FindRow(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    if (name == row.info.name) return row;
    names.emplace_back(row.info.name);
  }
  throw std::invalid_argument(fmt::format("policy {}: there is no such policy; expected {}{}", text,
                                          SharePolicyNames(), posix::DidYouMean(name, names)));
}

[[noreturn]] void RefuseValue(const std::string& text, const std::string& expected) {
  throw std::invalid_argument(fmt::format("policy {}: expected {}", text, expected));
}

// The number in a text of this row; 0 if the row has none.
double NumberOf(const Row& row, const std::string& text) {
  const SharePolicyInfo& info = row.info;
  const size_t colon = text.find(':');
  const bool is_given = colon != std::string::npos;
  if (info.value == nullptr) {
    if (is_given) RefuseValue(text, fmt::format("{} without a value", info.name));
    return 0;
  }
  if (!is_given && info.default_value == nullptr) RefuseValue(text, NameWithValue(info));
  const std::string value = is_given ? text.substr(colon + 1) : info.default_value;
  const std::optional<double> number = posix::ParseReal(value);
  const Range& range = row.range;
  const bool is_in_range = number && *number >= range.least && *number <= range.most;
  if (is_in_range && (!range.is_whole || posix::ParseCount(value))) return *number;
  RefuseValue(text, fmt::format("{}:{} with {}", info.name, info.value, range.text));
}

}  // namespace

const SharePolicyInfo& FindSharePolicy(const std::string& text) {
  const Row& row = FindRow(text);
  static_cast<void>(NumberOf(row, text));
  return row.info;
}

std::vector<SharePolicyInfo> AllSharePolicies() {
  std::vector<SharePolicyInfo> all;
  for (const Row& row : kRows) all.push_back(row.info);
  return all;
}

std::string SharePolicyNames() {
  std::string names;
  for (const Row& row : kRows) names += (names.empty() ? "" : ", ") + NameWithValue(row.info);
  return names;
}

std::string SharePoliciesTable() {
  std::string table =
      "| policy | when a node publishes | decides by | runs on |\n|---|---|---|---|\n";
  for (const Row& row : kRows) {
    const SharePolicyInfo& info = row.info;
    const std::string otherwise =
        info.default_value == nullptr
            ? ""
            : fmt::format("; without {} {}", info.value, info.default_value);
    table += fmt::format("| `{}` | {}{} | {} | {} |\n", NameWithValue(info), info.help, otherwise,
                         info.has_public_inputs() ? "public numbers: the claim holds"
                                                  : "private numbers: no epsilon",
                         info.runs_on_boards ? "boards, Linux, simulator" : "Linux, simulator");
  }
  return table;
}

std::unique_ptr<OwnedSharePolicy> MakeSharePolicy(const std::string& text,
                                                  const SharePolicyContext& context) {
  const Row& row = FindRow(text);
  return row.make(context, NumberOf(row, text));
}

}  // namespace sotto
