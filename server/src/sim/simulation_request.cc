#include "sim/simulation_request.h"

#include "spec/make_job.h"

namespace sotto::server {
namespace {

using Fields = std::vector<Field<SimulationRequest>>;

constexpr double kDefaultHeldOut = 0.2;

constexpr auto Row = RowOf<SimulationRequest>;

Fields AllFields() {
  Fields all = {
      Row("data", "fashion-mnist, synthetic, or a folder with the four IDX files of MNIST")
          .In(Group::kFleet)
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.data; }),
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
      Row("samples-per-device", "training samples on each")
          .In(Group::kFleet)
          .Within({1, 1000000})
          .Asked(
              Learns::kNothing,
              [](auto& request) -> auto& { return request.fleet.samples_per_device; }),
      Row("held-out",
          "share of each device's samples, the last ones, that it never trains on and evaluates on "
          "if the job asks for it")
          .In(Group::kFleet)
          .Within({0, 0.9})
          .ByDefault("0.2 with --evaluate-on-devices, else 0")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.held_out; }),
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
  SimulationConfig config;
  config.job = MakeJob(request, request.fleet.devices);
  config.job.seeded = request.seed.has_value();
  config.fleet = request.fleet;
  config.fleet.held_out =
      request.held_out.value_or(config.job.evaluates_on_devices ? kDefaultHeldOut : 0);
  config.fleet.seeded = request.seed.has_value();
  config.seed = request.seed;
  config.threads = config.job.threads;
  return config;
}

}  // namespace sotto::server
