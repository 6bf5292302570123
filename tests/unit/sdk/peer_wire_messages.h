// Messages of nodes without a server at the limits of their fields, as frames and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/peer_wire.h"
#include "sotto/publication.h"
#include "unit/sdk/wire_messages.h"

namespace sotto {

inline const std::string kLongestAddress(kMaxPeerAddressSize, '~');
inline const std::vector<uint8_t> kPublicationBytes = Pattern(kMaxMaxFrame);

inline PeerRequest Make(PeerRequest::Kind kind) {
  PeerRequest r;
  r.kind = kind;
  return r;
}

inline PeerReply Make(PeerReply::Kind kind) {
  PeerReply r;
  r.kind = kind;
  return r;
}

inline PeerHead HeadAtItsLimits() {
  PeerHead head;
  head.version = head.publisher = head.size = kMax32;
  std::copy(kDigest.begin(), kDigest.end(), head.digest);
  return head;
}

inline PeerHead SmallestPublication() {
  PeerHead head;
  head.version = 1;
  head.size = kPublicationHeaderSize;
  return head;
}

inline PeerRequest JoinAtItsLimits() {
  PeerRequest r = Make(PeerRequest::Kind::kJoin);
  r.job_id = View(kJob);
  r.max_frame = kMaxMaxFrame;
  r.address = View(kLongestAddress);
  r.has_public_policy = false;
  return r;
}

inline PeerRequest CommitAtItsLimits() {
  PeerRequest r = Make(PeerRequest::Kind::kCommit);
  r.publication = HeadAtItsLimits();
  r.previous = View(kDigest);
  r.fence = kMax32;
  return r;
}

inline PeerRequest StageOf(uint32_t max_frame) {
  PeerRequest r = Make(PeerRequest::Kind::kStage);
  r.publication = HeadAtItsLimits();
  r.bytes = View(kPublicationBytes).first(MaxStageBytes(max_frame));
  r.offset = kMax32 - static_cast<uint32_t>(r.bytes.size());
  return r;
}

inline std::vector<PeerRequest> PeerRequests(uint32_t max_frame) {
  PeerRequest smallest_join = JoinAtItsLimits();
  smallest_join.max_frame = kMinMaxFrame;
  smallest_join.address = {};
  smallest_join.has_public_policy = true;
  PeerRequest other_version = Make(PeerRequest::Kind::kJoin);
  other_version.version = kMax32;
  PeerRequest greet = Make(PeerRequest::Kind::kGreet);
  greet.job_id = View(kJob);
  greet.max_frame = kMaxMaxFrame;
  PeerRequest lease = Make(PeerRequest::Kind::kLease);
  lease.step = kMax32;
  PeerRequest release = Make(PeerRequest::Kind::kRelease);
  release.fence = kMax32;
  PeerRequest entry = Make(PeerRequest::Kind::kRosterEntry);
  entry.node = kMax32;
  PeerRequest get = Make(PeerRequest::Kind::kGetPublication);
  get.publication = HeadAtItsLimits();
  get.offset = kMax32 - 1;
  PeerRequest smallest_get = Make(PeerRequest::Kind::kGetPublication);
  smallest_get.publication = SmallestPublication();
  return {JoinAtItsLimits(),
          smallest_join,
          other_version,
          greet,
          lease,
          release,
          CommitAtItsLimits(),
          Make(PeerRequest::Kind::kFinished),
          entry,
          get,
          smallest_get,
          StageOf(max_frame)};
}

inline PeerReply WelcomeAtItsLimits() {
  PeerReply r = Make(PeerReply::Kind::kWelcome);
  r.node = kMax32 - 1;
  r.nodes = kMax32;
  r.max_frame = kMaxMaxFrame;
  r.has_relay = true;
  r.head = HeadAtItsLimits();
  return r;
}

inline PeerReply GrantedAtItsLimits() {
  PeerReply r = Make(PeerReply::Kind::kGranted);
  r.fence = r.wait_ms = kMax32;
  r.head = r.parent = HeadAtItsLimits();
  --r.parent.version;
  return r;
}

inline PeerReply EntryAtItsLimits() {
  PeerReply r = Make(PeerReply::Kind::kEntry);
  r.node = kMax32;
  r.address = View(kLongestAddress);
  r.device_id = View(kLongestName);
  std::copy(kDigest.begin(), kDigest.end(), r.pair_key.bytes);
  return r;
}

inline std::vector<PeerReply> PeerReplies(uint32_t max_frame) {
  PeerReply first_welcome = Make(PeerReply::Kind::kWelcome);
  first_welcome.nodes = 1;
  PeerReply first_lease = Make(PeerReply::Kind::kGranted);
  PeerReply second_lease = GrantedAtItsLimits();
  second_lease.parent = {};
  PeerReply wait = Make(PeerReply::Kind::kWait);
  wait.wait_ms = kMax32;
  PeerReply chunk = Make(PeerReply::Kind::kChunk);
  chunk.bytes = View(kPublicationBytes).first(MaxPublicationChunkBytes(max_frame));
  PeerReply staged = Make(PeerReply::Kind::kStaged);
  staged.offset = kMax32;
  PeerReply done = Make(PeerReply::Kind::kDone);
  done.accepted = true;
  done.head = HeadAtItsLimits();
  PeerReply silent_entry = EntryAtItsLimits();
  silent_entry.address = {};
  PeerReply error = Make(PeerReply::Kind::kError);
  error.code = ErrorCode::kBusy;
  error.final = true;
  error.wait_ms = kMax32;
  return {WelcomeAtItsLimits(),
          first_welcome,
          GrantedAtItsLimits(),
          first_lease,
          second_lease,
          wait,
          chunk,
          staged,
          done,
          Make(PeerReply::Kind::kDone),
          EntryAtItsLimits(),
          silent_entry,
          error};
}

inline void ExpectEqual(const PeerHead& a, const PeerHead& b) {
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.publisher, b.publisher);
  EXPECT_EQ(a.size, b.size);
  EXPECT_TRUE(Equal(a.digest, b.digest));
}

inline void ExpectEqual(const PeerRequest& a, const PeerRequest& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.version, b.version);
  EXPECT_TRUE(Equal(a.job_id, b.job_id));
  EXPECT_TRUE(Equal(a.address, b.address));
  EXPECT_EQ(a.has_public_policy, b.has_public_policy);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.fence, b.fence);
  EXPECT_EQ(a.node, b.node);
  ExpectEqual(a.publication, b.publication);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_TRUE(Equal(a.bytes, b.bytes));
  EXPECT_TRUE(Equal(a.previous, b.previous));
  const bool means_more = a.version == kPeerProtocolVersion;
  EXPECT_EQ(means_more ? a.max_frame : 0, means_more ? b.max_frame : 0);
}

inline void ExpectEqual(const PeerReply& a, const PeerReply& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.nodes, b.nodes);
  EXPECT_EQ(a.max_frame, b.max_frame);
  EXPECT_EQ(a.has_relay, b.has_relay);
  ExpectEqual(a.head, b.head);
  ExpectEqual(a.parent, b.parent);
  EXPECT_EQ(a.accepted, b.accepted);
  EXPECT_EQ(a.fence, b.fence);
  EXPECT_EQ(a.wait_ms, b.wait_ms);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_TRUE(Equal(a.bytes, b.bytes));
  EXPECT_TRUE(Equal(a.address, b.address));
  EXPECT_TRUE(Equal(a.device_id, b.device_id));
  EXPECT_TRUE(Equal(a.pair_key.bytes, b.pair_key.bytes));
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.final, b.final);
}

inline Status Encode(const PeerRequest& r, uint32_t max_frame, MutableByteSpan out, size_t* size) {
  return EncodePeerRequest(r, max_frame, out, size);
}
inline Status Encode(const PeerReply& r, uint32_t max_frame, MutableByteSpan out, size_t* size) {
  return EncodePeerReply(r, max_frame, out, size);
}
inline Status Decode(ByteSpan body, PeerRequest* r) { return DecodePeerRequest(body, r); }
inline Status Decode(ByteSpan body, PeerReply* r) { return DecodePeerReply(body, r); }

}  // namespace sotto
