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
#include "sotto/options/exit_status.h"
#include "sotto/posix/terminal.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kAsText[] = "text";
constexpr char kAsJson[] = "json";
constexpr char kErrorsOption[] = "--errors";

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

// Known before the command line is read, so that a wrong one is told as JSON, too.
bool AsksForJson(int argc, char** argv) {
  const std::string joined = fmt::format("{}={}", kErrorsOption, kAsJson);
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == joined) return true;
    if (i + 1 < argc && argv[i] == std::string_view(kErrorsOption) &&
        argv[i + 1] == std::string_view(kAsJson)) {
      return true;
    }
  }
  return false;
}

// "--rounds" of "--rounds: 'x' is not a whole number"; empty if no option is named.
std::string OptionIn(const std::string& text) {
  const size_t begin = text.find("--");
  if (begin == std::string::npos) return "";
  const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", begin);
  const std::string option = text.substr(begin, end - begin);
  return option.size() > 2 ? option : "";
}

//   help  the advice where the text has none
void WriteError(const std::string& program, const std::string& text, int status,
                const std::string& help) {
  const size_t end = text.find("; ");
  const std::string advice = end == std::string::npos ? help : text.substr(end + 2);
  const std::string option = OptionIn(text.substr(0, end));
  const Json error = {{"program", program},
                      {"status", status},
                      {"error", text},
                      {"option", option.empty() ? Json() : Json(option)},
                      {"advice", advice.empty() ? Json() : Json(advice)}};
  const std::string line = ForgivingJsonText(error) + "\n";
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

struct ErrorsRequest {
  std::string errors = kAsText;
};

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
  posix::Command own =
      posix::CommandFor<ErrorsRequest>("", "")
          .Takes({posix::Field<ErrorsRequest>("errors", &ErrorsRequest::errors,
                                              "how a failure is told on standard error; json: as "
                                              "an object, on its last line")
                      .OneOfNames({kAsText, kAsJson})})
          .Runs([](const ErrorsRequest&) {});
  std::move(own.options.begin(), own.options.end(), std::back_inserter(program->options));
  if (!AsksForJson(argc, argv)) return;
  TheLastWords() = [name = program->name](const std::string& reason, int status) {
    WriteError(name, posix::Printable(reason), status, "");
  };
  program->on_refusal = [name = program->name](const std::string& why, const std::string& help) {
    WriteError(name, why, posix::kExitUsage, help);
  };
}

}  // namespace sotto::server
