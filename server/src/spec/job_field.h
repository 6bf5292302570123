// One row of the table of a job's fields: what sotto/options/field.h has, and what a job, its plan
// and a stored configuration make of it. Part of sotto::server/spec.
//
//   Row("weight-decay", "L2 regularisation")
//       .In(Group::kTraining)
//       .Within({0, 1e6})
//       .Stands(Learns::kTask, [](auto& job) -> auto& { return job.training.weight_decay; })
//
// Pure functions, safe from any thread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "round/job_log.h"
#include "sotto/options/field.h"
#include "spec/job_request.h"

namespace sotto::server {

using posix::Field;
using posix::FieldText;
using posix::Range;
using posix::RowOf;
using posix::ToValue;
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

struct JobField : posix::BasicField<JobRequest, JobField> {
  // The choices that `sotto serve` takes; empty: the same as `choices`.
  std::vector<std::string> served_choices;
  Resume resume = Resume::kImplied;
  Learns device = Learns::kNothing;
  const char* stored_as = nullptr;  // name in a stored configuration; null: json_name()

  // The value with which the job runs. Empty if get() already gives it.
  std::function<Value(const JobRecord&)> read;
  std::function<bool(const JobConfig&)> is_stored;  // empty: always, if resume is kStored
  bool is_shown = false;  // results have the value of read() even where it is not stored
  std::function<void(privacy::Plan&, const Value&)> plan;  // of a field that is part of the plan

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
    is_stored = value;
    return *this;
  }
  JobField& Shown() {
    is_shown = true;
    return *this;
  }
  JobField& ServedAsNames(std::vector<std::string> names) {
    served_choices = std::move(names);
    return *this;
  }

  // Access to the requested value, see BasicField.
  template <class Ref>
  JobField& Asked(Learns who, Ref ref) {
    device = who;
    return AskedAt(ref);
  }
  template <class Ref, class Setter>
  JobField& AskedAsText(Learns who, Ref ref, Setter setter) {
    device = who;
    return AskedAsTextAt(ref, setter);
  }

  // A field of the job's configuration whose requested value is used unchanged.
  //   ref  (auto& job_config) -> auto&
  template <class Ref>
  JobField& Stands(Learns who, Ref ref) {
    return Asked(
               who, [ref](auto& request) -> auto& { return ref(request.job); })
        .Reads([ref](const JobRecord& job) { return ToValue(ref(job.config)); });
  }

  // The same for a field that is stored only if it differs from its default.
  template <class Ref>
  JobField& StandsUnlessDefault(Learns who, Ref ref) {
    Stands(who, ref);
    is_stored = [ref](const JobConfig& job) {
      const JobConfig defaults;
      return ref(job) != ref(defaults);
    };
    return *this;
  }

  // The same for a field of the job's plan.  ref  (auto& plan) -> auto&
  template <class Ref>
  JobField& StandsInPlan(Learns who, Ref ref) {
    return Asked(
               who, [ref](auto& request) -> auto& { return ref(request.job.plan); })
        .OfPlan(ref);
  }

  // The value with which the job runs. It is stored with the job.
  template <class Read>
  JobField& Reads(Read value) {
    read = value;
    resume = Resume::kStored;
    return *this;
  }
  template <class Ref>
  JobField& OfPlan(Ref ref) {
    plan = [ref](privacy::Plan& out, const Value& value) { posix::FromValue(value, &ref(out)); };
    return Reads([ref](const JobRecord& job) { return ToValue(ref(job.config.plan)); });
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
  return {
      RowOf<Request>("json", "write the results to this file; - is standard output")
          .In(Group::kRun)
          .Asked(&Request::json),
      RowOf<Request>("model-out", "write the final parameters, float32 LE")
          .In(Group::kRun)
          .Asked(&Request::model_out),
      RowOf<Request>("average-out", "write the average of the models, as --average asks, likewise")
          .In(Group::kRun)
          .Needs("average")
          .Asked(&Request::average_out),
  };
}

// How often a model is evaluated. Request has the member `evaluate_every`.
template <class Request>
Field<Request> EvaluateEvery(const char* help) {
  return RowOf<Request>("evaluate-every", help)
      .In(Group::kRun)
      .Within({1, 1000000})
      .Unit("rounds")
      .Asked(&Request::evaluate_every);
}

}  // namespace sotto::server
