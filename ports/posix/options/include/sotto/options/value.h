// The value of an option, and its type in a request. Part of sotto::options.
//
// Pure functions, safe in any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace sotto::posix {

// A monostate is an absent value; a real number that is +infinity becomes one, too.
using Value = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string,
                           std::vector<std::string>>;

inline bool IsAbsent(const Value& value) { return value.index() == 0; }
bool IsNumber(const Value& value);

// The parts of a value. Each throws std::invalid_argument if the value is of another kind.
double ToReal(const Value& value);  // of any number
int64_t ToInteger(const Value& value);
uint64_t ToCount(const Value& value);
const std::string& ToText(const Value& value);

// A value as --help and pages print it: no more than six digits of a real number. Empty for an
// absent value, a flag and a list.
std::string DefaultText(const Value& value);

// From a member of a request: a number, a text, a flag, the Name() of an enum, or the `name` of
// what a pointer points to.
template <class T>
Value ToValue(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(Name(value));
  } else if constexpr (std::is_pointer_v<T>) {
    return std::string(value->name);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isinf(value) && value > 0) return std::monostate();
    return static_cast<double>(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    return static_cast<uint64_t>(value);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else {
    return value;
  }
}
template <class T>
Value ToValue(const std::optional<T>& value) {
  return value ? ToValue(*value) : Value();
}

// The inverse, for a value that is not absent. An enum needs Name(), which is empty or "unknown"
// behind the last of at most 32 values; a pointer needs FindNamed(const std::string&, T*), which
// throws std::invalid_argument for an unknown name. Throws std::invalid_argument for a value of
// another kind and for an unknown name.
template <class T>
void FromValue(const Value& value, T* out) {
  if constexpr (std::is_enum_v<T>) {
    const std::string& name = ToText(value);
    for (int i = 0; i < 32 && !name.empty() && name != "unknown"; ++i) {
      if (name != Name(static_cast<T>(i))) continue;
      *out = static_cast<T>(i);
      return;
    }
    throw std::invalid_argument("no such value: " + name);
  } else if constexpr (std::is_pointer_v<T>) {
    FindNamed(ToText(value), out);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!std::holds_alternative<bool>(value)) throw std::invalid_argument("not true or false");
    *out = std::get<bool>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    *out = static_cast<T>(ToReal(value));
  } else if constexpr (std::is_unsigned_v<T>) {
    *out = static_cast<T>(ToCount(value));
  } else if constexpr (std::is_integral_v<T>) {
    *out = static_cast<T>(ToInteger(value));
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    *out = std::get<std::vector<std::string>>(value);
  } else {
    *out = ToText(value);
  }
}
template <class T>
void FromValue(const Value& value, std::optional<T>* out) {
  T inner{};
  FromValue(value, &inner);
  *out = std::move(inner);
}

}  // namespace sotto::posix
