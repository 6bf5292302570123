#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "certificate/entropy.h"
#include "cli/rows.h"
#include "lab/commands.h"
#include "sotto/key_labels.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"
#include "sotto/update_codec.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

constexpr uint32_t kSeeds = 20;  // number of updates in the mean
constexpr float kUnit = 1.0F;    // the noise's deviation

struct EntropyOptions {
  std::string distribution = "normal";
  double scale = 0.1;
  uint32_t coordinates = 7850;
  std::string coding = "range";
  uint32_t padding = 0;
  uint64_t seed = 1;
  std::string json;
};

using EntropyRow = posix::Field<EntropyOptions>;

// A uniform value in (0, 1); never 0 or 1.
double Uniform(RandomStream& random) { return (random.NextU32() + 0.5) * 0x1p-32; }

double DrawNormal(RandomStream& random) {
  const double radius = std::sqrt(-2 * std::log(Uniform(random)));
  return radius * std::cos(2 * M_PI * Uniform(random));
}

double DrawLaplace(RandomStream& random) {
  const double u = Uniform(random);
  return (u < 0.5 ? std::log(2 * u) : -std::log(2 - 2 * u)) / std::sqrt(2.0);
}

std::vector<float> DrawUpdate(const EntropyOptions& o, const Key& key) {
  RandomStream random(key, 0);
  std::vector<float> update(o.coordinates);
  for (float& value : update) {
    const double standard = o.distribution == "normal" ? DrawNormal(random) : DrawLaplace(random);
    value = static_cast<float>(o.scale * standard);
  }
  return update;
}

// Encodes an update with the device's encoder, without clipping, and checks that it decodes.
size_t EncodedSize(const std::vector<float>& update, const UpdateFormat& format, const Key& key) {
  UpdateEncoder encoder;
  posix::Check(
      encoder.Begin(key, format, {update.data(), update.size()}, kMaxClipInScales * kUnit, kUnit),
      "encoding");
  std::vector<uint8_t> bytes(MaxUpdateSize(static_cast<uint32_t>(update.size()), format));
  size_t size = 0;
  posix::Check(encoder.Read({bytes.data(), bytes.size()}, &size), "encoding");
  if (!encoder.is_done()) throw std::runtime_error("an encoded update is longer than its bound");
  std::vector<int32_t> noisy(update.size());
  posix::Check(DecodeUpdate(key, format, {bytes.data(), size}, {noisy.data(), noisy.size()}),
               "decoding");
  return size;
}

double MeanSize(const EntropyOptions& o, const UpdateFormat& format) {
  double sum = 0;
  for (uint32_t i = 0; i < kSeeds; ++i) {
    const Key run_key = posix::RunKey(o.seed + i);
    sum += static_cast<double>(
        EncodedSize(DrawUpdate(o, posix::DeriveKey(run_key, key_label::kUpdate)), format,
                    posix::DeriveKey(run_key, key_label::kDither)));
  }
  return sum / kSeeds;
}

void RunEntropy(const EntropyOptions& o) {
  RequireOutput(o.json);
  const UpdateFormat format = {o.coding == "fixed" ? Coding::kFixed : Coding::kRange,
                               DitherKind::kGaussian, o.padding};
  const double bytes = MeanSize(o, format);
  const double bits = 8 * bytes / o.coordinates;
  const double entropy = IntegerEntropy(
      o.distribution == "normal" ? Distribution::kNormal : Distribution::kLaplace, o.scale);
  const std::string text = fmt::format(
      "{} updates of {} coordinates, {} with deviation {} times the noise's, coding {}\n"
      "  size           {:.1f} bytes, {:.5f} bits a coordinate, header and padding included\n"
      "  entropy        {:.1f} bytes, {:.5f} bits a coordinate, of the integers given the "
      "dither\n"
      "  above it       {:.2f} %\n",
      kSeeds, o.coordinates, o.distribution, o.scale, o.coding, bytes, bits,
      entropy * o.coordinates / 8, entropy, 100 * (bits / entropy - 1));
  PrintResults(o.json, text,
               {{"distribution", o.distribution},
                {"scale", o.scale},
                {"coordinates", o.coordinates},
                {"coding", o.coding},
                {"padding", o.padding},
                {"seed", o.seed},
                {"updates", kSeeds},
                {"bytes", bytes},
                {"bits_per_coordinate", bits},
                {"entropy_bits_per_coordinate", entropy}});
}

}  // namespace

posix::Command InspectEntropyCommand() {
  return posix::CommandFor<EntropyOptions>(
             "entropy", "encode made-up updates and compare their size with the least possible")
      .Takes({
          EntropyRow("distribution", &EntropyOptions::distribution,
                     "distribution of the update's coordinates")
              .OneOfNames({"normal", "laplace"}),
          EntropyRow("scale", &EntropyOptions::scale,
                     "deviation of the coordinates divided by the noise's deviation")
              .Within({1e-4, 100}),
          EntropyRow("coordinates", &EntropyOptions::coordinates, "coordinates of one update")
              .Within({1, 10000000}),
          EntropyRow("coding", &EntropyOptions::coding, "how updates become bytes")
              .OneOfNames({"range", "fixed"}),
          EntropyRow("padding", &EntropyOptions::padding,
                     "pad updates to a multiple of this many bytes; 0: none")
              .Within({0, kMaxPadding}),
          EntropyRow("seed", &EntropyOptions::seed, "seed of the first of 20 updates"),
          JsonRow<EntropyOptions>(),
      })
      .Runs(RunEntropy);
}

}  // namespace sotto::server
