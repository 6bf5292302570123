#include "sotto/options/strict.h"

#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <CLI/CLI.hpp>

#include "help.h"
#include "sotto/options/nearest.h"
#include "sotto/options/numbers.h"
#include "sotto/options/toml.h"
#include "sotto/posix/files.h"

namespace sotto::posix {
namespace {

bool HasCheck(CLI::Option& option) {
  try {
    return option.get_validator(0) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

// Empty if the text is good, else why it is not.
std::string CheckCount(const std::string& text) {
  return ParseCount(text) ? "" : fmt::format("'{}' is not a whole number from 0 on", text);
}

std::string CheckInteger(const std::string& text) {
  return ParseInteger(text) ? "" : fmt::format("'{}' is not a whole number", text);
}

std::string CheckReal(const std::string& text) {
  return ParseReal(text) ? "" : fmt::format("'{}' is not a number", text);
}

std::string CheckFinite(const std::string& text) {
  const std::optional<double> value = ParseReal(text);
  return value && std::isfinite(*value) ? "" : fmt::format("'{}' is not a finite number", text);
}

// An empty text is a variable of a script that is not set, never "no such file".
std::string CheckText(const std::string& text) {
  return text.empty() ? "it is empty; give a value, or leave the option out" : "";
}

// In front of the option's other checks.
void CheckFirst(CLI::Option& option, std::string (*check)(const std::string&)) {
  option.transform(CLI::Validator([check](std::string& text) { return check(text); }, ""));
}

// CLI11's name of the option's type, without its checks.
std::string TypeOf(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return name.substr(0, name.find(':'));
}

void MakeValuesStrict(CLI::Option& option) {
  const std::string type = TypeOf(option);
  if (type == "UINT") {
    CheckFirst(option, CheckCount);
  } else if (type == "INT") {
    CheckFirst(option, CheckInteger);
  } else if (type == "FLOAT") {
    CheckFirst(option, HasCheck(option) ? CheckReal : CheckFinite);
  } else if (type == "TEXT") {
    CheckFirst(option, CheckText);
  } else if (!type.empty() && type != "BOOLEAN") {
    throw std::logic_error("no strict check for options of the type " + type);
  }
}

void MakeValuesStrict(CLI::App& app) {
  for (CLI::Option* option : app.get_options({})) MakeValuesStrict(*option);
  for (CLI::App* command : app.get_subcommands({})) MakeValuesStrict(*command);
}

void AddNames(const CLI::App& app, std::vector<std::string>* names) {
  for (const CLI::Option* option : app.get_options({})) {
    for (const std::string& name : option->get_lnames()) names->push_back(name);
  }
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The command that was called, from the outside in. An app without commands is its own.
std::vector<const CLI::App*> Called(const CLI::App& app) {
  std::vector<const CLI::App*> chain = {&app};
  for (auto called = app.get_subcommands(); !called.empty();
       called = called.front()->get_subcommands()) {
    chain.push_back(called.front());
  }
  return chain;
}

std::string FullName(const std::vector<const CLI::App*>& chain) {
  std::string name;
  for (const CLI::App* app : chain) name += (name.empty() ? "" : " ") + app->get_name();
  return name;
}

// What the command line has and no command takes, in its order: a line for each option; a word
// behind such an option is its value.
std::string DescribeExtras(const CLI::App& app) {
  const std::vector<const CLI::App*> chain = Called(app);
  std::vector<std::string> names;
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) AddNames(**each, &names);
  std::string text;
  bool is_value = false;
  for (const std::string& word : app.remaining(true)) {
    const bool is_option = word.size() > 1 && word[0] == '-';
    if (is_option) {
      const std::string name = word.substr(word.find_first_not_of('-'));
      text += fmt::format("{} is no option of `{}`{}\n", word, FullName(chain),
                          DidYouMean(name.substr(0, name.find('=')), names, "--"));
    } else if (!is_value) {
      const std::vector<std::string> commands = CommandNames(*chain.back());
      text +=
          fmt::format("'{}' is no {} of `{}`{}\n", word, commands.empty() ? "argument" : "command",
                      FullName(chain), DidYouMean(word, commands));
    }
    is_value = is_option;
  }
  return text;
}

// CLI11 says how often an option may come, but not what to do.
std::string DescribeRepetition(const std::string& what) {
  const size_t at = what.find(": At Most 1 required but received");
  if (at == std::string::npos) return what;
  return what.substr(0, at) + ": it comes more than once; give it once";
}

// The message of an error of the command line.
std::string DescribeFailure(const CLI::App* app, const CLI::Error& error) {
  const std::vector<const CLI::App*> chain = Called(*app);
  const auto is = [&](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  // What is missing may be there under a wrong name.
  const bool has_extras = is(CLI::ExitCodes::ExtrasError) ||
                          (is(CLI::ExitCodes::RequiredError) && !app->remaining(true).empty());
  const std::string what =
      has_extras ? DescribeExtras(*app) : DescribeRepetition(error.what()) + "\n";
  return fmt::format("{}`{} --help` lists what it takes\n", what, FullName(chain));
}

// A configuration file as text. Throws CLI::ConfigError.
std::string ReadConfiguration(const std::string& path) {
  try {
    RequireRegularFile(path);
    if (std::optional<std::string> text = ReadTextFile(path)) return *std::move(text);
  } catch (const std::exception& error) {
    throw CLI::ConfigError(std::string("--config: ") + error.what());
  }
  throw CLI::ConfigError(fmt::format("--config: {}: there is no such file", path));
}

// Reads the file by itself: the stream that CLI11 opens does not tell that a read has failed.
class StrictConfig : public CLI::ConfigBase {
 public:
  StrictConfig(const CLI::App& app, DefaultSection default_section)
      : app_(app), default_section_(std::move(default_section)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream&) const override {
    const std::string path = app_.get_config_ptr()->results().back();
    try {
      return Resolve(ParseToml(ReadConfiguration(path)));
    } catch (const std::invalid_argument& error) {
      throw CLI::ConfigError(fmt::format("--config: {}: {}", path, error.what()));
    }
  }

 private:
  // Throws std::invalid_argument for a setting that has no option, or the option of another one.
  std::vector<CLI::ConfigItem> Resolve(std::vector<Setting> settings) const {
    std::vector<CLI::ConfigItem> result;
    std::map<const CLI::Option*, std::string> set;
    for (Setting& setting : settings) {
      const std::string name = FullName(setting);
      if (setting.section.empty() && default_section_) setting.section = default_section_();
      const CLI::Option& option = Find(setting, name);
      const auto [other, is_new] = set.emplace(&option, name);
      if (!is_new) Refuse(setting, fmt::format("{} and {} are one option", other->second, name));
      const bool is_flag = option.get_expected_min() == 0;
      if (is_flag && setting.value != "true" && setting.value != "false") {
        Refuse(setting, fmt::format("{} is {}; expected true or false", name, setting.value));
      }
      result.emplace_back();
      result.back().parents = std::move(setting.section);
      result.back().name = std::move(setting.key);
      result.back().inputs = {std::move(setting.value)};
    }
    return result;
  }

  const CLI::Option& Find(const Setting& setting, const std::string& name) const {
    const CLI::App* command = &app_;
    for (const std::string& part : setting.section) {
      const std::vector<const CLI::App*> found = command->get_subcommands(
          [&part](const CLI::App* each) { return each->get_name() == part; });
      if (found.empty()) {
        Refuse(setting, fmt::format("{}: there is no command {}{}", name, part,
                                    DidYouMean(part, CommandNames(*command))));
      }
      command = found.front();
    }
    const CLI::Option* option = command->get_option_no_throw("--" + setting.key);
    if (option == nullptr && setting.key.size() == 1) {
      option = command->get_option_no_throw("-" + setting.key);
    }
    if (option == nullptr) {
      std::vector<std::string> names;
      AddNames(*command, &names);
      Refuse(setting, fmt::format("{} is no option of {}{}", name, command->get_name(),
                                  DidYouMean(setting.key, names)));
    }
    return *option;
  }

  [[noreturn]] static void Refuse(const Setting& setting, const std::string& why) {
    throw std::invalid_argument(fmt::format("line {}: {}", setting.line, why));
  }

  const CLI::App& app_;
  DefaultSection default_section_;
};

}  // namespace

void MakeStrict(CLI::App& app, const DefaultSection& default_section) {
  MakeValuesStrict(app);
  FormatHelp(app);
  app.failure_message(DescribeFailure);
  if (app.get_config_ptr() == nullptr) return;
  // Before CLI11 opens the file.
  app.get_config_ptr()->check([](const std::string& path) {
    (void)ReadConfiguration(path);
    return std::string();
  });
  app.config_formatter(std::make_shared<StrictConfig>(app, default_section));
}

}  // namespace sotto::posix
