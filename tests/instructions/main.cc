// Instructions that a board spends on one coordinate of an update.
//
// To be run by `qemu-system-arm -icount shift=0`, where the counter counts instructions; table.sh
// does. Prints "NAME: N", N in tenths of an instruction, for each part; ends with 1 if a part
// fails.
#include "device/cells.h"
#include "sotto/conformance/line.h"
#include "sotto/dither.h"
#include "sotto/emulated/counter.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/model_difference.h"
#include "sotto/random.h"
#include "sotto/update_codec.h"

namespace sotto {
namespace {

using conformance::Line;

constexpr uint32_t kCoordinates = 7840;  // the weights of softmax regression on 28 x 28 images
constexpr float kClip = 0.4f;
constexpr float kUnit = 0.1f;
constexpr uint32_t kPrivateNoiseQ20 = 8 << 20;  // multiplier 1: twice the bound

float g_update[kCoordinates];
uint8_t g_encoded[kCoordinates];
UpdateEncoder g_encoder;

constexpr int kExponent = -10;
float g_wanted[kCoordinates];
uint8_t g_code[4096];
size_t g_code_size = 0;
DifferenceReader g_reader;

Key RoundKey() {
  Key key;
  key.bytes[0] = 1;
  return key;
}

// An update of norm near the bound, far below the noise in every coordinate.
Status FillUpdate() {
  RandomStream random(RoundKey(), 7);
  for (float& value : g_update) {
    const auto centered = static_cast<int32_t>(random.NextU32()) >> 8;
    value = static_cast<float>(centered) * (1.0f / 8388608) * (1.0f / 128);
  }
  return random.status();
}

// A model some steps of the grid from the update: the sum of twelve fair coins has a deviation of
// 1.7 steps, which takes nearly three bits a coordinate.
Status FillDifference() {
  RandomStream random(RoundKey(), 8);
  for (uint32_t j = 0; j < kCoordinates; ++j) {
    const uint32_t coins = random.NextU32() & 0xfff;
    const int32_t steps = __builtin_popcount(coins) - 6;
    g_wanted[j] = GridParameter(NearestGridUnits(g_update[j], kExponent) + steps, kExponent);
  }
  return EncodeDifference(g_update, g_wanted, kExponent, g_code, &g_code_size);
}

// In parts, as frames of 510 bytes bring them, and in place of the update.
Status ReadDifference() {
  constexpr size_t kPart = 492;
  if (Status s = g_reader.Begin(kExponent, static_cast<uint32_t>(g_code_size)); s != Status::kOk) {
    return s;
  }
  for (size_t at = 0; at < g_code_size; at += kPart) {
    const size_t left = g_code_size - at;
    const Status s = g_reader.Feed({g_code + at, left < kPart ? left : kPart}, g_update, g_update);
    if (s != Status::kOk) return s;
  }
  const bool is_right = __builtin_memcmp(g_update, g_wanted, sizeof(g_wanted)) == 0;
  return is_right ? Status::kOk : Status::kMismatch;
}

Status CheckModel() {
  uint8_t check[kModelCheckSize];
  return ModelCheck(g_update, check);
}

Status Keystream() {
  uint8_t bytes[8 * kDitherBatch];
  for (uint32_t first = 0; first < kCoordinates; first += kDitherBatch) {
    if (Status s = ChaCha20Keystream(RoundKey(), 0, first / 8, bytes); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status Cells() {
  const Dither dither(RoundKey(), DitherKind::kGaussian);
  DitherCell cells[kDitherBatch];
  for (uint32_t first = 0; first < kCoordinates; first += kDitherBatch) {
    if (Status s = GenerateCells(dither, first, cells); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status Scale() {
  return g_encoder.Begin(RoundKey(), {Coding::kFixed, DitherKind::kGaussian, 0}, g_update, kClip,
                         kUnit);
}

Status ScaleForRange() {
  return g_encoder.Begin(RoundKey(), {Coding::kRange, DitherKind::kGaussian, 0}, g_update, kClip,
                         kUnit);
}

Status DrawPrivateNoise() {
  const PrivateNoise noise(RoundKey(), kPrivateNoiseQ20);
  int32_t values[kDitherBatch];
  for (uint32_t first = 0; first < kCoordinates; first += kDitherBatch) {
    if (Status s = noise.Generate(first, values); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status ScaleWithPrivateNoise() {
  return g_encoder.Begin(RoundKey(), {Coding::kRange, DitherKind::kGaussian, 0}, g_update, kClip,
                         kUnit, {}, PrivateNoise(RoundKey(), kPrivateNoiseQ20));
}

Status Encode() {
  size_t written = 0;
  return g_encoder.Read(g_encoded, &written);
}

// In this order: Encode() needs what Scale() did, and a difference replaces the update.
constexpr struct {
  const char* name;
  Status (*run)();
} kParts[] = {{"keystream", Keystream},
              {"dither (keystream included)", Cells},
              {"scale (two passes over the update)", Scale},
              {"encode, fixed-length code (dither included)", Encode},
              {"scale, for the range code", ScaleForRange},
              {"encode, range code (dither included)", Encode},
              {"a device's own noise (one pass)", DrawPrivateNoise},
              {"scale, with that noise", ScaleWithPrivateNoise},
              {"encode, range code, with that noise", Encode},
              {"a model from a difference, three bits a coordinate", ReadDifference},
              {"the check of a model", CheckModel}};

bool Measure(const char* name, Status (*run)()) {
  const uint32_t start = emulated::Ticks();
  const Status status = run();
  const uint64_t nanoseconds = uint64_t{emulated::Ticks() - start} * emulated::NanosecondsPerTick();
  Line line;
  line << name << ": ";
  if (status == Status::kOk) {
    line << (10 * nanoseconds + kCoordinates / 2) / kCoordinates << "\n";
  } else {
    line << StatusName(status) << "\n";
  }
  emulated::Print(line.text());
  return status == Status::kOk;
}

}  // namespace
}  // namespace sotto

int main(int, char**) {
  bool ok =
      sotto::FillUpdate() == sotto::Status::kOk && sotto::FillDifference() == sotto::Status::kOk;
  for (const auto& part : sotto::kParts) ok = ok && sotto::Measure(part.name, part.run);
  return ok ? 0 : 1;
}
