// Samples in the file of --sample-log: the rule for held-out windows, and a reader beside a writer.
#include "recorded_samples.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/models.h"
#include "sotto/posix/files.h"
#include "unit/test_folder.h"

namespace sotto::posix {
namespace {

using Coder = nn::Sequential<nn::Dense<2, 1>, nn::Tanh, nn::Dense<1, 2>,
                             nn::MeanSquaredError<nn::TargetKind::kInput>>;
constexpr ModelInfo kCoder = MakeModelInfo<Coder>("coder");

SampleFileInfo SmallFile() {
  SampleFileInfo info;
  info.axes = 2;
  info.window = info.hop = 1;
  SetCapacity(40, &info);
  return info;
}

TEST(RecordedSamples, AnyShareIsHeldOutAndLeavesSomethingToTrainOn) {
  SampleFileInfo info;
  info.window = 128;
  for (uint32_t hop = 1; hop < 300; ++hop) {
    info.hop = hop;
    EXPECT_EQ(RuleOf(info, 0).period, 0u);
    for (const double share : {1e-3, 0.01, 0.1, 0.2, 0.5, 0.75, 0.9}) {
      const HeldOutRule rule = RuleOf(info, share);
      ASSERT_TRUE(rule.IsValid()) << hop << " " << share;
      ASSERT_NEAR(static_cast<double>(rule.run) / rule.period, share, 0.05) << hop;
      ASSERT_GE(rule.run, 7u);
      uint32_t training = 0;
      for (uint32_t i = 0; i < rule.period; ++i) training += rule.IsForTraining(i) ? 1 : 0;
      ASSERT_GT(training, 0u) << hop << " " << share;
    }
  }
}

// The file is read after each write of a unit: no reader sees a window that is not whole.
TEST(RecordedSamples, AReaderBesideAWriterSeesWholeWindowsAlone) {
  const TestFolder folder;
  const std::string path = folder.Path("a.samples");
  MakeSampleFile(path, SmallFile());
  SampleFile file(path);
  EXPECT_THROW(SampleFile second(path), FileError);

  RecordedSamples samples(path, 0, kCoder);
  const SampleSource source = samples.source();
  struct Watched {
    PageMemory memory;
    const SampleSource& source;
    uint32_t told = 0;
    int looks = 0;
    void Look() {
      ++looks;
      const uint32_t count = source.begin(source.context);
      ASSERT_GE(count, std::min(told, 40U));
      ASSERT_LE(count, told + 1);
      for (uint32_t i = 0; i < count; ++i) {
        float features[2] = {};
        uint32_t label = 0;
        ASSERT_EQ(source.read(source.context, i, {features, 2}, &label), Status::kOk);
        ASSERT_EQ(features[1], features[0] + 0.5f);
        ASSERT_LT(features[0], static_cast<float>(told + 1));
      }
    }
  } watched{file.memory(), source};
  PageMemory memory = file.memory();
  memory.context = &watched;
  memory.read = [](void* context, uint32_t page, size_t offset, MutableByteSpan out) {
    const PageMemory& to = static_cast<Watched*>(context)->memory;
    return to.read(to.context, page, offset, out);
  };
  memory.erase = [](void* context, uint32_t page) {
    auto& watched_memory = *static_cast<Watched*>(context);
    const Status status = watched_memory.memory.erase(watched_memory.memory.context, page);
    watched_memory.Look();
    return status;
  };
  memory.program = [](void* context, uint32_t page, size_t offset, ByteSpan bytes) {
    auto& watched_memory = *static_cast<Watched*>(context);
    const PageMemory& to = watched_memory.memory;
    const Status status = to.program(to.context, page, offset, bytes);
    watched_memory.Look();
    return status;
  };
  SampleLog log(memory, file.info().LogConfig());
  ASSERT_EQ(log.Open(), Status::kOk);
  for (uint32_t i = 0; i < 120; ++i) {
    uint8_t raw[8];
    StoreU32Le(FloatBits(static_cast<float>(i)), raw);
    StoreU32Le(FloatBits(static_cast<float>(i) + 0.5f), raw + 4);
    ASSERT_EQ(log.Append(ByteSpan(raw)), Status::kOk);
    ++watched.told;
  }
  EXPECT_GT(watched.looks, 120);
  EXPECT_GE(samples.training(), 40u);
}

}  // namespace
}  // namespace sotto::posix
