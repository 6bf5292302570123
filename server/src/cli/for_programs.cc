#include "cli/for_programs.h"

#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/last_words.h"
#include "sotto/log/failures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

const char* TypeName(posix::Kind kind) {
  switch (kind) {
    case posix::Kind::kFlag:
      return "flag";
    case posix::Kind::kCount:
      return "count";
    case posix::Kind::kInteger:
      return "integer";
    case posix::Kind::kReal:
      return "real";
    case posix::Kind::kText:
      return "text";
    case posix::Kind::kTexts:
      return "texts";
  }
  return "text";
}

Json TextOrNull(const char* text) { return text == nullptr ? Json() : Json(text); }
const char* TextOrEmpty(const char* text) { return text == nullptr ? "" : text; }

Json Finite(double value) { return std::isinf(value) ? Json() : Json(value); }

Json RangeToJson(const posix::FieldText& row) {
  const auto& range = row.range ? row.range : row.type_range;
  if (!range) return nullptr;
  return {{"least", Finite(range->least)}, {"most", Finite(range->most)}, {"open", range->open}};
}

Json OptionToJson(const posix::FieldText& row, const posix::Value& by_default) {
  const bool has_default = !row.required && row.derived_default == nullptr;
  return {{"name", row.name},
          {"argument", row.argument},
          {"letter", TextOrEmpty(row.letter)},
          {"type", TypeName(row.TextKind())},
          {"default", has_default ? ToJson(by_default) : Json()},
          {"derived_default", TextOrNull(row.derived_default)},
          {"help", row.help},
          {"group", row.group},
          {"unit", row.unit},
          {"required", row.required},
          {"range", RangeToJson(row)},
          {"choices", row.choices},
          {"or_word", TextOrNull(row.or_word)},
          {"or_file", TextOrNull(row.or_file)},
          {"needs", row.needs},
          {"excludes", row.excludes}};
}

Json OptionsOf(const posix::Command& command) {
  Json options = Json::array();
  for (const posix::BoundOption& option : command.options) {
    options.push_back(OptionToJson(option.text, option.by_default));
  }
  return options;
}

Json CommandsOf(const posix::Command& command) {
  Json commands = Json::array();
  for (const posix::Command& inner : command.commands) {
    commands.push_back({{"name", inner.name},
                        {"help", inner.help},
                        {"hidden", inner.is_hidden},
                        {"runs", static_cast<bool>(inner.run)},
                        {"options", OptionsOf(inner)},
                        {"commands", CommandsOf(inner)}});
  }
  return commands;
}

}  // namespace

Json ProgramToJson(const posix::Command& program, const char* version) {
  Json options = OptionsOf(program);
  options.push_back(OptionToJson(posix::SettingsFileRow(), {}));
  return {{"program", program.name},
          {"version", version},
          {"options", options},
          {"commands", CommandsOf(program)}};
}

posix::Command OptionsCommand(const posix::Command& program, const char* version) {
  posix::Command command;
  command.name = "options";
  command.help = "print all commands with their options as JSON, for other programs";
  command.run = [&program, version] {
    fmt::print("{}\n", JsonText(ProgramToJson(program, version), 1));
  };
  return command;
}

void AddErrorsOption(int argc, char** argv, posix::Command* program) {
  posix::AddErrorsOption(argc, argv, program);
  if (!posix::AreErrorsJson(argc, argv)) return;
  TheLastWords() = [name = program->name](const std::string& reason, int status) {
    posix::TellFailureAsJson(name, reason, status);
  };
}

}  // namespace sotto::server
