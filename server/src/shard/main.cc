// sotto-shard: writes a device's samples as a file for the flash of its firmware. Part of
// sotto::server/shard.
//
// For each sample the file holds, without gaps and little-endian:
//   samples that are bytes, images and characters   label u8, then a byte for each feature
//   samples that are numbers                        label u32, then a float32 for each feature
//   with targets instead of labels                  a float32 for each target, then the features
// A label beyond 255 makes the first kind like the second, with features as float32.
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/catalog.h"
#include "data/generated.h"
#include "sotto/data/mat_files.h"
#include "sotto/data/partitions.h"
#include "sotto/key_labels.h"
#include "sotto/model/model_file.h"
#include "sotto/options/command.h"
#include "sotto/posix/run_key.h"
#include "sotto/version.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

struct Options {
  std::string data = "fashion-mnist";
  std::string test;
  std::string model;
  std::string partition = kDefaultPartition;
  uint32_t device = 0;
  std::optional<uint32_t> devices;
  uint32_t samples = 50;
  std::optional<uint64_t> seed;
  std::string out;
};

using Row = posix::Field<Options>;

// Devices in the fleet.
size_t DevicesOf(const Options& o) {
  if (!o.devices && o.partition != kDefaultPartition) {
    throw std::invalid_argument(
        fmt::format("--partition {} needs --devices, the devices in the fleet", o.partition));
  }
  const size_t devices = o.devices.value_or(o.device + 1);
  if (o.device < devices) return devices;
  throw std::invalid_argument(
      fmt::format("--device {}: expected 0 to {}, below --devices", o.device, devices - 1));
}

Partition Deal(const Options& o, const Dataset& data) {
  const PartitionInfo& partition = FindPartition(o.partition);
  const size_t devices = DevicesOf(o);
  if (!o.seed && o.partition == kDefaultPartition) {
    return IidPartition(data.size(), devices, o.samples, [](uint32_t) { return 0; });
  }
  if (!o.seed && partition.is_random) {
    throw std::invalid_argument(
        fmt::format("--partition {} is drawn from --seed, that of the fleet", o.partition));
  }
  const Key key = posix::DeriveKey(posix::RunKey(o.seed.value_or(0)), key_label::kPartition);
  return MakePartition(o.partition, data, devices, o.samples, key);
}

// The device's samples, in memory.
SharedDataset ReadShare(const Options& o, const ModelInfo* model) {
  const uint64_t wanted = uint64_t{o.devices.value_or(o.device + 1)} * o.samples;
  const SharedDataset data = OpenForFleet(o.data, o.test, model, wanted).train;
  const Partition partition = Deal(o, *data);
  const DeviceIndices samples = partition.DeviceSamples(o.device);
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < samples.size(); ++i) indices.push_back(samples[i]);
  const auto share = std::make_shared<Subset>(data->name(), data, std::move(indices));
  return data->is_generated() ? Store(*share) : share;
}

void Append(uint32_t word, std::string* out) {
  for (unsigned shift = 0; shift < 32; shift += 8) *out += static_cast<char>(word >> shift);
}

void Append(Span<const float> numbers, std::string* out) {
  for (const float number : numbers) {
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    Append(bits, out);
  }
}

bool AreBytes(const Dataset& data) {
  return data.size() > 0 && !data.Bytes(0).empty() && data.info().classes <= 256 &&
         data.info().targets == 0;
}

// Label and bytes.
void AppendBytes(const Dataset& data, uint32_t sample, std::string* out) {
  const Span<const uint8_t> bytes = data.Bytes(sample);
  *out += static_cast<char>(data.Label(sample));
  out->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Label or targets, and numbers.
void AppendNumbers(const Dataset& data, uint32_t sample, std::string* out) {
  if (data.info().targets == 0) Append(data.Label(sample), out);
  std::vector<float> targets(data.info().targets);
  if (!targets.empty()) data.CopyTarget(sample, {targets.data(), targets.size()});
  Append({targets.data(), targets.size()}, out);
  std::vector<float> features(data.input_size());
  data.CopyFeatures(sample, {features.data(), features.size()});
  Append({features.data(), features.size()}, out);
}

// "50 samples of label u8 and 784 bytes"
std::string Describe(const Dataset& data) {
  const SampleInfo& info = data.info();
  if (AreBytes(data)) {
    return fmt::format("{} samples of label u8 and {} bytes", data.size(), data.input_size());
  }
  return fmt::format("{} samples of {} and {} float32", data.size(),
                     info.targets == 0 ? std::string("label u32")
                                       : fmt::format("{} targets float32", info.targets),
                     data.input_size());
}

void Write(const Options& o) {
  const Output output = {"--out", o.out};
  RequireOutputs({output}, "", {o.data, o.test, o.model, o.partition});
  const posix::SharedModel model = o.model.empty() ? nullptr : posix::OpenModel(o.model);
  const SharedDataset data = ReadShare(o, model.get());
  const bool are_bytes = AreBytes(*data);
  OutputFile file(output);
  std::string bytes;
  for (uint32_t sample = 0; sample < data->size(); ++sample) {
    (are_bytes ? AppendBytes : AppendNumbers)(*data, sample, &bytes);
  }
  file.stream() << bytes;
  file.Finish();
  fmt::print("{}: {}, {} bytes\n", o.out, Describe(*data), bytes.size());
}

posix::Command ShardProgram() {
  return posix::CommandFor<Options>(
             "sotto-shard", "Writes a device's samples as a file for the flash of its firmware.")
      .Takes({
          Row("data", &Options::data,
              "data set by name, or a file or folder, FILE[:KEY=VALUE,...]: server/DATA.md"),
          Row("test", &Options::test, "as for `sotto simulate`: what is split off is no device's")
              .ByDefault("the data set's own, else 0.1"),
          Row("model", &Options::model,
              "the firmware's model, by name or FILE.toml: samples that do not fit it are "
              "refused")
              .ByDefault("any"),
          Row("device", &Options::device, "number of the device whose share is written, from 0")
              .Required(),
          Row("devices", &Options::devices, "devices in the fleet; partition iid need not know"),
          Row("samples", &Options::samples,
              "samples on each device, --samples-per-device of `sotto simulate`"),
          Row("partition", &Options::partition, "how samples are dealt out: " + PartitionNames()),
          Row("seed", &Options::seed,
              "write the share that `sotto simulate --seed N` gives the device")
              .ByDefault("in the file's order"),
          Row("out", &Options::out, "the file to write").Required(),
      })
      .Runs(Write);
}

}  // namespace
}  // namespace sotto::server

int main(int argc, char** argv) {
  sotto::AddMatFiles();
  const auto fail = [](const std::exception& error, int status) {
    fmt::print(stderr, "sotto-shard: {}\n", error.what());
    return status;
  };
  try {
    return sotto::posix::RunProgram(sotto::server::ShardProgram(), sotto::kVersion, argc, argv);
  } catch (const std::invalid_argument& error) {
    return fail(error, 2);
  } catch (const std::exception& error) {
    return fail(error, 1);
  }
}
