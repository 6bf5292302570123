// Runs of `sotto simulate` as a user makes them: several seeds, an interruption and what follows,
// CSV of rounds; names that do not exist; the width of the help.
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "e2e/small_run.h"
#include "unit/trials.h"

namespace sotto {
namespace {

// The JSON without what differs from run to run.
Json Comparable(Json json) {
  json.erase("wall_seconds");
  return json;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Runs, SeveralSeedsGiveMeanAndDeviationAndEachRun) {
  const std::string csv = TestFile("rounds.csv");
  const Json json = SmallRun("--seeds 3,1-2 --rounds-csv " + csv);
  EXPECT_EQ(json["seeds"], (std::vector<int>{3, 1, 2}));
  ASSERT_EQ(json["runs"].size(), 3u);
  EXPECT_EQ(Comparable(json["runs"][1]), Comparable(SmallRun("--seed 1")));
  double mean = 0;
  for (const Json& run : json["runs"]) mean += run["accuracy"].get<double>() / 3;
  EXPECT_NEAR(json["mean"]["accuracy"], mean, 1e-12);
  EXPECT_GT(json["deviation"]["accuracy"], 0.0);
  EXPECT_EQ(json["deviation"]["epsilon"], 0.0);
  const std::vector<std::string> rows = LinesOf(ReadFile(csv));
  ASSERT_EQ(rows.size(), 1u + 3 * 3);
  EXPECT_EQ(rows[1].rfind("3,1,", 0), 0u);
  EXPECT_EQ(rows[9].rfind("2,3,", 0), 0u);
  const Outcome run = Sotto(Small() + "--seeds 1-2");
  EXPECT_NE(run.output.find("2 simulations"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find(" +- 0.0"), std::string::npos) << run.output;
}

TEST(Runs, SeveralSeedsWriteNoModelAndNoState) {
  ExpectUsageError(Small() + "--seeds 1-2 --model-out " + TestFile("m"), "--model-out is for one");
  ExpectUsageError(Small() + "--seeds 1-2 --state-out " + TestFile("s"), "--state-out is for one");
  ExpectUsageError(Small() + "--seeds 1-2 --seed 1", "--seed");
  ExpectUsageError(Small() + "--seeds 2-1", "--seeds 2-1: '2-1' is no seed");
}

TEST(Runs, EvaluateEverySkipsRoundsButNotTheLast) {
  const Json json = SmallRun("--seed 1 --evaluate-every 2");
  EXPECT_TRUE(json["rounds"][0]["evaluation"].is_null());
  EXPECT_TRUE(json["rounds"][0]["accuracy"].is_null());
  EXPECT_EQ(json["rounds"][1]["evaluation"]["samples"], 10000);
  EXPECT_EQ(json["rounds"][2]["evaluation"], json["evaluation"]);
  EXPECT_EQ(json["evaluation"]["classes"].size(), 10u);
  EXPECT_EQ(json["evaluation"]["accuracy"], json["accuracy"]);
  EXPECT_TRUE(json["evaluation"]["mean_squared_error"].is_null());
}

TEST(Runs, EvaluateEveryZeroEvaluatesNoModelAndSaysSo) {
  const Json json = SmallRun("--seed 1 --evaluate-every 0");
  for (const char* name : {"accuracy", "initial_accuracy", "evaluation", "initial_evaluation"}) {
    EXPECT_TRUE(json[name].is_null()) << name;
  }
  for (const Json& round : json["rounds"]) EXPECT_TRUE(round["evaluation"].is_null());
  EXPECT_EQ(json["parameters_sha256"], SmallRun("--seed 1")["parameters_sha256"]);
  const Outcome run = Sotto(Small() + "--seed 1 --evaluate-every 0");
  EXPECT_NE(run.output.find("accuracy       not known: --evaluate-every 0"), std::string::npos)
      << run.output;
  const Json seeds = SmallRun("--seeds 1-2 --evaluate-every 0");
  EXPECT_TRUE(seeds["mean"]["accuracy"].is_null());
}

// A model file of an autoencoder of the images.
std::string AutoencoderFile() {
  const std::string path = TestFile("coder.toml");
  WriteFile(path,
            "name = \"coder\"\ninput = [28, 28, 1]\nloss = \"mean-squared-error\"\n"
            "target = \"input\"\n[[layer]]\nkind = \"flatten\"\n[[layer]]\nkind = \"dense\"\n"
            "outputs = 4\n[[layer]]\nkind = \"dense\"\noutputs = 784\n");
  return path;
}

TEST(Runs, AnAutoencoderHasAMeanSquaredErrorAndNoAccuracy) {
  const std::string model = AutoencoderFile();
  const Outcome run = Sotto(Small() + "--seed 1 --model " + model);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("round 1/3: mean squared error 0."), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("accuracy"), std::string::npos) << run.output;
  const Json json = SmallRun("--seed 1 --model " + model);
  EXPECT_TRUE(json["accuracy"].is_null());
  EXPECT_GT(json["evaluation"]["mean_squared_error"], 0.0);
}

// Noise that scales with the clip moves the model further than training does, and nothing said so.
TEST(Runs, ATrainingThatMakesTheModelWorseSaysSoAndWhatToChange) {
  const std::string options = "--seed 1 --model " + AutoencoderFile();
  const Outcome run = Sotto(Small() + options + " --clip 4");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  const std::string says = "warning: the training made the model worse: mean squared error ";
  EXPECT_NE(run.output.find(says), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("Try a smaller --clip"), std::string::npos) << run.output;
  const Json worse = SmallRun(options + " --clip 4");
  EXPECT_GT(worse["evaluation"]["loss"], worse["initial_evaluation"]["loss"]);
  EXPECT_EQ(worse["warnings"].size(), 1U);
  const Json better = SmallRun(options + " --clip 0.05");
  EXPECT_LT(better["evaluation"]["loss"], better["initial_evaluation"]["loss"]);
  EXPECT_TRUE(better["warnings"].empty()) << better["warnings"];
  const Outcome seeds = Sotto(Small() + "--seeds 1-2 --model " + AutoencoderFile() + " --clip 4");
  EXPECT_NE(seeds.output.find("warning: seed 2: the training made"), std::string::npos);
}

TEST(Runs, NoiseThatDrownsTheUpdatesIsSaidBeforeTheFirstRound) {
  const Outcome run = Sotto(Small() + "--seed 1 --epsilon 0.05");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  const size_t warned = run.output.find("warning: the noise drowns the updates");
  EXPECT_LT(warned, run.output.find("round 1/3")) << run.output;
  EXPECT_EQ(Sotto(Small() + "--seed 1").output.find("warning: the noise"), std::string::npos);
}

// Sends SIGINT once the log has a line about this round; returns the log.
std::string InterruptAfter(const std::string& arguments, const std::string& line) {
  const std::string log = TestFile("interrupted.log");
  std::remove(log.c_str());
  const std::string command = fmt::format(
      "{} {} > {} 2>&1 & pid=$!; while kill -0 $pid 2>/dev/null; do "
      "if grep -q '{}' {} 2>/dev/null; then kill -INT $pid; break; fi; sleep 0.02; done; "
      "wait $pid; exit $?",
      SOTTO_PROGRAM, arguments, log, line, log);
  const Outcome run = RunCommand("bash -c \"" + [&] {
    std::string escaped;
    for (const char c : command)
      escaped += (c == '$' || c == '"') ? std::string("\\") + c : std::string(1, c);
    return escaped;
  }() + "\"");
  EXPECT_EQ(run.exit_code, 130) << ReadFile(log);
  return ReadFile(log);
}

TEST(Runs, AfterCtrlCThereAreResultsAndAResumedRunEndsAsIfNothingHadHappened) {
  const std::string rounds = std::to_string(2 + Trials(38));  // long enough for the signal
  const std::string options = Small() + "--seed 1 --dropout 0.2 --rounds-csv " +
                              TestFile("rounds.csv") + " --json " + TestFile("out.json") +
                              " --model-out " + TestFile("model.bin");
  WriteFile(TestFile("small.toml"),
            "devices = 60\ncohort = 20\nlocal-epochs = 3\nevaluate-every = 10\nrounds = " + rounds);
  EXPECT_EQ(Sotto(options).exit_code, 0);
  const Json whole = Json::parse(ReadFile(TestFile("out.json")));
  const std::string rows = ReadFile(TestFile("rounds.csv"));
  const std::string model = ReadFile(TestFile("model.bin"));

  const std::string state = TestFile("state");
  const std::string log = InterruptAfter(options + " --state-out " + state, "round 2/" + rounds);
  EXPECT_NE(log.find("sotto: stopped: "), std::string::npos) << log;
  EXPECT_NE(log.find("go on with --resume " + state), std::string::npos) << log;
  EXPECT_NE(log.find("written so far: "), std::string::npos) << log;
  const Json part = Json::parse(ReadFile(TestFile("out.json")));
  EXPECT_LT(part["rounds"].size(), std::stoul(rounds)) << "the machine was faster than the signal";
  EXPECT_EQ(LinesOf(ReadFile(TestFile("rounds.csv"))).size(), 1 + part["rounds"].size());
  EXPECT_EQ(ReadFile(TestFile("model.bin")).size(), model.size());

  EXPECT_EQ(Sotto(options + " --resume " + state).exit_code, 0);
  EXPECT_EQ(Comparable(Json::parse(ReadFile(TestFile("out.json")))), Comparable(whole));
  EXPECT_EQ(ReadFile(TestFile("rounds.csv")), rows);
  EXPECT_EQ(ReadFile(TestFile("model.bin")), model);
  EXPECT_NE(ReadFile(state).find("\"next_round\": " + rounds), std::string::npos)
      << "the state moves on in its own file";
}

TEST(Runs, AStateOfAnotherRunOrNoStateIsRefused) {
  const std::string state = TestFile("state");
  ASSERT_EQ(Sotto(Small() + "--seed 1 --state-out " + state).exit_code, 0);
  const std::string held = ReadFile(state);
  ExpectUsageError(Small() + "--seed 2 --resume " + state, "began with seed = 1, and now it is 2");
  ExpectUsageError(Small() + "--seed 1 --clip 0.5 --resume " + state, "began with clip");
  ExpectUsageError(Small() + "--seed 1 --resume " + TestFile("none"), "it cannot be read");
  EXPECT_EQ(ReadFile(state), held) << "a refused run changes nothing";
}

// A run that goes on with other samples is no run.
TEST(Runs, AStateOfOtherSamplesIsRefusedByTheFilesName) {
  const std::string data = TestFile("rows.csv");
  const std::string model = TestFile("two.toml");
  const std::string rows = "x,y,label\n1,10,0\n2,20,1\n3,30,0\n4,40,1\n";
  WriteFile(data, rows);
  WriteFile(model, "name = \"two\"\ninput = [2]\n[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  const std::string state = TestFile("state");
  const std::string run = "simulate --data " + data + " --test " + data + " --model " + model +
                          " --seed 1 --delta 1e-3 --noise-multiplier 1 --devices 2 "
                          "--samples-per-device 2 --cohort 2 --rounds 2 ";
  const Outcome whole = Sotto(run + "--state-out " + state);
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  EXPECT_EQ(Sotto(run + "--resume " + state).exit_code, 0);
  const std::string held = ReadFile(state);
  WriteFile(data, "x,y,label\n9,9,1\n8,8,0\n7,7,1\n6,6,0\n");
  ExpectUsageError(run + "--resume " + state, "--resume " + state +
                                                  ": since its simulation began, --data " + data +
                                                  " has another content: its SHA-256 was ");
  EXPECT_EQ(ReadFile(state), held);
  WriteFile(data, rows);
  EXPECT_EQ(Sotto(run + "--resume " + state).exit_code, 0) << "the same content again";
  WriteFile(model, ReadFile(model) + "# another text\n");
  ExpectUsageError(run + "--resume " + state, "--model " + model + " has another content");
}

TEST(Runs, ResultsNameTheContentOfWhatTheyWereMadeOf) {
  const std::string data = TestFile("rows.csv");
  WriteFile(data, "x,y,label\n1,10,0\n2,20,1\n3,30,0\n4,40,1\n");
  const std::string model = TestFile("two.toml");
  WriteFile(model, "name = \"two\"\ninput = [2]\n[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  const std::string run = "simulate --data " + data + " --test " + data + " --model " + model +
                          " --delta 1e-3 --noise-multiplier 1 --devices 2 "
                          "--samples-per-device 2 --cohort 2 --rounds 1 ";
  const auto digest = [](const std::string& path) {
    return RunCommand("sha256sum " + path).output.substr(0, 64);
  };
  const Json one = SottoJson(run + "--seed 1");
  EXPECT_EQ(one["inputs"]["data"]["text"], data);
  EXPECT_EQ(one["inputs"]["data"]["sha256"], digest(data));
  EXPECT_EQ(one["inputs"]["model"]["sha256"], digest(model));
  EXPECT_EQ(one["inputs"].size(), 3u) << one["inputs"];
  EXPECT_EQ(one["build"].get<std::string>().rfind(one["sotto_version"].get<std::string>(), 0), 0u);
  EXPECT_EQ(SottoJson(run + "--seeds 1-2")["runs"][1]["inputs"], one["inputs"]);
  const Json peers = SottoJson("peers simulate --data " + data + " --test " + data +
                               " --peers 2 --samples-per-device 2 --batch-size 1 --seed 1");
  EXPECT_EQ(peers["inputs"]["data"]["sha256"], digest(data));
}

TEST(Runs, ADamagedStateIsRefused) {
  const std::string state = TestFile("state");
  ASSERT_EQ(Sotto(Small() + "--seed 1 --state-out " + state).exit_code, 0);
  std::string text = ReadFile(state);
  const size_t at = text.find("\"next_round\": 3");
  ASSERT_NE(at, std::string::npos);
  text[at + 14] = '2';
  WriteFile(state, text);
  ExpectUsageError(Small() + "--seed 1 --resume " + state, "it is damaged");
  EXPECT_EQ(ReadFile(state), text);
}

TEST(Hints, AnUnknownOptionIsRefusedWithTheNearestNameInTheOrderGiven) {
  const Outcome run = Sotto("simulate --roundz 3 --zzzzzzzz 7 --lerning-rate=1 --eps 2");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.output,
            "--roundz is no option of `sotto simulate`; did you mean --rounds?\n"
            "--zzzzzzzz is no option of `sotto simulate`\n"
            "--lerning-rate=1 is no option of `sotto simulate`; did you mean --learning-rate?\n"
            "--eps is no option of `sotto simulate`; did you mean --epsilon?\n"
            "`sotto simulate --help` lists what it takes\n");
}

TEST(Hints, AnUnknownCommandIsRefusedWithTheNearestName) {
  ExpectUsageError("simulat", "there is no command 'simulat'; did you mean simulate?");
  ExpectUsageError("keys lst", "'lst' is no command of `sotto keys`; did you mean list?");
}

TEST(Hints, ACommandOfAGroupIsRefusedWithItsFullName) {
  ExpectUsageError("revoke run.db x", "there is no command 'revoke'; there is `sotto keys revoke`");
  ExpectUsageError("export", "there is `sotto keys export`, `sotto model export`");
}

TEST(Hints, ACommandThatHasAnotherNameTodayIsRefusedWithThatName) {
  ExpectUsageError("backup run.db copy.db",
                   "there is no command 'backup'; it is now `sotto store backup`");
  ExpectUsageError("pause run.db", "there is no command 'pause'; it is now `sotto job pause`");
  ExpectUsageError("resume run.db", "there is no command 'resume'; it is now `sotto job resume`");
  const Outcome run = Sotto("inspect store run.db --json -");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.output,
            "'store' is no command of `sotto inspect`; it is now `sotto status --verify`\n"
            "`sotto inspect --help` lists what it takes\n");
  ExpectUsageError("inspect certificate", "it is now `sotto-lab inspect certificate`");
}

TEST(Hints, AnArgumentThatIsMissingOrComesTwiceIsRefusedWithItsPlace) {
  ExpectUsageError("status", "STORE is required: `sotto status STORE`");
  ExpectUsageError("keys revoke run.db", "ID is required: `sotto keys revoke STORE ID`");
  ExpectUsageError("keys revoke pi-1 --store run.db",
                   "STORE: it comes more than once, as an argument or as --store; give it once: "
                   "`sotto keys revoke STORE ID`");
}

TEST(Hints, AnUnknownKeyOfAFileIsRefusedWithTheNearestName) {
  const std::string path = TestFile("job.toml");
  WriteFile(path, "devices = 60\nround = 3\nclipp = 1\n");
  ExpectUsageError("simulate --config " + path,
                   "line 2: round is no option of simulate; did you mean rounds?");
  WriteFile(path, "[simulat]\nrounds = 3\n");
  ExpectUsageError("simulate --config " + path, "did you mean simulate?");
}

TEST(Help, FitsAHundredColumnsAndEndsAnOptionWhereTheNextBegins) {
  for (const char* command : {"",
                              "simulate",
                              "serve",
                              "keys",
                              "keys new",
                              "keys list",
                              "keys revoke",
                              "keys export",
                              "account",
                              "account epsilon",
                              "account sigma",
                              "account rounds",
                              "account delta",
                              "account profile",
                              "account compare",
                              "account plan",
                              "account ledger",
                              "peers account",
                              "model",
                              "model show",
                              "model export",
                              "data show",
                              "report",
                              "status",
                              "job",
                              "job pause",
                              "store backup",
                              "inspect options"}) {
    const Outcome run = Sotto(std::string(command) + " --help");
    EXPECT_EQ(run.exit_code, 0) << command;
    for (const std::string& line : LinesOf(run.output)) {
      EXPECT_LE(line.size(), 100u) << command << "\n" << line;
    }
  }
  const Outcome client = RunCommand(SOTTO_CLIENT_PROGRAM " --help");
  for (const std::string& line : LinesOf(client.output)) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Help, OfACommandWithoutCommandsDoesNotSpeakOfCommands) {
  EXPECT_EQ(Sotto("keys new --help").output.find("COMMAND"), std::string::npos);
  EXPECT_NE(Sotto("keys --help").output.find("COMMAND"), std::string::npos);
}

}  // namespace
}  // namespace sotto
