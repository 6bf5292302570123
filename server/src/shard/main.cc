// sotto-shard: writes a device's samples as a file for the flash of its firmware. Part of
// sotto::server/shard.
//
// For each sample, the file holds one byte of label, then one byte for each pixel.
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "data/catalog.h"
#include "sotto/data/partition.h"
#include "sotto/key_labels.h"
#include "sotto/options/strict.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::server {
namespace {

struct Options {
  std::string data = "fashion-mnist";
  uint32_t device = 0;
  uint32_t samples = 50;
  std::optional<uint64_t> seed;
  std::string out;
};

void AddOptions(CLI::App& app, Options& o) {
  app.add_option("--data", o.data, "data set by name, or a folder of IDX files")
      ->capture_default_str();
  app.add_option("--device", o.device, "which device's share, from 0")->required();
  app.add_option("--samples", o.samples, "samples on each device")->capture_default_str();
  app.add_option("--seed", o.seed,
                 "the share that `sotto simulate --seed N` gives the device (default: in the "
                 "file's order)");
  app.add_option("--out", o.out, "the file to write")->required();
}

// The numbers of the device's samples in the training set.
std::vector<uint32_t> Choose(const Options& o, size_t training_size) {
  std::optional<RandomStream> random;
  if (o.seed) random.emplace(posix::DeriveKey(posix::RunKey(o.seed), key_label::kPartition), 0);
  const Partition partition =
      IidPartition(training_size, size_t{o.device} + 1, o.samples,
                   [&](uint32_t bound) { return random ? random->Below(bound) : 0; });
  const DeviceIndices samples = partition.DeviceSamples(o.device);
  return {samples.list.begin(), samples.list.end()};
}

void Write(const Options& o) {
  const SharedDataset data = OpenDataset(o.data).train;
  std::string bytes;
  for (const uint32_t sample : Choose(o, data->size())) {
    const Span<const uint8_t> pixels = data->Bytes(sample);
    bytes += static_cast<char>(data->Label(sample));
    bytes.append(reinterpret_cast<const char*>(pixels.data()), pixels.size());
  }
  std::ofstream file(o.out, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error(fmt::format("cannot write {}", o.out));
  fmt::print("{}: {} samples of {} pixels, {} bytes\n", o.out, o.samples, data->input_size(),
             bytes.size());
}

}  // namespace
}  // namespace sotto::server

int main(int argc, char** argv) {
  CLI::App app("Writes a device's samples as a file for the flash of its firmware.", "sotto-shard");
  sotto::server::Options options;
  sotto::server::AddOptions(app, options);
  sotto::posix::MakeStrict(app);
  CLI11_PARSE(app, argc, argv);
  try {
    sotto::server::Write(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sotto-shard: {}\n", error.what());
    return 1;
  }
  return 0;
}
