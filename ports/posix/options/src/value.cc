#include "sotto/options/value.h"

#include <fmt/format.h>
#include <limits>

namespace sotto::posix {
namespace {

[[noreturn]] void Refuse(const char* expected) {
  throw std::invalid_argument(fmt::format("expected {}", expected));
}

}  // namespace

bool IsNumber(const Value& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<uint64_t>(value) ||
         std::holds_alternative<double>(value);
}

double ToReal(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* count = std::get_if<uint64_t>(&value)) return static_cast<double>(*count);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  Refuse("a number");
}

int64_t ToInteger(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* count = std::get_if<uint64_t>(&value)) return static_cast<int64_t>(*count);
  Refuse("a whole number");
}

uint64_t ToCount(const Value& value) {
  if (const auto* count = std::get_if<uint64_t>(&value)) return *count;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<uint64_t>(*integer);
  Refuse("a whole number");
}

const std::string& ToText(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  Refuse("a text");
}

std::string DefaultText(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (!IsNumber(value)) return "";
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* count = std::get_if<uint64_t>(&value)) return fmt::format("{}", *count);
  const double number = std::get<double>(value);
  const bool is_count = number == std::floor(number) && std::fabs(number) <= 1e15;
  return is_count ? fmt::format("{:.0f}", number) : fmt::format("{:g}", number);
}

}  // namespace sotto::posix
