// One row of the table of a job's fields: what sotto/options/field.h has, and what a job, its plan
// and a stored configuration make of it. Part of sotto::server/spec.
//
//   Row("weight-decay", Learns::kTask, &TrainingOptions::weight_decay, "L2 regularisation")
//       .Within({0, 1e6})
//
// The struct of the member says what the field is. A member of JobRequest is what somebody asks
// for; RunsWith() or Reads() say what follows from it for the job. A member of the job, of its plan
// or of another part of it is both: the job runs with what is asked for.
//
// Pure functions, safe from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/adaptive_clip.h"
#include "plans/learning_rate.h"
#include "plans/plan.h"
#include "plans/schedule.h"
#include "round/job_config.h"
#include "round/job_log.h"
#include "sotto/options/field.h"
#include "sotto/research/aggregation_options.h"
#include "sotto/train.h"
#include "spec/job_request.h"

namespace sotto::server {

using posix::At;
using posix::Field;
using posix::FieldText;
using posix::Joined;
using posix::Range;
using posix::ToValue;
using posix::Under;
using posix::Value;

// The headings of --help.
struct Group {
  static constexpr char kAudit[] = "Audit";
  static constexpr char kFleet[] = "Fleet and data";
  static constexpr char kPeers[] = "Nodes";
  static constexpr char kNetwork[] = "Network and store";
  static constexpr char kRounds[] = "Rounds";
  static constexpr char kTraining[] = "Training";
  static constexpr char kPrivacy[] = "Privacy";
  static constexpr char kRun[] = "Run and output";
};

// Whether a resumed job may have another value than it began with.
enum class Resume {
  kStored,   // no: the value is stored with the job and compared
  kKept,     // no: as kStored, but a resumed job without a value keeps the one that it began with
  kRaised,   // yes, to a larger one: the values of later starts are stored beside the first one
  kImplied,  // no: other stored values follow from it and are compared
  kFree,     // yes: the value says how a process works, not what the job is
};

// How much devices learn of a field. A value with kTask must be part of TrainTask and of the wire
// format.
enum class Learns {
  kNothing,
  kNoise,  // the noise is calibrated with it: the task's quantizer changes, and nothing else
  kTask,   // the task itself
};

// Finds the codec of this name. Throws std::invalid_argument if there is none.
void FindNamed(const std::string& name, const CodecInfo** codec);

// The part of a plan, or of a job, that is a struct of this type.
template <class Part>
constexpr bool kIsOfPlan = std::disjunction_v<
    std::is_same<Part, privacy::Plan>, std::is_same<Part, privacy::RoundSchedule>,
    std::is_same<Part, privacy::StepBound>, std::is_same<Part, privacy::LearningRate>,
    std::is_same<Part, privacy::CertificateBounds>>;
template <class Part, class Plan>
auto& PartOfPlan(Plan& plan) {
  if constexpr (std::is_same_v<Part, privacy::RoundSchedule>) return plan.schedule;
  if constexpr (std::is_same_v<Part, privacy::StepBound>) return plan.schedule.bound;
  if constexpr (std::is_same_v<Part, privacy::LearningRate>) return plan.schedule.bound.rate;
  if constexpr (std::is_same_v<Part, privacy::CertificateBounds>) return plan.certificate;
  if constexpr (std::is_same_v<Part, privacy::Plan>) return plan;
}
template <class Part, class Job>
auto& PartOfJob(Job& job) {
  if constexpr (std::is_same_v<Part, JobConfig>) return job;
  if constexpr (std::is_same_v<Part, TrainingOptions>) return job.training;
  if constexpr (std::is_same_v<Part, AggregationOptions>) return job.aggregation;
  if constexpr (std::is_same_v<Part, ProcessOptions>) return job.process;
  if constexpr (std::is_same_v<Part, privacy::ClipSchedule>) return *job.clip_schedule;
  if constexpr (kIsOfPlan<Part>) return PartOfPlan<Part>(job.plan);
}

struct JobField : posix::BasicField<JobRequest, JobField> {
  // The choices that `sotto serve` takes; empty: the same as `choices`.
  std::vector<std::string> served_choices;
  Resume resume = Resume::kImplied;
  Learns device = Learns::kNothing;
  const char* stored_as = nullptr;  // name in a stored configuration; null: json_name()

  // The value with which the job runs. Empty if get() already gives it.
  std::function<Value(const JobRecord&)> read;
  std::function<bool(const JobRecord&)> is_stored;  // empty: always, if resume is kStored
  // A resumed job that is not given the option goes on with what it began with, and does not take
  // the default.
  bool is_kept = false;
  std::optional<Value> before_option = std::nullopt;  // what jobs did that had no such option
  bool is_shown = false;  // results have the value of read() even where it is not stored
  std::function<void(privacy::Plan&, const Value&)> plan;  // of a field that is part of the plan

  // An option. It has the arguments of Field and says how much devices learn.
  //   member  of JobRequest, of the job or of a part of it
  template <class Part, class T>
  JobField(const char* option, Learns who, T Part::*member, std::string text)
      : BasicField(option, std::move(text)), device(who) {
    if constexpr (std::is_same_v<Part, JobRequest>) {
      Access(member);
    } else {
      Access([member](auto& request) -> auto& { return PartOfJob<Part>(request.job).*member; });
      RunsWith(member);
    }
  }
  template <class Ref>
  JobField(const char* option, Learns who, Ref ref, std::string text)
      : BasicField(option, std::move(text)), device(who) {
    Access(ref);
  }
  template <class Getter, class Setter>
  JobField(const char* option, Learns who, Getter getter, Setter setter, std::string text)
      : BasicField(option, std::move(text)), device(who) {
    Access(getter, setter);
  }
  // A field that is no option: its value follows from other fields.
  JobField(const char* derived, Learns who) : BasicField(derived, ""), device(who) {
    group = nullptr;
  }

  std::string stored_name() const { return stored_as != nullptr ? stored_as : json_name(); }

  JobField& StoredAs(const char* value) {
    stored_as = value;
    return *this;
  }
  JobField& Resumed(Resume value) {
    resume = value;
    return *this;
  }
  JobField& StoredIf(bool (*value)(const JobConfig&)) {
    is_stored = [value](const JobRecord& job) { return value(job.config); };
    return *this;
  }
  JobField& StoredIfRecorded(bool (*value)(const JobRecord&)) {
    is_stored = value;
    return *this;
  }
  // Stored only if the job runs with another value than a default job.
  JobField& StoredUnlessDefault() {
    is_stored = [value = read](const JobRecord& job) {
      return value({{}, {}, job.config}) != value({{}, {}, JobConfig()});
    };
    return *this;
  }
  JobField& Kept() {
    is_kept = true;
    return *this;
  }
  //   before  what jobs did before there was this option
  JobField& KeptFrom(const Value& before) {
    before_option = before;
    return Kept();
  }
  JobField& Shown() {
    is_shown = true;
    return *this;
  }
  JobField& ServedAsNames(std::vector<std::string> names) {
    served_choices = std::move(names);
    return *this;
  }

  // The value with which the job runs. It is stored with the job.
  template <class Read>
  JobField& Reads(Read value) {
    read = value;
    resume = Resume::kStored;
    return *this;
  }
  //   member  of the job or of a part of it
  template <class Part, class T>
  JobField& RunsWith(T Part::*member) {
    if constexpr (kIsOfPlan<Part>) {
      plan = [member](privacy::Plan& out, const Value& value) {
        posix::FromValue(value, &(PartOfPlan<Part>(out).*member));
      };
    }
    return Reads(
        [member](const JobRecord& job) { return ToValue(PartOfJob<Part>(job.config).*member); });
  }
};

// Sets an option that somebody named, and remembers that it was named: no default, not even one
// that depends on other options, takes its place. Request is a JobRequest.
template <class Row, class Request>
void Give(const Row& field, Request& request, const Value& value) {
  field.set(request, value);
  request.given.insert(field.name);
}

// The rows of the files that a run writes. Request has the members `json`, `model_out` and
// `average_out`.
template <class Request>
std::vector<Field<Request>> OutputFields() {
  using Row = Field<Request>;
  return {
      Row("json", &Request::json, "write the results to this file; - is standard output"),
      Row("model-out", &Request::model_out, "write the final parameters, float32 LE"),
      Row("average-out", &Request::average_out,
          "write the average of the models, as --average asks, likewise")
          .Needs("average"),
  };
}

// How often a model is evaluated: every `least` rounds or more; 0 is never. Request has the member
// `evaluate_every`.
template <class Request>
Field<Request> EvaluateEvery(const char* help, uint32_t least) {
  return Field<Request>("evaluate-every", &Request::evaluate_every, help)
      .Within({static_cast<double>(least), 1000000})
      .Unit("rounds");
}

}  // namespace sotto::server
