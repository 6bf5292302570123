// What other programs read of `sotto` and `sotto-lab`: their options, and why a command failed.
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "e2e/program.h"
#include "lab/commands.h"
#include "sotto/options/command.h"
#include "sotto/version.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

const std::vector<std::string> kBothPrograms = {SOTTO_PROGRAM, SOTTO_LAB_PROGRAM};

Json OptionsOf(const std::string& program) {
  const Outcome run = RunCommand(program + " options");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  return Json::parse(run.output, nullptr, false);
}

// The object of that name in a list.
Json Named(const Json& list, const std::string& name) {
  for (const Json& each : list) {
    if (each["name"] == name) return each;
  }
  return nullptr;
}

void ExpectSame(const Json& printed, const posix::Command& command) {
  EXPECT_EQ(printed["help"], command.help);
  EXPECT_EQ(printed["hidden"], command.is_hidden) << command.name;
  EXPECT_EQ(printed["runs"], static_cast<bool>(command.run)) << command.name;
  ASSERT_EQ(printed["options"].size(), command.options.size()) << command.name;
  for (size_t i = 0; i < command.options.size(); ++i) {
    EXPECT_EQ(printed["options"][i]["name"], command.options[i].text.name) << command.name;
    EXPECT_EQ(printed["options"][i]["help"], command.options[i].text.help) << command.name;
  }
  ASSERT_EQ(printed["commands"].size(), command.commands.size()) << command.name;
  for (size_t i = 0; i < command.commands.size(); ++i) {
    ASSERT_EQ(printed["commands"][i]["name"], command.commands[i].name);
    ExpectSame(printed["commands"][i], command.commands[i]);
  }
}

TEST(ForPrograms, OptionsListsEveryCommandWithItsRows) {
  for (const posix::Command& program : {server::SottoProgram(), server::SottoLabProgram()}) {
    const Json all = OptionsOf(program.name == "sotto" ? SOTTO_PROGRAM : SOTTO_LAB_PROGRAM);
    ASSERT_FALSE(all.is_discarded()) << program.name;
    EXPECT_EQ(all["program"], program.name);
    EXPECT_EQ(all["version"], kVersion);
    EXPECT_TRUE(Named(all["options"], "errors").is_object());
    EXPECT_TRUE(Named(all["options"], "config").is_object());
    ASSERT_EQ(all["commands"].size(), program.commands.size() + 1);
    EXPECT_EQ(all["commands"].back()["name"], "options");
    for (size_t i = 0; i < program.commands.size(); ++i) {
      ASSERT_EQ(all["commands"][i]["name"], program.commands[i].name);
      ExpectSame(all["commands"][i], program.commands[i]);
    }
  }
}

// The options that --help lists, at the beginnings of its lines.
std::set<std::string> OptionsInHelp(const std::string& command) {
  std::set<std::string> names;
  std::istringstream lines(RunCommand(command + " --help").output);
  for (std::string line; std::getline(lines, line);) {
    const size_t dashes = line.find("--");
    if (line.rfind("  ", 0) != 0 || line[2] == ' ' || dashes == std::string::npos) continue;
    const size_t end = line.find_first_of(" ,", dashes);
    if (line.find(' ', 2) < dashes) continue;  // in the description
    names.insert(line.substr(dashes + 2, end - dashes - 2));
  }
  names.erase("help");
  return names;
}

TEST(ForPrograms, OptionsNamesWhatHelpNames) {
  const std::vector<std::vector<std::string>> commands = {
      {SOTTO_PROGRAM, "simulate"},
      {SOTTO_PROGRAM, "account", "epsilon"},
      {SOTTO_PROGRAM, "keys", "revoke"},
      {SOTTO_PROGRAM, "model", "predict"},
      {SOTTO_PROGRAM, "serve"},
      {SOTTO_LAB_PROGRAM, "audit", "sensitivity"},
      {SOTTO_LAB_PROGRAM, "inspect", "entropy"}};
  for (const std::vector<std::string>& words : commands) {
    std::string line = words[0];
    Json command = OptionsOf(line);
    for (size_t i = 1; i < words.size(); ++i) {
      command = Named(command["commands"], words[i]);
      ASSERT_TRUE(command.is_object()) << words[i];
      line += " " + words[i];
    }
    std::set<std::string> names;
    for (const Json& option : command["options"]) names.insert(option["name"]);
    names.erase("");
    EXPECT_EQ(names, OptionsInHelp(line)) << line;
  }
}

TEST(ForPrograms, ARowSaysTypeDefaultRangeAndChoices) {
  const Json simulate = Named(OptionsOf(SOTTO_PROGRAM)["commands"], "simulate");
  const Json padding = Named(simulate["options"], "padding");
  EXPECT_EQ(padding["type"], "count");
  EXPECT_EQ(padding["default"], 64);
  EXPECT_EQ(padding["unit"], "bytes");
  EXPECT_EQ(padding["range"], (Json{{"least", 0.0}, {"most", 4096.0}, {"open", false}}));
  const Json coding = Named(simulate["options"], "coding");
  EXPECT_EQ(coding["type"], "text");
  EXPECT_EQ(coding["choices"], (Json{"range", "fixed"}));
  EXPECT_EQ(Named(simulate["options"], "require-salt")["type"], "flag");
  EXPECT_EQ(Named(simulate["options"], "rounds")["default"], nullptr) << "it follows from others";
  EXPECT_TRUE(Named(simulate["options"], "rounds")["derived_default"].is_string());
  EXPECT_EQ(Named(simulate["options"], "epsilon")["type"], "real");
}

// Runs a command with --errors json. Returns the object on the last line of standard error.
Json FailureOf(const std::string& command, int status) {
  const Outcome run = RunCommand(command + " 2>&1 >/dev/null");
  EXPECT_EQ(run.exit_code, status) << command << "\n" << run.output;
  EXPECT_FALSE(run.output.empty()) << command;
  const std::string text = run.output.substr(0, run.output.rfind('\n'));
  Json failure = Json::parse(text.substr(text.rfind('\n') + 1), nullptr, false);
  EXPECT_TRUE(failure.is_object()) << command << "\n" << run.output;
  EXPECT_EQ(failure["status"], status) << command;
  return failure;
}

TEST(ForPrograms, ACommandLineThatIsRefusedIsToldAsJson) {
  for (const std::string& program : kBothPrograms) {
    for (const char* form : {" --errors json ", " --errors=json "}) {
      const Json unknown = FailureOf(program + form + "nonsense", 2);
      EXPECT_NE(unknown["error"].get<std::string>().find("nonsense"), std::string::npos);
      EXPECT_EQ(unknown["option"], nullptr);
      EXPECT_NE(unknown["advice"], nullptr);
    }
    EXPECT_EQ(FailureOf(program + " --errors json", 2)["program"],
              program.substr(program.rfind('/') + 1));
  }
  const std::string simulate = std::string(SOTTO_PROGRAM) + " simulate --errors json ";
  const Json misspelt = FailureOf(simulate + "--epsilom 3", 2);
  EXPECT_EQ(misspelt["option"], "--epsilom");
  EXPECT_EQ(misspelt["advice"], "did you mean --epsilon?");
  const Json value = FailureOf(simulate + "--rounds x", 2);
  EXPECT_EQ(value["error"], "--rounds: 'x' is not a whole number from 0 on");
  EXPECT_EQ(value["option"], "--rounds");
  EXPECT_EQ(value["advice"], "`sotto simulate --help` lists what it takes");
  const Json lab = FailureOf(SOTTO_LAB_PROGRAM " inspect entropy --errors json --json ''", 2);
  EXPECT_EQ(lab["option"], "--json");
  EXPECT_EQ(lab["advice"], "give a value, or leave the option out");
}

TEST(ForPrograms, AFailureOfACommandIsToldAsJson) {
  const std::string none = TestFile("none.db");
  const Json store = FailureOf(fmt::format("{} --errors json status {}", SOTTO_PROGRAM, none), 1);
  EXPECT_NE(store["error"].get<std::string>().find(none), std::string::npos);
  EXPECT_EQ(store["option"], nullptr);
  const Json both = FailureOf(std::string(SOTTO_PROGRAM) +
                                  " simulate --errors json --data synthetic --rounds 1 "
                                  "--average none --average-out x.bin",
                              2);
  EXPECT_EQ(both["option"], "--average-out");
  const Json lab = FailureOf(fmt::format("{} --errors json inspect certificate --json {}/none/x",
                                         SOTTO_LAB_PROGRAM, TestFile("none")),
                             1);
  EXPECT_EQ(lab["program"], "sotto-lab");
  EXPECT_EQ(lab["option"], "--json");
}

TEST(ForPrograms, ProgramsOfADeviceTellTheirFailuresAsJson) {
  const std::vector<std::string> programs = {SOTTO_CLIENT_PROGRAM, SOTTO_GATEWAY_PROGRAM,
                                             SOTTO_SHARD_PROGRAM};
  for (const std::string& program : programs) {
    const Json failure = FailureOf(program + " --errors json --nonsense", 2);
    EXPECT_EQ(failure["program"], program.substr(program.rfind('/') + 1));
    EXPECT_EQ(failure["option"], "--nonsense");
    EXPECT_NE(failure["advice"], nullptr);
  }
  const std::string none = TestFile("none.key");
  const Json client =
      FailureOf(fmt::format("{} --errors=json --server localhost:1 --key {} --data x.csv --once",
                            SOTTO_CLIENT_PROGRAM, none),
                2);
  EXPECT_NE(client["error"].get<std::string>().find(none), std::string::npos);
  const Json gateway = FailureOf(SOTTO_GATEWAY_PROGRAM " --errors json --server localhost:1", 2);
  EXPECT_EQ(gateway["program"], "sotto-gateway");
  const Json shard = FailureOf(fmt::format("{} --errors json --data {}.csv --device 0 --out {}",
                                           SOTTO_SHARD_PROGRAM, none, TestFile("shard")),
                               1);
  EXPECT_NE(shard["error"].get<std::string>().find("none.key.csv"), std::string::npos);
}

TEST(ForPrograms, ADeviceThatFindsNoServerTellsItAsJson) {
  const std::string store = TestFile("fleet.db");
  const Outcome made = RunCommand(fmt::format("{} keys new {} --count 1 --out {} 2>&1",
                                              SOTTO_PROGRAM, store, TestFile("keys")));
  ASSERT_EQ(made.exit_code, 0) << made.output;
  const std::string samples = TestFile("samples.csv");
  std::ofstream file(samples);
  for (int row = 0; row < 20; ++row) {
    for (int column = 0; column < 64; ++column) file << (column == row % 10 ? "1," : "0,");
    file << row % 10 << "\n";
  }
  file.close();
  const Json client = FailureOf(
      fmt::format("{} --errors json --server 127.0.0.1:9 --key {}/device-000000.key --data {} "
                  "--model softmax-64-10 --once --give-up 0.1",
                  SOTTO_CLIENT_PROGRAM, TestFile("keys"), samples),
      4);
  EXPECT_EQ(client["program"], "sotto-client");
}

TEST(ForPrograms, WithoutTheOptionAFailureIsAText) {
  for (const char* errors : {"", "--errors text "}) {
    const Outcome run =
        RunCommand(fmt::format("{} simulate {}--rounds x 2>&1", SOTTO_PROGRAM, errors));
    EXPECT_EQ(run.output,
              "--rounds: 'x' is not a whole number from 0 on\n"
              "`sotto simulate --help` lists what it takes\n");
  }
  ExpectUsageError("simulate --errors xml", "--errors: xml not in {text,json}");
  ExpectLabUsageError("data show --errors xml", "--errors: xml not in {text,json}");
}

}  // namespace
}  // namespace sotto
