// The one file that knows CLI11. It makes CLI11 strict: by itself CLI11 takes -1 for a count as
// 2^64 - 1, 010 as 8, NaN as a number, the first of two equal keys, an empty text as an option left
// out, and a settings file that it cannot read as an empty one; and it waits for the writer of a
// named pipe.
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "help.h"
#include "sotto/options/command.h"
#include "sotto/options/exit_status.h"
#include "sotto/options/nearest.h"
#include "sotto/options/toml.h"
#include "sotto/posix/files.h"
#include "sotto/posix/terminal.h"
#include "sotto/posix/text.h"

namespace sotto::posix {
namespace {

// A message that nobody can take changes nothing.
void Say(const std::string& line) {
  const std::string text = line + "\n";
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

// "FILE,-v,--verbose"
std::string NamesOf(const FieldText& row) {
  std::string names = row.argument;
  const auto add = [&names](const std::string& name) {
    names += (names.empty() ? "" : ",") + name;
  };
  if (row.letter != nullptr) add(std::string("-") + row.letter);
  if (row.name[0] != '\0') add(std::string("--") + row.name);
  return names;
}

// "UINT:[1 - 10]", what --help shows behind the name.
std::string TypeOf(const FieldText& row) {
  const char* kind = "TEXT";
  if (row.or_word == nullptr) {
    const Kind read_as = row.TextKind();
    if (read_as == Kind::kReal) kind = "FLOAT";
    if (read_as == Kind::kInteger) kind = "INT";
    if (read_as == Kind::kCount) kind = "UINT";
  }
  const std::string allowed = row.Allowed();
  return allowed.empty() ? kind : fmt::format("{}:{}", kind, allowed);
}

CLI::Option* Declare(CLI::App& app, const BoundOption& option) {
  const FieldText& row = option.text;
  if (row.kind == Kind::kFlag) {
    const std::function<void(int64_t)> set = [&option](int64_t count) { option.set(count > 0); };
    return app.add_flag_function(NamesOf(row), set, row.Help());
  }
  CLI::Option* declared = nullptr;
  if (row.kind == Kind::kTexts) {
    const std::function<void(const std::vector<std::string>&)> set =
        [&option](const std::vector<std::string>& texts) { option.set(texts); };
    declared = app.add_option_function(NamesOf(row), set, row.Help());
    if (row.name[0] != '\0') declared->allow_extra_args(false);
  } else {
    const std::function<void(const std::string&)> set = [&option](const std::string& text) {
      option.set(ParseValue(option.text, text));
    };
    declared = app.add_option_function(NamesOf(row), set, row.Help());
  }
  declared->check(CLI::Validator(
      [&row](const std::string& text) -> std::string {
        try {
          (void)ParseValue(row, text);
          return "";
        } catch (const std::invalid_argument& error) {
          return error.what();
        }
      },
      ""));
  // Help() says how an absent value is chosen, also where the member has one.
  const bool has_default = !row.required && row.derived_default == nullptr;
  if (has_default) declared->default_str(DefaultText(option.by_default));
  return declared->type_name(TypeOf(row));
}

void DeclareOptions(CLI::App& app, const std::vector<BoundOption>& options) {
  const auto named = [&app](const char* name) { return app.get_option(std::string("--") + name); };
  std::vector<CLI::Option*> declared;
  for (const BoundOption& option : options) {
    declared.push_back(
        Declare(app, option)->required(option.text.required)->group(option.text.group));
  }
  for (size_t i = 0; i < options.size(); ++i) {
    for (const char* name : options[i].text.needs) declared[i]->needs(named(name));
    for (const char* name : options[i].text.excludes) declared[i]->excludes(named(name));
  }
}

// Declares a command and those in it; the options of those alone that may be called.
void DeclareCommand(CLI::App& app, const Command& command,
                    const std::function<bool(const std::string& name)>& may_be_called) {
  if (may_be_called(command.name)) DeclareOptions(app, command.options);
  if (command.run) {
    app.callback([&app, &command] {
      if (app.get_subcommands().empty()) command.run();
    });
  }
  if (!command.commands.empty()) app.require_subcommand(command.run ? 0 : 1, 1);
  app.footer(command.footer);
  for (const Command& inner : command.commands) {
    CLI::App& declared = *app.add_subcommand(inner.name, inner.help);
    if (inner.is_hidden) declared.group("");
    DeclareCommand(declared, inner, may_be_called);
  }
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

// A program as CLI11 reads it.
class Reader {
 public:
  Reader(const Command& root, const char* version, int argc, char** argv)
      : root_(root), app_(root.help, root.name), words_(argv, argv + argc) {
    app_.set_version_flag("--version", version);
    app_.set_config(NamesOf(SettingsFileRow()), "", SettingsFileRow().help);
    app_.allow_config_extras(CLI::config_extras_mode::error);
    app_.fallthrough(!root.commands.empty());
    DeclareCommand(app_, root, [this](const std::string& name) { return MayBeCalled(name); });
    FormatHelp(app_);
    // Before CLI11 opens the file.
    app_.get_config_ptr()->check([](const std::string& path) {
      (void)ReadSettingsFile(path);
      return std::string();
    });
    app_.parse_complete_callback([this, &root] {
      const CLI::Option& option = *app_.get_config_ptr();
      if (option.count() == 0) return;
      TellFormerDefaults(option.results().back());
      if (root.on_settings_file) root.on_settings_file(option.results().back());
    });
    app_.config_formatter(std::make_shared<SettingsFile>(*this));
  }

  int Run(int argc, char** argv) {
    const std::string unknown = argc > 1 ? DescribeUnknownCommand(argv[1]) : "";
    if (!unknown.empty()) {
      return Refuse(unknown, fmt::format("`{} --help` lists the commands", root_.name));
    }
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return End(error);
    }
    return 0;
  }

 private:
  // CLI11's part that reads the file of --config. It reads the file by itself: the stream that
  // CLI11 opens does not tell that a read has failed.
  class SettingsFile : public CLI::ConfigBase {
   public:
    explicit SettingsFile(const Reader& reader) : reader_(reader) {}

    std::vector<CLI::ConfigItem> from_config(std::istream&) const override {
      const std::string path = reader_.app_.get_config_ptr()->results().back();
      try {
        return reader_.Resolve(path, ParseToml(ReadSettingsFile(path), TomlArrays::kTaken));
      } catch (const std::invalid_argument& error) {
        throw CLI::ConfigError(fmt::format("--config: {}: {}", path, error.what()));
      }
    }

   private:
    const Reader& reader_;
  };

  // Prints the help that somebody asked for, or why the command line is refused.
  int End(const CLI::ParseError& error) const {
    if (error.get_exit_code() == 0) return app_.exit(error);
    return Refuse(DescribeFailure(error),
                  fmt::format("`{} --help` lists what it takes", CalledName()));
  }

  //   why   a line or several
  //   help  where the reader finds what is right
  int Refuse(const std::string& why, const std::string& help) const {
    std::string printable;
    std::istringstream lines(why);
    for (std::string line; std::getline(lines, line);) {
      printable += (printable.empty() ? "" : "\n") + Printable(line);
    }
    if (root_.on_refusal) {
      root_.on_refusal(printable, help);
    } else {
      Say(printable + "\n" + help);
    }
    return kExitUsage;
  }

  // The file as text. Throws CLI::ConfigError.
  static std::string ReadSettingsFile(const std::string& path) {
    try {
      RequireRegularFile(path);
      if (std::optional<std::string> text = ReadCleanText(path)) return *std::move(text);
    } catch (const std::exception& error) {
      throw CLI::ConfigError(std::string("--config: ") + error.what());
    }
    throw CLI::ConfigError(fmt::format("--config: {}: there is no such file", path));
  }

  // Whether a word of the command line may call this command. Most words call none, and to declare
  // an option takes a while. A file of settings may have sections of each command.
  bool MayBeCalled(const std::string& name) const {
    return name == root_.name || std::any_of(words_.begin(), words_.end(), [&](const auto& word) {
             return word == name || word.rfind("--config", 0) == 0;
           });
  }

  // The called commands, from the program on inwards.
  std::vector<const CLI::App*> Called() const {
    std::vector<const CLI::App*> chain = {&app_};
    for (auto called = app_.get_subcommands(); !called.empty();
         called = called.front()->get_subcommands()) {
      chain.push_back(called.front());
    }
    return chain;
  }

  // A file of settings was written for the defaults of its time.
  void TellFormerDefaults(const std::string& path) const {
    const Command* command = &root_;
    for (const CLI::App* app : Called()) {
      for (const Command& inner : command->commands) {
        if (inner.name == app->get_name()) command = &inner;
      }
      const auto is_given = [app = app](const std::string& name) {
        const CLI::Option* option = app->get_option_no_throw("--" + name);
        return option != nullptr && option->count() > 0;
      };
      const std::vector<std::string>& those = command->defaults_matter_to;
      if (!those.empty() && std::none_of(those.begin(), those.end(), is_given)) continue;
      for (const BoundOption& option : command->options) {
        const FieldText& row = option.text;
        if (row.former_default == nullptr || is_given(row.name)) continue;
        const std::string now =
            row.derived_default != nullptr ? row.derived_default : DefaultText(option.by_default);
        Say(fmt::format("note: {} names no {}, whose default has changed: it is {}, and was {}",
                        path, row.name, now, row.former_default));
      }
    }
  }

  std::string CalledName() const {
    std::string name;
    for (const CLI::App* app : Called()) name += (name.empty() ? "" : " ") + app->get_name();
    return name;
  }

  // The row of the called command.
  const Command& CalledCommand() const {
    const Command* command = &root_;
    for (const CLI::App* app : Called()) {
      for (const Command& inner : command->commands) {
        if (inner.name != app->get_name()) continue;
        command = &inner;
        break;
      }
    }
    return *command;
  }

  // ": it is now `sotto store backup`"; empty if the command never had this name or option.
  static std::string TodaysName(const Command& command, const std::string& word) {
    for (const Renamed& renamed : command.renamed) {
      if (renamed.was == word) return fmt::format("; it is now `{}`", renamed.is);
    }
    return "";
  }

  std::string DescribeUnknownCommand(const std::string& word) const {
    if (root_.commands.empty() || word.empty() || word[0] == '-') return "";
    const std::vector<std::string> names = CommandNames(app_);
    if (std::find(names.begin(), names.end(), word) != names.end()) return "";
    std::string hint = TodaysName(root_, word);
    if (hint.empty()) hint = InnerCommands(word);
    if (hint.empty()) hint = DidYouMean(word, names);
    return fmt::format("{}: there is no command '{}'{}", root_.name, Printable(word), hint);
  }

  // "; there is `sotto keys export`, `sotto model export`"; empty if no group has such a command.
  std::string InnerCommands(const std::string& word) const {
    std::string text;
    for (const Command& outer : root_.commands) {
      for (const Command& inner : outer.commands) {
        if (inner.name != word) continue;
        text += fmt::format("{} `{} {} {}`", text.empty() ? "; there is" : ",", root_.name,
                            outer.name, word);
      }
    }
    return text;
  }

  // What the command line has and no command takes, in its order: a line for each option; a word
  // behind such an option is its value, and all words behind an unknown command belong to it.
  std::string DescribeExtras() const {
    const std::vector<const CLI::App*> chain = Called();
    const Command& command = CalledCommand();
    std::vector<std::string> names;
    for (auto each = chain.rbegin(); each != chain.rend(); ++each) AddNames(**each, &names);
    std::string text;
    bool is_value = false;
    for (const std::string& word : app_.remaining(true)) {
      const bool is_option = word.size() > 1 && word[0] == '-';
      if (is_option) {
        const std::string option = word.substr(0, word.find('='));
        const std::string today = TodaysName(command, option);
        text += fmt::format(
            "{} is no option of `{}`{}\n", word, CalledName(),
            today.empty() ? DidYouMean(option.substr(option.find_first_not_of('-')), names, "--")
                          : today);
      } else if (!is_value) {
        const std::vector<std::string> commands = CommandNames(*chain.back());
        const std::string today = TodaysName(command, word);
        text += fmt::format("'{}' is no {} of `{}`{}\n", word,
                            commands.empty() ? "argument" : "command", CalledName(),
                            today.empty() ? DidYouMean(word, commands) : today);
        if (!commands.empty()) break;
      }
      is_value = is_option;
    }
    return text;
  }

  // "sotto keys revoke STORE ID"
  std::string CalledWithArguments() const {
    std::string text = CalledName();
    for (const BoundOption& option : CalledCommand().options) {
      if (option.text.argument[0] != '\0') text += std::string(" ") + option.text.argument;
    }
    return text;
  }

  // The argument that CLI11 calls by this name: its own, or the option's that it may also come as.
  // Empty for an option alone.
  std::string ArgumentOf(const std::string& name) const {
    for (const BoundOption& option : CalledCommand().options) {
      const FieldText& row = option.text;
      if (name == row.argument || name == std::string("--") + row.name) return row.argument;
    }
    return "";
  }

  // CLI11 says what is missing and what comes too often, but not what to do.
  std::string DescribeCount(const std::string& what) const {
    const auto named_before = [&what](const char* text) {
      const size_t at = what.find(text);
      return at == std::string::npos ? "" : what.substr(0, at);
    };
    const std::string missing = ArgumentOf(named_before(" is required"));
    if (!missing.empty()) {
      return fmt::format("{} is required: `{}`", missing, CalledWithArguments());
    }
    const std::string repeated = named_before(": At Most 1 required but received");
    if (repeated.empty()) return what;
    const std::string argument = ArgumentOf(repeated);
    if (argument.empty()) return repeated + ": it comes more than once; give it once";
    return fmt::format("{}: it comes more than once, as an argument or as {}; give it once: `{}`",
                       argument, repeated, CalledWithArguments());
  }

  // " (c.toml, line 3)", if a complaint is about a value that stands there.
  std::string PlaceOf(const std::string& complaint) const {
    const std::string name = complaint.substr(0, complaint.find(':'));
    const auto place = places_.find(name);
    const bool is_written = std::any_of(words_.begin(), words_.end(), [&](const std::string& word) {
      return word.substr(0, word.find('=')) == name;
    });
    return place == places_.end() || is_written ? "" : place->second;
  }

  std::string DescribeFailure(const CLI::Error& error) const {
    const auto is = [&](CLI::ExitCodes code) {
      return error.get_exit_code() == static_cast<int>(code);
    };
    // What is missing may be there under a wrong name.
    const bool has_extras = is(CLI::ExitCodes::ExtrasError) ||
                            (is(CLI::ExitCodes::RequiredError) && !app_.remaining(true).empty());
    const std::string what = DescribeCount(error.what());
    return has_extras ? DescribeExtras() : what + PlaceOf(what);
  }

  // The settings as CLI11 takes them. Keys that stand in no section are options of the called
  // command. Throws std::invalid_argument for a setting that has no option, or the option of
  // another one.
  std::vector<CLI::ConfigItem> Resolve(const std::string& path,
                                       std::vector<Setting> settings) const {
    std::vector<CLI::ConfigItem> result;
    std::map<const CLI::Option*, std::string> set;
    for (Setting& setting : settings) {
      const std::string name = FullName(setting);
      if (setting.kind == Setting::Kind::kEntry) {
        Refuse(setting, "[[...]]: arrays of sections have no meaning here");
      }
      if (setting.section.empty()) {
        for (const CLI::App* app : Called()) {
          if (app != &app_) setting.section.push_back(app->get_name());
        }
      }
      const CLI::Option& option = Find(setting, name);
      const auto [other, is_new] = set.emplace(&option, name);
      if (!is_new) Refuse(setting, fmt::format("{} and {} are one option", other->second, name));
      places_["--" + setting.key] = fmt::format(" ({}, line {})", path, setting.line);
      std::vector<std::string> inputs = Inputs(setting, name, option);
      const bool is_flag = option.get_expected_min() == 0;
      if (is_flag && setting.value != "true" && setting.value != "false") {
        Refuse(setting, fmt::format("{} is {}; expected true or false", name, setting.value));
      }
      result.emplace_back();
      result.back().parents = std::move(setting.section);
      result.back().name = std::move(setting.key);
      result.back().inputs = std::move(inputs);
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

  // The texts of a setting's value. Only an option that takes many texts takes an array.
  static std::vector<std::string> Inputs(const Setting& setting, const std::string& name,
                                         const CLI::Option& option) {
    const bool is_array =
        setting.kind == Setting::Kind::kArray || setting.kind == Setting::Kind::kTexts;
    if (!is_array) return {setting.value};
    if (option.get_items_expected_max() > 1 && !setting.items.empty()) return setting.items;
    Refuse(setting, fmt::format("{} has an array where one value is expected", name));
  }

  [[noreturn]] static void Refuse(const Setting& setting, const std::string& why) {
    throw std::invalid_argument(fmt::format("line {}: {}", setting.line, why));
  }

  const Command& root_;
  CLI::App app_;
  const std::vector<std::string> words_;               // of the command line
  mutable std::map<std::string, std::string> places_;  // of options in the file of --config
};

}  // namespace

int RunProgram(const Command& root, const char* version, int argc, char** argv) {
  return Reader(root, version, argc, argv).Run(argc, argv);
}

}  // namespace sotto::posix
