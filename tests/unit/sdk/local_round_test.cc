// A local round without a server: update, nonce, private noise, and every way to fail.
#include "sotto/local_round.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <new>
#include <vector>

#include "sotto/bytes.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

using Net = nn::Sequential<nn::Dense<5, 3>>;
constexpr ModelInfo kFloat = MakeModelInfo<Net>("float");
constexpr ModelInfo kFixed = MakeModelInfo<nn::FixedPoint<Net>>("fixed");
constexpr uint8_t kDeviceId[] = {'a'};
constexpr uint32_t kSamples = 12;
constexpr size_t kDrawOfBoth = kNonceSize + kKeySize;

// A device, its memory, and a port whose entropy counts its draws.
struct Bench {
  explicit Bench(const ModelInfo& model) : scratch(model.training_floats(model, 4)) {
    device.model = &model;
    device.device_id = kDeviceId;
    device.secret.bytes[0] = 7;
    device.samples = {kSamples, Read, this};
    device.port.entropy = Entropy;
    device.port.context = this;
    task.quantizer_scale = 0.001f;
    task.training.clip_l2 = 0.01f;  // half of what the training moves
    task.training.batch_size = 4;
  }

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    const auto* self = static_cast<const Bench*>(context);
    for (size_t i = 0; i < features.size(); ++i) {
      features[i] = self->feature_scale * static_cast<float>((index + i) % 4);
    }
    *label = self->label + index % 3;
    return self->read_status;
  }

  static Status Entropy(void* context, MutableByteSpan out) {
    auto* self = static_cast<Bench*>(context);
    self->draws.push_back(out.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(self->draws.size() + i);
    return self->entropy_status;
  }

  LocalRoundBuffers buffers() {
    return {{base.data(), base.size()},
            {update.data(), update.size()},
            {scratch.data(), scratch.size()},
            indices,
            {},
            {},
            {ahead.data(), ahead.size()}};
  }

  // One round; the encoded update, read in pieces of `piece` bytes.
  Status Run(LocalRound& round, size_t piece, std::vector<uint8_t>* encoded) {
    memory = buffers();
    if (Status s = round.Begin(task, device, memory); s != Status::kOk) return s;
    for (bool done = false; !done;) {
      if (Status s = round.Step(&done); s != Status::kOk) return s;
    }
    return ReadAll(round, piece, encoded);
  }

  static Status ReadAll(LocalRound& round, size_t piece, std::vector<uint8_t>* encoded) {
    std::vector<uint8_t> bytes(piece);
    for (bool is_last = false; !is_last;) {
      size_t written = 0;
      if (Status s = round.Read({bytes.data(), piece}, &written, &is_last); s != Status::kOk) {
        return s;
      }
      encoded->insert(encoded->end(), bytes.begin(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(written));
    }
    return Status::kOk;
  }

  TrainTask task;
  LocalDevice device;
  LocalRoundBuffers memory;
  std::vector<float> base = std::vector<float>(Net::kParameters, 0.05f);
  std::vector<float> update = std::vector<float>(Net::kParameters);
  std::vector<float> scratch;
  uint32_t indices[4] = {};
  std::vector<uint8_t> ahead;  // memory for the encoded update
  float feature_scale = 0.3f;
  uint32_t label = 0;  // of the first class
  Status read_status = Status::kOk;
  Status entropy_status = Status::kOk;
  std::vector<size_t> draws;
};

std::vector<int32_t> Clipped(const LocalRound& round) {
  std::vector<int32_t> v(Net::kParameters);
  EXPECT_EQ(round.ClippedUpdate({v.data(), v.size()}), Status::kOk);
  return v;
}

// The key under which a round encoded its update.
Key RoundKey(const Bench& bench, const LocalRound& round) {
  Key key;
  const TrainTask& task = bench.task;
  EXPECT_EQ(DeriveRoundKey(bench.device.secret,
                           {task.job_id, kDeviceId, task.round, task.attempt, round.nonce()}, &key),
            Status::kOk);
  return key;
}

// Without a message: base in, update out. The decoded values are the clipped update and noise.
TEST(LocalRound, EncodesTheClippedUpdateUnderTheKeyOfItsNonce) {
  for (const ModelInfo* model : {&kFloat, &kFixed}) {
    Bench bench(*model);
    LocalRound round;
    std::vector<uint8_t> encoded;
    ASSERT_EQ(bench.Run(round, 7, &encoded), Status::kOk);
    std::vector<int32_t> noisy(Net::kParameters);
    ASSERT_EQ(DecodeUpdate(RoundKey(bench, round), bench.task.format, View(encoded),
                           {noisy.data(), noisy.size()}),
              Status::kOk);
    const std::vector<int32_t> clipped = Clipped(round);
    double squares = 0;
    for (size_t i = 0; i < noisy.size(); ++i) {
      EXPECT_LT(std::fabs(noisy[i] - clipped[i]), 6 * 0x1p20) << "noise of deviation 1";
      squares += std::pow(clipped[i] * 0x1p-20, 2);
    }
    const float bound = bench.task.training.clip_l2 / bench.task.quantizer_scale;
    EXPECT_LE(std::sqrt(squares), bound);
    EXPECT_GT(std::sqrt(squares), 0.9 * bound) << "this training is clipped";
    EXPECT_TRUE(round.clipped());
  }
}

TEST(LocalRound, RepeatsTheSameBytesFromAnyOffset) {
  for (const Coding coding : {Coding::kRange, Coding::kFixed, Coding::kFloat32}) {
    Bench bench(kFloat);
    bench.task.format.coding = coding;
    LocalRound round;
    std::vector<uint8_t> encoded;
    ASSERT_EQ(bench.Run(round, 12, &encoded), Status::kOk);
    EXPECT_EQ(round.position(), encoded.size());
    for (size_t offset = 0; offset < encoded.size(); offset += 4) {
      ASSERT_EQ(round.Seek(static_cast<uint32_t>(offset)), Status::kOk);
      EXPECT_EQ(round.position(), offset);
      std::vector<uint8_t> again;
      ASSERT_EQ(Bench::ReadAll(round, 4, &again), Status::kOk);
      EXPECT_EQ(again, std::vector<uint8_t>(encoded.begin() + static_cast<std::ptrdiff_t>(offset),
                                            encoded.end()));
    }
    const auto size = static_cast<uint32_t>(encoded.size());
    EXPECT_EQ(round.Seek(size + 1), Status::kInvalidArgument);
    if (coding == Coding::kFloat32) {
      EXPECT_EQ(round.Seek(2), Status::kInvalidArgument);
    }
  }
}

Salt SaltOf(uint8_t fill) {
  Salt salt;
  salt.is_there = true;
  std::fill(std::begin(salt.bytes), std::end(salt.bytes), fill);
  return salt;
}

// A server that could change the salt of an update would see it under two noises.
TEST(LocalRound, AnUpdateHasOneSaltWhateverTheServerSays) {
  Bench bench(kFloat);
  LocalRound round;
  EXPECT_EQ(round.SetSalt(SaltOf(1)), Status::kWrongState) << "no update yet";
  std::vector<uint8_t> unsalted;
  ASSERT_EQ(bench.Run(round, 64, &unsalted), Status::kOk);
  EXPECT_EQ(round.SetSalt({}), Status::kOk);
  EXPECT_EQ(round.SetSalt(SaltOf(1)), Status::kMalformed) << "it is encoded without one";

  ASSERT_EQ(round.Begin(bench.task, bench.device, bench.memory), Status::kOk);
  for (bool done = false; !done;) ASSERT_EQ(round.Step(&done), Status::kOk);
  ASSERT_EQ(round.SetSalt(SaltOf(1)), Status::kOk);
  EXPECT_EQ(round.SetSalt(SaltOf(1)), Status::kOk) << "after a cut link";
  EXPECT_EQ(round.SetSalt(SaltOf(2)), Status::kMalformed);
  EXPECT_EQ(round.SetSalt({}), Status::kMalformed);
  std::vector<uint8_t> encoded;
  ASSERT_EQ(Bench::ReadAll(round, 64, &encoded), Status::kOk);
  const Salt salt = SaltOf(1);
  Key key;
  ASSERT_EQ(DeriveRoundKey(bench.device.secret,
                           {bench.task.job_id, kDeviceId, bench.task.round, bench.task.attempt,
                            round.nonce(), salt.view()},
                           &key),
            Status::kOk);
  std::vector<int32_t> noisy(Net::kParameters);
  ASSERT_EQ(DecodeUpdate(key, bench.task.format, View(encoded), {noisy.data(), noisy.size()}),
            Status::kOk);
  const std::vector<int32_t> clipped = Clipped(round);
  for (size_t i = 0; i < noisy.size(); ++i) {
    EXPECT_LT(std::fabs(noisy[i] - clipped[i]), 6 * 0x1p20) << "noise of deviation 1";
  }
}

// None, too little and enough.
TEST(LocalRound, MemoryForTheEncodedUpdateDoesNotChangeItsBytes) {
  for (const Coding coding : {Coding::kRange, Coding::kFixed, Coding::kFloat32}) {
    std::vector<uint8_t> expected;
    for (const size_t room : {0, 5, 4096}) {
      Bench bench(kFloat);
      bench.task.format.coding = coding;
      bench.ahead.resize(room);
      LocalRound round;
      std::vector<uint8_t> encoded;
      ASSERT_EQ(bench.Run(round, 12, &encoded), Status::kOk);
      if (room == 0) expected = encoded;
      EXPECT_EQ(encoded, expected) << room;
      ASSERT_EQ(round.Seek(4), Status::kOk);
      std::vector<uint8_t> again;
      ASSERT_EQ(Bench::ReadAll(round, 8, &again), Status::kOk);
      EXPECT_EQ(again, std::vector<uint8_t>(expected.begin() + 4, expected.end()));
      const auto size = static_cast<uint32_t>(encoded.size());
      EXPECT_EQ(round.Seek(size + 1), Status::kInvalidArgument);
    }
  }
}

// The update's memory may change once it is encoded: nothing is computed while it is sent.
TEST(LocalRound, AnUpdateThatIsEncodedAheadIsNotReadAgain) {
  Bench bench(kFloat);
  LocalRound round;
  std::vector<uint8_t> expected;
  ASSERT_EQ(bench.Run(round, 12, &expected), Status::kOk);
  Bench ahead(kFloat);
  ahead.ahead.resize(4096);
  LocalRound other;
  std::vector<uint8_t> encoded;
  ASSERT_EQ(ahead.Run(other, 12, &encoded), Status::kOk);
  for (float& value : ahead.update) value = 9;
  encoded.clear();
  ASSERT_EQ(other.Seek(0), Status::kOk);
  ASSERT_EQ(Bench::ReadAll(other, 12, &encoded), Status::kOk);
  EXPECT_EQ(encoded, expected);
}

// Before each of its mini-batches.
TEST(LocalRound, ATrainingThatIsGivenUpFailsAndSendsZeros) {
  for (const uint32_t steps : {0, 1, 2}) {
    Bench bench(kFloat);
    bench.memory = bench.buffers();
    LocalRound round;
    bool done = false;
    EXPECT_EQ(round.GiveUpTraining(&done), Status::kWrongState);
    ASSERT_EQ(round.Begin(bench.task, bench.device, bench.memory), Status::kOk);
    for (uint32_t i = 0; i < steps; ++i) ASSERT_EQ(round.Step(&done), Status::kOk);
    ASSERT_FALSE(done);
    ASSERT_EQ(round.GiveUpTraining(&done), Status::kOk);
    EXPECT_TRUE(done);
    EXPECT_EQ(round.failure(), Status::kTooLate);
    EXPECT_EQ(round.steps(), steps);
    EXPECT_TRUE(round.clipped());
    EXPECT_EQ(bench.update, std::vector<float>(Net::kParameters, 0.0f));
    std::vector<uint8_t> encoded;
    ASSERT_EQ(Bench::ReadAll(round, 64, &encoded), Status::kOk);
    std::vector<int32_t> noisy(Net::kParameters);
    ASSERT_EQ(DecodeUpdate(RoundKey(bench, round), bench.task.format, View(encoded),
                           {noisy.data(), noisy.size()}),
              Status::kOk);
    EXPECT_NE(noisy, std::vector<int32_t>(Net::kParameters, 0)) << "it has the noise";
    EXPECT_EQ(round.GiveUpTraining(&done), Status::kWrongState) << "the training is over";
  }
}

// Under the nonce that the server knows; nobody saw a byte of the discarded encoding.
TEST(LocalRound, AnUpdateThatIsTooLongIsReplacedByZeros) {
  for (const uint32_t room : {0, 4096}) {
    for (const uint32_t length : {3, 200}) {
      Bench bench(kFloat);
      bench.ahead.resize(room);
      bench.task.format.length = length;
      const bool fits = length == 200;
      LocalRound round;
      std::vector<uint8_t> encoded;
      ASSERT_EQ(bench.Run(round, 7, &encoded), Status::kOk);
      EXPECT_EQ(encoded.size(), length);
      EXPECT_EQ(bench.draws.size(), 1u) << "the nonce that was announced";
      EXPECT_EQ(round.failure(), fits ? Status::kOk : Status::kBufferTooSmall);
      EXPECT_EQ(bench.update == std::vector<float>(Net::kParameters, 0.0f), !fits);
      std::vector<int32_t> noisy(Net::kParameters);
      ASSERT_EQ(DecodeUpdate(RoundKey(bench, round), bench.task.format, View(encoded),
                             {noisy.data(), noisy.size()}),
                Status::kOk);
      EXPECT_NE(noisy, std::vector<int32_t>(Net::kParameters, 0)) << "it has the noise";
    }
  }
}

TEST(LocalRound, ZerosThatAreTooLongAreNotSent) {
  Bench bench(kFloat);
  bench.task.format.length = 1;
  bench.task.clip_bit_q20 = 8 << 20;  // so zeros have a code
  LocalRound round;
  std::vector<uint8_t> encoded;
  EXPECT_EQ(bench.Run(round, 7, &encoded), Status::kBufferTooSmall);
  EXPECT_TRUE(encoded.empty());
}

TEST(LocalRound, DrawsNonceAndNoiseSeedInOneCall) {
  Bench bench(kFloat);
  LocalRound round;
  std::vector<uint8_t> first, second;
  ASSERT_EQ(bench.Run(round, 64, &first), Status::kOk);
  EXPECT_EQ(bench.draws, std::vector<size_t>{kNonceSize});
  EXPECT_EQ(round.private_updates(), 0u);
  bench.task.private_noise_q20 = 1 << 20;
  ASSERT_EQ(bench.Run(round, 64, &second), Status::kOk);
  EXPECT_EQ(bench.draws, (std::vector<size_t>{kNonceSize, kDrawOfBoth}));
  EXPECT_EQ(round.private_updates(), 1u);
  EXPECT_EQ(round.nonce()[0], 2) << "the first bytes of the draw";
}

// What the noise is drawn from is the rest of the draw, and the nonce is not part of it.
TEST(LocalRound, PrivateNoiseIsThatOfTheDrawnSeed) {
  Bench bench(kFloat);
  bench.task.private_noise_q20 = 5 << 20;
  LocalRound round;
  std::vector<uint8_t> encoded;
  ASSERT_EQ(bench.Run(round, 64, &encoded), Status::kOk);
  Key seed;
  for (size_t i = 0; i < kKeySize; ++i) seed.bytes[i] = static_cast<uint8_t>(1 + kNonceSize + i);
  UpdateEncoder encoder;
  ASSERT_EQ(encoder.Begin(RoundKey(bench, round), bench.task.format, bench.memory.update,
                          bench.task.training.clip_l2, bench.task.quantizer_scale, {},
                          PrivateNoise(seed, bench.task.private_noise_q20)),
            Status::kOk);
  std::vector<uint8_t> expected(encoded.size() + 1);
  size_t written = 0;
  ASSERT_EQ(encoder.Read({expected.data(), expected.size()}, &written), Status::kOk);
  expected.resize(written);
  EXPECT_EQ(encoded, expected);
}

// A training on data that it cannot use.
struct BadData {
  Status status;  // why it fails
  float feature_scale;
  uint32_t label;
  Status read_status;
};

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr BadData kBadData[] = {
    {Status::kNotFinite, kInfinite, 0, Status::kOk},
    {Status::kNotFinite, std::numeric_limits<float>::quiet_NaN(), 0, Status::kOk},
    {Status::kOutOfRange, 0.3f, Net::kClasses, Status::kOk},
    {Status::kSampleFailed, 0.3f, 0, Status::kSampleFailed},
    {Status::kWrongState, 0.3f, 0, Status::kWrongState},
    {Status::kCryptoFailed, 0.3f, 0, Status::kCryptoFailed},
};

// Only the owner learns it: the training goes on with the nearest numbers.
TEST(LocalRound, CountsTheStepsInWhichFixedPointSaturates) {
  for (const float scale : {0.3f, 1e9f}) {
    Bench bench(kFixed);
    bench.feature_scale = scale;
    LocalRound round;
    std::vector<uint8_t> encoded;
    ASSERT_EQ(bench.Run(round, 64, &encoded), Status::kOk);
    EXPECT_EQ(round.failure(), Status::kOk);
    EXPECT_EQ(round.saturated_steps() > 0, scale > 1);
  }
}

// Whether a device reports does not depend on its data, in any mode.
TEST(LocalRound, ATrainingThatFailsGivesAnUpdateOfZeros) {
  for (const ModelInfo* model : {&kFloat, &kFixed}) {
    for (const BadData& data : kBadData) {
      for (const uint32_t private_noise : {0, 1 << 20}) {
        Bench bench(*model);
        bench.feature_scale = data.feature_scale;
        bench.label = data.label;
        bench.read_status = data.read_status;
        bench.task.private_noise_q20 = private_noise;
        LocalRound round;
        std::vector<uint8_t> encoded;
        ASSERT_EQ(bench.Run(round, 64, &encoded), Status::kOk) << StatusName(data.status);
        EXPECT_EQ(round.failure(), data.status);
        EXPECT_EQ(bench.update, std::vector<float>(Net::kParameters, 0.0f));
        EXPECT_EQ(Clipped(round), std::vector<int32_t>(Net::kParameters, 0));
        EXPECT_EQ(round.private_updates(), private_noise == 0 ? 0u : 1u);
        bool done = false;
        EXPECT_EQ(round.Step(&done), Status::kWrongState) << "the training is over";
      }
    }
  }
}

TEST(LocalRound, ATrainingThatFailsSendsZerosWithoutNoiseToo) {
  Bench bench(kFloat);
  bench.feature_scale = kInfinite;
  bench.task.format.coding = Coding::kFloat32;
  LocalRound round;
  std::vector<uint8_t> encoded;
  ASSERT_EQ(bench.Run(round, 64, &encoded), Status::kOk);
  EXPECT_EQ(encoded, std::vector<uint8_t>(4 * Net::kParameters, 0));
}

// The bit is +-8 deviations of its noise.
TEST(LocalRound, ATrainingThatFailsCountsAsClipped) {
  for (const bool fails : {false, true}) {
    Bench bench(kFloat);
    bench.feature_scale = fails ? kInfinite : 1e-6f;
    bench.task.training.clip_l2 = 1;
    bench.task.clip_bit_q20 = 8 << 20;
    LocalRound round;
    std::vector<uint8_t> encoded;
    ASSERT_EQ(bench.Run(round, 64, &encoded), Status::kOk);
    EXPECT_EQ(round.clipped(), fails);
    std::vector<int32_t> noisy(Net::kParameters + 1);
    ASSERT_EQ(DecodeUpdate(RoundKey(bench, round), bench.task.format, View(encoded),
                           {noisy.data(), noisy.size()}),
              Status::kOk);
    EXPECT_EQ(noisy.back() < 0, fails);
  }
}

TEST(LocalRound, WithoutSamplesTheUpdateIsZerosAndNotClipped) {
  for (const ModelInfo* model : {&kFloat, &kFixed}) {
    Bench bench(*model);
    bench.device.samples.count = 0;
    LocalRound round;
    std::vector<uint8_t> encoded;
    ASSERT_EQ(bench.Run(round, 64, &encoded), Status::kOk);
    EXPECT_EQ(round.failure(), Status::kOk);
    EXPECT_FALSE(round.clipped());
    EXPECT_EQ(round.mean_loss(), 0.0f);
    EXPECT_EQ(Clipped(round), std::vector<int32_t>(Net::kParameters, 0));
  }
}

TEST(LocalRound, AGoodRoundAfterABadOneIsGood) {
  Bench bench(kFloat);
  LocalRound round;
  std::vector<uint8_t> encoded;
  bench.read_status = Status::kSampleFailed;
  ASSERT_EQ(bench.Run(round, 64, &encoded), Status::kOk);
  bench.read_status = Status::kOk;
  ASSERT_EQ(bench.Run(round, 64, &encoded), Status::kOk);
  EXPECT_EQ(round.failure(), Status::kOk);
  EXPECT_NE(Clipped(round), std::vector<int32_t>(Net::kParameters, 0));
}

TEST(LocalRound, HasNothingToReadBeforeTheUpdateOrAfterWipe) {
  for (const Coding coding : {Coding::kRange, Coding::kFloat32}) {
    Bench bench(kFloat);
    bench.task.format.coding = coding;
    LocalRound round;
    const auto has_nothing = [&] {
      uint8_t bytes[64];
      size_t written = 0;
      bool is_last = false;
      EXPECT_EQ(round.Read(bytes, &written, &is_last), Status::kWrongState);
      EXPECT_EQ(round.Seek(0), Status::kWrongState);
      std::vector<int32_t> v(Net::kParameters);
      EXPECT_EQ(round.ClippedUpdate({v.data(), v.size()}), Status::kWrongState);
    };
    has_nothing();
    bench.memory = bench.buffers();
    ASSERT_EQ(round.Begin(bench.task, bench.device, bench.memory), Status::kOk);
    has_nothing();
    bool done = false;
    ASSERT_EQ(round.Step(&done), Status::kOk);
    ASSERT_FALSE(done);
    has_nothing();
    while (!done) ASSERT_EQ(round.Step(&done), Status::kOk);
    EXPECT_EQ(round.Seek(0), Status::kOk);
    round.Wipe();
    has_nothing();
  }
}

TEST(LocalRound, LeavesNoSeedInItsMemory) {
  Bench bench(kFloat);
  bench.task.private_noise_q20 = 1 << 20;
  alignas(LocalRound) uint8_t memory[sizeof(LocalRound)];
  auto* round = new (memory) LocalRound;
  std::vector<uint8_t> encoded;
  ASSERT_EQ(bench.Run(*round, 64, &encoded), Status::kOk);
  uint8_t seed[kKeySize];  // as Bench::Entropy() filled it
  for (size_t i = 0; i < kKeySize; ++i) seed[i] = static_cast<uint8_t>(1 + kNonceSize + i);
  const auto holds_seed = [&] {
    return std::search(memory, memory + sizeof(memory), seed, seed + 8) != memory + sizeof(memory);
  };
  EXPECT_TRUE(holds_seed());
  round->~LocalRound();
  EXPECT_FALSE(holds_seed());
}

TEST(LocalRound, RefusesWhatItCannotRun) {
  Bench bench(kFloat);
  bench.memory = bench.buffers();
  LocalRound round;
  const auto begin = [&](auto change) {
    Bench other(kFloat);
    other.memory = other.buffers();
    change(other);
    return round.Begin(other.task, other.device, other.memory);
  };
  EXPECT_EQ(begin([](Bench& s) { s.device.model = nullptr; }), Status::kInvalidArgument);
  EXPECT_EQ(begin([](Bench& s) { s.device.device_id = {}; }), Status::kInvalidArgument);
  EXPECT_EQ(begin([](Bench& s) { s.device.samples.read = nullptr; }), Status::kInvalidArgument);
  EXPECT_EQ(begin([](Bench& s) { s.device.port.entropy = nullptr; }), Status::kInvalidArgument);
  EXPECT_EQ(begin([](Bench& s) { s.task.quantizer_scale = 0; }), Status::kMalformed);
  EXPECT_EQ(begin([](Bench& s) { s.task.training.batch_size = 5; }), Status::kBufferTooSmall);
  EXPECT_EQ(begin([](Bench& s) { s.entropy_status = Status::kEntropyFailed; }),
            Status::kEntropyFailed);
  bool done = false;
  EXPECT_EQ(round.Step(&done), Status::kWrongState);
}

// An autoencoder whose error of a sample is a third of the square of its third number.
using Repeats = nn::Sequential<nn::Dense<3, 3>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
using Foretells = nn::Sequential<nn::Dense<3, 2>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
constexpr ModelInfo kRepeats = MakeModelInfo<Repeats>("repeats");
constexpr ModelInfo kFixedRepeats = MakeModelInfo<nn::FixedPoint<Repeats>>("fixed-repeats");
constexpr ModelInfo kForetells = MakeModelInfo<Foretells>("foretells");

struct MeasuringBench {
  explicit MeasuringBench(const ModelInfo& model) : scratch(model.training_floats(model, 1)) {
    device.model = &model;
    device.device_id = kDeviceId;
    device.samples = {static_cast<uint32_t>(thirds.size()), Read, this, ReadVector};
    device.port.entropy = Bench::Entropy;
    device.port.context = &bench;
    task.quantizer_scale = 0.001f;
    task.training.clip_l2 = 0.5f;
    task.training.batch_size = 3;
    StoreU32Le(FloatBits(0.01f), edges);
    StoreU32Le(FloatBits(1.0f), edges + 4);
    task.error_edges = ErrorEdges(edges);
    base.assign(model.parameters, 0.0f);
    base[0] = base[4] = 1.0f;
  }

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t*) {
    const auto* self = static_cast<const MeasuringBench*>(context);
    features[0] = 0.5f;
    features[1] = -0.25f;
    features[2] = self->thirds[index];
    return index == self->bad ? Status::kInvalidArgument : Status::kOk;
  }
  static Status ReadVector(void* context, uint32_t index, Span<float> features,
                           Span<float> target) {
    target[0] = 0.5f;
    target[1] = -0.25f + (index == 0 ? 1.0f : 0.0f);
    return Read(context, index, features, nullptr);
  }
  static Status ReadHeldOut(void*, uint32_t, Span<float> features, uint32_t*) {
    for (float& feature : features) feature = 0.25f;
    features[2] = 9.0f;
    return Status::kOk;
  }

  // The first coordinates of the update, over clip_l2: the histogram.
  std::vector<float> Run(LocalRound* round) {
    update.assign(base.size(), 7.0f);
    buffers = {{base.data(), base.size()},
               {update.data(), update.size()},
               {scratch.data(), scratch.size()},
               indices};
    const Status begun = round->Begin(task, device, buffers);
    EXPECT_EQ(begun, Status::kOk);
    if (begun != Status::kOk) return {};
    for (bool done = false; !done;) {
      EXPECT_EQ(round->Step(&done), Status::kOk);
      ++steps;
    }
    for (size_t i = 3; i < update.size(); ++i) EXPECT_EQ(update[i], 0.0f) << i;
    return {update[0] / 0.5f, update[1] / 0.5f, update[2] / 0.5f};
  }
  std::vector<float> Run() {
    LocalRound round;
    return Run(&round);
  }

  Bench bench{kFloat};
  uint8_t edges[8] = {};
  TrainTask task;
  LocalDevice device;
  LocalRoundBuffers buffers;
  // Errors 0, a third of 0.01, 0.01 of a first bin; 0.75 and 1.08; a gradient without an end.
  std::vector<float> thirds = {0.0f, 0.1f, 0.1f, 1.5f, 1.8f, 1e20f, 0.0f, 0.05f};
  uint32_t bad = 1000;
  std::vector<float> base;
  std::vector<float> update;
  std::vector<float> scratch;
  uint32_t indices[1] = {};
  int steps = 0;
};

using Histogram = std::vector<float>;

TEST(MeasuringRound, IsTheHistogramOfTheDevicesErrors) {
  MeasuringBench bench(kRepeats);
  LocalRound round;
  EXPECT_EQ(bench.Run(&round), (Histogram{0.625f, 0.125f, 0.25f}));
  EXPECT_EQ(bench.steps, 3) << "three samples a step";
  EXPECT_EQ(round.failure(), Status::kOk);
  EXPECT_FALSE(round.clipped());
  EXPECT_EQ(round.steps(), 0u);
  MeasuringBench vectors(kForetells);
  vectors.base.assign(kForetells.parameters, 0.0f);
  vectors.base[0] = vectors.base[4] = 1.0f;
  EXPECT_EQ(vectors.Run(), (Histogram{0.875f, 0.125f, 0.0f}));
}

// In fixed point outputs and differences saturate, and the large sample with them.
TEST(MeasuringRound, MeasuresInFixedPointToo) {
  MeasuringBench bench(kFixedRepeats);
  bench.thirds[5] = 20.0f;
  EXPECT_EQ(bench.Run(), (Histogram{0.625f, 0.125f, 0.25f}));
}

TEST(MeasuringRound, TakesHeldOutSamplesIfThereAreSome) {
  MeasuringBench bench(kRepeats);
  HeldOut held_out = MakeHeldOut({4, MeasuringBench::ReadHeldOut, nullptr});
  bench.device.held_out = &held_out;
  EXPECT_EQ(bench.Run(), (Histogram{0.0f, 0.0f, 1.0f}));
  held_out.samples.count = 0;
  EXPECT_EQ(bench.Run(), (Histogram{0.625f, 0.125f, 0.25f}));
}

TEST(MeasuringRound, SendsZerosWithoutSamplesAndAfterAFailure) {
  MeasuringBench bench(kRepeats);
  bench.bad = 4;
  LocalRound round;
  EXPECT_EQ(bench.Run(&round), (Histogram{0.0f, 0.0f, 0.0f}));
  EXPECT_EQ(round.failure(), Status::kInvalidArgument);
  EXPECT_TRUE(round.clipped());
  bench.device.samples.count = 0;
  EXPECT_EQ(bench.Run(&round), (Histogram{0.0f, 0.0f, 0.0f}));
  EXPECT_EQ(round.failure(), Status::kOk);
  bench.device.samples.count = 8;
  bench.bad = 1000;
  bool done = false;
  ASSERT_EQ(round.Begin(bench.task, bench.device, bench.buffers), Status::kOk);
  ASSERT_EQ(round.Step(&done), Status::kOk);
  ASSERT_FALSE(done);
  ASSERT_EQ(round.GiveUpTraining(&done), Status::kOk);
  EXPECT_TRUE(done);
  EXPECT_EQ(round.failure(), Status::kTooLate);
  EXPECT_EQ(bench.update, std::vector<float>(bench.update.size()));
}

TEST(MeasuringRound, IsRefusedByAModelWithoutErrorsOrWithPersonalLayersAndWithTooManyBins) {
  using Own = nn::Sequential<nn::Dense<3, 3>, nn::Personal<nn::Dense<3, 3>>,
                             nn::MeanSquaredError<nn::TargetKind::kInput>>;
  constexpr ModelInfo kOwn = MakeModelInfo<Own>("own");
  LocalDevice device;
  for (const ModelInfo* model : {&kFloat, &kFixed, &kOwn}) {
    device.model = model;
    EXPECT_FALSE(device.CanMeasure()) << model->name;
  }
  device.model = &kForetells;
  EXPECT_TRUE(device.CanMeasure());
  using Small = nn::Sequential<nn::Dense<1, 1>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
  constexpr ModelInfo kSmall = MakeModelInfo<Small>("small");
  MeasuringBench bench(kRepeats);
  bench.Run();
  bench.device.model = &kSmall;
  LocalRound round;
  EXPECT_EQ(round.Begin(bench.task, bench.device, bench.buffers), Status::kMalformed) << "3 bins";
  const std::vector<uint8_t> too_many(4 * (kMaxErrorEdges + 1));
  bench.task.error_edges = ErrorEdges({too_many.data(), too_many.size()});
  EXPECT_EQ(round.Begin(bench.task, bench.device, bench.buffers), Status::kMalformed);
}

}  // namespace
}  // namespace sotto
