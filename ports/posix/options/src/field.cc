#include "sotto/options/field.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"

namespace sotto::posix {
namespace {

[[noreturn]] void Refuse(const std::string& why) { throw std::invalid_argument(why); }

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// The text as a value of the row's kind.
Value Converted(const FieldText& field, const std::string& text) {
  switch (field.TextKind()) {
    case Kind::kFlag:
      if (text != "true" && text != "false") Refuse("'" + text + "' is neither true nor false");
      return text == "true";
    case Kind::kCount:
      if (const std::optional<uint64_t> count = ParseCount(text)) return *count;
      Refuse(fmt::format("'{}' is not a whole number from 0 on", text));
    case Kind::kInteger:
      if (const std::optional<int64_t> integer = ParseInteger(text)) return *integer;
      Refuse(fmt::format("'{}' is not a whole number", text));
    case Kind::kReal:
      if (const std::optional<double> real = ParseReal(text)) {
        if (field.range || std::isfinite(*real)) return *real;
        Refuse(fmt::format("'{}' is not a finite number", text));
      }
      Refuse(fmt::format("'{}' is not a number", text));
    case Kind::kText:
    case Kind::kTexts:
      break;
  }
  return text;
}

bool IsOneOf(const std::vector<std::string>& choices, const std::string& text) {
  return std::any_of(choices.begin(), choices.end(), [&](const std::string& choice) {
    if (choice == text) return true;
    const size_t end = std::min(choice.find("[:"), choice.find(':'));
    if (end == std::string::npos || text.compare(0, end, choice, 0, end) != 0) return false;
    return text.size() > end ? text[end] == ':' : choice[end] == '[';
  });
}

void RequireListed(const FieldText& field, const std::string& text) {
  if (field.choices.empty() || field.or_file != nullptr) return;
  if (IsOneOf(field.choices, text)) return;
  Refuse(fmt::format("{} not in {{{}}}{}", text, Join(field.choices),
                     DidYouMean(text, field.choices)));
}

}  // namespace

std::string Range::Text() const {
  return fmt::format("{}{} - {}]", open ? '(' : '[', DefaultText(least), DefaultText(most));
}

std::string FieldText::Help() const {
  if (derived_default == nullptr) return help;
  return fmt::format("{} (default: {})", help, derived_default);
}

Kind FieldText::TextKind() const {
  return kind == Kind::kInteger && range && range->least >= 0 ? Kind::kCount : kind;
}

std::string FieldText::json_name() const {
  std::string text = name;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string FieldText::Allowed() const {
  if (range) {
    return range->Text() + (unit[0] == '\0' ? "" : " ") + unit +
           (or_word == nullptr ? "" : std::string(" or ") + or_word);
  }
  return choices.empty() || or_file != nullptr ? "" : "{" + Join(choices) + "}";
}

Value ParseValue(const FieldText& field, const std::string& text) {
  // An empty text is a variable of a script that is not set, never "no such file".
  if (text.empty()) Refuse("it is empty; give a value, or leave the option out");
  if (field.or_word != nullptr && text == field.or_word) return text;
  Value value = Converted(field, text);
  if (field.range && !field.range->Contains(ToReal(value))) {
    Refuse(fmt::format("{} is not in the range {}", text, field.Allowed()));
  }
  if (field.type_range && IsNumber(value) && !field.type_range->Contains(ToReal(value))) {
    Refuse(fmt::format("{} is not in the range {}", text, field.type_range->Text()));
  }
  const std::string why = field.check ? field.check(text) : "";
  if (!why.empty()) Refuse(why);
  RequireListed(field, text);
  return value;
}

std::string ExactText(const FieldText& field, const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) {
    return field.is_float32 ? fmt::format("{}", static_cast<float>(*real))
                            : fmt::format("{}", *real);
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return DefaultText(value);
}

void RequireChoice(const std::vector<std::string>& choices, const Value& text) {
  const auto* name = std::get_if<std::string>(&text);
  if (choices.empty() || name == nullptr) return;
  if (IsOneOf(choices, *name)) return;
  Refuse("'" + *name + "' is not among the choices");
}

void RequireInRange(const FieldText& field, const Value& value) {
  if (!field.range || !IsNumber(value) || field.range->ContainsFloat(ToReal(value))) return;
  Refuse(fmt::format("--{} {} is not in the range {}", field.name, DefaultText(value),
                     field.range->Text()));
}

}  // namespace sotto::posix
