#include "shard.h"

// The unchanged file: for each sample one byte for the label, then one byte for each feature.
__asm(
    ".section .rodata.sotto_shard, \"a\"\n"
    ".global sotto_shard_begin, sotto_shard_end\n"
    "sotto_shard_begin:\n"
    ".incbin \"" SOTTO_DEVICE_SHARD
    "\"\n"
    "sotto_shard_end:\n"
    ".previous\n");

extern "C" {
extern const uint8_t sotto_shard_begin[];
extern const uint8_t sotto_shard_end[];
}

namespace sotto {
namespace {

Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  const uint8_t* sample = sotto_shard_begin + index * (1 + features.size());
  *label = *sample++;
  for (float& feature : features) feature = static_cast<float>(*sample++) * (1 / 255.0f);
  return Status::kOk;
}

}  // namespace

SampleSource FlashSamples(uint32_t inputs) {
  const auto size = static_cast<uint32_t>(sotto_shard_end - sotto_shard_begin);
  const uint32_t sample_size = 1 + inputs;
  return {size % sample_size == 0 ? size / sample_size : 0, ReadSample, nullptr};
}

}  // namespace sotto
