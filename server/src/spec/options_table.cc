#include "spec/options_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sotto::server {
namespace {

// A cell of a Markdown table.
std::string Escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string CodeList(const std::vector<std::string>& words) {
  return fmt::format("`{}`", fmt::join(words, "`, `"));
}

std::string AllowedCell(const FieldText& field) {
  if (field.range) {
    const std::string range = field.range->Text() + (field.unit[0] == '\0' ? "" : " ") + field.unit;
    return field.or_word == nullptr ? range : fmt::format("{}, or `{}`", range, field.or_word);
  }
  if (field.choices.empty()) return "";
  const std::string all = CodeList(field.choices);
  return field.or_file == nullptr ? all : fmt::format("{}, or `{}`", all, field.or_file);
}

std::string AllowedCell(const JobField& field) {
  const std::string all = AllowedCell(static_cast<const FieldText&>(field));
  if (field.served_choices.empty()) return all;
  return fmt::format("{}; `sotto serve`: {}", all, CodeList(field.served_choices));
}

std::string DefaultCell(const FieldText& field, const Value& value) {
  if (field.required) return "required";
  if (field.derived_default != nullptr) return field.derived_default;
  const std::string text = posix::DefaultText(value);
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

const char* ResumeCell(Resume resume) {
  if (resume == Resume::kRaised) return "raise";
  return resume == Resume::kFree ? "yes" : "no";
}

// An argument may also stand behind its name as an option.
std::string NameCell(const FieldText& field) {
  const std::string option = fmt::format("`--{}`", field.name);
  return field.argument[0] == '\0' ? option : fmt::format("`{}`, {}", field.argument, option);
}

std::string Cells(const FieldText& field, const Value& value, const std::string& allowed) {
  return fmt::format("| {} | {} | {} | {} |", NameCell(field), Escaped(DefaultCell(field, value)),
                     Escaped(allowed), Escaped(field.help));
}

}  // namespace

std::string OptionsTable(const std::vector<std::pair<FieldText, Value>>& rows) {
  std::string text = "| option | default | range | what it does |\n|---|---|---|---|\n";
  for (const auto& [field, value] : rows) text += Cells(field, value, AllowedCell(field)) + "\n";
  return text;
}

std::string JobOptionsTable(const std::vector<JobField>& fields) {
  std::string text =
      "| option | default | range | what it does | a resumed job may change it | devices learn it "
      "|\n|---|---|---|---|---|---|\n";
  const JobRequest defaults;
  for (const JobField& field : fields) {
    if (!field.is_option()) continue;
    text += fmt::format("{} {} | {} |\n", Cells(field, field.get(defaults), AllowedCell(field)),
                        ResumeCell(field.resume), LearnsCell(field.device));
  }
  return text;
}

}  // namespace sotto::server
