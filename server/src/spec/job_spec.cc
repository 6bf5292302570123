#include "spec/job_spec.h"

#include <fmt/format.h>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "aggregate/released_grid.h"
#include "base/json_text.h"
#include "base/names.h"
#include "export/parameters.h"
#include "sotto/models.h"
#include "sotto/posix/hex.h"
#include "spec/job_fields.h"

namespace sotto::server {

using Json = nlohmann::ordered_json;
namespace {

using namespace job_fields;

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const ModelInfo& model : Models()) names.emplace_back(model.name);
  return names;
}

const ModelInfo* ModelOf(const JobRequest& request) { return request.job.model; }

void OpenModel(JobRequest& request, const std::string& value) {
  try {
    request.opened_model = posix::OpenModel(value);
    request.model_file = value;
  } catch (const std::exception& error) {
    throw std::invalid_argument(fmt::format("--model {}", error.what()));
  }
  request.job.model = request.opened_model.get();
}

// Conditions under which a store holds a row: a job without the feature has no such row.
bool HasInitialModel(const JobConfig& job) { return !job.initial_parameters.empty(); }
bool IsPasses(const JobConfig& job) { return job.plan.sampling == privacy::Sampling::kPasses; }

Fields ModelAndCode() {
  return {
      Row("model", Learns::kNoise, ModelOf, OpenModel,
          "the net: its name, which `sotto model` lists, or a file that describes it")
          .In(Group::kRounds)
          .OneOfNames(ModelNames())
          .OrFile("FILE.toml")
          .NamesFiles(&JobRequest::model_file)
          .RunsWith(&JobConfig::model),
      Row("model-digest", Learns::kNothing).Reads([](const JobRecord& job) {
        return Value(posix::Hex(job.model_digest));
      }),
      Row("initial-model", Learns::kNothing, &JobRequest::initial_model,
          "begin with the parameters in this file: safetensors, NPZ or NPY as `sotto model "
          "export` writes them, or float32 LE of --model-out. The job keeps them, so a resumed "
          "job needs no file. Epsilon does not cover the data that they were trained on")
          .In(Group::kTraining)
          .NamesFiles()
          .ByDefault("drawn anew, or zeros for a single dense layer")
          .Reads([](const JobRecord& job) {
            const std::vector<float>& initial = job.config.initial_parameters;
            return Value(ParametersDigest({initial.data(), initial.size()}));
          })
          .StoredIf(HasInitialModel)
          .Resumed(Resume::kKept),
      Row("weights-key", Learns::kNothing)
          .Reads([](const JobRecord& job) { return Value(posix::Hex(job.weights_key)); })
          .StoredIfRecorded([](const JobRecord& job) { return !job.weights_key.empty(); })
          .Resumed(Resume::kKept),
      Row("mechanism", Learns::kTask, &JobConfig::codec,
          "gau-lrq: private; none: exact updates, NO PRIVACY; float32, qg, bq: baselines to "
          "compare with, in simulations only")
          .OneOfNames(CodecNames())
          .ServedAsNames(ServableCodecNames()),
      Row("coding", Learns::kTask, &JobConfig::coding,
          "how updates become bytes; range: a range code, near the entropy; fixed: the same number "
          "of bits for every coordinate")
          .OneOf(Coding::kRange, Coding::kFixed)
          .Reads([](const JobRecord& job) { return ToValue(job.config.format().coding); }),
      Row("padding", Learns::kTask, &JobConfig::padding,
          "pad uploads to a multiple of this many bytes, so their length tells less; 0: none")
          .Within({0, kMaxPadding})
          .Unit("bytes")
          .Reads([](const JobRecord& job) { return ToValue(job.config.format().padding); }),
      Row("one-length", Learns::kTask, &JobRequest::one_length,
          "on: all uploads have one length, so lengths tell nothing, and --padding has no effect; "
          "a device sends a longer update as zeros, and delta pays for that; auto: on with "
          "--sampling passes and --mechanism gau-lrq, off with a --padding or an epsilon above "
          "100. Results state the length in bytes, 0 if off")
          .OneOf(OneLength::kAuto, OneLength::kOn, OneLength::kOff)
          .RunsWith(&JobConfig::update_length)
          .StoredUnlessDefault()
          .Shown(),
      Derived("too-long", &privacy::Plan::too_long).StoredUnlessDefault(),
      Row("require-salt", Learns::kNothing, &JobConfig::requires_salt,
          "let only devices take part whose program mixes the server's salt into the key of an "
          "update: then a device that cheats cannot choose its noise. Other devices wait")
          .StoredIf([](const JobConfig& job) { return job.requires_salt; }),
      Derived("seeded", &JobConfig::seeded),
  };
}

Fields Sampling() {
  return {
      Row("sampling", Learns::kNoise, &privacy::Plan::sampling,
          "how a round's devices are chosen; uniform: exactly B without replacement, replace-one "
          "adjacency; poisson: each device with chance B/N, add/remove adjacency; full: all "
          "devices in every round, whatever --cohort, replace-one adjacency, no amplification; "
          "passes: exactly B of the devices that took part least, each in at most --participations "
          "rounds, replace-one adjacency, no secret draw")
          .OneOf(privacy::Sampling::kUniform, privacy::Sampling::kPoisson, privacy::Sampling::kFull,
                 privacy::Sampling::kPasses)
          .Formerly("uniform")
          .Kept(),
      Row("participations", Learns::kNoise, &JobRequest::participations,
          "with --sampling passes: the most rounds of the job in which one device takes part; two "
          "devices of one owner (`sotto keys owner`) never share a cohort")
          .Within(kCount)
          .Unit("rounds")
          .ByDefault("4; with --rounds the fewest that these rounds need")
          .RunsWith(&privacy::Plan::participations)
          .StoredIf(IsPasses),
      Row("order", Learns::kNothing, &privacy::Plan::order,
          "with --sampling passes: connected: the connected devices that took part least come "
          "first; fixed: a shuffled list, in which an absent device loses its turn; rounds then "
          "end at their deadlines")
          .OneOf(privacy::Order::kConnected, privacy::Order::kFixed)
          .StoredUnlessDefault(),
      Derived("devices", &privacy::Plan::devices),
      Row("cohort", Learns::kNoise, &privacy::Plan::cohort,
          "devices drawn for a round, B; the expected number if --sampling poisson")
          .Within(kCount)
          .Unit("devices")
          .ByDefault("half of the devices, 100 at most; uniform and poisson 50"),
      Row("device-floor", Learns::kNoise, &privacy::Plan::device_floor,
          "with --sampling uniform: compute noise and epsilon for a fleet of this many devices; "
          "while at least so many are left, a device that leaves changes no figure; 0: all "
          "devices at the beginning of the job")
          .Within(kCountOrNone)
          .Unit("devices")
          .StoredUnlessDefault(),
      Derived("planned-reports", &privacy::Plan::planned_reports),
      Row("rounds", Learns::kNoise, &privacy::Plan::rounds, "number of rounds, T")
          .Within(kCount)
          .ByDefault("as many as --participations allows; other samplings 30")
          .Resumed(Resume::kRaised),
      Derived("dimension", &privacy::Plan::dimension),
      Row("clip", Learns::kTask, &TrainingOptions::clip_l2,
          "largest L2 norm of a device's update, C")
          .In(Group::kTraining)
          .Within(kFactor)
          .Unit("model units")
          .StoredAs("clip_l2")
          .RunsWith(&privacy::Plan::clip_l2),
  };
}

Fields ServerStep() {
  return {
      Row("min-devices", Learns::kNothing, &JobRequest::min_devices,
          "devices, drawn or not, that must check in by the deadline; if fewer do, the round "
          "releases nothing and charges nothing")
          .Within(kCountOrNone)
          .Unit("devices")
          .ByDefault("1; poisson and passes 0")
          .RunsWith(&JobConfig::min_devices),
      Row("quorum", Learns::kNothing, &JobRequest::quorum,
          "with --sampling passes: drawn devices that must report by the deadline; if fewer do, "
          "the round releases nothing and charges nothing; 0: every round is released")
          .Within(kCountOrNone)
          .Unit("devices")
          .ByDefault("1; with --order fixed 0")
          .RunsWith(&JobConfig::quorum)
          .StoredIf(IsPasses),
      Row("close-early", Learns::kNoise, &privacy::Plan::participants_known,
          "end a round as soon as its whole cohort has reported; the time of a release then tells "
          "who takes part, so epsilon holds against an adversary who knows the participants, and "
          "sampling does not amplify it"),
      Row("deadlines", Learns::kNothing, &JobRequest::deadlines,
          "with --sampling passes: every round lasts --round-timeout. Without it, and without "
          "--close-early, each task names a report time, two thirds of --round-timeout after the "
          "choice of devices. Devices upload from then on; a device that has not trained after "
          "three quarters of that time sends zeros. A round ends at five sixths of "
          "--round-timeout if all have reported")
          .Excludes("close-early"),
      Derived("timed-reports", &privacy::Plan::timed_reports).StoredUnlessDefault(),
      Row("epsilon-budget", Learns::kNothing, &JobRequest::epsilon_budget,
          "limit of epsilon, with earlier jobs on the same devices: no round starts that would "
          "exceed it")
          .In(Group::kPrivacy)
          .Within({1e-9, 1e300})
          .ByDefault(
              "--epsilon; with passes after earlier jobs the sum that they cost together; none "
              "with --noise-multiplier")
          .RunsWith(&JobConfig::epsilon_budget)
          .Resumed(Resume::kRaised),
      Row("threads", Learns::kNothing, &ProcessOptions::threads,
          "number of threads, which does not change the result; 0: one for each processor")
          .Within({0, 4096})
          .Resumed(Resume::kFree),
  };
}

}  // namespace

JobRequest::JobRequest() {
  job.model = FindModel("softmax-784-10");
  job.plan.sampling = privacy::Sampling::kPasses;
  job.plan.cohort = 50;
  job.plan.rounds = 30;
  job.process.threads = 0;
  job.aggregation.grid = kDefaultGrid;
}

const std::vector<JobField>& JobFields() {
  static const Fields kFields =
      Joined({Under(Group::kPrivacy, ModelAndCode()), Under(Group::kRounds, Sampling()),
              Under(Group::kPrivacy, Noise()), Under(Group::kTraining, AdaptiveClip()),
              Under(Group::kTraining, Evaluation()), Under(Group::kTraining, LocalTraining()),
              Under(Group::kTraining, BoundFromSteps()), Under(Group::kRounds, Threshold()),
              Under(Group::kRounds, ServerOptimiser()), Under(Group::kRounds, Estimation()),
              Under(Group::kRounds, ServerStep())});
  return kFields;
}

const char* Name(OneLength one_length) {
  constexpr privacy::Named<OneLength> kNames[] = {
      {OneLength::kAuto, "auto"}, {OneLength::kOn, "on"}, {OneLength::kOff, "off"}};
  return privacy::NameIn(kNames, one_length);
}

void FindNamed(const std::string& name, const CodecInfo** codec) { *codec = &RequireCodec(name); }

Json SpecificationToJson(const JobRequest& request, const JobConfig& job) {
  const JobRecord record = {{}, {}, job};
  Json json = Json::object();
  for (const JobField& field : JobFields()) {
    if (!field.is_option()) continue;
    const bool is_resolved =
        field.read && (field.is_shown || !field.is_stored || field.is_stored(record));
    json[field.json_name()] = ToJson(is_resolved ? field.read(record) : field.get(request));
  }
  return json;
}

}  // namespace sotto::server
