// sotto-bench: what one coordinate of an update costs this machine, in time (this file), and one
// sample of a net (nets.cc).
//
// Every case runs over one update of 100,000 values of deviation 0.1 against the noise's 1, and one
// item is one coordinate or one word of the keystream. The dither comes from the server's engine
// (aggregate/dither_engine.h), which simulated devices use too, unless a case names the device's,
// which is built on Mbed TLS. ratios.sh tabulates. Takes Google Benchmark's options; ends with 1 if
// a case fails.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <random>
#include <vector>

#include "aggregate/accumulator.h"
#include "aggregate/dither_engine.h"
#include "codec/quantized_gaussian.h"
#include "sotto/update_codec.h"

namespace sotto {
namespace {

constexpr uint32_t kCoordinates = 100000;
constexpr float kUnit = 1.0f;
constexpr float kDeviation = 0.1f;
constexpr float kClip = 40.0f;  // above the update's norm, 31.6

bool g_failed = false;

Key RoundKey() {
  Key key;
  key.bytes[0] = 1;
  return key;
}

std::vector<float> MakeUpdate() {
  std::mt19937_64 engine(1);
  std::normal_distribution<float> normal(0.0f, kDeviation);
  std::vector<float> update(kCoordinates);
  for (float& value : update) value = normal(engine);
  return update;
}

const std::vector<float>& Update() {
  static const std::vector<float> update = MakeUpdate();
  return update;
}

UpdateFormat Format(Coding coding) { return {coding, DitherKind::kGaussian, 0}; }

Status Encode(Coding coding, const DitherEngine& engine, std::vector<uint8_t>* encoded) {
  uint64_t words[kMaxDitherBatch];
  UpdateEncoder encoder(engine, words);
  const std::vector<float>& update = Update();
  encoded->resize(MaxUpdateSize(kCoordinates, Format(coding)));
  if (Status s =
          encoder.Begin(RoundKey(), Format(coding), {update.data(), update.size()}, kClip, kUnit);
      s != Status::kOk) {
    return s;
  }
  size_t written = 0;
  if (Status s = encoder.Read({encoded->data(), encoded->size()}, &written); s != Status::kOk) {
    return s;
  }
  encoded->resize(written);
  return Status::kOk;
}

// Runs `body` over all coordinates once an iteration.
template <typename Body>
void Measure(benchmark::State& state, Body body) {
  for (auto _ : state) {
    const Status status = body();
    if (status != Status::kOk) {
      g_failed = true;
      state.SkipWithError(StatusName(status));
      return;
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kCoordinates);
}

// In batches large enough that a call's own cost does not show.
void Keystream(benchmark::State& state, KeystreamFunction keystream) {
  constexpr uint32_t kWords = 800;
  static_assert(kCoordinates % kWords == 0 && kWords % 8 == 0);
  const Key key = RoundKey();
  uint8_t bytes[8 * kWords];
  Measure(state, [&] {
    for (uint32_t first = 0; first < kCoordinates; first += kWords) {
      if (Status s = keystream(key, 0, first / 8, MutableByteSpan(bytes)); s != Status::kOk)
        return s;
      benchmark::DoNotOptimize(bytes[0]);
    }
    return Status::kOk;
  });
}

// Cells as the decoder makes them.
void Cells(benchmark::State& state, const DitherEngine& engine) {
  const Dither dither(RoundKey(), DitherKind::kGaussian, engine);
  uint64_t words[kMaxDitherBatch];
  DitherCell cells[kMaxDitherBatch];
  Measure(state, [&] {
    for (uint32_t first = 0; first < kCoordinates; first += kMaxDitherBatch) {
      const size_t count = std::min(kMaxDitherBatch, kCoordinates - first);
      const Span<uint64_t> used(words, count);
      if (Status s = dither.Generate(first, used); s != Status::kOk) return s;
      if (Status s = dither.SelectAll(first, used, {cells, count}); s != Status::kOk) return s;
      benchmark::DoNotOptimize(cells[0]);
    }
    return Status::kOk;
  });
}

void EncodeUpdate(benchmark::State& state, Coding coding, const DitherEngine& engine) {
  std::vector<uint8_t> encoded;
  Measure(state, [&] { return Encode(coding, engine, &encoded); });
  state.counters["bits"] = 8.0 * static_cast<double>(encoded.size()) / kCoordinates;
}

// As the server does it, or without the bound on the norm.
void DecodeAndAdd(benchmark::State& state, Coding coding, bool bounded) {
  UpdateBound bound;
  bound.max_squares_q40 = MaxSquaresQ40(kClip, kUnit);
  std::vector<uint8_t> encoded;
  if (Encode(coding, {}, &encoded) != Status::kOk) g_failed = true;
  server::Accumulator sum(kCoordinates);
  std::vector<int32_t> noisy(kCoordinates);
  Measure(state, [&] {
    const Status status = DecodeUpdate(RoundKey(), Format(coding), {encoded.data(), encoded.size()},
                                       {noisy.data(), noisy.size()}, server::FastEngine(),
                                       bounded ? &bound : nullptr);
    if (status == Status::kOk) sum.Add(Span<const int32_t>(noisy.data(), noisy.size()));
    return status;
  });
}

// The update as integers of the noise's unit, clipped: where a baseline begins.
Status Scale(std::vector<int32_t>* values) {
  const std::vector<float>& update = Update();
  UpdateScale scale;
  if (Status s = ComputeUpdateScale({update.data(), update.size()}, kClip, kUnit, &scale);
      s != Status::kOk) {
    return s;
  }
  ScaleAllToQ20({update.data(), update.size()}, scale, {values->data(), values->size()});
  return Status::kOk;
}

// What Gau-LRQ is compared with: Gaussian noise, then rounding to one of a few levels, and the
// levels in as many bits as they take. With the keystream that Gau-LRQ uses;
void NoiseThenQuantize(benchmark::State& state) {
  std::vector<int32_t> values(kCoordinates);
  Measure(state, [&] {
    const Status status = Scale(&values);
    benchmark::DoNotOptimize(server::baseline::QuantizedGaussian(TrainTask())
                                 .Encode(RoundKey(), {values.data(), values.size()}));
    return status;
  });
}

// and with the standard library's numbers, which are not for cryptography.
void StandardNoiseThenQuantize(benchmark::State& state) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal(0.0, 0x1p20);
  std::uniform_real_distribution<double> uniform;
  std::vector<int32_t> values(kCoordinates);
  std::vector<double> noisy(kCoordinates);
  std::vector<double> coins(kCoordinates);
  Measure(state, [&] {
    const Status status = Scale(&values);
    for (uint32_t j = 0; j < kCoordinates; ++j) {
      noisy[j] = values[j] + normal(engine);
      coins[j] = uniform(engine);
    }
    benchmark::DoNotOptimize(server::baseline::QuantizedGaussian::EncodeNoisy(
        {noisy.data(), noisy.size()}, {coins.data(), coins.size()}));
    return status;
  });
}

BENCHMARK_CAPTURE(Keystream, mbedtls, ChaCha20Keystream)->Name("keystream, Mbed TLS");
BENCHMARK_CAPTURE(Keystream, sodium, server::FastKeystream)->Name("keystream, libsodium");
BENCHMARK_CAPTURE(Keystream, server, server::FastEngine().keystream)->Name("keystream");
BENCHMARK_CAPTURE(Cells, device, DitherEngine())->Name("dither, device's engine");
BENCHMARK_CAPTURE(Cells, server, server::FastEngine())->Name("dither");
BENCHMARK_CAPTURE(EncodeUpdate, fixed_device, Coding::kFixed, DitherEngine())
    ->Name("encode, fixed, device's engine");
BENCHMARK_CAPTURE(EncodeUpdate, fixed, Coding::kFixed, server::FastEngine())->Name("encode, fixed");
BENCHMARK_CAPTURE(EncodeUpdate, range_device, Coding::kRange, DitherEngine())
    ->Name("encode, range, device's engine");
BENCHMARK_CAPTURE(EncodeUpdate, range, Coding::kRange, server::FastEngine())->Name("encode, range");
BENCHMARK_CAPTURE(DecodeAndAdd, fixed, Coding::kFixed, true)->Name("decode and add, fixed");
BENCHMARK_CAPTURE(DecodeAndAdd, range, Coding::kRange, true)->Name("decode and add, range");
BENCHMARK_CAPTURE(DecodeAndAdd, fixed_only, Coding::kFixed, false)
    ->Name("decode and add, fixed, no bound");
BENCHMARK_CAPTURE(DecodeAndAdd, range_only, Coding::kRange, false)
    ->Name("decode and add, range, no bound");
BENCHMARK(NoiseThenQuantize)->Name("qg, keystream");
BENCHMARK(StandardNoiseThenQuantize)->Name("qg, std::normal_distribution");

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return sotto::g_failed ? 1 : 0;
}
