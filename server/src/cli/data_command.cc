#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/rows.h"
#include "data/catalog.h"
#include "data/shares.h"
#include "sotto/data/partitions.h"
#include "sotto/data/source.h"
#include "sotto/key_labels.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_file.h"
#include "sotto/posix/run_key.h"
#include "views/output_file.h"
#include "views/share_chart.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kDefaultDevices = 1000;

struct ShowOptions {
  std::string data;
  std::string test;
  std::string model;
  std::string partition = kDefaultPartition;
  std::optional<uint32_t> devices;
  std::optional<uint32_t> samples_per_device;
  uint64_t seed = 1;
  uint32_t first = 20;
  std::string svg;
  std::string json;
};

using DataShowRow = posix::Field<ShowOptions>;

std::string SampleText(const Dataset& data) {
  const SampleInfo& info = data.info();
  std::string text = fmt::format(
      "{} training samples of {}", data.size(),
      info.tokens > 0 ? fmt::format("{} tokens", info.shape.size()) : posix::ShapeText(info.shape));
  if (info.classes > 0) text += fmt::format(", {} classes", info.classes);
  if (info.targets > 0) text += fmt::format(", {} targets", info.targets);
  if (data.group_count() > 1) text += fmt::format(", {} groups", data.group_count());
  return text + (data.is_generated() ? ", generated" : "");
}

std::string PartitionText(const ShowOptions& o, uint32_t devices) {
  const bool is_random = FindPartition(o.partition).is_random;
  return fmt::format("partition {} over {} devices{}", o.partition, devices,
                     is_random ? fmt::format(", seed {}", o.seed) : "");
}

constexpr uint32_t kDefaultSamples = 50;

uint32_t SamplesOf(const ShowOptions& o) { return o.samples_per_device.value_or(kDefaultSamples); }

// A fleet has a device for each group if the devices are the groups; else as many as the samples
// are enough for.
uint32_t DevicesOf(const ShowOptions& o, const Dataset& data) {
  if (o.devices) return *o.devices;
  RequireSuitedPartition(o.partition, data);
  if (FindPartition(o.partition).needs_groups) return data.group_count();
  const size_t enough = std::max<size_t>(1, data.size() / SamplesOf(o));
  return static_cast<uint32_t>(std::min<size_t>(kDefaultDevices, enough));
}

void ShowData(const ShowOptions& o) {
  static_cast<void>(FindPartition(o.partition));
  if (o.samples_per_device) RequireTakesSamples(o.partition);
  const Output svg = {"--svg", o.svg};
  RequireOutputs({JsonOutput(o.json), svg}, "", {o.data, o.test, o.model, o.partition});
  const posix::SharedModel model = o.model.empty() ? nullptr : posix::OpenModel(o.model);
  const uint64_t wanted = uint64_t{o.devices.value_or(kDefaultDevices)} * SamplesOf(o);
  const SharedDataset data = OpenForFleet(o.data, o.test, model.get(), wanted).train;
  fmt::print(stderr, "{}", NotesText({data}));
  const uint32_t devices = DevicesOf(o, *data);
  const Key key = posix::DeriveKey(posix::RunKey(o.seed), key_label::kPartition);
  const Partition partition = MakePartition(o.partition, *data, devices, SamplesOf(o), key);
  const ShareSummary summary = Summarise(*data, partition);
  const DealtData dealt = {*data, partition, summary};
  fmt::print(TextStream(o.json), "{}: {}\n{}\n\n{}", data->name(), SampleText(*data),
             PartitionText(o, devices), ShareChart(dealt, o.first));
  WriteOutput(svg, ShareSvg(dealt, o.first,
                            fmt::format("{}: {}", data->name(), PartitionText(o, devices))));
  Json json = {{"data", data->name()},
               {"partition", o.partition},
               {"seed", o.seed},
               {"samples_per_device", SamplesOf(o)}};
  if (!o.json.empty()) json.update(ShareJson(dealt));
  WriteJson(o.json, json);
}

posix::Command ShowCommand() {
  return posix::CommandFor<ShowOptions>(
             "show", "print what each device of a fleet holds: samples, classes, and a chart")
      .Takes({
          DataShowRow("", &ShowOptions::data, "a data set, as in `sotto simulate --data`")
              .Argument("DATA")
              .Required(),
          DataShowRow(
              "test", &ShowOptions::test,
              "test samples, as for `sotto simulate`: no device gets a sample that is split "
              "off"),
          DataShowRow("model", &ShowOptions::model,
                      "the net that the samples must fit: a name, or FILE.toml"),
          DataShowRow("partition", &ShowOptions::partition,
                      "how samples are dealt out: " + PartitionNames()),
          DataShowRow("devices", &ShowOptions::devices, "devices in the fleet")
              .Within({1, 1000000})
              .ByDefault("1000, or as many as the samples suffice for; with partition group, the "
                         "number of "
                         "groups"),
          DataShowRow("samples-per-device", &ShowOptions::samples_per_device,
                      "training samples on each device")
              .Within({1, 1000000})
              .ByDefault("50"),
          DataShowRow("seed", &ShowOptions::seed,
                      "the seed of a `sotto simulate` run: the shares are as in that run"),
          DataShowRow("first", &ShowOptions::first, "number of devices that the charts show")
              .Within({0, 10000}),
          DataShowRow("svg", &ShowOptions::svg, "write a chart of the first devices to this file"),
          JsonRow<ShowOptions>("the counts of all devices"),
      })
      .Runs(ShowData);
}

}  // namespace

posix::Command DataCommand() {
  return posix::CommandOf(
      "data", "show what each device of a fleet holds; fit a model's preparation",
      {ShowCommand(), DataFeaturesCommand(), DataStatsCommand(), DataPcaCommand(),
       TablesCommand("formats", "the formats of --data and their options", FormatsTable),
       TablesCommand("partitions", "the partitions", PartitionsTable)});
}

}  // namespace sotto::server
