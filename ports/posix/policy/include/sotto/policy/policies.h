// The table of policies: when a node without a server publishes. Part of sotto::policy.
//
// A policy is named by a text NAME or NAME:VALUE, for example "coin:0.1": the value of the option
// --share of all programs. Its random numbers come from the node's secret and the job's id, so each
// program that has the same text, secret and job makes a policy that decides the same.
//
// Stateless; safe in any thread. A wrong text is a std::invalid_argument that says what was
// expected.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/policy/deep_q.h"
#include "sotto/share_policy.h"
#include "sotto/span.h"

namespace sotto {

// Parameters of a model that deep-q takes, at most: it needs 1.7 kB for each (deep_q.h).
constexpr size_t kMostDeepQParameters = 65536;

// One row of the table, for programs and people.
struct SharePolicyInfo {
  const char* name;           // "coin"
  const char* value;          // what VALUE is: "P"; null: the policy has none
  const char* default_value;  // of VALUE; null: it must be given
  const char* help;           // when the node publishes
  // One sentence for people: why no epsilon is stated for a node with this policy. Null: its
  // inputs are public, and the publications' claim holds.
  const char* why_no_epsilon = nullptr;
  bool runs_on_boards = true;      // else on Linux and in the simulator alone
  bool needs_public_loss = false;  // SharePolicyContext::public_loss

  bool has_public_inputs() const { return why_no_epsilon == nullptr; }
};

// The row of a text. Throws for an unknown name, and for a VALUE that is missing, one too many or
// out of its range.
const SharePolicyInfo& FindSharePolicy(const std::string& text);

// The rows, in the order of the table.
std::vector<SharePolicyInfo> AllSharePolicies();

// "never, always, coin[:P], ...", for --help.
std::string SharePolicyNames();

// The table in Markdown, for the documentation.
std::string SharePoliciesTable();

// The node that a policy is made for.
struct SharePolicyContext {
  Key secret;             // the node's, as in PeerConfig
  ByteSpan job_id;        // [kJobIdSize]; read during the call alone
  size_t parameters = 0;  // of the model
  // For rows that need it; function and context outlive the policy.
  PublicLoss public_loss = nullptr;
  void* public_loss_context = nullptr;
};

// A policy and all that it needs. One node uses it, from its first step to its last.
class OwnedSharePolicy {
 public:
  virtual ~OwnedSharePolicy() = default;
  // Valid as long as this object.
  virtual SharePolicy policy() = 0;
};

// Throws as FindSharePolicy(), for a model that is too large or a public loss that is missing, and
// std::runtime_error if the cryptographic library fails.
std::unique_ptr<OwnedSharePolicy> MakeSharePolicy(const std::string& text,
                                                  const SharePolicyContext& context);

}  // namespace sotto
