#include "spec/job_spec.h"

#include <fmt/format.h>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "sotto/models.h"
#include "sotto/posix/hex.h"
#include "spec/job_fields.h"
#include "spec/parameters_file.h"
#include "spec/value_json.h"

namespace sotto::server {

using Json = nlohmann::ordered_json;
namespace {

using namespace job_fields;

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const ModelInfo& model : Models()) names.emplace_back(model.name);
  return names;
}

void OpenModel(JobRequest& request, const std::string& value) {
  try {
    request.opened_model = posix::OpenModel(value);
    request.model_file = value;
  } catch (const std::exception& error) {
    throw std::invalid_argument(fmt::format("--model {}", error.what()));
  }
  request.job.model = request.opened_model.get();
}

// Conditions under which a store holds a row. Stores of older programs lack these rows.
bool HasInitialModel(const JobConfig& job) { return !job.initial_parameters.empty(); }

Fields ModelAndCode() {
  return {
      Row("model", "the net: its name, which `sotto model` lists, or a file that describes it")
          .In(Group::kRounds)
          .OneOfNames(ModelNames())
          .OrFile("FILE.toml")
          .AskedAsText(
              Learns::kNoise, [](const JobRequest& request) { return request.job.model; },
              OpenModel)
          .Reads([](const JobRecord& job) { return ToValue(job.config.model); }),
      Derived("model-digest").Reads([](const JobRecord& job) {
        return Value(posix::Hex(job.model_digest));
      }),
      Row("initial-model",
          "begin with the parameters in this file: safetensors, NPZ or NPY as `sotto model export` "
          "writes them, or float32 LE of --model-out; a job keeps them, so a resumed one needs no "
          "file; epsilon does not cover the data that they were trained on")
          .In(Group::kTraining)
          .ByDefault("drawn anew, or zeros for a single dense layer")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.initial_model; })
          .Reads([](const JobRecord& job) {
            const std::vector<float>& initial = job.config.initial_parameters;
            return Value(ParametersDigest({initial.data(), initial.size()}));
          })
          .StoredIf(HasInitialModel)
          .Resumed(Resume::kKept),
      Row("mechanism",
          "gau-lrq: private; none: exact updates, NO PRIVACY; float32, qg, bq: baselines to "
          "compare with, in simulations only")
          .In(Group::kPrivacy)
          .OneOfNames(CodecNames())
          .ServedAsNames(ServableCodecNames())
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.codec; }),
      Row("coding",
          "how updates become bytes; range: near the entropy; fixed: the same number of bits for "
          "every coordinate")
          .In(Group::kPrivacy)
          .OneOf(Coding::kRange, Coding::kFixed)
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.job.coding; })
          .Reads([](const JobRecord& job) { return ToValue(job.config.format().coding); }),
      Row("padding", "uploads are multiples of so many bytes: their length tells less; 0: none")
          .In(Group::kPrivacy)
          .Within({0, kMaxPadding})
          .Unit("bytes")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.job.padding; })
          .Reads([](const JobRecord& job) { return ToValue(job.config.format().padding); }),
      Derived("seeded").Reads([](const JobRecord& job) { return ToValue(job.config.seeded); }),
  };
}

Fields Sampling() {
  return {
      Row("sampling",
          "uniform: exactly B without replacement, replace-one adjacency; poisson: each device "
          "with chance B/N, add/remove adjacency; full: all devices in every round, whatever "
          "--cohort, replace-one adjacency, nothing is amplified")
          .In(Group::kRounds)
          .OneOf(privacy::Sampling::kUniform, privacy::Sampling::kPoisson, privacy::Sampling::kFull)
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.sampling; }),
      Derived("devices").OfPlan([](auto& plan) -> auto& { return plan.devices; }),
      Row("cohort", "devices drawn for a round, B; expected if Poisson")
          .In(Group::kRounds)
          .Within(kCount)
          .Unit("devices")
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.cohort; }),
      Derived("planned-reports").OfPlan([](auto& plan) -> auto& { return plan.planned_reports; }),
      Row("rounds", "rounds, K")
          .In(Group::kRounds)
          .Within(kCount)
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.rounds; })
          .Resumed(Resume::kRaised),
      Derived("dimension").OfPlan([](auto& plan) -> auto& { return plan.dimension; }),
      Row("clip", "largest L2 norm of a device's update, C")
          .In(Group::kTraining)
          .Within(kFactor)
          .Unit("model units")
          .StoredAs("clip_l2")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.job.training.clip_l2; })
          .OfPlan([](auto& plan) -> auto& { return plan.clip_l2; }),
  };
}

Fields ServerStep() {
  return {
      Row("min-devices",
          "if fewer of all devices, drawn or not, check in until the deadline, nothing is released "
          "and nothing charged")
          .In(Group::kRounds)
          .Within(kCountOrNone)
          .Unit("devices")
          .ByDefault("1, Poisson 0")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.min_devices; })
          .Reads([](const JobRecord& job) { return ToValue(job.config.min_devices); }),
      Row("close-early",
          "a round ends as soon as its whole cohort has reported; the time of a release then tells "
          "who takes part: epsilon is that of an adversary who knows the participants, and is not "
          "amplified by sampling")
          .In(Group::kRounds)
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.participants_known; }),
      Row("epsilon-budget",
          "no round starts that would take epsilon above this, earlier jobs on the same devices "
          "included")
          .In(Group::kPrivacy)
          .Within({1e-9, 1e300})
          .ByDefault("--epsilon; none with --noise-multiplier")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.epsilon_budget; })
          .Reads([](const JobRecord& job) { return ToValue(job.config.epsilon_budget); })
          .Resumed(Resume::kRaised),
      Row("threads", "0: one a processor; does not change the result")
          .In(Group::kRounds)
          .Within({0, 4096})
          .Stands(
              Learns::kNothing, [](auto& job) -> auto& { return job.process.threads; })
          .Resumed(Resume::kFree),
  };
}

Fields AllFields() {
  Fields all;
  for (const Fields& part :
       {ModelAndCode(), Sampling(), Noise(), AdaptiveClip(), Evaluation(), LocalTraining(),
        BoundFromSteps(), ServerOptimiser(), Estimation(), ServerStep()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

JobRequest::JobRequest() {
  job.model = FindModel("softmax-784-10");
  job.plan.cohort = 50;
  job.plan.rounds = 30;
  job.process.threads = 0;
}

const std::vector<JobField>& JobFields() {
  static const std::vector<JobField> kFields = AllFields();
  return kFields;
}

void FindNamed(const std::string& name, const CodecInfo** codec) { *codec = &RequireCodec(name); }

Json SpecificationToJson(const JobRequest& request, const JobConfig& job) {
  const JobRecord record = {{}, {}, job};
  Json json = Json::object();
  for (const JobField& field : JobFields()) {
    if (!field.is_option()) continue;
    const bool is_resolved =
        field.read && (field.is_shown || !field.is_stored || field.is_stored(job));
    json[field.json_name()] = ToJson(is_resolved ? field.read(record) : field.get(request));
  }
  return json;
}

}  // namespace sotto::server
