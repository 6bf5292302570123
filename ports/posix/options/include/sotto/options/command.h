// A program as a tree of commands that take rows of options. Part of sotto::options.
//
//   Command DirectoryCommand() {
//     using Row = Field<DirectoryRequest>;
//     return CommandFor<DirectoryRequest>("directory", "let nodes train among themselves")
//         .Takes({Row("relay", &DirectoryRequest::relay, "keep the newest publications"), ...})
//         .Runs(RunDirectory);
//   }
//   int main(int argc, char** argv) {
//     return RunProgram({"sotto", "...", {DirectoryCommand(), ...}}, "0.2.0", argc, argv);
//   }
//
// --help, --version, --config FILE (TOML), "did you mean" and the strict reading of all values
// follow from the rows. Not safe from several threads.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/options/field.h"

namespace sotto::posix {

// A row whose value goes to one request.
struct BoundOption {
  FieldText text;
  Value by_default;
  std::function<void(const Value&)> set;
};

// What somebody may still type, and what it is today. Both as one types them behind the program's
// or the command's name: {"backup", "sotto store backup"}, {"--topology", "sotto peers simulate"}.
struct Renamed {
  std::string was;
  std::string is;
};

struct Command {
  std::string name;
  std::string help;
  std::vector<Command> commands;  // one of them must be named, unless there is run()
  std::vector<BoundOption> options;
  std::function<void()> run;  // if none of its commands is named
  // Called before run() with the file of --config, if there is one. Of the root alone.
  std::function<void(const std::string& path)> on_settings_file;
  // Called in place of a text on standard error if the command line or the file of --config is
  // wrong. Of the root alone.
  //   why   a line or several
  //   help  "`sotto simulate --help` lists what it takes"
  std::function<void(const std::string& why, const std::string& help)> on_refusal;
  std::string footer;
  bool is_hidden = false;  // --help of the command above does not list it
  std::vector<Renamed> renamed;
  // A file of settings that has none of these options does not depend on a default that has
  // changed; empty: each file may.
  std::vector<std::string> defaults_matter_to;
};

// A command that has commands, one of which must be named.
inline Command CommandOf(const char* name, const char* help, std::vector<Command> commands) {
  Command command;
  command.name = name;
  command.help = help;
  command.commands = std::move(commands);
  return command;
}

// Which rows of a table a command takes.
using Pick = std::function<bool(const FieldText&)>;
Pick AllRows();
Pick InGroup(const char* group);
Pick Without(std::vector<std::string> names);
Pick Both(Pick a, Pick b);

// Builds a command without commands. It owns the request that its options fill.
template <class Request>
class CommandFor {
 public:
  CommandFor(const char* name, std::string help) {
    command_.name = name;
    command_.help = std::move(help);
  }

  CommandFor& Takes(std::initializer_list<Field<Request>> rows) {
    return Takes(std::vector<Field<Request>>(rows));
  }
  // Takes the picked rows. `Row` is a Field<Base>, or a row that derives from BasicField, where
  // Request is a Base.
  template <class Row>
  CommandFor& Takes(const std::vector<Row>& rows, const Pick& pick = AllRows()) {
    for (const Row& row : rows) {
      if (row.is_option() && pick(row))
        Add(
            row, [](auto& request) -> auto& { return request; });
    }
    return *this;
  }
  // Takes the rows of a part of the request.
  //   part  a member of the request, or (auto& request) -> auto&
  template <class Row, class Part>
  CommandFor& TakesFor(Part part, const std::vector<Row>& rows) {
    for (const Row& row : rows) Add(row, part);
    return *this;
  }

  CommandFor& Footer(std::string text) {
    command_.footer = std::move(text);
    return *this;
  }
  CommandFor& DefaultsMatterTo(std::vector<std::string> names) {
    command_.defaults_matter_to = std::move(names);
    return *this;
  }
  CommandFor& Hidden() {
    command_.is_hidden = true;
    return *this;
  }
  // The file of --config goes to this member. Of the root alone.
  CommandFor& KeepsSettingsFile(std::string Request::*member) {
    command_.on_settings_file = [request = request_, member](const std::string& path) {
      (*request).*member = path;
    };
    return *this;
  }
  CommandFor& Renames(std::vector<Renamed> renamed) {
    command_.renamed = std::move(renamed);
    return *this;
  }

  //   run  (const Request&), called once all options are read; may throw
  template <class Run>
  Command Runs(Run run) {
    command_.run = [request = request_, run] { run(std::as_const(*request)); };
    return std::move(command_);
  }

 private:
  // A request that must know which options were named has the member `given`, a set of names.
  template <class T, class = void>
  struct RemembersNames : std::false_type {};
  template <class T>
  struct RemembersNames<T, std::void_t<decltype(std::declval<T&>().given.insert(""))>>
      : std::true_type {};

  template <class Row, class Part>
  void Add(const Row& row, Part part) {
    auto set = [request = request_, row, part](const Value& value) {
      typename Row::Request& target = std::invoke(part, *request);
      row.set(target, value);
      if constexpr (RemembersNames<typename Row::Request>::value) target.given.insert(row.name);
    };
    command_.options.push_back({row, row.get(std::invoke(part, *request_)), std::move(set)});
  }

  std::shared_ptr<Request> request_ = std::make_shared<Request>();
  Command command_;
};

// The row of --config, which each program has.
FieldText SettingsFileRow();

// Reads the command line and runs the command that it names, whose exceptions pass through.
// Returns 0; or 2, after a text on standard error, if the command line or the file of --config is
// wrong.
//   root  the program: with commands, or with options and run()
int RunProgram(const Command& root, const char* version, int argc, char** argv);

}  // namespace sotto::posix
