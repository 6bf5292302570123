#include "spec/field.h"

#include <algorithm>
#include <fmt/format.h>

namespace sotto::server {
namespace {

std::string Join(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// A cell of a Markdown table.
std::string Escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string CodeList(const std::vector<std::string>& words) {
  return "`" + Join(words, "`, `") + "`";
}

std::string AllowedText(const FieldText& field) {
  if (field.range) {
    const std::string range = field.range->Text() + (field.unit[0] == '\0' ? "" : " ") + field.unit;
    return field.or_word == nullptr ? range : fmt::format("{}, or `{}`", range, field.or_word);
  }
  if (field.choices.empty()) return "";
  std::string all = CodeList(field.choices);
  if (field.or_file != nullptr) all += fmt::format(", or `{}`", field.or_file);
  return field.served_choices.empty()
             ? all
             : fmt::format("{}; `sotto serve`: {}", all, CodeList(field.served_choices));
}

std::string DefaultCell(const FieldText& field, const Json& value) {
  if (field.required) return "required";
  if (field.derived_default != nullptr) return field.derived_default;
  const std::string text = DefaultText(value);
  return text.empty() ? "" : "`" + text + "`";
}

const char* LearnsCell(Learns learns) {
  switch (learns) {
    case Learns::kNothing:
      return "no";
    case Learns::kNoise:
      return "noise";
    case Learns::kTask:
      return "yes";
  }
  return "";
}

}  // namespace

const char* Name(Group group) {
  switch (group) {
    case Group::kNone:
      return "";
    case Group::kAudit:
      return "Audit";
    case Group::kFleet:
      return "Fleet and data";
    case Group::kPeers:
      return "Without a server";
    case Group::kNetwork:
      return "Network and store";
    case Group::kRounds:
      return "Rounds";
    case Group::kTraining:
      return "Training";
    case Group::kPrivacy:
      return "Privacy";
    case Group::kRun:
      return "Run and output";
  }
  return "";
}

std::string Range::Text() const {
  return fmt::format("{}{} - {}]", open ? '(' : '[', DefaultText(least), DefaultText(most));
}

std::string FieldText::Help() const {
  if (derived_default == nullptr) return help;
  return fmt::format("{} (default: {})", help, derived_default);
}

std::string FieldText::json_name() const {
  std::string text = name;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string DefaultText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const bool is_count = number == std::floor(number) && std::fabs(number) <= 1e9;
    return is_count ? fmt::format("{:.0f}", number) : fmt::format("{:g}", number);
  }
  return value.is_number() ? value.dump() : "";
}

void FindNamed(const std::string& name, const CodecInfo** codec) { *codec = &RequireCodec(name); }

void RequireChoice(const std::vector<std::string>& choices, const Json& text) {
  if (choices.empty() || !text.is_string()) return;
  const auto value = text.get<std::string>();
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  throw std::invalid_argument("'" + value + "' is none of the choices");
}

namespace {

const char* ResumeCell(Resume resume) {
  if (resume == Resume::kRaised) return "raise";
  return resume == Resume::kFree ? "yes" : "no";
}

}  // namespace

std::string OptionsTable(const std::vector<std::pair<FieldText, Json>>& rows, Columns columns) {
  const bool all = columns == Columns::kAll;
  std::string text = "| option | default | range | what it does |";
  text += all ? " a resumed job may change it | devices learn it |\n" : "\n";
  text += all ? "|---|---|---|---|---|---|\n" : "|---|---|---|---|\n";
  for (const auto& [field, value] : rows) {
    text += fmt::format("| `--{}` | {} | {} | {} |", field.name, Escaped(DefaultCell(field, value)),
                        Escaped(AllowedText(field)), Escaped(field.help));
    text += all ? fmt::format(" {} | {} |\n", ResumeCell(field.resume), LearnsCell(field.device))
                : "\n";
  }
  return text;
}

}  // namespace sotto::server
