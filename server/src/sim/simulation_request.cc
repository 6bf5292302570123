#include "sim/simulation_request.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "data/catalog.h"
#include "data/parts.h"
#include "sotto/data/partitions.h"
#include "sotto/data/source.h"
#include "sotto/options/numbers.h"
#include "spec/job_spec.h"
#include "spec/make_job.h"

namespace sotto::server {
namespace {

using Row = Field<SimulationRequest>;
using Fields = std::vector<Row>;

constexpr double kDefaultHeldOut = 0.2;

Fields FleetAndData() {
  return {
      Row("data", &SimulationRequest::data,
          "fashion-mnist, synthetic, or a file or folder, FILE[:KEY=VALUE,...]: server/DATA.md")
          .NamesFiles()
          .ByDefault("fashion-mnist, or synthetic if it is not installed"),
      Row("test", &SimulationRequest::test,
          "the samples to evaluate on: as for --data, or a share of --data to split off")
          .NamesFiles()
          .ByDefault("the data set's own, else 0.1"),
      Row("classes", &SimulationRequest::classes,
          "train and evaluate only on the samples of these classes, for example 0-4; labels do not "
          "change")
          .ByDefault("all"),
      Row("devices", At(&SimulationRequest::fleet, &FleetOptions::devices),
          "devices in the fleet, N; with --partition group the default is one for each group")
          .Within({1, 1000000}),
      Row("samples-per-device", At(&SimulationRequest::fleet, &FleetOptions::samples_per_device),
          "training samples on each device; the mean if devices hold different numbers")
          .Within({1, 1000000}),
      Row("partition", At(&SimulationRequest::fleet, &FleetOptions::partition),
          "how training samples are dealt out: " + PartitionNames())
          .NamesFiles(),
      Row("partition-seed", At(&SimulationRequest::fleet, &FleetOptions::partition_seed),
          "deal samples out as a run with this --seed does; it reveals no noise")
          .ByDefault("--seed, or random"),
      Row("held-out", &SimulationRequest::held_out,
          "share of each device's samples, the last ones of each class, that the device never "
          "trains on, and evaluates on if the job asks for it")
          .Within({0, 0.9})
          .ByDefault("0.2 with --evaluate-on-devices, else 0"),
      Row("noise-decay-from", &SimulationRequest::noise_decay_from,
          "find --noise-decay before the first round, by a training without privacy on these "
          "samples, which must be PUBLIC; as for --data")
          .NamesFiles()
          .ByDefault("--noise-decay"),
      Row("dropout", At(&SimulationRequest::fleet, &FleetOptions::dropout),
          "probability that a drawn device does not report")
          .Within({0, 0.999}),
  };
}

Fields SeedAndEvaluation() {
  return {
      Row("seed", &SimulationRequest::seed,
          "repeat a run bit for bit; all keys and noise derive from this number, so the run is NOT "
          "PRIVATE"),
      Row("seeds", &SimulationRequest::seeds,
          "repeat the simulation with each of these seeds, for example 1-5 or 1,4,9, and print "
          "mean and deviation")
          .Excludes("seed"),
      Row("fine-tune-steps", &SimulationRequest::fine_tune_steps,
          "evaluate the final model on each device's held-out samples, also after this many more "
          "local steps on the device's samples; 0: no such steps, and only a model with personal "
          "layers")
          .Within({0, 65535}),
      EvaluateEvery<SimulationRequest>(
          "evaluate the model after each round whose number is a multiple of this, and after the "
          "last; 0: never, so no accuracy is known",
          0),
  };
}

Fields FilesOfARun() {
  return {
      Row("rounds-csv", &SimulationRequest::rounds_csv, "write a row for each round to this file"),
      Row("spectrum", &SimulationRequest::spectrum,
          "write the Fourier magnitudes of each tensor of exact mean updates to this file, as CSV; "
          "for --mechanism none only, since they are not private"),
      Row("spectrum-rounds", &SimulationRequest::spectrum_rounds,
          "rounds of --spectrum, from 1; rounds after the plan's last are ignored")
          .Needs("spectrum"),
      Row("state-out", &SimulationRequest::state_out,
          "write the simulation's state to this file once a second and at its end, also after "
          "Ctrl-C, for --resume; no epsilon holds against a reader of the file")
          .ByDefault("the file of --resume"),
      Row("resume", &SimulationRequest::resume,
          "continue the simulation of this file, with the same options: the results are the same "
          "as without the interruption"),
  };
}

// A list of numbers as the value of an option.
struct Numbers {
  const char* option;
  const char* noun;
  const std::string& text;

  [[noreturn]] void Refuse(const std::string& why) const {
    throw std::invalid_argument(fmt::format("--{} {}: {}", option, text, why));
  }

  // "7" or "1-5".
  void Add(const std::string& part, std::vector<uint64_t>* numbers) const {
    const size_t dash = part.find('-');
    const auto first = posix::ParseCount(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : posix::ParseCount(part.substr(dash + 1));
    if (!first || !last || *first > *last) {
      Refuse(fmt::format("'{}' is no {} and no range of {}s; expected for example 1-5 or 1,4,9",
                         part, noun, noun));
    }
    if (*last - *first >= kMaxSeeds - numbers->size()) {
      Refuse(fmt::format("these are more than {} {}s", kMaxSeeds, noun));
    }
    for (uint64_t i = 0; i <= *last - *first; ++i) numbers->push_back(*first + i);
  }
};

std::vector<uint64_t> ParseNumbers(const char* option, const char* noun, const std::string& text) {
  const Numbers list = {option, noun, text};
  std::vector<uint64_t> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    list.Add(text.substr(begin, end - begin), &numbers);
    begin = end + 1;
  }
  std::vector<uint64_t> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) list.Refuse(fmt::format("{} {} is there twice", noun, *twice));
  return numbers;
}

}  // namespace

std::vector<uint64_t> ParseSeeds(const std::string& text) {
  return ParseNumbers("seeds", "seed", text);
}

std::vector<NamedInput> InputsOf(const SimulationRequest& request) {
  std::vector<NamedInput> inputs = InputsNamedIn(SimulationFields(), request);
  const JobRequest& job = request;
  for (NamedInput& input : InputsNamedIn(JobFields(), job)) inputs.push_back(std::move(input));
  return inputs;
}

std::string FleetText(const SimulationRequest& request) {
  nlohmann::ordered_json json;
  for (const Field<SimulationRequest>& field : SimulationFields()) {
    const std::string name = field.name;
    const bool decides = field.group == Group::kFleet || name == "seed";
    if (decides) json[field.json_name()] = ToJson(field.get(request));
  }
  return JsonText(json);
}

const Fields& SimulationFields() {
  static const Fields kFields = Joined(
      {Under(Group::kFleet, FleetAndData()),
       Under(Group::kRun,
             Joined({SeedAndEvaluation(), OutputFields<SimulationRequest>(), FilesOfARun()}))});
  return kFields;
}

namespace {

// Only exact updates have a spectrum: any other mechanism says that updates are to be protected.
void AskForSpectra(const SimulationRequest& request, SimulationConfig* config) {
  if (request.spectrum.empty()) return;
  const CodecInfo& codec = *config->job.codec;
  if (codec.noise || codec.coded) {
    throw std::invalid_argument(fmt::format(
        "--spectrum writes what updates are like without noise, which no epsilon covers, and this "
        "simulation has --mechanism {}; add --mechanism none",
        codec.by_name ? codec.name : "gau-lrq with --epsilon inf"));
  }
  for (const uint64_t round : ParseNumbers("spectrum-rounds", "round", request.spectrum_rounds)) {
    if (round == 0) throw std::invalid_argument("--spectrum-rounds counts from 1");
    config->update_rounds.insert(static_cast<uint32_t>(round - 1));
  }
  if (*config->update_rounds.begin() >= static_cast<uint64_t>(config->job.plan.rounds)) {
    throw std::invalid_argument(fmt::format("--spectrum-rounds {}: the job has {} rounds",
                                            request.spectrum_rounds, config->job.plan.rounds));
  }
}

void RequirePersonal(const SimulationRequest& request, const SimulationConfig& config) {
  const ModelInfo& model = *config.job.model;
  if (model.personal > 0 && (!request.state_out.empty() || !request.resume.empty())) {
    throw std::invalid_argument(fmt::format(
        "--{}: a state does not hold the personal layers of model {}'s devices; leave it out",
        request.resume.empty() ? "state-out" : "resume", model.name));
  }
  if (request.fine_tune_steps == 0) return;
  if (model.classes == 0) {
    throw std::invalid_argument(fmt::format(
        "--fine-tune-steps {}: model {} tells no classes apart, and devices report an accuracy",
        request.fine_tune_steps, model.name));
  }
  if (config.fleet.held_out > 0) return;
  throw std::invalid_argument(
      fmt::format("--fine-tune-steps {} evaluates on samples that devices do not train on; add for "
                  "example --held-out 0.2",
                  request.fine_tune_steps));
}

}  // namespace

std::string ChooseData(Ranks& ranks, SimulationRequest* request,
                       const std::string& fashion_mnist_folder) {
  if (request->Has("data") || !ranks.Any(!IsDataFolder(fashion_mnist_folder))) return "";
  request->data = "synthetic";
  return "no --data, and fashion-mnist is not installed: made-up samples stand in, as with --data "
         "synthetic; for the images install the package dataset-fashion-mnist";
}

SimulationConfig MakeSimulation(const SimulationRequest& request) {
  if (request.noise_decay_from) throw std::logic_error("the decay of the noise is not decided");
  RequireInRange(SimulationFields(), request);
  static_cast<void>(FindPartition(request.fleet.partition));
  SimulationConfig config;
  config.job = MakeJob(request, request.fleet.devices);
  config.job.seeded = request.seed.has_value();
  config.job.process.hears_all = true;
  config.fleet = request.fleet;
  config.fleet.held_out =
      request.held_out.value_or(config.job.evaluates_on_devices ? kDefaultHeldOut : 0);
  if (config.job.evaluates_on_devices && config.fleet.held_out == 0) {
    throw std::invalid_argument(
        "--held-out 0 leaves no samples for --evaluate-on-devices: each device would count as 1/2, "
        "and the noise would still be paid for; leave --held-out out, or name a share above 0");
  }
  config.fine_tune_steps = request.fine_tune_steps;
  RequirePersonal(request, config);
  config.seed = request.seed;
  config.threads = config.job.process.threads;
  config.evaluate_every = request.evaluate_every;
  config.fleet_text = FleetText(request);
  AskForSpectra(request, &config);
  return config;
}

SimulationRequest WithFleet(const SimulationRequest& request) {
  const PartitionInfo& partition = FindPartition(request.fleet.partition);
  if (request.Has("samples-per-device")) RequireTakesSamples(request.fleet.partition);
  SimulationRequest complete = request;
  if (partition.needs_groups && !request.Has("devices")) {
    const SharedDataset train = OpenDataOf(request).train;
    RequireSuitedPartition(request.fleet.partition, *train);
    complete.fleet.devices = train->group_count();
  }
  return complete;
}

TrainTest OpenDataOf(const SimulationRequest& request) {
  TrainTest data = OpenForFleet(request.data, request.test.value_or(""), request.job.model,
                                uint64_t{request.fleet.devices} * request.fleet.samples_per_device);
  if (request.classes) data = OnlyClasses(data, *request.classes);
  return data;
}

}  // namespace sotto::server
