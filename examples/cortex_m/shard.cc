#include "shard.h"

#include "sotto/bytes.h"

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

Status ReadNumbers(void*, uint32_t index, Span<float> features, uint32_t* label) {
  const uint8_t* word = sotto_shard_begin + index * 4 * (1 + features.size());
  *label = LoadU32Le(word);
  for (float& feature : features) feature = FloatFromBits(LoadU32Le(word += 4));
  return Status::kOk;
}

SampleSource Flash(uint32_t sample_size, decltype(SampleSource::read) read) {
  const auto size = static_cast<uint32_t>(sotto_shard_end - sotto_shard_begin);
  return {size % sample_size == 0 ? size / sample_size : 0, read, nullptr};
}

}  // namespace

SampleSource FlashSamples(uint32_t inputs) { return Flash(1 + inputs, ReadSample); }

SampleSource FlashNumbers(uint32_t inputs) { return Flash(4 * (1 + inputs), ReadNumbers); }

}  // namespace sotto
