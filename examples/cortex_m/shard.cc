#include "shard.h"

#include "sotto/emulated/semihosting.h"
#include "sotto/shard.h"

// The unchanged file.
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

SampleSource FlashSamples(const ModelInfo& model) {
  static Shard shard;
  if (shard.info().count > 0) return shard.source();
  const auto size = static_cast<size_t>(sotto_shard_end - sotto_shard_begin);
  const ShardStatus status = shard.Open({sotto_shard_begin, size}, model);
  if (status != ShardStatus::kOk) {
    emulated::Print("the samples in flash: ");
    emulated::Print(ShardText(status));
    emulated::Print("\n");
  }
  return shard.source();
}

}  // namespace sotto
