// A shard: the samples of one device as a file, which a host writes (`sotto-shard`) and a board
// reads from its flash or another memory. Part of sotto/local.
//
// A shard describes its samples, so no training takes numbers for bytes, or the samples of another
// model. Shard::Open() checks the whole file once. Then samples are read one at a time, without a
// copy of the file in RAM and with any alignment.
//
//   static Shard shard;
//   ShardStatus status = shard.Open(ByteSpan(flash_begin, flash_size), kModel);
//   if (status != ShardStatus::kOk) Print(ShardText(status));
//   config.samples = shard.source();
//
// The format, little-endian, without gaps: the head, then the samples one after the other.
//
//    offset  size
//         0     4  "SoSh"
//         4     1  version, 1
//         5     1  element of the features: 1 is u8, 2 is float32
//         6     2  zero
//         8    12  shape of a sample: height, width, channels, u32 each
//        20     4  tokens, u32. Above 0: features are ids of tokens, whole numbers below it
//        24     4  classes, u32. Above 0: each sample has a label below it
//        28     4  targets, u32. Above 0: each sample has a vector of as many float32
//        32     4  samples, u32
//        36    12  the beginning of the model's digest (ModelDigest()), or zeros: any model that
//                  the samples fit
//        48    16  the beginning of the SHA-256 of the 48 bytes above and all samples
//
// Not both classes and targets are above 0; both are 0 for samples that have features alone. Of a
// sample:
//
//   with classes   the label: u8 if there are at most 256 classes, else u32
//   with targets   the target
//   always         the features in the order of the shape, its last axis fastest. A byte stands for
//                  byte * (1 / 255), a byte of tokens for itself. float32 NaN is a missing number
//
// The checksum finds damage; it keeps no attacker out. An opened shard is constant: any number of
// threads may read it, if its ShardFile allows that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/layer.h"
#include "sotto/model_info.h"
#include "sotto/sample_source.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

constexpr size_t kShardHeadSize = 64;
constexpr size_t kShardModelSize = 12;

// Values are in files: never renumber.
enum class ShardElement : uint8_t { kByte = 1, kFloat32 = 2 };

// The contents of a head.
struct ShardInfo {
  ShardElement element = ShardElement::kFloat32;
  nn::Shape shape;
  uint32_t tokens = 0;
  uint32_t classes = 0;
  uint32_t targets = 0;
  uint32_t count = 0;
  uint8_t model[kShardModelSize] = {};

  // Features of a sample; 0 if they are more than a uint32_t counts.
  constexpr uint32_t Features() const {
    const uint64_t plane = uint64_t{shape.height} * shape.width;
    const uint64_t all = plane <= UINT32_MAX ? plane * shape.channels : 0;
    return all <= UINT32_MAX ? static_cast<uint32_t>(all) : 0;
  }
  // Bytes of a sample: what stands before its features, and all.
  constexpr uint64_t LabelBytes() const {
    return classes == 0 ? uint64_t{4} * targets : classes <= 256 ? 1 : 4;
  }
  constexpr uint64_t SampleBytes() const {
    return LabelBytes() + uint64_t{Features()} * (element == ShardElement::kByte ? 1 : 4);
  }
};

// Why a shard cannot be used.
enum class [[nodiscard]] ShardStatus : int8_t{
    kOk = 0,
    kNoShard = -1,        // it does not begin as a shard: earlier builds wrote no head
    kOtherVersion = -2,   // a later format
    kTruncated = -3,      // it ends before its last sample
    kDamaged = -4,        // the checksum is wrong, or no host writes such a head
    kOtherFeatures = -5,  // not as many as the model has inputs
    kOtherTokens = -6,  // tokens for a model of numbers, numbers for one of tokens, too many tokens
    kOtherTargets = -7,  // labels, classes or targets are not the model's
    kOtherModel = -8,    // it was written for another model
    kFailed = -9,        // the file could not be read, or the cryptographic library failed
};
constexpr int kShardStatusCount = 10;

// The problem and its remedy, without a full stop, for a log.
const char* ShardText(ShardStatus status);

// A file or a memory that the CPU does not read by itself.
struct ShardFile {
  size_t size = 0;  // bytes; those behind the last sample are not looked at
  // Reads out.size() bytes at `offset`, which are there. A status other than kOk ends the training
  // as SampleSource says.
  Status (*read)(void* context, size_t offset, MutableByteSpan out) = nullptr;
  void* context = nullptr;
};

class Shard {
 public:
  Shard() = default;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Reads all of it once. After a failure info().count and source().count are 0.
  //   bytes  in flash or RAM, any alignment; unchanged as long as the shard is used. Bytes behind
  //          the last sample, for example of a partition, are ignored
  //   model  the samples must fit it: as many inputs, the same vocabulary, classes or targets. An
  //          autoencoder also takes samples with labels or targets, and ignores these. A model only
  //          for predictions has no digest, so its digest is not compared
  ShardStatus Open(ByteSpan bytes, const ModelInfo& model);
  ShardStatus Open(const ShardFile& file, const ModelInfo& model);

  const ShardInfo& info() const { return info_; }

  // The samples for a training of the model, or for HeldOut. The shard stays where it is as long as
  // the source is used.
  SampleSource source() const;

 private:
  static Status ReadMemory(void* context, size_t offset, MutableByteSpan out);
  static Status ReadSample(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static Status ReadSampleVector(void* context, uint32_t index, Span<float> features,
                                 Span<float> target);

  ShardStatus Check(const ModelInfo& model, ShardInfo* info) const;
  ShardStatus CheckSum(size_t size, const uint8_t (&head)[kShardHeadSize]) const;
  size_t Begin(uint32_t index) const {
    return kShardHeadSize + static_cast<size_t>(index * info_.SampleBytes());
  }
  Status ReadFloats(size_t offset, Span<float> out) const;
  Status ReadFeatures(uint32_t index, Span<float> out) const;

  ShardFile file_;
  ShardInfo info_;
};

// For programs that write shards.
//   samples  [info.count * info.SampleBytes()]
// Return kOk, the hash's status, or of MakeShardHead() kInvalidArgument if info and samples do not
// go together; the output is then untouched.
Status MakeShardHead(const ShardInfo& info, ByteSpan samples, uint8_t (&head)[kShardHeadSize]);
Status ShardModel(const ModelInfo& model, uint8_t (&beginning)[kShardModelSize]);

}  // namespace sotto
