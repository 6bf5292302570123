// One row of a table of options: name, help, range, and how it is read and set. Part of
// sotto::options.
//
// A table is a list of rows, `std::vector<Field<Request>>`, where Request is the struct that holds
// the options. Command line, --help, settings files, pages and results iterate over it, so that an
// option is one row:
//
//   using Row = Field<DirectoryRequest>;
//   Row("lease", &DirectoryRequest::lease_s, "how long a node may keep all others from publishing")
//       .Within({0.1, 86400})
//       .Unit("seconds")
//
// Under() gives a table its heading, and Joined() puts tables one behind the other.
//
// A default-constructed Request holds the defaults; no table repeats them. A member that is a
// std::optional has none. Pure functions, safe in any thread.
#pragma once

#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/options/value.h"

namespace sotto::posix {

enum class Kind {
  kFlag,
  kCount,    // a whole number from 0 on
  kInteger,  // a whole number
  kReal,
  kText,
  kTexts,  // one or more texts
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

// The heading of options that have no other one.
inline constexpr char kOptionsGroup[] = "Options";

// The description of a row, without the functions that access it. A `const char*` is kept as it is:
// give literals, or what lives as long.
struct FieldText {
  const char* name = "";              // of the option, without dashes; empty: an argument alone
  const char* argument = "";          // name of an argument, in capitals; empty: an option alone
  std::string help;                   // what it is, which unit, what happens without it
  const char* group = kOptionsGroup;  // the heading of --help; null: the row is no option
  Kind kind = Kind::kText;
  bool is_float32 = false;  // of a kReal: the member is a float
  std::optional<Range> range;
  std::optional<Range> type_range;  // what the member can hold, see TypeRange()
  // Of a text; empty: any. A choice NAME:VALUE or NAME[:VALUE] is any text NAME:..., the latter
  // also NAME: who reads the text checks the rest.
  std::vector<std::string> choices;
  const char* or_file = nullptr;  // what a text may be instead of a choice: "FILE.toml"
  const char* or_word = nullptr;  // what a number may be instead: "auto"
  // One more check of the text that somebody gave: why it is refused, or empty.
  std::function<std::string(const std::string& text)> check;
  const char* letter = nullptr;  // a short name, "v" for -v
  bool required = false;
  const char* unit = "";  // of measure
  // Options of the same command that must be there, too; that must not be.
  std::vector<const char*> needs;
  std::vector<const char*> excludes;
  const char* derived_default = nullptr;  // how an absent value is chosen
  // The default of the release before this one, where it was another: who has a file of settings
  // without this option is told.
  const char* former_default = nullptr;

  bool is_option() const { return group != nullptr; }
  Kind TextKind() const;     // how a text is read: a whole number that is never below 0 is a count
  std::string Help() const;  // with the derived default in brackets
  std::string json_name() const;  // the name with underscores
  std::string Allowed() const;    // "[1 - 50] devices or auto", "{never,always}"; empty: anything
};

// The value that a text stands for. It is what it says or it is refused: no empty text, no number
// of another kind or outside the range, no other choice. Throws std::invalid_argument, whose text
// says why.
Value ParseValue(const FieldText& field, const std::string& text);

// The shortest text that ParseValue() reads as the same value. Empty for an absent one
// and a list.
std::string ExactText(const FieldText& field, const Value& value);

// Throws std::invalid_argument if there are choices and the text is not among them.
void RequireChoice(const std::vector<std::string>& choices, const Value& text);

template <class T>
constexpr Kind KindOf() {
  if constexpr (std::is_same_v<T, bool>) return Kind::kFlag;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return Kind::kTexts;
  if constexpr (std::is_floating_point_v<T>) return Kind::kReal;
  if constexpr (std::is_unsigned_v<T>) return Kind::kCount;
  if constexpr (std::is_integral_v<T>) return Kind::kInteger;
  return Kind::kText;
}
// What a whole number of the type T can be, where that is less than 64 bits.
template <class T>
std::optional<Range> TypeRange() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < 8) {
    return Range{static_cast<double>(std::numeric_limits<T>::min()),
                 static_cast<double>(std::numeric_limits<T>::max())};
  }
  return {};
}
template <class T>
struct Inner {
  using type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using type = T;
};

// The value of a row that functions read and set, as its setter takes it.
template <class T>
using Settable = std::conditional_t<std::is_arithmetic_v<T>, T, std::string>;

// A member of a member, for a row: At(&Request::fleet, &FleetOptions::devices).
template <class... Members>
auto At(Members... members) {
  return [members...](auto& whole) -> auto& { return (whole.*....*members); };
}

// What all rows have. Row is the row's own type, which the chained calls return.
template <class Request_, class Row>
struct BasicField : FieldText {
  using Request = Request_;

  // Read and set the requested value. set() may throw std::invalid_argument.
  std::function<Value(const Request&)> get;
  // Of a row that names files which a run reads: what it names; empty: none.
  std::function<std::string(const Request&)> input;
  void set(Request& request, const Value& value) const {
    if (or_file == nullptr) RequireChoice(choices, value);
    assign(request, value);
  }

  Row& In(const char* value) { return Set(&FieldText::group, value); }
  Row& Within(const Range& value) { return Set(&FieldText::range, value); }
  Row& Unit(const char* value) { return Set(&FieldText::unit, value); }
  Row& ByDefault(const char* value) { return Set(&FieldText::derived_default, value); }
  Row& Formerly(const char* value) { return Set(&FieldText::former_default, value); }
  Row& Letter(const char* value) { return Set(&FieldText::letter, value); }
  Row& Required() { return Set(&FieldText::required, true); }
  Row& Argument(const char* value) { return Set(&FieldText::argument, value); }
  Row& OneOfNames(std::vector<std::string> names) {
    return Set(&FieldText::choices, std::move(names));
  }
  Row& Checked(std::function<std::string(const std::string&)> value) {
    return Set(&FieldText::check, std::move(value));
  }
  Row& Needs(const char* value) {
    needs.push_back(value);
    return self();
  }
  Row& Excludes(const char* value) {
    excludes.push_back(value);
    return self();
  }

  // The names of these enum values are the choices.
  template <class... Choice>
  Row& OneOf(Choice... value) {
    return OneOfNames({std::string(Name(value))...});
  }

  // Or a file, which the row's setter opens.
  Row& OrFile(const char* value) { return Set(&FieldText::or_file, value); }

  // Its text names files that a run reads: data, a model, a partition.
  Row& NamesFiles() {
    input = [get = get](const Request& request) {
      const Value value = get(request);
      return IsAbsent(value) ? std::string() : ToText(value);
    };
    return self();
  }
  //   ref  the member that has the text
  template <class Ref>
  Row& NamesFiles(Ref ref) {
    input = [ref](const Request& request) { return std::string(std::invoke(ref, request)); };
    return self();
  }

  // The same row for another member.
  //   ref  a member of the request, or (auto& request) -> auto&
  template <class Ref>
  Row& Asks(Ref ref) {
    Access(ref);
    return self();
  }

  // Or a word instead of a number.
  //   flag  a bool of the request, or (auto& request) -> auto&: the word was asked for
  template <class Ref>
  Row& OrWord(const char* word, Ref flag) {
    or_word = word;
    get = [number = get, word, flag](const Request& request) {
      return std::invoke(flag, request) ? Value(std::string(word)) : number(request);
    };
    assign = [number = assign, word, flag](Request& request, const Value& value) {
      const bool is_word = value == Value(std::string(word));
      std::invoke(flag, request) = is_word;
      if (!is_word) number(request, value);
    };
    return self();
  }

 protected:
  BasicField() = default;
  BasicField(const char* option, std::string text) {
    name = option;
    help = std::move(text);
  }

  template <class Ref>
  void Access(Ref ref) {
    using T = std::remove_cv_t<
        std::remove_reference_t<decltype(std::invoke(ref, std::declval<Request&>()))>>;
    kind = KindOf<typename Inner<T>::type>();
    type_range = TypeRange<typename Inner<T>::type>();
    is_float32 = std::is_same_v<typename Inner<T>::type, float>;
    get = [ref](const Request& request) { return ToValue(std::invoke(ref, request)); };
    assign = [ref](Request& request, const Value& value) {
      FromValue(value, &std::invoke(ref, request));
    };
  }
  template <class Getter, class Setter>
  void Access(Getter getter, Setter setter) {
    using T = decltype(getter(std::declval<const Request&>()));
    kind = KindOf<T>();
    get = [getter](const Request& request) { return ToValue(getter(request)); };
    assign = [setter](Request& request, const Value& value) {
      Settable<T> given{};
      FromValue(value, &given);
      setter(request, given);
    };
  }

  Row& self() { return static_cast<Row&>(*this); }
  template <class Member, class T>
  Row& Set(Member FieldText::*member, T value) {
    this->*member = std::move(value);
    return self();
  }

  std::function<void(Request&, const Value&)> assign;
};

// A row of a program's or a command's own options.
template <class Request>
struct Field : BasicField<Request, Field<Request>> {
  using Base = BasicField<Request, Field<Request>>;

  //   ref  a member of the request, At(), or (auto& request) -> auto&
  template <class Ref>
  Field(const char* option, Ref ref, std::string text) : Base(option, std::move(text)) {
    this->Access(ref);
  }
  // A value that functions read and set.
  //   getter  (const Request&) -> a value for ToValue()
  //   setter  (Request&, the same value if it is a number, else a text)
  template <class Getter, class Setter>
  Field(const char* option, Getter getter, Setter setter, std::string text)
      : Base(option, std::move(text)) {
    this->Access(getter, setter);
  }
  // A row of a part of a request, as a row of the request.
  //   ref  a member of the request, or (auto& request) -> auto&: the part
  template <class Row, class Ref>
  Field(const Row& row, Ref ref) {
    static_cast<FieldText&>(*this) = row;
    this->get = [row, ref](const Request& request) { return row.get(std::invoke(ref, request)); };
    this->assign = [row, ref](Request& request, const Value& value) {
      row.set(std::invoke(ref, request), value);
    };
    if (!row.input) return;
    this->input = [row, ref](const Request& request) {
      return row.input(std::invoke(ref, request));
    };
  }
};

// The table under a heading of --help. A row that has a heading already keeps it.
template <class Row>
std::vector<Row> Under(const char* heading, std::vector<Row> table) {
  for (Row& row : table) {
    if (row.group == kOptionsGroup) row.group = heading;
  }
  return table;
}

// Tables, one behind the other.
template <class Row>
std::vector<Row> Joined(std::initializer_list<std::vector<Row>> tables) {
  std::vector<Row> all;
  for (const std::vector<Row>& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

// Throws std::invalid_argument if an option is out of its range. The message names the first such
// option, its value and the range.
void RequireInRange(const FieldText& field, const Value& value);
template <class Row, class Request>
void RequireInRange(const std::vector<Row>& fields, const Request& request) {
  for (const Row& field : fields) {
    if (field.is_option()) RequireInRange(field, field.get(request));
  }
}

}  // namespace sotto::posix
