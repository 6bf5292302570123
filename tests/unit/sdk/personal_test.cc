// Personal layers: what of them reaches an update, a digest and the store, and what does not.
#include "sotto/personal.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "nn/momentum.h"
#include "sotto/bytes.h"
#include "sotto/client.h"
#include "sotto/initial_weights.h"
#include "sotto/local_round.h"
#include "sotto/paged_store.h"
#include "sotto/predict.h"
#include "unit/sdk/hex.h"
#include "unit/sdk/memory_store.h"

namespace sotto {
namespace {

using nn::Dense;
using nn::Input;
using nn::Personal;
using nn::Sequential;
using nn::Tanh;

using WholeNet = Sequential<Input<5>, Dense<5, 4>, Tanh, Dense<4, 3>>;
using SplitNet = Sequential<Input<5>, Dense<5, 4>, Personal<Tanh, Dense<4, 3>>>;
using SameSplitNet = Sequential<Input<5>, Dense<5, 4>, Tanh, Personal<Dense<4, 3>>>;
constexpr ModelInfo kWhole = MakeModelInfo<WholeNet>("whole");
constexpr ModelInfo kSplit = MakeModelInfo<SplitNet>("split");

constexpr size_t kShared = 24;
constexpr size_t kOwn = 15;
static_assert(SplitNet::kParameters == kShared && SplitNet::kPersonal == kOwn);
static_assert(kSplit.parameters == kShared && kSplit.personal == kOwn);
static_assert(WholeNet::kPersonal == 0 && kWhole.personal_functions == nullptr,
              "a net without personal layers names no function of theirs");
static_assert(kWhole.trained() == kSplit.trained());

// The loss behind them, and a branch that begins in front of them.
static_assert(Sequential<Input<4>, nn::Fork<1>, Dense<4, 4>, Personal<nn::Add<1>, Dense<4, 2>>,
                         nn::OneVsAll>::kPersonal == 10);

std::vector<uint8_t> DigestBytes(const ModelInfo& model) {
  uint8_t digest[kSha256Size] = {};
  EXPECT_EQ(ModelDigest(model, digest), Status::kOk);
  return {std::begin(digest), std::end(digest)};
}

std::vector<float> StartOf(const ModelInfo& model) {
  std::vector<float> values(model.personal);
  EXPECT_EQ(InitialPersonal(model, {values.data(), values.size()}), Status::kOk);
  return values;
}

constexpr const char* kNames[] = {"a", "b", "c"};
constexpr ModelDescription kDescribed = {kNames, {}, {}, "kind"};

TEST(PersonalLayers, TheDigestCoversWhichLayersArePersonalAndAllElse) {
  const std::vector<uint8_t> split = DigestBytes(kSplit);
  EXPECT_NE(split, DigestBytes(kWhole));
  EXPECT_EQ(split, DigestBytes(MakeModelInfo<SameSplitNet>("same")))
      << "a layer without parameters belongs to nobody";
  using MoreNet = Sequential<Input<5>, Dense<5, 4>, Personal<Dense<4, 4>, Tanh, Dense<4, 3>>>;
  using LessNet = Sequential<Input<5>, Dense<5, 4>, Dense<4, 4>, Personal<Tanh, Dense<4, 3>>>;
  EXPECT_NE(DigestBytes(MakeModelInfo<MoreNet>("more")), DigestBytes(MakeModelInfo<LessNet>("")));
  const auto named = DigestBytes(MakeModelInfo<SplitNet>("named", kNames));
  const auto described = DigestBytes(MakeModelInfo<SplitNet, kDescribed>("described"));
  EXPECT_NE(named, split);
  EXPECT_NE(described, split);
  EXPECT_NE(described, named);
}

// As initial_weights.h says, with the digest for a key: every device starts alike.
TEST(PersonalLayers, StartFromWhatTheDigestDraws) {
  const std::vector<float> start = StartOf(kSplit);
  Key key;
  std::copy_n(DigestBytes(kSplit).begin(), kKeySize, key.bytes);
  std::vector<float> whole(WholeNet::kParameters);
  ASSERT_EQ(InitialWeights(kWhole, key, {whole.data(), whole.size()}), Status::kOk);
  EXPECT_EQ(start, std::vector<float>(whole.begin() + kShared, whole.end()));
  std::vector<float> shared(kShared);
  ASSERT_EQ(InitialWeights(kSplit, key, {shared.data(), shared.size()}), Status::kOk);
  EXPECT_EQ(shared, std::vector<float>(whole.begin(), whole.begin() + kShared));
}

constexpr uint8_t kName[] = {'p'};

// A device and its memory. Its store outlives each round.
struct PersonalBench {
  explicit PersonalBench(const ModelInfo& model = kSplit)
      : model(model),
        base(model.parameters),
        update(model.trained()),
        scratch(model.training_floats(model, 4)) {
    Key key;
    EXPECT_EQ(InitialWeights(model, key, {base.data(), base.size()}), Status::kOk);
    device.model = &this->model;
    device.device_id = kName;
    device.samples = {12, Read, this};
    device.port.entropy = Entropy;
    device.store = &store;
    task.quantizer_scale = 0.001f;
    task.training.clip_l2 = 0.02f;
    task.training.batch_size = 4;
    task.training.local_epochs = 2;
  }

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    const auto* self = static_cast<const PersonalBench*>(context);
    for (size_t i = 0; i < features.size(); ++i) {
      features[i] = 0.4f * static_cast<float>((index + 2 * i) % 5) - 0.7f;
    }
    *label = index % 3;
    return self->read_status;
  }

  static Status Entropy(void*, MutableByteSpan out) {
    std::fill(out.begin(), out.end(), uint8_t{5});
    return Status::kOk;
  }

  Status Train(LocalRound& round) {
    buffers = {{base.data(), base.size()},
               {update.data(), update.size()},
               {scratch.data(), scratch.size()},
               indices};
    if (Status s = round.Begin(task, device, buffers); s != Status::kOk) return s;
    for (bool done = false; !done;) {
      if (Status s = round.Step(&done); s != Status::kOk) return s;
    }
    return Status::kOk;
  }

  Status Train() {
    LocalRound round;
    return Train(round);
  }

  // Under Coding::kFloat32.
  std::vector<float> Sent(LocalRound& round) const {
    uint8_t bytes[4 * (kShared + kOwn) + 4];
    size_t written = 0;
    bool is_last = false;
    EXPECT_EQ(round.Read(bytes, &written, &is_last), Status::kOk);
    EXPECT_TRUE(is_last);
    std::vector<float> sent(written / 4);
    std::memcpy(sent.data(), bytes, written);
    return sent;
  }

  std::vector<float> Kept() {
    std::vector<float> values(model.personal);
    EXPECT_EQ(LoadPersonal(model, store, {values.data(), values.size()}, &is_kept), Status::kOk);
    return values;
  }

  ModelInfo model;
  TrainTask task;
  MemoryStore memory;
  PersistentStore store = memory.store();
  LocalDevice device;
  LocalRoundBuffers buffers;
  std::vector<float> base;
  std::vector<float> update;
  std::vector<float> scratch;
  uint32_t indices[4] = {};
  Status read_status = Status::kOk;
  bool is_kept = false;
};

// A twin without personal layers, whose base has the same numbers: the same training.
TEST(PersonalLayers, TrainWithTheOthersAndNeverLeave) {
  PersonalBench split;
  PersonalBench whole(kWhole);
  std::copy(split.base.begin(), split.base.end(), whole.base.begin());
  const std::vector<float> start = StartOf(kSplit);
  std::copy(start.begin(), start.end(), whole.base.begin() + kShared);
  LocalRound split_round;
  LocalRound whole_round;
  for (PersonalBench* bench : {&split, &whole}) {
    bench->task.format.coding = Coding::kFloat32;
    bench->task.training.clip_l2 = 100.0f;  // out of reach
    ASSERT_EQ(bench->Train(bench == &split ? split_round : whole_round), Status::kOk);
  }
  const std::vector<float> sent = split.Sent(split_round);
  const std::vector<float> all = whole.Sent(whole_round);
  ASSERT_EQ(sent.size(), kShared) << "one number for each shared parameter, and no more";
  EXPECT_EQ(sent, std::vector<float>(all.begin(), all.begin() + kShared));
  const std::vector<float> kept = split.Kept();
  EXPECT_TRUE(split.is_kept);
  for (size_t i = 0; i < kOwn; ++i) EXPECT_NEAR(kept[i], start[i] + all[kShared + i], 1e-6) << i;
  EXPECT_NE(kept, start);
}

// The encoder has as many coordinates as there are shared parameters: the twin's update of the same
// numbers gives the same bytes.
TEST(PersonalLayers, AreNoCoordinateOfAnEncodedUpdate) {
  PersonalBench bench;
  LocalRound round;
  ASSERT_EQ(bench.Train(round), Status::kOk);
  std::vector<uint8_t> bytes(1000);
  size_t written = 0;
  bool is_last = false;
  ASSERT_EQ(round.Read({bytes.data(), bytes.size()}, &written, &is_last), Status::kOk);
  Key key;
  const UpdateIdentity identity = {bench.task.job_id, kName, 0, 0, round.nonce()};
  ASSERT_EQ(DeriveRoundKey(bench.device.secret, identity, &key), Status::kOk);
  UpdateEncoder encoder({}, {});
  ASSERT_EQ(encoder.Begin(key, bench.task.format, {bench.update.data(), kShared},
                          bench.task.training.clip_l2, bench.task.quantizer_scale, {}, {}),
            Status::kOk);
  std::vector<uint8_t> expected(1000);
  size_t size = 0;
  ASSERT_EQ(encoder.Read({expected.data(), expected.size()}, &size), Status::kOk);
  EXPECT_EQ(written, size);
  EXPECT_EQ(bytes, expected);
}

TEST(PersonalLayers, TheBoundHoldsForTheSharedParametersAlone) {
  for (const Clipping clipping : {Clipping::kEveryStep, Clipping::kAtEnd}) {
    for (const ClipByLayer by_layer : {ClipByLayer::kNone, ClipByLayer::kEqual}) {
      PersonalBench bench;
      bench.task.training.clipping = clipping;
      bench.task.training.clip_by_layer = by_layer;
      LocalRound round;
      ASSERT_EQ(bench.Train(round), Status::kOk);
      EXPECT_TRUE(round.clipped());
      std::vector<int32_t> clipped(kShared);
      ASSERT_EQ(round.ClippedUpdate({clipped.data(), clipped.size()}), Status::kOk);
      double squares = 0;
      for (const int32_t v : clipped) squares += std::pow(v * 0x1p-20 * 0.001, 2);
      EXPECT_LE(std::sqrt(squares), 0.02);
      EXPECT_GT(std::sqrt(squares), 0.0199);
      const std::vector<float> kept = bench.Kept();
      const std::vector<float> start = StartOf(kSplit);
      double moved = 0;
      for (size_t i = 0; i < kOwn; ++i) moved += std::pow(kept[i] - start[i], 2);
      EXPECT_GT(std::sqrt(moved), 0.05) << "no bound holds them back";
    }
  }
}

TEST(PersonalLayers, GoOnAfterAResetWhereTheyWere) {
  PersonalBench always_on;
  PersonalBench reset;
  LocalRound same;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(always_on.Train(same), Status::kOk);
    reset.update.assign(reset.update.size(), std::numeric_limits<float>::quiet_NaN());
    ASSERT_EQ(reset.Train(), Status::kOk);
    EXPECT_EQ(reset.Kept(), always_on.Kept());
    EXPECT_EQ(reset.memory.records[StoreSlot::kPersonal].size(), PersonalRecordBytes(kOwn));
  }
  PersonalBench fresh;
  ASSERT_EQ(fresh.Train(), Status::kOk);
  EXPECT_NE(fresh.Kept(), reset.Kept());
}

TEST(PersonalLayers, StartOverFromARecordOfAnotherModelOrADamagedOne) {
  PersonalBench bench;
  ASSERT_EQ(bench.Train(), Status::kOk);
  const std::vector<uint8_t> record = bench.memory.records[StoreSlot::kPersonal];

  PersonalBench other(MakeModelInfo<SplitNet>("named", kNames));
  other.memory.records[StoreSlot::kPersonal] = record;
  EXPECT_EQ(other.Kept(), StartOf(other.model));
  EXPECT_FALSE(other.is_kept);
  ASSERT_EQ(other.Train(), Status::kOk);
  EXPECT_NE(other.memory.records[StoreSlot::kPersonal], record);

  for (size_t i = 0; i < record.size(); ++i) {
    std::vector<uint8_t>& damaged = bench.memory.records[StoreSlot::kPersonal];
    damaged = record;
    damaged[i] ^= 0x10;
    EXPECT_EQ(bench.Kept(), StartOf(kSplit)) << i;
    damaged.assign(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(bench.Kept(), StartOf(kSplit)) << i;
    EXPECT_FALSE(bench.is_kept);
  }
}

// What a store leaves that lost its power in save(): the old record, or the new one.
TEST(PersonalLayers, APowerCutLeavesTheOldValuesOrTheNewOnes) {
  PersonalBench whole;
  ASSERT_EQ(whole.Train(), Status::kOk);
  const std::vector<float> first = whole.Kept();
  ASSERT_EQ(whole.Train(), Status::kOk);
  const std::vector<float> second = whole.Kept();
  for (const bool is_new : {false, true}) {
    PersonalBench bench;
    bench.memory.keeps_failed = is_new;
    bench.memory.fail_save = 1;
    LocalRound round;
    ASSERT_EQ(bench.Train(round), Status::kOk);
    EXPECT_EQ(round.kept(), Status::kOk);
    ASSERT_EQ(bench.Train(round), Status::kOk) << "the update is as good as ever";
    EXPECT_EQ(round.failure(), Status::kOk);
    EXPECT_EQ(round.kept(), Status::kStoreFailed);
    EXPECT_EQ(bench.Kept(), is_new ? second : first);
  }
}

TEST(PersonalLayers, StayAsTheyWereIfATrainingFailsOrHasNoSample) {
  PersonalBench bench;
  ASSERT_EQ(bench.Train(), Status::kOk);
  const std::vector<float> kept = bench.Kept();
  LocalRound round;

  bench.read_status = Status::kMalformed;
  ASSERT_EQ(bench.Train(round), Status::kOk);
  EXPECT_EQ(round.failure(), Status::kMalformed);
  bench.read_status = Status::kOk;

  ASSERT_EQ(round.Begin(bench.task, bench.device, bench.buffers), Status::kOk);
  bool done = false;
  ASSERT_EQ(round.Step(&done), Status::kOk);
  ASSERT_EQ(round.GiveUpTraining(&done), Status::kOk);
  std::vector<int32_t> zeros(kShared, 1);
  ASSERT_EQ(round.ClippedUpdate({zeros.data(), zeros.size()}), Status::kOk);
  EXPECT_EQ(zeros, std::vector<int32_t>(kShared));

  bench.device.samples.count = 0;
  ASSERT_EQ(bench.Train(round), Status::kOk);
  EXPECT_EQ(round.failure(), Status::kOk);
  bench.device.samples.count = 12;

  bench.task.training.learning_rate = 1e38f;
  ASSERT_EQ(bench.Train(round), Status::kOk);
  EXPECT_EQ(round.failure(), Status::kNotFinite);
  EXPECT_EQ(bench.Kept(), kept);
  EXPECT_EQ(bench.memory.saves, 1);
}

TEST(PersonalLayers, NeedAStoreThatCanBeRead) {
  PersonalBench bench;
  bench.device.store = nullptr;
  EXPECT_EQ(bench.Train(), Status::kInvalidArgument);
  const PersistentStore none;
  bench.device.store = &none;
  EXPECT_EQ(bench.Train(), Status::kInvalidArgument);
  bench.device.store = &bench.store;
  for (int load = 0; load < 3; ++load) {
    PersonalBench full;
    ASSERT_EQ(full.Train(), Status::kOk);
    full.memory.fail_load = full.memory.loads + load;
    EXPECT_EQ(full.Train(), Status::kStoreFailed) << "it does not start over";
    EXPECT_EQ(full.memory.saves, 1);
  }
  bench.update.pop_back();
  EXPECT_EQ(bench.Train(), Status::kInvalidArgument);
}

TEST(PersonalLayers, AreEvaluatedWithTheRoundsModel) {
  struct Seen {
    static Status Count(const ModelInfo&, Span<const float> parameters, const SampleSource& samples,
                        uint32_t, uint32_t, Span<float>, uint32_t*) {
      static_cast<Seen*>(samples.context)->parameters.assign(parameters.begin(), parameters.end());
      return Status::kOk;
    }
    std::vector<float> parameters;
  };
  PersonalBench bench;
  ASSERT_EQ(bench.Train(), Status::kOk);
  std::vector<float> expected = bench.base;
  for (const float value : bench.Kept()) expected.push_back(value);
  Seen seen;
  HeldOut held_out = MakeHeldOut({1, PersonalBench::Read, &seen});
  held_out.count_correct = Seen::Count;
  bench.device.held_out = &held_out;
  bench.task.accuracy_q20 = 1 << 20;
  bench.scratch.resize(bench.scratch.size() + EvaluationFloats(kSplit));
  ASSERT_EQ(bench.Train(), Status::kOk);
  EXPECT_EQ(seen.parameters, expected);
}

TEST(PersonalLayers, FeelNoProximalTerm) {
  const float base[] = {0.0f, 0.0f};
  SgdStep step;
  step.learning_rate = 0.5f;
  step.weight_decay = 0.5f;
  step.proximal = 1.0f;
  step.base = base;
  float w[] = {1.0f, 2.0f, 4.0f};
  nn::Shrink(step, {w});
  EXPECT_EQ(std::vector<float>(w, w + 3), (std::vector<float>{0.25f, 0.5f, 3.0f}));
  float v[] = {2.0f, 2.0f, 2.0f};
  step.momentum = 0.5f;
  nn::SlowVelocity(step, {w, v});
  EXPECT_EQ(std::vector<float>(v, v + 3), (std::vector<float>{1.375f, 1.75f, 2.5f}));
}

TEST(PersonalLayers, TakeTheMemoryThatTheirNetSays) {
  static float vectors[kShared + 3 * (kShared + kOwn)];
  static std::byte workspace[ClientWorkspaceBytes<SplitNet, 4>()];
  const ClientBuffers buffers = MakeClientBuffers<SplitNet, 4>(vectors, workspace);
  PersonalBench bench;
  ClientConfig config;
  static_cast<LocalDevice&>(config) = bench.device;
  config.port.now_ms = [](void*) -> uint64_t { return 0; };
  size_t needed = 0;
  EXPECT_EQ(Client::Check(config, buffers, &needed), Status::kOk);
  const uint32_t features = Client::AbilitiesOf(kSplit, buffers).features;
  EXPECT_NE(features & kFeatureMomentum, 0u);
  EXPECT_NE(features & kFeatureClipOfSample, 0u);
  EXPECT_EQ(buffers.base.size(), kShared);
}

TEST(PersonalLayers, ArePartOfAPrediction) {
  std::vector<float> all(kSplit.trained(), 0.1f);
  float scratch[PredictFloats<SplitNet>()];
  const float features[5] = {};
  float outputs[3];
  EXPECT_EQ(Predict(kSplit, Span<const float>(all.data(), all.size()), features, scratch, outputs),
            Status::kOk);
  EXPECT_EQ(Predict(kSplit, Span<const float>(all.data(), kShared), features, scratch, outputs),
            Status::kInvalidArgument);
}

struct TwoPages {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(2 * 256, 0xff);

  static Status ReadPage(void* self, uint32_t page, size_t offset, MutableByteSpan out) {
    const auto& bytes = static_cast<TwoPages*>(self)->bytes;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(256 * page + offset), out.size(),
                out.begin());
    return Status::kOk;
  }
  static Status ErasePage(void* self, uint32_t page) {
    auto& bytes = static_cast<TwoPages*>(self)->bytes;
    std::fill_n(bytes.begin() + 256 * page, 256, uint8_t{0xff});
    return Status::kOk;
  }
  static Status ProgramPage(void* self, uint32_t page, size_t offset, ByteSpan in) {
    auto& bytes = static_cast<TwoPages*>(self)->bytes;
    std::copy(in.begin(), in.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(256 * page + offset));
    return Status::kOk;
  }
};

// As a board has them: two separate pages of flash.
TEST(PersonalLayers, HavePagesOfTheirOwn) {
  TwoPages flash;
  const PageMemory memory = {
      TwoPages::ReadPage,  TwoPages::ErasePage, TwoPages::ProgramPage, &flash, 256, 0xff,
      StoreSlot::kPersonal};
  const std::vector<float> values(kOwn, 0.5f);
  {
    PagedStore pages(memory);
    ASSERT_EQ(KeepPersonal(kSplit, pages.store(), {values.data(), values.size()}), Status::kOk);
  }
  PagedStore pages(memory);
  const PersistentStore store = pages.store();
  std::vector<float> loaded(kOwn);
  bool is_kept = false;
  ASSERT_EQ(LoadPersonal(kSplit, store, {loaded.data(), loaded.size()}, &is_kept), Status::kOk);
  EXPECT_TRUE(is_kept);
  EXPECT_EQ(loaded, values);
  uint8_t byte[1];
  size_t size = 0;
  for (const StoreSlot slot : {StoreSlot::kClient, StoreSlot::kPeer}) {
    EXPECT_EQ(store.load(store.context, slot, 0, MutableByteSpan(byte), &size),
              Status::kStoreFailed);
    EXPECT_EQ(pages.Format(slot), Status::kInvalidArgument);
  }
  PageMemory of_ledgers = memory;
  of_ledgers.first = StoreSlot::kClient;
  PagedStore ledgers(of_ledgers);
  const PersistentStore other = ledgers.store();
  EXPECT_EQ(other.load(other.context, StoreSlot::kPersonal, 0, MutableByteSpan(byte), &size),
            Status::kStoreFailed);
}

}  // namespace
}  // namespace sotto
