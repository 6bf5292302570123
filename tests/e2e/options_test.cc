// The program accepts the options of the tables and refuses the values that the tables refuse.
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "audit/audit_request.h"
#include "e2e/program.h"
#include "net/serve_request.h"
#include "sim/simulation_request.h"
#include "spec/job_spec.h"
#include "unit/trials.h"

namespace sotto {
namespace {

using posix::DefaultText;

constexpr char kSimulate[] = SOTTO_PROGRAM " simulate";
constexpr char kServe[] = SOTTO_PROGRAM " serve";

// --help stops the program after it has checked the other options and before it runs anything.
bool IsTaken(const char* program, const char* option, const std::string& value) {
  const Outcome run = RunCommand(fmt::format("{} --{} {} --help 2>&1", program, option, value));
  if (run.exit_code == 0) return true;
  EXPECT_EQ(run.exit_code, 2) << option << " " << value;
  EXPECT_NE(run.output.find(option), std::string::npos) << run.output;
  return false;
}

template <class Row>
void ExpectTableIsWhatTheProgramTakes(const char* program, const std::vector<Row>& fields) {
  int number = 0;
  for (const Row& field : fields) {
    if (!field.is_option() || !IsTried(number++)) continue;
    for (const std::string& choice : field.choices) {
      EXPECT_TRUE(IsTaken(program, field.name, choice)) << field.name << " " << choice;
    }
    if (!field.choices.empty()) {
      EXPECT_FALSE(IsTaken(program, field.name, "nonsense")) << field.name;
    }
    if (!field.range) continue;
    const server::Range& range = *field.range;
    EXPECT_EQ(IsTaken(program, field.name, fmt::format("{:g}", range.least)), !range.open)
        << field.name;
    EXPECT_TRUE(IsTaken(program, field.name, DefaultText(range.most))) << field.name;
    EXPECT_FALSE(IsTaken(program, field.name, "nan")) << field.name;
    EXPECT_FALSE(IsTaken(program, field.name, DefaultText(range.least - 1))) << field.name;
    if (std::isinf(range.most)) continue;
    EXPECT_FALSE(IsTaken(program, field.name, fmt::format("{:g}", range.most * 10))) << field.name;
  }
}

TEST(Options, TheProgramTakesWhatTheTableOfJobsAllows) {
  ExpectTableIsWhatTheProgramTakes(kSimulate, server::JobFields());
}

TEST(Options, TheProgramTakesWhatTheTableOfSimulationsAllows) {
  ExpectTableIsWhatTheProgramTakes(kSimulate, server::SimulationFields());
}

TEST(Options, TheProgramTakesWhatTheTableOfServersAllows) {
  ExpectTableIsWhatTheProgramTakes(kServe, server::ServeFields());
}

TEST(Options, TheProgramTakesWhatTheTablesOfAuditsAllow) {
  ExpectTableIsWhatTheProgramTakes(SOTTO_LAB_PROGRAM " audit epsilon",
                                   server::EpsilonAuditFields());
  ExpectTableIsWhatTheProgramTakes(SOTTO_LAB_PROGRAM " audit membership",
                                   server::MembershipFields());
  ExpectTableIsWhatTheProgramTakes(SOTTO_LAB_PROGRAM " audit sensitivity",
                                   server::SensitivityFields());
}

TEST(Options, ServeTakesTheChoicesThatItsColumnNamesAndSaysWhyNotTheOthers) {
  EXPECT_TRUE(IsTaken(kServe, "mechanism", "none"));
  for (const char* baseline : {"float32", "qg", "bq"}) {
    const Outcome run = Sotto(fmt::format("serve --mechanism {} --help", baseline));
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_NE(run.output.find("only `sotto simulate` runs it; serve takes gau-lrq or none"),
              std::string::npos)
        << run.output;
  }
}

TEST(Options, AnArgumentThatMayComeAsAnOptionHasOneEntryInHelp) {
  const std::string help = Sotto("keys revoke --help").output;
  EXPECT_NE(help.find("  STORE,--store TEXT REQUIRED"), std::string::npos) << help;
  EXPECT_EQ(help.find("--store"), help.rfind("--store")) << help;
}

TEST(Options, HelpOfServeNamesEveryOptionOfAJob) {
  const std::string help = Sotto("serve --help").output;
  for (const server::JobField& field : server::JobFields()) {
    if (!field.is_option()) continue;
    EXPECT_NE(help.find(std::string("  --") + field.name), std::string::npos) << field.name;
  }
  for (const server::Field<server::ServeRequest>& field : server::ServeFields()) {
    EXPECT_NE(help.find(std::string("--") + field.name), std::string::npos) << field.name;
  }
}

// The tables that a text in Markdown has.
std::vector<std::string> TablesOf(const std::string& text) {
  std::vector<std::string> tables;
  bool inside = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_row = line.rfind("| ", 0) == 0 || line.rfind("|--", 0) == 0;
    if (is_row && !inside) tables.emplace_back();
    if (is_row) tables.back() += line + "\n";
    inside = is_row;
  }
  return tables;
}

TEST(Options, ThePageShowsTheTables) {
  const Outcome jobs = Sotto("inspect options");
  const Outcome audits = SottoLab("inspect options");
  ASSERT_EQ(jobs.exit_code, 0) << jobs.output;
  ASSERT_EQ(audits.exit_code, 0) << audits.output;
  const std::vector<std::string> printed = TablesOf(jobs.output + audits.output);
  ASSERT_EQ(printed.size(), 7u);
  EXPECT_EQ(TablesOf(ReadFile(SOTTO_SOURCE_DIR "/server/OPTIONS.md")), printed)
      << "server/OPTIONS.md must show the tables that `sotto inspect options` and `sotto-lab "
         "inspect "
         "options` print";
}

TEST(Options, AResolvedJobStandsInTheResults) {
  const Json json = SottoJson(
      "simulate --data synthetic --devices 60 --cohort 10 --rounds 1 --local-epochs 1 --seed 1 "
      "--sampling poisson");
  EXPECT_EQ(json["job"]["cohort"], 10);
  EXPECT_EQ(json["job"]["min_devices"], 0);
  EXPECT_EQ(json["job"]["epsilon_budget"], 6.0);
}

}  // namespace
}  // namespace sotto
