// The record of a node in its store: reading, checking, writing.
//
//   bytes     field, all numbers little endian
//   0  .. 3   "SPR1": the format and its version
//   4  .. 19  job id
//   20 .. 23  next step
//   24 .. 27  publications of this job
//   28 .. 31  the first step of the last publication
//   32 .. 35  version of the last publication
//   36 .. 39  its bytes, n
//   40 .. 47  zCDP of all jobs, unit sample, 2^-40
//   48 .. 55  the same, unit device
//   56 .. 71  a mark of the node's key and of how many samples it has
//   72 ..     the last publication, n bytes
//   72 + n .. SHA-256 of all before
#include "sotto/bytes.h"
#include "sotto/peer_trainer.h"

namespace sotto {
namespace {

constexpr uint8_t kMagic[4] = {'S', 'P', 'R', '1'};
constexpr size_t kHeadSize = 72;

}  // namespace

struct PeerTrainer::Record {
  uint8_t head[kHeadSize];
  uint32_t at(size_t offset) const { return LoadU32Le(head + offset); }
  uint32_t publication_size() const { return at(36); }
};

namespace {

// Reads exactly out.size() bytes.
Status LoadAll(const PersistentStore& store, size_t offset, MutableByteSpan out) {
  size_t size = 0;
  const Status s = store.load(store.context, StoreSlot::kPeer, offset, out, &size);
  if (s != Status::kOk) return s;
  return size == out.size() ? Status::kOk : Status::kMalformed;
}

// Hashes the record's body from the store, and compares with the digest behind it.
Status CheckBody(const PersistentStore& store, ByteSpan head, size_t body) {
  Sha256 hash;
  if (Status s = hash.Update(head); s != Status::kOk) return s;
  for (size_t done = 0; done < body;) {
    uint8_t some[64];
    const MutableByteSpan part =
        MutableByteSpan(some).first(body - done < sizeof(some) ? body - done : sizeof(some));
    if (Status s = LoadAll(store, head.size() + done, part); s != Status::kOk) return s;
    if (Status s = hash.Update(part); s != Status::kOk) return s;
    done += part.size();
  }
  uint8_t expected[kSha256Size];
  uint8_t digest[kSha256Size];
  if (Status s = LoadAll(store, head.size() + body, expected); s != Status::kOk) return s;
  if (Status s = hash.Finish(digest); s != Status::kOk) return s;
  return __builtin_memcmp(digest, expected, kSha256Size) == 0 ? Status::kOk : Status::kMalformed;
}

}  // namespace

Status PeerTrainer::LoadRecord() {
  const PersistentStore& store = config_.store;
  Record record;
  size_t size = 0;
  const MutableByteSpan head(record.head);
  const Status s = store.load(store.context, StoreSlot::kPeer, 0, head, &size);
  if (s != Status::kOk || size == 0) {
    step_ = 0;
    return s;
  }
  if (size != kHeadSize || __builtin_memcmp(record.head, kMagic, sizeof(kMagic)) != 0) {
    return Status::kMalformed;
  }
  if (Status c = CheckBody(store, record.head, record.publication_size()); c != Status::kOk) {
    return c;
  }
  ledger_.sample_rho_q40 = LoadU64Le(record.head + 40);
  ledger_.device_rho_q40 = LoadU64Le(record.head + 48);
  step_ = 0;
  if (__builtin_memcmp(record.head + 4, job_id_, kJobIdSize) != 0) return Status::kOk;
  return TakeRecord(record);
}

// Goes on with this job, whose batches are the same ones as before.
Status PeerTrainer::TakeRecord(const Record& record) {
  if (__builtin_memcmp(record.head + 56, samples_mark_, sizeof(samples_mark_)) != 0) {
    return Status::kMismatch;
  }
  publication_size_ = record.publication_size();
  if (publication_size_ > buffers_.publication.size() || record.at(20) > steps_) {
    return Status::kMalformed;
  }
  const MutableByteSpan bytes = buffers_.publication.first(publication_size_);
  if (Status s = LoadAll(config_.store, kHeadSize, bytes); s != Status::kOk) return s;
  PublicationHeader header;
  const Status s = DecodePublication(bytes, config_.job.range, &header, buffers_.local);
  if (s != Status::kOk) return s;
  if (Status d = Sha256Digest(bytes, publication_digest_); d != Status::kOk) return d;
  step_ = ledger_.next_step = record.at(20);
  ledger_.releases = record.at(24);
  publication_step_ = record.at(28);
  publication_version_ = record.at(32);
  has_pending_ = true;
  return Status::kOk;
}

Status PeerTrainer::SaveRecord() {
  uint8_t head[kHeadSize];
  __builtin_memcpy(head, kMagic, sizeof(kMagic));
  __builtin_memcpy(head + 4, job_id_, kJobIdSize);
  StoreU32Le(ledger_.next_step, head + 20);
  StoreU32Le(ledger_.releases, head + 24);
  StoreU32Le(publication_step_, head + 28);
  StoreU32Le(publication_version_, head + 32);
  StoreU32Le(static_cast<uint32_t>(publication_size_), head + 36);
  StoreU64Le(ledger_.sample_rho_q40, head + 40);
  StoreU64Le(ledger_.device_rho_q40, head + 48);
  __builtin_memcpy(head + 56, samples_mark_, sizeof(samples_mark_));
  Sha256 hash;
  uint8_t digest[kSha256Size];
  if (Status s = hash.Update(head); s != Status::kOk) return s;
  if (Status s = hash.Update(publication()); s != Status::kOk) return s;
  if (Status s = hash.Finish(digest); s != Status::kOk) return s;
  const ByteSpan parts[] = {head, publication(), digest};
  return config_.store.save(config_.store.context, StoreSlot::kPeer, Span<const ByteSpan>(parts));
}

}  // namespace sotto
