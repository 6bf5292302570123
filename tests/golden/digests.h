// The results that are compared by digest. Each function hashes integers as u32le, floats as their
// bits.
#pragma once

#include "sotto/crypto.h"
#include "sotto/span.h"

namespace sotto::golden {

using Digest = uint8_t (&)[kSha256Size];

// training_digests.cc. Returns kOk or kCryptoFailed.
Status HashFloats(Span<const float> values, Sha256* hash);

// lrq_digests.cc
Status FirstCells(Digest digest);    // w, L and exact s of the first 2^14 coordinates
Status AllCells(Digest digest);      // and of the first 2^20
Status UniformCells(Digest digest);  // the first 2^14 without privacy
Status UpdateScales(Digest digest);  // scales of updates at the ends of binary32
Status FixedUpdates(Digest digest);  // scale, bytes and decoded values of 100,000 coordinates
Status RangeUpdates(Digest digest);  // the same under the range code

// training_digests.cc
Status DerivedKeys(Digest digest);       // TLS, round and order key of one device
Status ExpAndLog(Digest digest);         // over the range of binary32
Status Permutations(Digest digest);      // orders of up to 100,000 samples
Status TrainedEveryStep(Digest digest);  // a softmax model, clipped at every step: parameters, loss
Status TrainedAtEnd(Digest digest);      // the same, clipped at the end
Status FixedExpAndLog(Digest digest);    // exp and log in fixed point
Status FixedTrainedEveryStep(Digest digest);  // the trainings above, in fixed point
Status FixedTrainedAtEnd(Digest digest);

// peer_digests.cc: publications, records and the last model of a node
Status PeersAverage(Digest digest);
Status PeersAccumulate(Digest digest);  // with clipped errors
Status PeersDevice(Digest digest);      // unit device

}  // namespace sotto::golden
