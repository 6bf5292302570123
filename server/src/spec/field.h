// One row of a table of options: the name of a field, its range, and the functions that read and
// set it. Part of sotto::server/spec.
//
// A table is a list of rows, `std::vector<Field<Request>>`. The command line, TOML files, JSON, the
// comparison of a resumed job and the page OPTIONS.md iterate over it. A row is built by chained
// calls:
//
//   Row("weight-decay", "L2 regularisation")
//       .In(Group::kTraining)
//       .Within({0, 1e6})
//       .Stands(Learns::kTask, [](auto& job) -> auto& { return job.training.weight_decay; })
//
// A default-constructed Request holds the defaults; no table repeats them. All functions are pure
// and safe from any thread.
#ifndef SOTTO_SPEC_FIELD_H_
#define SOTTO_SPEC_FIELD_H_

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "round/job_log.h"

namespace sotto::server {

using Json = nlohmann::ordered_json;

// The headings of --help, in its order.
enum class Group { kNone, kAudit, kFleet, kPeers, kNetwork, kRounds, kTraining, kPrivacy, kRun };
const char* Name(Group group);  // "Fleet and data", ...

enum class Kind { kFlag, kCount, kReal, kText };

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

// The range of a number, both ends included; with `open` the lower end is excluded. NaN is in no
// range.
struct Range {
  double least = 0;
  double most = 0;
  bool open = false;

  bool Contains(double value) const {
    return (open ? value > least : value >= least) && value <= most;
  }
  // The same for a value that may have become a float32: the ends are then rounded like it.
  bool ContainsFloat(double value) const {
    const auto rounded = static_cast<float>(value);
    return Contains(value) || (!open && rounded == static_cast<float>(least)) ||
           rounded == static_cast<float>(most);
  }
  std::string Text() const;  // "[0 - 1e6]", "(0 - inf]"
};

// The description of a field, without the functions that access it.
struct FieldText {
  const char* name = "";  // of the option, without dashes
  const char* help = "";
  Group group = Group::kNone;  // kNone: the field is derived and has no option
  Kind kind = Kind::kText;
  std::optional<Range> range;
  std::vector<std::string> choices;  // of a text; empty: any
  const char* or_file = nullptr;     // what a text may be instead of a choice: "FILE.toml"
  const char* or_word = nullptr;     // what a number may be instead: "auto"
  // The choices that `sotto serve` takes; empty: the same as `choices`.
  std::vector<std::string> served_choices;
  const char* letter = nullptr;  // a short name, "v" for -v
  bool required = false;
  const char* unit = "";        // of measure; for OPTIONS.md
  const char* needs = nullptr;  // an option that comes earlier in the table
  const char* excludes = nullptr;
  const char* derived_default = nullptr;  // how an absent value is chosen
  Resume resume = Resume::kImplied;
  Learns device = Learns::kNothing;
  const char* stored_as = nullptr;  // name in a stored configuration; null: json_name()

  bool is_option() const { return group != Group::kNone; }
  std::string Help() const;       // with the derived default in brackets
  std::string json_name() const;  // the name with underscores
  std::string stored_name() const { return stored_as != nullptr ? stored_as : json_name(); }
};

// A field's default as --help and OPTIONS.md print it. Empty: there is none, or only a derived one.
std::string DefaultText(const Json& value);

// A value as JSON: an exact number, the Name() of an enum, or the name of a model or codec. An
// absent value and +infinity are null.
template <class T>
Json ToJson(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return Name(value);
  } else if constexpr (std::is_pointer_v<T>) {
    return value->name;
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isinf(value) && value > 0 ? Json(nullptr) : Json(static_cast<double>(value));
  } else {
    return value;
  }
}
template <class T>
Json ToJson(const std::optional<T>& value) {
  return value ? ToJson(*value) : Json(nullptr);
}

// Finds the codec of this name. Throws std::invalid_argument if there is none.
void FindNamed(const std::string& name, const CodecInfo** codec);

// The inverse of ToJson(), except for null. Throws nlohmann's exception for a value of another
// type, and std::invalid_argument for an unknown name.
template <class T>
void FromJson(const Json& json, T* value) {
  if constexpr (std::is_enum_v<T>) {
    const auto name = json.get<std::string>();
    // Enums here are small. Name() of a number beyond them is empty or "unknown".
    for (int i = 0; i < 32 && !name.empty() && name != "unknown"; ++i) {
      if (name != Name(static_cast<T>(i))) continue;
      *value = static_cast<T>(i);
      return;
    }
    throw std::invalid_argument("no such value: " + name);
  } else if constexpr (std::is_pointer_v<T>) {
    FindNamed(json.get<std::string>(), value);
  } else if constexpr (std::is_same_v<T, float>) {
    *value = static_cast<float>(json.get<double>());
  } else {
    *value = json.get<T>();
  }
}
template <class T>
void FromJson(const Json& json, std::optional<T>* value) {
  T inner{};
  FromJson(json, &inner);
  *value = inner;
}

// Throws std::invalid_argument if there are choices and the text is none of them.
void RequireChoice(const std::vector<std::string>& choices, const Json& text);

template <class T>
constexpr Kind KindOf() {
  if constexpr (std::is_same_v<T, bool>) return Kind::kFlag;
  if constexpr (std::is_floating_point_v<T>) return Kind::kReal;
  if constexpr (std::is_integral_v<T>) return Kind::kCount;
  return Kind::kText;
}
template <class T>
struct Inner {
  using type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using type = T;
};

// A row. Request is the type that holds the options: JobRequest, SimulationRequest or ServeRequest.
template <class Request>
struct Field : FieldText {
  // Of an option: read and set the requested value.
  std::function<Json(const Request&)> get;
  std::function<void(Request&, const Json&)> set;

  // Of a field of a job: the value with which the job runs. Empty if get() already gives it.
  std::function<Json(const JobRecord&)> read;
  std::function<bool(const JobConfig&)> is_stored;  // empty: always, if resume is kStored
  bool is_shown = false;  // results have the value of read() even where it is not stored
  std::function<void(privacy::Plan&, const Json&)> plan;  // of a field that is part of the plan

  Field& In(Group value) {
    group = value;
    return *this;
  }
  Field& Within(const Range& value) {
    range = value;
    return *this;
  }
  Field& Unit(const char* value) {
    unit = value;
    return *this;
  }
  Field& Needs(const char* value) {
    needs = value;
    return *this;
  }
  Field& Excludes(const char* value) {
    excludes = value;
    return *this;
  }
  Field& ByDefault(const char* value) {
    derived_default = value;
    return *this;
  }
  Field& StoredAs(const char* value) {
    stored_as = value;
    return *this;
  }
  Field& Resumed(Resume value) {
    resume = value;
    return *this;
  }
  Field& StoredIf(bool (*value)(const JobConfig&)) {
    is_stored = value;
    return *this;
  }
  Field& Shown() {
    is_shown = true;
    return *this;
  }

  // The names of these enum values are the choices.
  template <class... Value>
  Field& OneOf(Value... value) {
    choices = {std::string(Name(value))...};
    return *this;
  }
  Field& OneOfNames(std::vector<std::string> names) {
    choices = std::move(names);
    return *this;
  }

  // Or a file; AskedAsText() has the function that opens it.
  Field& OrFile(const char* value) {
    or_file = value;
    return *this;
  }

  // Or a word instead of a number; call it last.
  //   flag  (auto& request) -> auto&, a bool: the word was asked for
  template <class Ref>
  Field& OrWord(const char* value, Ref flag) {
    or_word = value;
    get = [number = get, value, flag](const Request& request) {
      return flag(request) ? Json(value) : number(request);
    };
    set = [number = set, value, flag](Request& request, const Json& json) {
      flag(request) = json == value;
      if (!flag(request)) number(request, json);
    };
    return *this;
  }

  Field& ServedAsNames(std::vector<std::string> names) {
    served_choices = std::move(names);
    return *this;
  }
  Field& Letter(const char* value) {
    letter = value;
    return *this;
  }
  Field& Required() {
    required = true;
    return *this;
  }

  // A value that a function of its own reads.
  //   ref     (const auto& request) -> a value for ToJson()
  //   setter  (Request&, const std::string&)
  template <class Ref, class Set>
  Field& AskedAsText(Learns who, Ref ref, Set setter) {
    device = who;
    kind = Kind::kText;
    get = [ref](const Request& request) { return ToJson(ref(request)); };
    set = [setter](Request& request, const Json& json) {
      setter(request, json.get<std::string>());
    };
    return *this;
  }

  // Access to the requested value.  ref  (auto& request) -> auto&
  template <class Ref>
  Field& Asked(Learns who, Ref ref) {
    using T = std::remove_reference_t<decltype(ref(std::declval<Request&>()))>;
    device = who;
    kind = KindOf<typename Inner<T>::type>();
    get = [ref](const Request& request) { return ToJson(ref(request)); };
    set = [ref, allowed = choices](Request& request, const Json& json) {
      RequireChoice(allowed, json);
      FromJson(json, &ref(request));
    };
    return *this;
  }

  // A field of the job's configuration whose requested value is used unchanged.
  //   ref  (auto& job_config) -> auto&
  template <class Ref>
  Field& Stands(Learns who, Ref ref) {
    return Asked(
               who, [ref](auto& request) -> auto& { return ref(request.job); })
        .Reads([ref](const JobRecord& job) { return ToJson(ref(job.config)); });
  }

  // The same for a field that older programs did not have: it is stored only if it differs from the
  // default, so that their configurations stay equal to today's.
  template <class Ref>
  Field& StandsUnlessDefault(Learns who, Ref ref) {
    Stands(who, ref);
    is_stored = [ref](const JobConfig& job) {
      const JobConfig defaults;
      return ref(job) != ref(defaults);
    };
    return *this;
  }

  // The same for a field of the job's plan.  ref  (auto& plan) -> auto&
  template <class Ref>
  Field& StandsInPlan(Learns who, Ref ref) {
    return Asked(
               who, [ref](auto& request) -> auto& { return ref(request.job.plan); })
        .OfPlan(ref);
  }

  // The value with which the job runs. It is stored with the job.
  template <class Read>
  Field& Reads(Read value) {
    read = value;
    resume = Resume::kStored;
    return *this;
  }
  template <class Ref>
  Field& OfPlan(Ref ref) {
    plan = [ref](privacy::Plan& out, const Json& json) { FromJson(json, &ref(out)); };
    return Reads([ref](const JobRecord& job) { return ToJson(ref(job.config.plan)); });
  }
};

// Sets an option that somebody named, and remembers that it was named: no default, not even one
// that depends on other options, takes its place. Request is a JobRequest.
template <class Request>
void Give(const Field<Request>& field, Request& request, const Json& value) {
  field.set(request, value);
  request.given.insert(field.name);
}

// A row with nothing but its name and its help.
template <class Request>
Field<Request> RowOf(const char* name, const char* help) {
  Field<Request> field;
  field.name = name;
  field.help = help;
  return field;
}

// The rows of the files that a run writes. Request has the members `json`, `model_out` and
// `average_out`.
template <class Request>
std::vector<Field<Request>> OutputFields() {
  return {
      RowOf<Request>("json", "write the results to this file; - is standard output")
          .In(Group::kRun)
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.json; }),
      RowOf<Request>("model-out", "write the final parameters, float32 LE")
          .In(Group::kRun)
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.model_out; }),
      RowOf<Request>("average-out", "write the average of the models, as --average asks, likewise")
          .In(Group::kRun)
          .Needs("average")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.average_out; }),
  };
}

// How often a model is evaluated. Request has the member `evaluate_every`.
template <class Request>
Field<Request> EvaluateEvery(const char* help) {
  return RowOf<Request>("evaluate-every", help)
      .In(Group::kRun)
      .Within({1, 1000000})
      .Unit("rounds")
      .Asked(
          Learns::kNothing, [](auto& request) -> auto& { return request.evaluate_every; });
}

// The rows' options as a Markdown table.
//   kUse  option, default, range, meaning
//   kAll  the same, and whether a resumed job may change the option, and what devices learn of it
enum class Columns { kUse, kAll };
std::string OptionsTable(const std::vector<std::pair<FieldText, Json>>& rows, Columns columns);
template <class Request>
std::string OptionsTable(const std::vector<Field<Request>>& fields, Columns columns) {
  std::vector<std::pair<FieldText, Json>> rows;
  for (const Field<Request>& field : fields) {
    if (field.is_option()) rows.emplace_back(field, field.get(Request()));
  }
  return OptionsTable(rows, columns);
}

// Throws std::invalid_argument if an option is out of its range. The message names the first such
// option, its value and the range.
template <class Request>
void RequireInRange(const std::vector<Field<Request>>& fields, const Request& request) {
  for (const Field<Request>& field : fields) {
    if (!field.is_option() || !field.range) continue;
    const Json value = field.get(request);
    const bool is_word = field.or_word != nullptr && value == field.or_word;
    if (value.is_null() || is_word || field.range->ContainsFloat(value.template get<double>()))
      continue;
    throw std::invalid_argument(std::string("--") + field.name + " " + DefaultText(value) +
                                " is not in the range " + field.range->Text());
  }
}

}  // namespace sotto::server

#endif  // SOTTO_SPEC_FIELD_H_
