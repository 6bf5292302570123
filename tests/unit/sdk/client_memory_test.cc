// The memory of a client: what a model needs, what a device can do with what it has, and what
// Client::Check() says of it before use.
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "sotto/client.h"
#include "sotto/models.h"

namespace sotto {
namespace {

using nn::Dense;
using nn::FixedPoint;
using nn::Input;
using nn::MeanSquaredError;
using nn::OneVsAll;
using nn::Relu;
using nn::Sequential;
using nn::Tanh;
using nn::TargetKind;

using Detector = Sequential<Dense<64, 8>, Tanh, Dense<8, 64>, MeanSquaredError<TargetKind::kInput>>;
using Regression = Sequential<Dense<30, 20>, Relu, Dense<20, 3>, MeanSquaredError<>>;
using Logistic = Sequential<Dense<50, 10>, OneVsAll>;
using Windows = Sequential<Input<32, 3>, nn::Conv1d<8, 5>, Relu, nn::Flatten, Dense<224, 4>>;

constexpr uint8_t kDeviceId[] = {'a'};

Status Read(void*, uint32_t, Span<float>, uint32_t*) { return Status::kOk; }
Status ReadVector(void*, uint32_t, Span<float>, Span<float>) { return Status::kOk; }
Status Entropy(void*, MutableByteSpan) { return Status::kOk; }
uint64_t Now(void*) { return 0; }

ClientConfig ConfigOf(const ModelInfo& model) {
  ClientConfig config;
  config.model = &model;
  config.device_id = kDeviceId;
  config.samples = {1, Read, nullptr, ReadVector};
  config.port = {Now, Entropy, nullptr};
  return config;
}

// A client's memory on the heap, as MakeClientBuffers() lays it out in static memory.
template <class Net, uint32_t max_batch_size>
struct Memory {
  static constexpr size_t kBytes = ClientWorkspaceBytes<Net, max_batch_size>();

  explicit Memory(size_t vector_count = 2)
      : vectors(vector_count * Net::kParameters), workspace(new std::byte[kBytes]) {}

  ClientBuffers buffers() {
    return MakeClientBuffers<Net, max_batch_size>({vectors.data(), vectors.size()},
                                                  {workspace.get(), kBytes});
  }

  std::vector<float> vectors;
  std::unique_ptr<std::byte[]> workspace;
};

// What is counted when the program compiles is exactly what the model asks for at run time.
template <class Net, uint32_t max_batch_size>
void ExpectBothCountsAgree() {
  const ModelInfo model = MakeModelInfo<Net>("a");
  const ClientConfig config = ConfigOf(model);
  Memory<Net, max_batch_size> memory;
  ClientBuffers buffers = memory.buffers();
  size_t bytes_needed = 0;
  EXPECT_EQ(Client::Check(config, buffers, &bytes_needed), Status::kOk);
  EXPECT_EQ(bytes_needed, sizeof(float) * buffers.scratch.size());
  EXPECT_EQ(Client::AbilitiesOf(model, buffers).largest_batch, max_batch_size);
  buffers.scratch = buffers.scratch.first(buffers.scratch.size() - 1);
  EXPECT_EQ(Client::Check(config, buffers, &bytes_needed), Status::kBufferTooSmall);
  EXPECT_LT(Client::AbilitiesOf(model, buffers).largest_batch, max_batch_size);
}

template <class Net>
void ExpectBothCountsAgreeForAnyBatch() {
  ExpectBothCountsAgree<Net, 1>();
  ExpectBothCountsAgree<Net, 2>();
  ExpectBothCountsAgree<Net, 10>();
  ExpectBothCountsAgree<Net, 16>();
}

TEST(ClientMemory, TheWorkspaceIsWhatTheModelNeedsForEachNetBatchAndLoss) {
  ExpectBothCountsAgreeForAnyBatch<Softmax64x10>();
  ExpectBothCountsAgreeForAnyBatch<Softmax784x10>();
  ExpectBothCountsAgreeForAnyBatch<FixedPoint<Softmax64x10>>();
  ExpectBothCountsAgreeForAnyBatch<Mlp>();
  ExpectBothCountsAgreeForAnyBatch<LeNet>();
  ExpectBothCountsAgreeForAnyBatch<FixedMlp>();
  ExpectBothCountsAgreeForAnyBatch<FixedLeNet>();
  ExpectBothCountsAgreeForAnyBatch<SmallCnn>();
  ExpectBothCountsAgreeForAnyBatch<CharLstmSmall>();
  ExpectBothCountsAgreeForAnyBatch<Motion>();
  ExpectBothCountsAgreeForAnyBatch<Detector>();
  ExpectBothCountsAgreeForAnyBatch<Regression>();
  ExpectBothCountsAgreeForAnyBatch<Logistic>();
  ExpectBothCountsAgreeForAnyBatch<Windows>();
}

// Around batches for which the gradient of a layer is kept in another way, too.
TEST(ClientMemory, ALargerBatchNeverNeedsLess) {
  for (const ModelInfo& model : Models()) {
    size_t before = 0;
    for (uint32_t batch = 1; batch <= 1000; ++batch) {
      const size_t floats = model.training_floats(model, batch);
      EXPECT_GE(floats, before) << model.name << " " << batch;
      before = floats;
    }
  }
}

TEST(ClientMemory, TheLargestBatchIsTheLastThatScratchAndIndicesHold) {
  const ModelInfo& model = *FindModel("mlp");
  std::vector<uint32_t> indices(300);
  std::vector<float> scratch(model.training_floats(model, 200) + 7);
  LocalRoundBuffers buffers;
  buffers.indices = {indices.data(), indices.size()};
  for (size_t size = 0; size <= scratch.size(); size += 97) {
    buffers.scratch = {scratch.data(), size};
    const uint32_t batch = Client::AbilitiesOf(model, buffers).largest_batch;
    EXPECT_TRUE(batch == 0 || model.training_floats(model, batch) <= size) << size;
    EXPECT_TRUE(batch == 300 || model.training_floats(model, batch + 1) > size) << size;
  }
  buffers.indices = {indices.data(), 5};
  EXPECT_EQ(Client::AbilitiesOf(model, buffers).largest_batch, 5u);
  buffers.indices = {};
  EXPECT_EQ(Client::AbilitiesOf(model, buffers).largest_batch, 0u);
}

struct CheckTest : testing::Test {
  using Net = Softmax64x10;

  // Of the buffers, after a change.
  template <typename Change>
  Status CheckWith(const Change& change) {
    ClientBuffers buffers = memory.buffers();
    change(buffers);
    bytes_needed = 77;
    return Client::Check(config, buffers, &bytes_needed);
  }

  const ModelInfo model = MakeModelInfo<Net>("a");
  ClientConfig config = ConfigOf(model);
  Memory<Net, 4> memory;
  size_t bytes_needed = 0;
};

TEST_F(CheckTest, VectorsOfAnotherSizeAreInvalidAndNothingIsCounted) {
  const auto smaller = [](auto span) { return span.first(span.size() - 1); };
  const Status statuses[] = {
      CheckWith([&](ClientBuffers& b) { b.base = smaller(b.base); }),
      CheckWith([&](ClientBuffers& b) { b.update = smaller(b.update); }),
      CheckWith([&](ClientBuffers& b) { b.velocity = smaller(b.update); }),
      CheckWith([&](ClientBuffers& b) { b.gradient = smaller(b.update); }),
      CheckWith([&](ClientBuffers& b) { b.writer.write = nullptr; }),
      CheckWith([&](ClientBuffers& b) { b.indices = {}; }),
  };
  for (const Status status : statuses) EXPECT_EQ(status, Status::kInvalidArgument);
  EXPECT_EQ(bytes_needed, 77u);
  config.port.entropy = nullptr;
  EXPECT_EQ(CheckWith([](ClientBuffers&) {}), Status::kInvalidArgument);
}

TEST_F(CheckTest, TooLittleScratchOrChunkIsTooSmallAndTheNeedIsCounted) {
  EXPECT_EQ(CheckWith([](ClientBuffers& b) { b.scratch = b.scratch.first(3); }),
            Status::kBufferTooSmall);
  EXPECT_EQ(bytes_needed, sizeof(float) * (64 + 4 * 10));
  EXPECT_EQ(CheckWith([](ClientBuffers& b) { b.chunk = b.chunk.first(15); }),
            Status::kBufferTooSmall);
  EXPECT_EQ(CheckWith([](ClientBuffers& b) { b.chunk = b.chunk.first(16); }), Status::kOk);
}

// Features of a softmax regression without more memory.
constexpr uint32_t kAlways = kFeatureSchedule | kFeatureClamping | kFeatureSalt |
                             kFeatureReportTime | kFeatureOneLength | kFeatureDifferences |
                             kFeatureClipByLayer;
constexpr uint32_t kWithoutMemory = kAlways | kFeatureProximal | kFeatureClipOfSample;

// The first request of a client with these buffers.
struct FirstStep {
  FirstStep(const ClientConfig& config, const ClientBuffers& buffers) : client(config, buffers) {
    status = client.Step(&progress);
  }
  const Abilities& abilities() const { return client.request().abilities; }

  Client client;
  Client::Progress progress = Client::Progress::kAgain;
  Status status = Status::kOk;
};

TEST_F(CheckTest, AClientSaysWhatItCanDoAndBeginsOnlyIfItCanTakeASample) {
  ClientBuffers buffers = memory.buffers();
  const FirstStep whole(config, buffers);
  EXPECT_EQ(whole.status, Status::kOk);
  EXPECT_EQ(whole.abilities().largest_batch, 4u);
  EXPECT_EQ(whole.abilities().features, kWithoutMemory);

  buffers.scratch = buffers.scratch.first(64 + 3 * 10 - 1);
  EXPECT_EQ(FirstStep(config, buffers).abilities().largest_batch, 2u);
  buffers.scratch = buffers.scratch.first(64 + 10 - 1);
  EXPECT_EQ(FirstStep(config, buffers).status, Status::kBufferTooSmall);
  buffers = memory.buffers();
  buffers.update = {};
  EXPECT_EQ(FirstStep(config, buffers).status, Status::kInvalidArgument);
}

TEST_F(CheckTest, AThirdVectorIsMomentumUnlessTheModelHasNone) {
  Memory<Net, 4> with_velocity(3);
  const ClientBuffers buffers = with_velocity.buffers();
  EXPECT_EQ(buffers.velocity.data(), with_velocity.vectors.data() + size_t{2} * Net::kParameters);
  EXPECT_EQ(Client::Check(config, buffers, &bytes_needed), Status::kOk);
  EXPECT_EQ(FirstStep(config, buffers).abilities().features, kWithoutMemory | kFeatureMomentum);
  const ModelInfo fixed = MakeModelInfo<FixedPoint<Net>>("a-q");
  config.model = &fixed;
  EXPECT_EQ(Client::Check(config, buffers, &bytes_needed), Status::kOk);
  EXPECT_EQ(FirstStep(config, buffers).abilities().features, kAlways);
}

// The gradient clip of samples needs no memory for a softmax regression; the gradient clip of
// batches needs none for other nets.
TEST_F(CheckTest, AFourthVectorIsTheOtherGradientClip) {
  Memory<Net, 4> with_gradient(4);
  const ClientBuffers buffers = with_gradient.buffers();
  EXPECT_EQ(buffers.gradient.data(), with_gradient.vectors.data() + size_t{3} * Net::kParameters);
  EXPECT_EQ(Client::Check(config, buffers, &bytes_needed), Status::kOk);
  EXPECT_EQ(FirstStep(config, buffers).abilities().features,
            kWithoutMemory | kFeatureMomentum | kFeatureClipOfBatch);
  using Deep = nn::Sequential<nn::Dense<4, 3>, nn::Relu, nn::Dense<3, 2>>;
  static constexpr ModelInfo kDeep = MakeModelInfo<Deep>("deep");
  Memory<Deep, 4> deep(2);
  EXPECT_EQ(Client::AbilitiesOf(kDeep, deep.buffers()).features,
            kAlways | kFeatureProximal | kFeatureClipOfBatch);
  Memory<Deep, 4> deep_with_gradient(4);
  EXPECT_EQ(
      Client::AbilitiesOf(kDeep, deep_with_gradient.buffers()).features,
      kAlways | kFeatureProximal | kFeatureClipOfBatch | kFeatureClipOfSample | kFeatureMomentum);
}

TEST(ClientMemory, AModelElsewhereNeedsNoVectorForItself) {
  using Net = Softmax64x10;
  static float base[Net::kParameters];
  static float vectors[2 * Net::kParameters];
  static std::byte workspace[ClientWorkspaceBytes<Net>()];
  const Span<float> update = Span<float>(vectors).first(Net::kParameters);
  const ClientBuffers without =
      MakeClientBuffers<Net>(Span<const float>(base), WriterTo(base), update, workspace);
  EXPECT_EQ(without.base.data(), base);
  EXPECT_EQ(without.update.data(), vectors);
  EXPECT_TRUE(without.velocity.empty());
  const ClientBuffers with =
      MakeClientBuffers<Net>(Span<const float>(base), WriterTo(base), vectors, workspace);
  EXPECT_EQ(with.velocity.data(), vectors + Net::kParameters);
}

}  // namespace
}  // namespace sotto
