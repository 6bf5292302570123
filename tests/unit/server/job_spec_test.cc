// Tests of the table of a job's fields: each row describes its field correctly.
#include "spec/job_spec.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include <nlohmann/json.hpp>

#include "accounting/accountant.h"
#include "base/json_text.h"
#include "net/serve_request.h"
#include "sim/simulation_request.h"
#include "sotto/models.h"
#include "sotto/wire.h"
#include "spec/configuration.h"
#include "spec/make_job.h"
#include "unit/server/store_fixture.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using posix::Kind;

constexpr uint32_t kFleet = 1000;

template <class Row>
std::vector<Row> OptionsOf(const std::vector<Row>& fields) {
  std::vector<Row> options;
  for (const Row& field : fields) {
    if (field.is_option()) options.push_back(field);
  }
  return options;
}

std::vector<JobField> Options() { return OptionsOf(JobFields()); }

Value Number(const FieldText& field, double value) {
  if (field.kind == Kind::kCount) return static_cast<uint64_t>(value);
  if (field.kind == Kind::kInteger) return static_cast<int64_t>(value);
  return value;
}

// A file of parameters for the default model.
std::string InitialModelFile() {
  const std::string path = TestFile("model");
  std::ofstream file(path, std::ios::binary);
  file << std::string(4 * JobRequest().job.model->parameters, '\1');
  return path;
}

// A value that is not the default.
Value Changed(const JobField& field) {
  const Value value = field.get(JobRequest());
  if (field.kind == Kind::kFlag) return !std::get<bool>(value);
  if (std::string(field.name) == "initial-model") return InitialModelFile();
  if (std::string(field.name) == "smoothing-image") return std::string("28x28");
  if (std::string(field.name) == "device-floor") return Number(field, 60);
  if (std::string(field.name) == "average") return std::string("geometric:1.5");
  if (std::string(field.name) == "threshold-bins") return std::string("0.5,1");
  for (const std::string& choice : field.choices) {
    if (value != Value(choice)) return choice;
  }
  if (posix::IsAbsent(value)) return field.range->most < 2 ? Value(1e-4) : Number(field, 2);
  const double number = posix::ToReal(value);
  if (field.kind != Kind::kReal) return Number(field, number + 1);
  return number == 0 ? 0.5 : number * 0.9;
}

using Detector = nn::Sequential<nn::Dense<9, 9>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
constexpr ModelInfo kErringModel = MakeModelInfo<Detector>("detector");

// A request in which the field counts.
JobRequest BaseFor(const std::string& name) {
  JobRequest base;
  if (name.rfind("threshold-", 0) == 0) {
    base.job.model = &kErringModel;
    base.job.plan.rounds = 2;  // the second one measures
  }
  if (name == "threshold-quantile") base.job.threshold_bins = "0.5,1";
  // Takes less time than the default.
  if (name != "accountant") base.job.plan.accountant = privacy::Accountant("rdp");
  const bool is_from_steps = name == "clip-from-steps";
  const bool is_by_layer = name == "clip-by-layer";
  base.adaptive_clip = name.rfind("clip-", 0) == 0 && !is_from_steps && !is_by_layer;
  if (is_by_layer) base.job.model = FindModel("mlp");  // of several layers
  if (is_from_steps) {
    base.job.training.local_steps = 3;
    base.job.training.gradient_clip = 1;
  }
  base.job.evaluates_on_devices = name == "accuracy-noise";
  if (name == "one-length" || name == "padding" || name == "sampling") {
    base.one_length = OneLength::kOff;
  }
  const std::set<std::string> of_passes = {"sampling", "participations", "order", "quorum",
                                           "deadlines"};
  if (of_passes.count(name) == 0) base.job.plan.sampling = privacy::Sampling::kUniform;
  if (name == "private-noise-multiplier") {
    base.trust_mode = privacy::TrustMode::kPrivateNoise;
    base.private_noise_multiplier = 0.5;
  }
  return base;
}

JobRequest ChangedRequest(const JobField& field) {
  JobRequest changed = BaseFor(field.name);
  Give(field, changed, Changed(field));
  if (std::string(field.name) == "trust-mode") changed.private_noise_multiplier = 0.5;
  return changed;
}

// What a device is told in the second round: the quantizer's scale, and all the rest as bytes, but
// for the number of a length, which follows from the noise.
std::pair<float, std::string> ToldOf(const JobRequest& request) {
  const JobConfig job = MakeJob(request, kFleet);
  Reply reply;
  reply.kind = Reply::Kind::kTrain;
  reply.task = job.TaskFor(1, job.ClipFor(1));
  const float scale = reply.task.quantizer_scale;
  reply.task.quantizer_scale = 1;
  reply.task.format.length = std::min(reply.task.format.length, 1U);
  uint8_t frame[kFrameHeaderSize + kDefaultMaxFrame];
  size_t size = 0;
  EXPECT_EQ(EncodeReply(reply, kDefaultMaxFrame, frame, &size), Status::kOk);
  return {scale, std::string(frame, frame + size)};
}

Json StoredOf(const JobRequest& request) {
  const JobConfig job = MakeJob(request, kFleet);
  return ConfigurationToJson(RecordOf(job));
}

// A job that began with `held` and was not extended.
RaisedFields NotRaised(const Json& held) {
  const Json rounds = held.value("rounds", Json());
  const Json budget = held.value("epsilon_budget", Json());
  return {rounds.is_number() ? rounds.get<int64_t>() : 0,
          budget.is_number() ? budget.get<double>() : std::numeric_limits<double>::infinity()};
}

std::string RefusalOf(const Json& held, const Json& now) {
  try {
    RequireSameConfiguration("a.store", held.dump(), now, NotRaised(held));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// Jobs with each group of stored fields that may be absent.
std::vector<JobRequest> KindsOfJobs() {
  std::vector<JobRequest> jobs(6);
  jobs[1].adaptive_clip = true;
  jobs[2].trust_mode = privacy::TrustMode::kPrivateNoise;
  jobs[2].private_noise_multiplier = 0.25;
  jobs[3].job.plan.sampling = privacy::Sampling::kPoisson;
  jobs[3].noise_multiplier = 1.5;
  jobs[4].one_length = OneLength::kOn;
  jobs[5].job.plan.sampling = privacy::Sampling::kUniform;
  jobs[5].job.plan.device_floor = 900;
  jobs[5].noise_multiplier = 1.5;
  return jobs;
}

template <class Row>
void ExpectDefaultsAreAllowed(const std::vector<Row>& fields) {
  const typename Row::Request defaults;
  EXPECT_NO_THROW(posix::RequireInRange(fields, defaults));
  for (const Row& field : OptionsOf(fields)) {
    const Value value = field.get(defaults);
    if (field.choices.empty()) continue;
    if (posix::IsAbsent(value)) {
      EXPECT_NE(field.derived_default, nullptr) << field.name;
      continue;
    }
    const auto& all = field.choices;
    EXPECT_NE(std::find(all.begin(), all.end(), posix::ToText(value)), all.end()) << field.name;
  }
}

TEST(JobSpec, EveryDefaultIsAllowed) {
  ExpectDefaultsAreAllowed(JobFields());
  ExpectDefaultsAreAllowed(SimulationFields());
  ExpectDefaultsAreAllowed(ServeFields());
}

template <class Row>
void ExpectEndsAreAllowed(const std::vector<Row>& fields) {
  using Request = typename Row::Request;
  for (const Row& field : OptionsOf(fields)) {
    if (!field.range) continue;
    const Range& range = *field.range;
    EXPECT_FALSE(range.Contains(NAN)) << field.name;
    EXPECT_EQ(range.Contains(range.least), !range.open) << field.name;
    for (const double end : {range.open ? 1e-3 : range.least, range.most}) {
      Request request;
      field.set(request, Number(field, end));
      const Value value = field.get(request);
      if (std::isinf(end)) {
        EXPECT_TRUE(posix::IsAbsent(value)) << field.name;
      } else {
        EXPECT_NEAR(posix::ToReal(value), end, 1e-7 * end) << field.name;
      }
    }
    Request request;
    const double outside = field.kind == Kind::kCount ? range.most + 1 : range.least - 1;
    field.set(request, Number(field, outside));
    EXPECT_THROW(posix::RequireInRange(fields, request), std::invalid_argument) << field.name;
  }
}

TEST(JobSpec, BothEndsOfEveryRangeAreSetAndReadBackAndWhatIsOutsideIsRefused) {
  ExpectEndsAreAllowed(JobFields());
  ExpectEndsAreAllowed(SimulationFields());
  ExpectEndsAreAllowed(ServeFields());
}

TEST(JobSpec, EveryChoiceIsSetAndReadBack) {
  for (const JobField& field : Options()) {
    for (const std::string& choice : field.choices) {
      JobRequest request;
      field.set(request, choice);
      EXPECT_EQ(posix::ToText(field.get(request)), choice) << field.name;
    }
    if (field.choices.empty()) continue;
    JobRequest request;
    EXPECT_THROW(field.set(request, std::string("nonsense")), std::invalid_argument) << field.name;
  }
}

TEST(JobSpec, ServedChoicesAreChoicesAndIncludeTheDefault) {
  for (const JobField& field : Options()) {
    std::vector<std::string> served = field.served_choices;
    if (served.empty()) continue;
    EXPECT_LT(served.size(), field.choices.size()) << field.name;
    const std::string by_default = posix::ToText(field.get(JobRequest()));
    EXPECT_NE(std::find(served.begin(), served.end(), by_default), served.end());
    for (const std::string& choice : served) {
      EXPECT_NE(std::find(field.choices.begin(), field.choices.end(), choice), field.choices.end())
          << field.name << " " << choice;
    }
  }
}

TEST(JobSpec, NamesAreUniqueAndWhatAnOptionNeedsStandsBeforeIt) {
  std::set<std::string> names;
  for (const JobField& field : Options()) {
    for (const auto& others : {field.needs, field.excludes}) {
      for (const char* other : others) EXPECT_EQ(names.count(other), 1u) << field.name;
    }
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
  }
  std::set<std::string> served = names;
  for (const Field<SimulationRequest>& field : SimulationFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
  }
  for (const Field<ServeRequest>& field : ServeFields()) {
    EXPECT_TRUE(served.insert(field.name).second) << field.name;
  }
}

TEST(JobSpec, DevicesLearnOfExactlyTheFieldsThatSaySo) {
  for (const JobField& field : Options()) {
    const auto before = ToldOf(BaseFor(field.name));
    const auto after = ToldOf(ChangedRequest(field));
    const Learns learns = before.second != after.second ? Learns::kTask
                          : before.first != after.first ? Learns::kNoise
                                                        : Learns::kNothing;
    EXPECT_EQ(learns, field.device) << field.name;
  }
}

TEST(JobSpec, AResumedJobMayChangeExactlyTheFieldsThatSaySo) {
  for (const JobField& field : Options()) {
    const Json held = StoredOf(BaseFor(field.name));
    const Json now = StoredOf(ChangedRequest(field));
    EXPECT_EQ(held == now, field.resume == Resume::kFree) << field.name;
    if (field.resume == Resume::kRaised) continue;
    EXPECT_EQ(RefusalOf(held, now) == "", field.resume == Resume::kFree) << field.name;
    if (field.resume != Resume::kStored) continue;
    const std::string name = field.stored_name();
    EXPECT_NE(held.value(name, Json()), now.value(name, Json())) << field.name;
  }
}

TEST(JobSpec, AResumedJobMayRaiseItsRoundsAndItsBudgetAndNeverLowerThem) {
  const Json held = StoredOf(JobRequest());
  for (const char* name : {"rounds", "epsilon_budget"}) {
    Json more = held;
    more[name] = held[name].get<int>() + 1;
    Json less = held;
    less[name] = held[name].get<int>() - 1;
    EXPECT_EQ(RefusalOf(held, more), "") << name;
    EXPECT_TRUE(Says(RefusalOf(held, less), std::string("do not lower ") + name)) << name;
  }
  const auto after_extension = [&](int64_t rounds) {
    Json now = held;
    now["rounds"] = rounds;
    RaisedFields raised = NotRaised(held);
    raised.rounds = 50;
    RequireSameConfiguration("a.store", held.dump(), now, raised);
  };
  after_extension(50);
  after_extension(60);
  EXPECT_THROW(after_extension(40), std::runtime_error) << "it was extended to 50";
}

TEST(JobSpec, AResumedJobKeepsItsInitialModelAndTakesNoOther) {
  JobRequest request;
  const Json without = StoredOf(request);
  EXPECT_FALSE(without.contains("initial_model"));
  request.initial_model = InitialModelFile();
  const Json held = StoredOf(request);
  EXPECT_EQ(held["initial_model"].get<std::string>().size(), 64u);
  EXPECT_EQ(RefusalOf(held, held), "");
  EXPECT_EQ(RefusalOf(held, without), "") << "it has the model in its store";
  EXPECT_TRUE(Says(RefusalOf(without, held), "began with initial_model = null"));
  Json other = held;
  other["initial_model"] = "another";
  EXPECT_TRUE(Says(RefusalOf(held, other), "began with initial_model = \""));
}

// What a job without the field counts as: one before there was the option. Discarded if the field
// is derived and has no default.
Json DefaultOf(const std::string& stored_name) {
  for (const JobField& field : OptionsOf(JobFields())) {
    if (field.stored_name() != stored_name) continue;
    return ToJson(field.before_option ? *field.before_option : field.get(JobRequest()));
  }
  return Json(Json::value_t::discarded);
}

TEST(JobSpec, EveryStoredFieldThatChangesIsRefusedByName) {
  for (const JobRequest& request : KindsOfJobs()) {
    const Json now = StoredOf(request);
    for (const auto& item : now.items()) {
      Json held = now;
      held[item.key()] = "another";
      EXPECT_TRUE(Says(RefusalOf(held, now), "began with " + item.key() + " = \"another\""));
      held.erase(item.key());
      const Json without = DefaultOf(item.key());
      const std::string refusal = RefusalOf(held, now);
      if (without == item.value() || item.key() == "rounds") {  // may be raised
        EXPECT_EQ(refusal, "") << item.key();
      } else {
        const std::string was = without.is_discarded() ? "absent" : without.dump();
        EXPECT_TRUE(Says(refusal, "began with " + item.key() + " = " + was))
            << item.key() << ": " << refusal;
      }
    }
  }
}

TEST(JobSpec, AStoredConfigurationGivesThePlanBack) {
  for (const JobRequest& request : KindsOfJobs()) {
    const JobConfig job = MakeJob(request, kFleet);
    const std::string text = ConfigurationToJson(RecordOf(job)).dump();
    JobConfig read = job;
    read.plan = PlanFromConfiguration("a.store", text);
    EXPECT_EQ(ConfigurationToJson(RecordOf(read)).dump(), text);
  }
}

TEST(JobSpec, WithoutPrivacyTheStoredPlanHasNoNoise) {
  JobConfig job = SmallConfig();
  job.codec = FindCodec("none");
  const std::string text = ConfigurationToJson(RecordOf(job)).dump();
  EXPECT_EQ(PlanFromConfiguration("a.store", text).noise_sigma, 0);
}

// The fields of `pinned`, in their order and with their values, are in `now`, which may have more.
void ExpectHolds(const Json& now, const std::string& pinned) {
  Json held = Json::object();
  const Json fields = Json::parse(pinned);
  for (const auto& item : fields.items()) {
    ASSERT_TRUE(now.contains(item.key())) << item.key();
    held[item.key()] = now[item.key()];
  }
  EXPECT_EQ(held.dump(), pinned);
}

// Stores of version 2 hold this text.
TEST(JobSpec, AStoredConfigurationHoldsEveryFieldOfVersion2) {
  JobConfig job = SmallConfig();
  ExpectHolds(
      ConfigurationToJson(RecordOf(job)),
      R"({"model":"softmax-64-10")"
      R"(,"model_digest":"0102030000000000000000000000000000000000000000000000000000000000")"
      R"(,"mechanism":"gau-lrq","coding":"range","padding":64,"seeded":false)"
      R"(,"sampling":"uniform","devices":12,"cohort":4,"planned_reports":4,"rounds":3)"
      R"(,"dimension":650,"clip_l2":0.4000000059604645,"noise_sigma":0.20000000298023224)"
      R"(,"colluders":1,"delta":0.001,"certificate_eta":0.0,"certificate_tau":0.0)"
      R"(,"certificate_range":0.0,"local_epochs":2,"batch_size":3)"
      R"(,"learning_rate":0.10000000149011612,"weight_decay":0.0,"clipping":"every-step")"
      R"(,"learning_rate_decay":1.0,"server_learning_rate":1.0,"smoothing":0.0)"
      R"(,"min_devices":1,"close_early":false,"epsilon_budget":null})");
  job.plan.private_noise_multiplier = 0.5;
  job.epsilon_budget = 6;
  ExpectHolds(
      ConfigurationToJson(RecordOf(job)),
      R"({"model":"softmax-64-10")"
      R"(,"model_digest":"0102030000000000000000000000000000000000000000000000000000000000")"
      R"(,"mechanism":"gau-lrq","coding":"range","padding":64,"seeded":false)"
      R"(,"sampling":"uniform","devices":12,"cohort":4,"planned_reports":4,"rounds":3)"
      R"(,"dimension":650,"clip_l2":0.4000000059604645,"noise_sigma":0.20000000298023224)"
      R"(,"colluders":1,"delta":0.001,"trust_mode":"private-noise")"
      R"(,"private_noise_multiplier":0.5,"certificate_eta":0.0,"certificate_tau":0.0)"
      R"(,"certificate_range":0.0,"local_epochs":2,"batch_size":3)"
      R"(,"learning_rate":0.10000000149011612,"weight_decay":0.0,"clipping":"every-step")"
      R"(,"learning_rate_decay":1.0,"server_learning_rate":1.0,"smoothing":0.0)"
      R"(,"min_devices":1,"close_early":false,"epsilon_budget":6.0})");
  ExpectHolds(
      ConfigurationToJson(RecordOf(SmallAdaptiveConfig())),
      R"({"model":"softmax-64-10")"
      R"(,"model_digest":"0102030000000000000000000000000000000000000000000000000000000000")"
      R"(,"mechanism":"gau-lrq","coding":"range","padding":64,"seeded":false)"
      R"(,"sampling":"uniform","devices":12,"cohort":4,"planned_reports":4,"rounds":3)"
      R"(,"dimension":651,"clip_l2":0.4000000059604645,"noise_sigma":0.20000000298023224)"
      R"(,"colluders":1,"delta":0.001,"certificate_eta":0.0,"certificate_tau":0.0)"
      R"(,"certificate_range":0.0,"clip_bit_scale":8.00000011920929,"clip_quantile":0.5)"
      R"(,"clip_learning_rate":0.2,"local_epochs":2,"batch_size":3)"
      R"(,"learning_rate":0.10000000149011612,"weight_decay":0.0,"clipping":"every-step")"
      R"(,"learning_rate_decay":1.0,"server_learning_rate":1.0,"smoothing":0.0)"
      R"(,"min_devices":1,"close_early":false,"epsilon_budget":null})");
}

TEST(JobSpec, TheSpecificationNamesEveryOption) {
  const JobRequest request;
  const JobConfig job = MakeJob(request, kFleet);
  const Json json = SpecificationToJson(request, job);
  EXPECT_EQ(json.size(), Options().size());
  EXPECT_EQ(json["learning_rate_decay"], 0.99);
  EXPECT_EQ(json["delta"], job.plan.delta);
  EXPECT_EQ(json["epsilon_budget"], 6.0);
  EXPECT_EQ(json["threads"], job.process.threads);
  EXPECT_TRUE(json["noise_multiplier"].is_null());
}

TEST(JobSpec, AnOptionNewerThanTheStoreCountsWithItsDefault) {
  const JobConfig job = MakeJob(JobRequest(), 1000);
  const JobRecord record = RecordOf(job);
  const Json now = ConfigurationToJson(record);
  Json held = now;
  held.erase("smoothing");
  EXPECT_EQ(RefusalOf(held, now), "");
  Json changed = now;
  changed["smoothing"] = 1.0;
  EXPECT_TRUE(Says(RefusalOf(held, changed), "smoothing = 0.0, and now it is 1.0"))
      << RefusalOf(held, changed);
}

TEST(JobSpec, BothEndsOfARangeAreTakenAlsoAsFloat32) {
  for (const JobField& field : Options()) {
    if (!field.range || field.range->open || !std::isfinite(field.range->most)) continue;
    for (const double end : {field.range->least, field.range->most}) {
      JobRequest request;
      field.set(request, Number(field, end));
      EXPECT_NO_THROW(posix::RequireInRange(JobFields(), request)) << field.name << " " << end;
    }
  }
}

TEST(ServeRequestTest, ARoundLastsAtLeastTwoPolls) {
  ServeRequest request;
  EXPECT_NO_THROW(Validate(request));
  request.poll_interval_s = 5;
  request.round_timeout_s = 10;
  EXPECT_NO_THROW(Validate(request));
  request.round_timeout_s = 9.9;
  EXPECT_THROW(Validate(request), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
