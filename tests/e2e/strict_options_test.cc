// Whatever a program cannot read exactly, an option or a file, it refuses by name and exits with 2.
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "cli/commands.h"
#include "e2e/program.h"
#include "lab/commands.h"
#include "sotto/options/command.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

// A program that hangs is ended, with status 124.
Outcome Run(const std::string& command) { return RunCommand("timeout 30 " + command + " 2>&1"); }

void ExpectRefused(const std::string& command, const std::string& message) {
  const Outcome run = Run(command);
  EXPECT_EQ(run.exit_code, 2) << command << "\n" << run.output;
  EXPECT_NE(run.output.find(message), std::string::npos) << command << "\n" << run.output;
}

// The numeric options of a command by name, and CLI11's names of their types, as --help prints
// them.
std::map<std::string, std::string> NumericOptions(const std::string& command) {
  std::map<std::string, std::string> options;
  const std::string help = Run(command + " --help").output;
  const std::regex option("(--[a-z0-9-]+) (UINT|INT|FLOAT)");
  for (std::sregex_iterator found(help.begin(), help.end(), option), end; found != end; ++found) {
    options[(*found)[1]] = (*found)[2];
  }
  return options;
}

const std::vector<std::string> kPrograms = {
    SOTTO_PROGRAM " serve",
    SOTTO_PROGRAM " simulate",
    SOTTO_PROGRAM " keys new",
    SOTTO_PROGRAM " account epsilon",
    SOTTO_PROGRAM " account sigma",
    SOTTO_PROGRAM " account rounds",
    SOTTO_PROGRAM " account delta",
    SOTTO_PROGRAM " account profile",
    SOTTO_PROGRAM " account compare",
    SOTTO_LAB_PROGRAM " inspect entropy",
    SOTTO_CLIENT_PROGRAM,
};

// Calls `visit` with each row of a command and of all below it.
void VisitRows(const posix::Command& command,
               const std::function<void(const std::string&, const posix::FieldText&)>& visit) {
  for (const posix::BoundOption& option : command.options) visit(command.name, option.text);
  for (const posix::Command& inner : command.commands) VisitRows(inner, visit);
}

std::vector<posix::Command> AllPrograms() {
  return {server::SottoProgram(), server::SottoLabProgram()};
}

bool IsRefused(const posix::FieldText& row, const std::string& text) {
  try {
    (void)posix::ParseValue(row, text);
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

const std::map<posix::Kind, std::vector<std::string>> kBadNumbers = {
    {posix::Kind::kCount,
     {"-1", "0x10", "010", "18446744073709551616", "1.5", " 5", "nan", "", "+5", "1e3"}},
    {posix::Kind::kInteger, {"0x10", "010", "9223372036854775808", "1.5", " 5", "nan", "", "+5"}},
    {posix::Kind::kReal, {"nan", "-nan", "0x1p3", "1e999", " 5", "5x", ""}}};

TEST(StrictOptions, NoNumberIsReadAsAnotherOne) {
  size_t count = 0;
  for (const posix::Command& program : AllPrograms()) {
    VisitRows(program, [&](const std::string& command, const posix::FieldText& row) {
      const auto bad = kBadNumbers.find(row.TextKind());
      if (bad == kBadNumbers.end()) return;
      for (const std::string& text : bad->second) {
        EXPECT_TRUE(IsRefused(row, text)) << command << " --" << row.name << " '" << text << "'";
      }
      ++count;
    });
  }
  EXPECT_GT(count, 150u);
}

// Each program hands what it reads to the same function: one number of each kind shows it.
TEST(StrictOptions, EachProgramRefusesANumberOfEachKind) {
  const std::map<std::string, std::vector<std::string>> bad = {
      {"UINT", {"-1", "010"}}, {"INT", {"0x10"}}, {"FLOAT", {"nan"}}};
  for (const std::string& program : kPrograms) {
    std::set<std::string> seen;
    for (const auto& [option, type] : NumericOptions(program)) {
      if (!seen.insert(type).second) continue;
      for (const std::string& value : bad.at(type)) {
        ExpectRefused(fmt::format("{} {}={} --help", program, option, value), option);
      }
    }
    EXPECT_FALSE(seen.empty()) << program << ": is this still the form of --help?";
  }
}

TEST(StrictOptions, AnEmptyTextIsNotAnOptionLeftOut) {
  size_t count = 0;
  for (const posix::Command& program : AllPrograms()) {
    VisitRows(program, [&](const std::string& command, const posix::FieldText& row) {
      if (row.kind == posix::Kind::kFlag) return;
      EXPECT_TRUE(IsRefused(row, "")) << command << " --" << row.name;
      ++count;
    });
  }
  EXPECT_GT(count, 250u);
  for (const char* command : {SOTTO_PROGRAM " simulate --json", SOTTO_CLIENT_PROGRAM " --json",
                              SOTTO_LAB_PROGRAM " inspect entropy --json"}) {
    ExpectRefused(fmt::format("{} '' --help", command), "--json");
  }
  const std::string file = TestFile("empty.toml");
  WriteFile(file, "json = \"\"\n");
  ExpectRefused(fmt::format("{} simulate --config {} --help", SOTTO_PROGRAM, file), "--json");
  unlink(file.c_str());
}

TEST(StrictOptions, AWrongValueOfASettingsFileIsToldWithItsLine) {
  const std::string file = TestFile("settings.toml");
  WriteFile(file, "# a run\nrounds = 1.5\n");
  ExpectRefused(fmt::format("{} simulate --config {} --help", SOTTO_PROGRAM, file),
                fmt::format("--rounds: '1.5' is not a whole number from 0 on ({}, line 2)", file));
  WriteFile(file, "noise-multiplier = inf\n");
  ExpectRefused(fmt::format("{} simulate --config {} --help", SOTTO_PROGRAM, file),
                fmt::format("({}, line 1)", file));
  unlink(file.c_str());
}

TEST(StrictOptions, ASeedBelowZeroIsNoSeed) {
  for (const std::string& program : {kPrograms[0], kPrograms[1], kPrograms[2], kPrograms.back()}) {
    ExpectRefused(program + " --seed -1 --help", "--seed");
  }
}

// A client that would start.
std::string Client(const std::string& options) {
  return fmt::format("{} --key {} --data /no/such/data --labels /no/such/labels {}",
                     SOTTO_CLIENT_PROGRAM, TestFile("key"), options);
}

TEST(StrictOptions, TheClientRefusesBeforeItReadsAnyFile) {
  for (const char* address :
       {"HOST:1:2", "host", "host:0", "host:-1", "host:0x10", ":7177", "host:65536", "::1:7177"}) {
    ExpectRefused(Client(fmt::format("--server {}", address)), "--server");
  }
  for (const char* models : {"all", "12ab", "any,any"}) {
    ExpectRefused(Client(fmt::format("--accept-model {}", models)), "--accept-model");
  }
  for (const char* time : {"nan", "inf", "-1", "-inf"}) {
    ExpectRefused(Client(fmt::format("--give-up {}", time)), "--give-up");
    ExpectRefused(Client(fmt::format("--min-private-noise {}", time)), "--min-private-noise");
  }
  for (const char* updates : {"-1", "0x10", "1.5", "4294967296", "3"}) {
    ExpectRefused(Client(fmt::format("--max-private-updates {}", updates)),
                  "--max-private-updates");
  }
  for (const char* samples : {"0x10:5", "0:0x5", "-1:5", "0:0", "5", "0:", ":5", "0:5:6"}) {
    ExpectRefused(Client(fmt::format("--samples {}", samples)), "--samples");
  }
}

TEST(StrictOptions, TheServerRefusesAnAddressThatIsNone) {
  for (const char* address : {"HOST:1:2", "host:", "0x10", "-1", "65536", "::1:7177"}) {
    ExpectRefused(
        fmt::format("{} serve --store {} --listen {}", SOTTO_PROGRAM, TestFile("no.db"), address),
        "--listen");
  }
}

// `option` takes a number, `flag` true or false.
void ExpectConfigsRefused(const std::string& program, const std::string& option,
                          const std::string& flag) {
  const std::string file = TestFile("bad.toml");
  const std::string five = option + " = 5\n";
  const std::map<std::string, std::string> bad = {
      {five + five, option + " comes twice"},
      {five + flag + " = true\n" + five, option + " comes twice"},
      {option + " = [5]", option + " has an array"},
      {option + " = [5, 6]", option + " has an array"},
      {option + " = 5, 6", option},
      {option + " = -1", option},
      {option + " = 1.0", option},
      {option + " = 010", option + " = 010: leading zeroes"},
      {option + " = five", option + " = five: "},
      {option + " = 1979-05-27", option + " has a date or a time"},
      {option + " = {}", option + " has no value"},
      {option + " = nan", option},
      {option + " = true", option},
      {option, "in: " + option},
      {option + " =", "in: " + option + " ="},
      {flag + " = 5", flag},
      {flag + " = [true]", flag + " has an array"},
      {"nonsense = 5", "nonsense"},
      {"[nonsense]\n" + five, "nonsense"},
      {"config = \"x\"", "config"},
  };
  for (const auto& [text, message] : bad) {
    WriteFile(file, text);
    ExpectRefused(fmt::format("{} --config {} --help", program, file), message);
  }
  unlink(file.c_str());
}

TEST(StrictOptions, AConfigurationMeansOneThing) {
  ExpectConfigsRefused(SOTTO_PROGRAM " simulate", "rounds", "adaptive-clip");
  ExpectConfigsRefused(SOTTO_PROGRAM " serve", "rounds", "insecure-seed");
  ExpectConfigsRefused(SOTTO_CLIENT_PROGRAM, "seed", "verbose");
}

TEST(StrictOptions, AConfigurationIsToml) {
  const std::string file = TestFile("good.toml");
  for (const char* text :
       {"\"rounds\" = 5\n", "rounds = 0x5 # five\r\n", "\xEF\xBB\xBFrounds = +5\n",
        "simulate.rounds = 5\n", "simulate = {rounds = 5}\n", "[\"simulate\"]\nrounds = 5\n",
        "mechanism = \"\"\"\\\n  gau-lrq\"\"\"\n", "seed = \"18446744073709551615\"\n"}) {
    WriteFile(file, text);
    const Outcome run =
        RunCommand(fmt::format("{} simulate --config {} --help 2>&1", SOTTO_PROGRAM, file));
    EXPECT_EQ(run.exit_code, 0) << text << run.output;
  }
  unlink(file.c_str());
}

TEST(StrictOptions, AnArrayGivesAnOptionThatTakesSeveralValuesItsValues) {
  const std::string file = TestFile("several.toml");
  WriteFile(file, "only = [\"sampling=uniform\",\n        \"epsilon=6\"]\n");
  const Outcome run = RunCommand(SOTTO_LAB_PROGRAM " experiment --config " + file +
                                 " dp-fed-ls-noise --dry-run 2>&1");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("1 cell"), std::string::npos) << run.output;
  WriteFile(file, "seeds = [1,\n 2]\n");
  ExpectRefused(SOTTO_LAB_PROGRAM " experiment --config " + file + " list", "seeds has an array");
  unlink(file.c_str());
}

TEST(StrictOptions, OneOptionIsSetOnceUnderWhateverName) {
  const std::string file = TestFile("twice.toml");
  WriteFile(file, "v = true\nverbose = true\n");
  ExpectRefused(fmt::format("{} --config {} --help", SOTTO_CLIENT_PROGRAM, file), "verbose");
  WriteFile(file, "rounds = 5\n[serve]\nrounds = 6\n");
  ExpectRefused(fmt::format("{} serve --config {} --help", SOTTO_PROGRAM, file), "rounds");
  unlink(file.c_str());
}

TEST(StrictOptions, AConfigurationThatCannotBeReadIsNotAnEmptyOne) {
  const std::string pipe = TestFile("pipe.toml");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string secret = TestFile("secret.toml");
  WriteFile(secret, "rounds = 5\n");
  ASSERT_EQ(chmod(secret.c_str(), 0), 0);
  std::vector<std::string> files = {testing::TempDir(), "/no/such/file", pipe,
                                    "/proc/self/mem",   "/dev/zero",     "''"};
  if (access(secret.c_str(), R_OK) != 0) files.push_back(secret);
  for (const char* program :
       {SOTTO_PROGRAM " serve", SOTTO_PROGRAM " simulate", SOTTO_CLIENT_PROGRAM}) {
    for (const std::string& file : files) {
      ExpectRefused(fmt::format("{} --config {} --help", program, file), "--config");
    }
  }
  unlink(pipe.c_str());
  unlink(secret.c_str());
}

TEST(StrictOptions, NoDataFileHangsAProgram) {
  const std::string pipe = TestFile("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  WriteFile(TestFile("key"), "sotto-key 1\ndevice a\nsecret " + std::string(64, '1') + "\n");
  ASSERT_EQ(chmod(TestFile("key").c_str(), 0600), 0);
  ExpectRefused(fmt::format("{} --key {} --data {} --labels {}", SOTTO_CLIENT_PROGRAM,
                            TestFile("key"), pipe, pipe),
                pipe);
  ExpectRefused(fmt::format("{} account epsilon --delta 1e-5 --schedule {}", SOTTO_PROGRAM, pipe),
                pipe);
  const std::string folder = TestFile("data");
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  const std::string images = folder + "/train-images-idx3-ubyte";
  ASSERT_EQ(mkfifo(images.c_str(), 0600), 0);
  std::vector<std::string> files = {images, pipe, TestFile("key")};
  for (const char* other :
       {"train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    files.push_back(folder + "/" + other);
    WriteFile(files.back(), "");
  }
  ExpectRefused(fmt::format("{} simulate --data {} --noise-multiplier 1", SOTTO_PROGRAM, folder),
                images);
  for (const std::string& path : files) unlink(path.c_str());
  rmdir(folder.c_str());
}

}  // namespace
}  // namespace sotto
