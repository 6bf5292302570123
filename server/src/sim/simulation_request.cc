#include "sim/simulation_request.h"

#include "sotto/data/partitions.h"
#include "spec/make_job.h"

namespace sotto::server {
namespace {

using Fields = std::vector<Field<SimulationRequest>>;

constexpr auto Row = RowOf<SimulationRequest>;

Fields AllFields() {
  static const std::string kPartitionHelp =
      "how training samples are dealt out: " + PartitionNames();
  Fields all = {
      Row("data",
          "fashion-mnist, synthetic, or a file or folder, FILE[:KEY=VALUE,...]: server/DATA.md")
          .In(Group::kFleet)
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.data; }),
      Row("test", "the samples to evaluate on: as for --data, or the share of it that is split off")
          .In(Group::kFleet)
          .ByDefault("the data set's own, else 0.1")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.test; }),
      Row("classes",
          "train and evaluate on the samples of these classes alone, for example 0-4; labels stay")
          .In(Group::kFleet)
          .ByDefault("all")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.classes; }),
      Row("devices", "devices in the fleet, N")
          .In(Group::kFleet)
          .Within({1, 1000000})
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.fleet.devices; }),
      Row("samples-per-device", "training samples on each; their mean if devices hold unequal many")
          .In(Group::kFleet)
          .Within({1, 1000000})
          .Asked(
              Learns::kNothing,
              [](auto& request) -> auto& { return request.fleet.samples_per_device; }),
      Row("partition", kPartitionHelp.c_str())
          .In(Group::kFleet)
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.fleet.partition; }),
      Row("partition-seed", "deal samples out as a run with this --seed does, which tells no noise")
          .In(Group::kFleet)
          .ByDefault("--seed, or random")
          .Asked(
              Learns::kNothing,
              [](auto& request) -> auto& { return request.fleet.partition_seed; }),
      Row("dropout", "chance that a drawn device does not report")
          .In(Group::kFleet)
          .Within({0, 0.999})
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.fleet.dropout; }),
      Row("seed", "repeat a run bit for bit; everything derives from it, so it is not private")
          .In(Group::kRun)
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.seed; }),
  };
  for (Field<SimulationRequest>& field : OutputFields<SimulationRequest>()) all.push_back(field);
  return all;
}

}  // namespace

const Fields& SimulationFields() {
  static const Fields kFields = AllFields();
  return kFields;
}

SimulationConfig MakeSimulation(const SimulationRequest& request) {
  RequireInRange(SimulationFields(), request);
  static_cast<void>(FindPartition(request.fleet.partition));
  SimulationConfig config;
  config.job = MakeJob(request, request.fleet.devices);
  config.job.seeded = request.seed.has_value();
  config.fleet = request.fleet;
  config.fleet.seeded = request.seed.has_value();
  config.seed = request.seed;
  config.threads = config.job.threads;
  return config;
}

}  // namespace sotto::server
