// sotto-shard: writes a device's samples as a file for the flash of its firmware, in the format of
// sotto/shard.h. Part of sotto::server/shard.
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/catalog.h"
#include "data/generated.h"
#include "sotto/bytes.h"
#include "sotto/data/mat_files.h"
#include "sotto/data/partitions.h"
#include "sotto/key_labels.h"
#include "sotto/log/failures.h"
#include "sotto/model/model_file.h"
#include "sotto/options/command.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"
#include "sotto/posix/terminal.h"
#include "sotto/shard.h"
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
        fmt::format("--partition {} is drawn from a seed: give --seed, the fleet's", o.partition));
  }
  const Key key = posix::DeriveKey(posix::RunKey(o.seed.value_or(0)), key_label::kPartition);
  return MakePartition(o.partition, data, devices, o.samples, key);
}

// The device's samples, in memory.
SharedDataset ReadShare(const Options& o, const ModelInfo* model) {
  const uint64_t wanted = uint64_t{o.devices.value_or(o.device + 1)} * o.samples;
  const SharedDataset data = OpenForFleet(o.data, o.test, model, wanted).train;
  if (data->info().are_classes_sorted) {
    throw std::invalid_argument(fmt::format(
        "--data {}: nothing says which class each label is, and another device's file may have "
        "others; name the model that names its classes, --model FILE.toml, or the classes, in "
        "order: classes={}",
        o.data, JoinList(data->info().class_names)));
  }
  fmt::print(stderr, "{}", NotesText({data}));
  const Partition partition = Deal(o, *data);
  const DeviceIndices samples = partition.DeviceSamples(o.device);
  std::vector<uint32_t> indices;
  for (uint32_t i = 0; i < samples.size(); ++i) indices.push_back(samples[i]);
  const auto share = std::make_shared<Subset>(data->name(), data, std::move(indices));
  return data->is_generated() ? Store(*share) : share;
}

// The head without the model.
ShardInfo InfoOf(const Dataset& data) {
  const SampleInfo& samples = data.info();
  const bool are_bytes = data.size() > 0 && !data.Bytes(0).empty();
  ShardInfo info;
  info.element = are_bytes ? ShardElement::kByte : ShardElement::kFloat32;
  info.shape = samples.shape;
  info.tokens = samples.tokens;
  info.classes = samples.classes;
  info.targets = samples.targets;
  info.count = static_cast<uint32_t>(data.size());
  return info;
}

void Append(Span<const float> numbers, std::string* out) {
  for (const float number : numbers) {
    uint8_t bytes[4];
    StoreU32Le(FloatBits(number), bytes);
    out->append(bytes, std::end(bytes));
  }
}

// Label or target.
void AppendTarget(const Dataset& data, const ShardInfo& info, uint32_t sample, std::string* out) {
  std::vector<float> target(info.targets);
  if (info.targets > 0) data.CopyTarget(sample, {target.data(), target.size()});
  Append({target.data(), target.size()}, out);
  if (info.classes == 0) return;
  uint8_t label[4];
  StoreU32Le(data.Label(sample), label);
  out->append(label, label + info.LabelBytes());
}

void AppendFeatures(const Dataset& data, const ShardInfo& info, uint32_t sample, std::string* out) {
  if (info.element == ShardElement::kByte) {
    const Span<const uint8_t> bytes = data.Bytes(sample);
    out->append(bytes.begin(), bytes.end());
    return;
  }
  std::vector<float> features(info.Features());
  data.CopyFeatures(sample, {features.data(), features.size()});
  Append({features.data(), features.size()}, out);
}

// "50 samples of label u8 and 784 bytes, for model lenet"
std::string Describe(const ShardInfo& info, const ModelInfo* model) {
  std::string text = fmt::format("{} samples of ", info.count);
  if (info.classes > 0) text += fmt::format("label u{} and ", 8 * info.LabelBytes());
  if (info.targets > 0) text += fmt::format("{} targets float32 and ", info.targets);
  text += fmt::format("{} {}", info.Features(),
                      info.element == ShardElement::kByte ? "bytes" : "float32");
  return text + (model == nullptr ? std::string() : fmt::format(", for model {}", model->name));
}

void Write(const Options& o) {
  const Output output = {"--out", o.out};
  RequireOutputs({output}, "", {o.data, o.test, o.model, o.partition});
  const posix::SharedModel model = o.model.empty() ? nullptr : posix::OpenModel(o.model);
  const SharedDataset data = ReadShare(o, model.get());
  ShardInfo info = InfoOf(*data);
  if (model != nullptr) posix::Check(ShardModel(*model, info.model), "the model's digest");
  std::string samples;
  for (uint32_t sample = 0; sample < info.count; ++sample) {
    AppendTarget(*data, info, sample, &samples);
    AppendFeatures(*data, info, sample, &samples);
  }
  uint8_t head[kShardHeadSize];
  const ByteSpan bytes = {reinterpret_cast<const uint8_t*>(samples.data()), samples.size()};
  posix::Check(MakeShardHead(info, bytes, head), "the head of the shard");
  OutputFile file(output);
  file.stream() << std::string(head, std::end(head)) << samples;
  file.Finish();
  fmt::print("{}: {}, {} bytes\n", o.out, Describe(info, model.get()),
             kShardHeadSize + samples.size());
}

posix::Command ShardProgram() {
  return posix::CommandFor<Options>(
             "sotto-shard", "Writes a device's samples as a file for the flash of its firmware.")
      .Takes({
          Row("data", &Options::data,
              "data set by name, or a file or folder, FILE[:KEY=VALUE,...]: server/DATA.md"),
          Row("test", &Options::test,
              "test samples, as for `sotto simulate`: no device gets a sample that is split off")
              .ByDefault("the data set's own, else 0.1"),
          Row("model", &Options::model,
              "the firmware's model, a name or FILE.toml: the command refuses samples that do not "
              "fit it, and a firmware of another model refuses the file")
              .ByDefault("any that the samples fit"),
          Row("device", &Options::device, "number of the device, from 0, whose samples to write")
              .Required(),
          Row("devices", &Options::devices, "devices in the fleet; partition iid does not need it"),
          Row("samples", &Options::samples,
              "samples on each device, as --samples-per-device of `sotto simulate`"),
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
  const bool is_json = sotto::posix::AreErrorsJson(argc, argv);
  const auto fail = [is_json](const std::exception& error, int status) {
    if (is_json) {
      sotto::posix::TellFailureAsJson("sotto-shard", error.what(), status);
    } else {
      fmt::print(stderr, "sotto-shard: {}\n", sotto::posix::Printable(error.what()));
    }
    return status;
  };
  try {
    sotto::posix::Command program = sotto::server::ShardProgram();
    sotto::posix::AddErrorsOption(argc, argv, &program);
    return sotto::posix::RunProgram(program, sotto::kVersion, argc, argv);
  } catch (const std::invalid_argument& error) {
    return fail(error, 2);
  } catch (const std::exception& error) {
    return fail(error, 1);
  }
}
