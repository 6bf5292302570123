// When a node publishes: policies, by what they may look at. Part of sotto/peer.
//
// A node without a server (peer.h) decides at each step whether to learn alone or to publish. That
// it publishes, and when, is seen by all others. A decision that depends on private data tells
// about them, and no noise covers that. So a policy has one of two types:
//   public   sees public numbers only. The publications' claim holds
//   private  also sees the node's own model and losses. No epsilon can be stated for the node
// A function of one type cannot be used as the other: the node gives a public policy nothing
// private.
//
// never, always, coin and period are here, for boards too; deep-q is in sotto/policy/deep_q.h.
// One thread at a time.
#pragma once

#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

// What everybody may know of a node before its step.
struct PublicSituation {
  uint32_t step = 0;         // of this node, from 0; all passes counted
  uint32_t steps = 0;        // of all its passes
  uint32_t local_steps = 0;  // since the node last published, or since its pass began
  uint32_t version = 0;      // of `global`
  Span<const float> global;  // [parameters] the newest published model that the node has seen
};

// What only the node knows.
struct PrivateSituation : PublicSituation {
  Span<const float> local;    // [parameters] its own model, w_L
  float loss = 0.0f;          // mean loss of `local` on the next batch
  float loss_on_last = 0.0f;  // and on the batch before; meaningful if step > 0
};

using PublicDecision = Status (*)(void* context, const PublicSituation& now, bool* share);
using PrivateDecision = Status (*)(void* context, const PrivateSituation& now, bool* share);

class SharePolicy {
 public:
  constexpr SharePolicy() = default;  // never

  //   decide  sets *share; any status but kOk ends the node's run
  static constexpr SharePolicy Public(PublicDecision decide, void* context) {
    return {decide, nullptr, context};
  }
  static constexpr SharePolicy Private(PrivateDecision decide, void* context) {
    return {nullptr, decide, context};
  }

  constexpr bool has_public_inputs() const { return private_ == nullptr; }

  // With a private policy `now` has all members, else the members of PublicSituation.
  Status Decide(const PrivateSituation& now, bool* share) const;

 private:
  constexpr SharePolicy(PublicDecision open, PrivateDecision closed, void* context)
      : public_(open), private_(closed), context_(context) {}

  PublicDecision public_ = nullptr;
  PrivateDecision private_ = nullptr;
  void* context_ = nullptr;
};

constexpr SharePolicy NeverShare() { return {}; }
SharePolicy AlwaysShare();

// Publishes with probability p, by one draw of a stream that no data enter: the same at the same
// step, also after a reset. The object outlives its policy.
class CoinPolicy {
 public:
  //   secret  the node's; job_id [kJobIdSize]; p_q32  p in units of 2^-32, rounded down
  // Without a key, which the cryptographic library may refuse, decisions fail.
  CoinPolicy(const Key& secret, ByteSpan job_id, uint32_t p_q32);
  SharePolicy policy() { return SharePolicy::Public(Decide, this); }

 private:
  static Status Decide(void* context, const PublicSituation& now, bool* share);
  Key key_;
  uint32_t p_q32_;
  Status status_;
};

// Publishes in every k-th step: in steps k - 1, 2 k - 1, .... Within a publication of several steps
// nothing is decided. The object outlives its policy.
class PeriodPolicy {
 public:
  explicit PeriodPolicy(uint32_t k) : k_(k) {}  // k >= 1
  SharePolicy policy() { return SharePolicy::Public(Decide, this); }

 private:
  static Status Decide(void* context, const PublicSituation& now, bool* share);
  uint32_t k_;
};

}  // namespace sotto
