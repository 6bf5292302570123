// sotto-bench: what one coordinate of an update costs this machine, in time.
//
// Every case runs over one update of 100,000 values of deviation 0.1 against the noise's 1, and one
// item is one coordinate or one word of the keystream. ratios.sh tabulates. Takes Google
// Benchmark's options; ends with 1 if a case fails.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <random>
#include <vector>

#include "aggregate/accumulator.h"
#include "aggregate/keystream.h"
#include "benchmark/quantized_gaussian.h"
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

Status Encode(Coding coding, std::vector<uint8_t>* encoded) {
  UpdateEncoder encoder;
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
void Cells(benchmark::State& state, KeystreamFunction keystream) {
  const Dither dither(RoundKey(), DitherKind::kGaussian, keystream);
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

void EncodeUpdate(benchmark::State& state, Coding coding) {
  std::vector<uint8_t> encoded;
  Measure(state, [&] { return Encode(coding, &encoded); });
  state.counters["bits"] = 8.0 * static_cast<double>(encoded.size()) / kCoordinates;
}

void DecodeAndAdd(benchmark::State& state, Coding coding) {
  std::vector<uint8_t> encoded;
  if (Encode(coding, &encoded) != Status::kOk) g_failed = true;
  server::Accumulator sum(kCoordinates);
  std::vector<int32_t> noisy(kCoordinates);
  Measure(state, [&] {
    const Status status = DecodeUpdate(RoundKey(), Format(coding), {encoded.data(), encoded.size()},
                                       {noisy.data(), noisy.size()}, server::FastKeystream);
    if (status == Status::kOk) sum.Add(Span<const int32_t>(noisy.data(), noisy.size()));
    return status;
  });
}

template <typename Numbers>
void NoiseAndRoundAll(benchmark::State& state) {
  const std::vector<float>& update = Update();
  std::vector<int32_t> integers(kCoordinates);
  Numbers numbers(RoundKey());
  Measure(state, [&] {
    for (uint32_t j = 0; j < kCoordinates; ++j) integers[j] = NoiseAndRound(update[j], numbers);
    return numbers.status();
  });
}

BENCHMARK_CAPTURE(Keystream, mbedtls, ChaCha20Keystream)->Name("keystream, Mbed TLS");
BENCHMARK_CAPTURE(Keystream, sodium, server::FastKeystream)->Name("keystream, libsodium");
BENCHMARK_CAPTURE(Cells, mbedtls, ChaCha20Keystream)->Name("dither, Mbed TLS");
BENCHMARK_CAPTURE(Cells, sodium, server::FastKeystream)->Name("dither, libsodium");
BENCHMARK_CAPTURE(EncodeUpdate, fixed, Coding::kFixed)->Name("encode, fixed");
BENCHMARK_CAPTURE(EncodeUpdate, range, Coding::kRange)->Name("encode, range");
BENCHMARK_CAPTURE(DecodeAndAdd, fixed, Coding::kFixed)->Name("decode and add, fixed");
BENCHMARK_CAPTURE(DecodeAndAdd, range, Coding::kRange)->Name("decode and add, range");
BENCHMARK(NoiseAndRoundAll<KeystreamNumbers>)->Name("qg, keystream");
BENCHMARK(NoiseAndRoundAll<StandardNumbers>)->Name("qg, std::normal_distribution");

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return sotto::g_failed ? 1 : 0;
}
