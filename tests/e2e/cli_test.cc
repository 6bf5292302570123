// The command `sotto` as a user runs it: exit codes, messages, files.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "e2e/small_run.h"
#include "sotto/bytes.h"
#include "sotto/certificate.h"
#include "sotto/crypto.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

TEST(Cli, ASpectrumOfRoundsThatNeverComeIsRefused) {
  ExpectUsageError(
      "simulate --data synthetic --rounds 2 --mechanism none --spectrum-rounds 5 "
      "--spectrum " +
          TestFile("spectrum.csv"),
      "--spectrum-rounds 5: the job has 2 rounds");
}

TEST(Cli, TheReportNamesTheServersStepIfItIsNotThePlainOne) {
  const std::string run = "simulate --data synthetic --devices 20 --cohort 5 --rounds 1 ";
  EXPECT_EQ(Sotto(run).output.find("server step"), std::string::npos);
  const Outcome smoothed = Sotto(run + "--smoothing 0.5 --server-optimiser momentum");
  EXPECT_NE(smoothed.output.find("  server step    estimator laplacian, smoothing 0.5 along one "
                                 "axis; optimiser momentum, rate 1\n"),
            std::string::npos)
      << smoothed.output;
}

TEST(Cli, AnAverageThatNobodyKeepsIsRefusedBeforeTheRun) {
  ExpectUsageError("simulate --data synthetic --rounds 1 --average none --average-out " +
                       TestFile("average.bin"),
                   "--average-out needs --average uniform");
}

TEST(Cli, HelpAndVersionSucceed) {
  EXPECT_EQ(Sotto("--version").exit_code, 0);
  EXPECT_NE(Sotto("--help").output.find("simulate"), std::string::npos);
  const Outcome help = Sotto("simulate --help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* option :
       {"--epsilon", "--noise-multiplier", "--smoothing", "--config", "--json"}) {
    EXPECT_NE(help.output.find(option), std::string::npos) << option;
  }
}

TEST(Cli, AnOptionIsGivenOnce) {
  ExpectUsageError("simulate --rounds 1 --rounds 2", "--rounds");
  ExpectUsageError("simulate --config a --config a", "--config");
}

TEST(Cli, AnOutputThatCannotBeWrittenIsRefusedBeforeTheWork) {
  const std::string json = " --json " + TestFile("none") + "/out.json";
  const auto expect_refused = [](const char* program, const Outcome& run) {
    EXPECT_EQ(run.exit_code, 1) << run.output;
    EXPECT_EQ(run.output.rfind(fmt::format("{}: --json: cannot write ", program), 0), 0u)
        << run.output;
  };
  for (const std::string& command :
       {std::string("account epsilon --sampling poisson --noise-multiplier 1 --rate 0.05 "
                    "--rounds 100 --delta 1e-5"),
        std::string("status none"), std::string("status none --verify"),
        std::string("account ledger none"), Small() + "--noise-multiplier 1"}) {
    expect_refused("sotto", Sotto(command + json));
  }
  for (const char* command : {"inspect entropy --coordinates 10", "inspect certificate"}) {
    expect_refused("sotto-lab", SottoLab(command + json));
  }
}

TEST(Cli, NoOutputReplacesAStoreOrAKey) {
  const std::string store = TestFile("store");
  const std::string key = TestFile("device.key");
  std::remove(store.c_str());
  std::remove(key.c_str());
  ASSERT_EQ(Sotto("keys new " + store + " --id a").exit_code, 0);
  ASSERT_EQ(Sotto("keys export " + store + " a --key " + key).exit_code, 0);
  const std::string content = ReadFile(store);
  const std::string key_content = ReadFile(key);
  const std::string simulate = Small() + "--noise-multiplier 1";
  const std::string serve =
      "serve --once --listen 127.0.0.1:0 --cohort 1 --rounds 1 --noise-multiplier 1 " + store;
  for (const std::string& command : {
           "account ledger " + store + " --json ",
           "status " + store + " --json ",
           "status --verify " + store + " --json ",
           "keys list " + store + " --json ",
           simulate + " --json ",
           simulate + " --model-out ",
           serve + " --json ",
           serve + " --model-out ",
           serve + " --port-file ",
       }) {
    for (const std::string& path : {store, store + "-journal", key}) {
      ExpectUsageError(command + path, "cannot write " + path);
    }
  }
  for (const std::string& path : {store, store + "-journal", key}) {
    const Outcome run = SottoLab("inspect certificate --json " + path);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_NE(run.output.find("cannot write " + path), std::string::npos) << run.output;
  }
  EXPECT_EQ(ReadFile(store), content);
  EXPECT_EQ(ReadFile(key), key_content);
}

TEST(Cli, TwoOutputsInOneFileAreAUsageError) {
  const std::string path = TestFile("both");
  ExpectUsageError(Small() + "--noise-multiplier 1 --json " + path + " --model-out " + path,
                   "--model-out: cannot write " + path);
  EXPECT_EQ(ReadFile(path), "");
}

TEST(Cli, AFullDiskUnderStandardOutputIsAFailure) {
  for (const std::string& command : {
           Small() + "--noise-multiplier 1",
           std::string("account epsilon --sampling none --noise-multiplier 9 --rounds 1 "
                       "--delta 1e-5"),
           std::string("account epsilon --sampling none --noise-multiplier 9 --rounds 1 "
                       "--delta 1e-5 --json -"),
           std::string("--version"),
       }) {
    const Outcome run = Sotto(command, "2>&1 >/dev/full");
    EXPECT_EQ(run.exit_code, 1) << command;
    EXPECT_NE(run.output.find("standard output failed: "), std::string::npos) << run.output;
  }
  EXPECT_EQ(Sotto("nonsense", "2>/dev/full").exit_code, 2);
}

TEST(Cli, NoTextGoesIntoAnOutputWhenStandardOutputIsClosed) {
  const std::string path = TestFile("model");
  const Outcome run =
      Sotto(Small() + ("--noise-multiplier 1 --model-out " + path), "<&- >&- 2>/dev/null");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(ReadFile(path).size(), 4 * 7850u);
}

TEST(Cli, JsonHoldsTheWholeResult) {
  const Json json = SmallRun("--epsilon 8 --seed 1");
  ASSERT_FALSE(json.is_discarded());
  for (const char* field :
       {"accuracy", "epsilon", "epsilon_network", "delta", "noise_sigma", "noise_multiplier",
        "bytes_up_per_device_round", "bits_per_coordinate", "rounds", "wall_seconds", "seed",
        "trust_mode", "adjacency", "colluders", "model_digest", "parameters_sha256"}) {
    EXPECT_TRUE(json.contains(field)) << field;
  }
  EXPECT_LE(json["epsilon"], 8.0);
  EXPECT_GT(json["epsilon"], 7.99);
  EXPECT_GT(json["epsilon_network"], json["epsilon"]);
  EXPECT_EQ(json["trust_mode"], "trusted-server");
  EXPECT_EQ(json["adjacency"], "replace-one");
  EXPECT_EQ(json["colluders"], 1);
  EXPECT_EQ(json["private"], false) << "a seeded run is not private";
  EXPECT_EQ(json["delta"], 1e-5);
  ASSERT_EQ(json["rounds"].size(), 3u);
  double last = 0;
  for (const Json& round : json["rounds"]) {
    EXPECT_EQ(round["reported"], 10);
    EXPECT_GE(round["accuracy"], 0.0);
    EXPECT_LE(round["accuracy"], 1.0);
    EXPECT_GT(round["epsilon"], last);
    last = round["epsilon"];
  }
  EXPECT_EQ(last, json["epsilon"]);
}

TEST(Cli, AFileOfSettingsWithoutSamplingIsToldOfTheNewDefault) {
  const std::string path = TestFile("without.toml");
  WriteFile(path, "data = \"synthetic\"\ndevices = 20\nrounds = 1\nlocal-epochs = 1\n");
  const std::string note = path + " names no sampling, whose default has changed: it is passes";
  const Outcome run = Sotto("simulate --config " + path);
  EXPECT_NE(run.output.find(note), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("takes part in at most 1 round"), std::string::npos) << run.output;
  for (const char* sampling : {"uniform", "passes"}) {
    const Outcome told = Sotto("simulate --config " + path + " --sampling " + sampling);
    EXPECT_EQ(told.output.find("no sampling, whose"), std::string::npos) << told.output;
    EXPECT_NE(told.output.find("names no delta, whose default has changed: it is 1e-5, or"),
              std::string::npos)
        << told.output;
  }
}

// A server that goes on with the jobs of its store has no default of a job.
TEST(Cli, AFileOfSettingsWithoutAnOptionOfAJobIsToldOfNoDefault) {
  const std::string path = TestFile("server.toml");
  const std::string settings = fmt::format("store = \"{}\"\n", TestFile("no-such.db"));
  WriteFile(path, settings + "listen = \"127.0.0.1:0\"\n");
  const Outcome none = Sotto("serve --config " + path);
  EXPECT_EQ(none.output.find("whose default has changed"), std::string::npos) << none.output;
  WriteFile(path, settings + "epsilon = 3\n");
  const Outcome job = Sotto("serve --config " + path);
  EXPECT_NE(job.output.find("names no sampling, whose default has changed"), std::string::npos)
      << job.output;
}

TEST(Cli, JsonToStandardOutputIsNothingButJson) {
  const Outcome run = Sotto(Small() + "--seed 1 --json -", "2>/dev/null");
  EXPECT_EQ(run.exit_code, 0);
  const Json json = Json::parse(run.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << run.output;
  EXPECT_EQ(json["seed"], 1);
}

TEST(Cli, TheSameSeedGivesTheSameParametersOnAnyThreads) {
  const Json one = SmallRun("--seed 3 --threads 1");
  const Json two = SmallRun("--seed 3 --threads 2");
  const Json other = SmallRun("--seed 4 --threads 2");
  EXPECT_EQ(one["parameters_sha256"], two["parameters_sha256"]);
  EXPECT_NE(one["parameters_sha256"], other["parameters_sha256"]);
}

TEST(Cli, AFixedPointModelTrainsAsWellAsItsFloatTwin) {
  const std::string options =
      "--mechanism none --devices 20 --rounds 10 --local-epochs 5 --seed 1 --grid 0";
  const Json in_float = SmallRun(options);
  const Json in_fixed = SmallRun(options + " --model softmax-784-10-q");
  EXPECT_EQ(in_float["model"], "softmax-784-10");
  EXPECT_EQ(in_fixed["model"], "softmax-784-10-q");
  EXPECT_EQ(in_fixed["model_digest"], in_float["model_digest"])
      << "one job can have boards of both";
  EXPECT_NE(in_fixed["parameters_sha256"], in_float["parameters_sha256"]);
  EXPECT_GT(in_float["accuracy"], in_float["initial_accuracy"]);
  const double difference = in_fixed["accuracy"].get<double>() - in_float["accuracy"].get<double>();
  EXPECT_LE(std::abs(difference), 0.01);
}

TEST(Cli, AFixedPointModelRepeatsBitForBit) {
  const Json one = SmallRun("--model softmax-784-10-q --seed 3 --threads 1");
  const Json two = SmallRun("--model softmax-784-10-q --seed 3 --threads 2");
  EXPECT_EQ(one["parameters_sha256"], two["parameters_sha256"]);
}

TEST(Cli, WithoutASeedTheRunIsPrivate) {
  const Json json = SmallRun("");
  EXPECT_EQ(json["private"], true);
  EXPECT_TRUE(json["seed"].is_null());
}

TEST(Cli, ModelOutIsTheHashedParameters) {
  const std::string path = TestFile("model.bin");
  const Json json = SmallRun("--seed 1 --model-out " + path);
  const std::string model = ReadFile(path);
  EXPECT_EQ(model.size(), 4 * 7850u);
  Sha256 hash;
  uint8_t digest[kSha256Size];
  ASSERT_EQ(hash.Update(View(model)), Status::kOk);
  ASSERT_EQ(hash.Finish(digest), Status::kOk);
  EXPECT_EQ(json["parameters_sha256"], ToHex(digest));
}

TEST(Cli, ASimulationBeginsWithTheModelOfAnother) {
  const std::string path = TestFile("parameters.bin");
  const Json first = SmallRun("--mechanism none --seed 1 --model-out " + path);
  const Json second = SmallRun("--mechanism none --seed 2 --initial-model " + path);
  EXPECT_EQ(second["initial_accuracy"], first["accuracy"]);
  EXPECT_EQ(second["job"]["initial_model"], first["parameters_sha256"]);
  EXPECT_TRUE(first["job"]["initial_model"].is_null());
  ExpectUsageError(Small() + "--model mlp --initial-model " + path,
                   "it has 31400 bytes, and model mlp has 50890 parameters, 203560 bytes");
  ExpectFailure(1, Small() + "--initial-model none", "No such file");
}

TEST(Cli, ASimulationOfSomeClassesSaysWhich) {
  const Json json = SmallRun("--seed 1 --classes 0-4");
  EXPECT_EQ(json["data"], "synthetic, classes 0 to 4");
  ExpectUsageError(Small() + "--classes 4-10", "--classes 4-10: expected a class or a range");
}

TEST(Cli, TrainingWithoutPrivacySaysSo) {
  for (const char* arguments : {"--mechanism none", "--epsilon inf"}) {
    const Outcome run = Sotto(Small() + arguments);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_NE(run.output.find("NO PRIVACY"), std::string::npos);
    EXPECT_EQ(run.output.find("epsilon 0"), std::string::npos);
    const Json json = SmallRun(arguments);
    EXPECT_TRUE(json["epsilon"].is_null());
    EXPECT_EQ(json["private"], false);
    EXPECT_EQ(json["privacy_note"], "NO PRIVACY");
    EXPECT_TRUE(json["rounds"][0]["epsilon"].is_null());
  }
}

TEST(Cli, ABaselineWithGaussianNoiseSaysWhatItsEpsilonAssumes) {
  const Json reference = SmallRun("--epsilon 8 --seed 1");
  EXPECT_EQ(reference["noise_certificate"], "sotto inspect certificate");
  for (const std::string name : {"float32", "qg"}) {
    const Json json = SmallRun("--epsilon 8 --mechanism " + name);
    EXPECT_EQ(json["mechanism"], name);
    for (const char* field : {"epsilon", "epsilon_network", "delta", "noise_sigma"}) {
      EXPECT_EQ(json[field], reference[field]) << field;
    }
    for (const char* field : {"noise_certificate", "certificate_eta", "coding"}) {
      EXPECT_TRUE(json[field].is_null()) << field;
    }
    EXPECT_EQ(json["private"], false);
    EXPECT_EQ(json["privacy_note"], "baseline: epsilon assumes ideal noise, no certificate");
    const Outcome run = Sotto(Small() + ("--mechanism " + name));
    for (const char* words : {"is a baseline", "no certificate", "replace-one", "trusted-server"}) {
      EXPECT_NE(run.output.find(words), std::string::npos) << words << "\n" << run.output;
    }
  }
}

TEST(Cli, ABaselineWithBinomialNoiseStatesNoEpsilon) {
  const Json json =
      SmallRun("--mechanism bq --epsilon 8 --sampling poisson --dropout 0.5 --seed 1");
  for (const char* field : {"epsilon", "epsilon_network", "delta", "accountant", "adjacency",
                            "noise_certificate", "accounted_noise_multiplier"}) {
    EXPECT_TRUE(json[field].is_null()) << field;
  }
  for (const Json& round : json["rounds"]) {
    EXPECT_TRUE(round["epsilon"].is_null());
    EXPECT_TRUE(round["epsilon_network"].is_null());
    EXPECT_GT(round["topped_up"], 0);
  }
  EXPECT_GT(json["noise_sigma"], 0.0);
  EXPECT_EQ(json["private"], false);
  const Outcome run = Sotto(Small() + "--mechanism bq");
  EXPECT_NE(run.output.find("not accounted"), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("epsilon"), std::string::npos) << run.output;
}

TEST(Cli, BaselinesCountTheBytesThatTheySend) {
  EXPECT_EQ(SmallRun("--mechanism float32 --seed 1")["bits_per_coordinate"], 32.0);
  const double qg = SmallRun("--mechanism qg --seed 1")["bits_per_coordinate"];
  EXPECT_GT(qg, 2.0);
  EXPECT_LT(qg, 4.1);
  const double bq = SmallRun("--mechanism bq --seed 1")["bits_per_coordinate"];
  EXPECT_GT(bq, 6.9);
  EXPECT_LT(bq, 8.1);
}

TEST(Cli, ABaselineIsSimulatedAndNeverServed) {
  for (const std::string name : {"float32", "qg", "bq"}) {
    ExpectUsageError("serve " + TestFile("none.db") + " --mechanism " + name,
                     "only `sotto simulate` runs it");
    ExpectUsageError("simulate --epsilon inf --mechanism " + name, "finite --epsilon");
  }
  EXPECT_EQ(ReadFile(TestFile("none.db")), "") << "a refused command leaves no store behind";
}

TEST(Cli, ATableStandsBesideEveryEpsilon) {
  const Outcome run = Sotto(Small() + "--seed 1");
  for (const char* words : {"delta", "replace-one", "uniform", "trusted-server", "colluder", "pld",
                            "noise multiplier", "seeded: not private", "bytes a device"}) {
    EXPECT_NE(run.output.find(words), std::string::npos) << words << "\n" << run.output;
  }
}

TEST(Cli, PoissonSamplingIsAddRemove) {
  const Json json = SmallRun("--sampling poisson --seed 1 --epsilon 5");
  EXPECT_EQ(json["adjacency"], "add-remove");
  EXPECT_LE(json["epsilon"], 5.0);
  EXPECT_GT(json["planned_reports"], 10);
}

TEST(Cli, AdaptiveClippingMovesTheBoundAndCostsNoiseNotEpsilon) {
  const Json fixed = SmallRun("--epsilon 8 --seed 1");
  const Json json = SmallRun("--epsilon 8 --seed 1 --adaptive-clip --clip 0.05");
  EXPECT_LE(json["epsilon"], 8.0);
  EXPECT_GT(json["epsilon"], 7.99);
  EXPECT_NEAR(json["noise_multiplier"], fixed["noise_multiplier"], 1e-4);
  const Json& adaptive = json["adaptive_clip"];
  EXPECT_EQ(adaptive["quantile"], 0.5);
  EXPECT_EQ(adaptive["learning_rate"], 0.2);
  const double update = adaptive["update_noise_multiplier"];
  const double bit = adaptive["bit_noise_multiplier"];
  EXPECT_NEAR(1 / std::hypot(1 / update, 1 / bit), json["noise_multiplier"], 1e-9);
  EXPECT_LE(update, 1.0541 * json["noise_multiplier"].get<double>());
  double clip = 0.05;
  for (const Json& round : json["rounds"]) {
    EXPECT_NEAR(round["clip_l2"], clip, 1e-6 * clip);
    EXPECT_NEAR(round["noise_sigma"].get<double>() / clip, json["noise_sigma"].get<double>() / 0.05,
                1e-6);
    clip *= std::exp(-0.2 * (round["unclipped_fraction"].get<double>() - 0.5));
  }
  EXPECT_NEAR(adaptive["final_clip_l2"], clip, 1e-6 * clip);
  EXPECT_GT(clip, 0.05);
  EXPECT_TRUE(fixed["adaptive_clip"].is_null());
  EXPECT_TRUE(fixed["rounds"][2]["unclipped_fraction"].is_null());
  EXPECT_EQ(fixed["rounds"][2]["clip_l2"], fixed["clip_l2"]);
}

TEST(Cli, TheNoiseOnTheBitsIsTheOneAskedFor) {
  const Json json = SmallRun(
      "--sampling poisson --noise-multiplier 1 --adaptive-clip --clipping at-end --clip-noise 4 "
      "--clip-quantile 0.9 --clip-learning-rate 0.5");
  EXPECT_NEAR(json["adaptive_clip"]["bit_sum_deviation"], 4, 1e-6);
  EXPECT_EQ(json["adaptive_clip"]["quantile"], 0.9);
  EXPECT_EQ(json["adaptive_clip"]["learning_rate"], 0.5);
  EXPECT_NEAR(json["noise_multiplier"], 1, 1e-6);
}

TEST(Cli, AdaptiveClippingThatCannotBeIsAUsageError) {
  ExpectUsageError("simulate --adaptive-clip --epsilon inf", "--adaptive-clip reads a noisy bit");
  ExpectUsageError("simulate --adaptive-clip --mechanism none", "--adaptive-clip reads");
  ExpectUsageError("simulate --adaptive-clip --mechanism qg", "--adaptive-clip reads");
  ExpectUsageError("simulate --adaptive-clip --clip-noise 0.1 --noise-multiplier 1",
                   "--clip-noise 0.1: below");
  for (const char* option : {"--clip-noise", "--clip-quantile", "--clip-learning-rate"}) {
    ExpectUsageError(std::string("simulate ") + option + " 0.5", "--adaptive-clip");
  }
  ExpectUsageError("simulate --adaptive-clip --clip-quantile 1.1", "--clip-quantile");
}

TEST(Cli, NoiseMultiplierIsTakenAsGiven) {
  const Json json = SmallRun("--noise-multiplier 1.5 --seed 1");
  EXPECT_NEAR(json["noise_multiplier"], 1.5, 1e-6);
  EXPECT_NEAR(json["noise_sigma"], 1.5 * 2 * 0.4 / std::sqrt(10.0), 1e-6);
  EXPECT_LT(json["accounted_noise_multiplier"], 1.5);
}

// Three devices, all of them drawn in every round. There is almost no privacy, and the run says so.
// Noise of a 350,000th of the clipping bound: devices clamp, the model learns, nothing is private.
TEST(Cli, SoLittleNoiseTrainsAndIsNoGuarantee) {
  const Outcome run = Sotto(Small() + "--noise-multiplier 4.5e-6 --local-epochs 5 --seed 1");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  for (const char* words : {"epsilon infinite", "noise multiplier 4.5e-06",
                            "so little noise gives no guarantee: assume that the models tell"}) {
    EXPECT_NE(run.output.find(words), std::string::npos) << words << run.output;
  }
  ExpectUsageError(Small() + "--noise-multiplier 1e-6", "below 2^-20 of the clipping");
}

TEST(Cli, ASmallFleetRunsAndItsEpsilonIsPrintedHoweverLarge) {
  const Json json = SmallRun("--devices 3 --cohort 3 --noise-multiplier 0.3 --seed 1");
  EXPECT_GT(json["epsilon"], 20.0);
}

TEST(Cli, AnyOptionMayStandInATomlFile) {
  const std::string config = TestFile("run.toml");
  WriteFile(config,
            "# a small run\ndevices = 60\nrounds = 2\ncohort = 7\nlearning-rate = 0.05\n"
            "sampling = \"uniform\"\nnoise-multiplier = 1.25\nseed = 5\n");
  const Json json = SottoJson("simulate --data synthetic --config " + config + " --cohort 9");
  EXPECT_EQ(json["rounds"].size(), 2u);
  EXPECT_EQ(json["cohort"], 9) << "the command line wins";
  EXPECT_EQ(json["seed"], 5);
  EXPECT_NEAR(json["noise_multiplier"], 1.25, 1e-6);
}

TEST(Cli, UnknownKeysInATomlFileAreUsageErrors) {
  const std::string config = TestFile("bad.toml");
  WriteFile(config, "no-such-option = 1\n");
  ExpectUsageError("simulate --config " + config, "no-such-option");
  ExpectUsageError("simulate --config /no/such/file.toml", "/no/such/file.toml");
}

TEST(Cli, ImpossibleOptionsAreUsageErrors) {
  ExpectUsageError("", "subcommand");
  ExpectUsageError("train", "train");
  const std::string config = TestFile("no_command.toml");
  WriteFile(config, "rounds = 1\n");
  ExpectUsageError("--config " + config, "");
  ExpectUsageError("simulate --no-such-option", "no-such-option");
  ExpectUsageError("simulate --rounds 0", "--rounds");
  ExpectUsageError("simulate --rounds -3", "--rounds");
  ExpectUsageError("simulate --rounds many", "--rounds");
  ExpectUsageError("simulate --cohort 2000", "--cohort 2000");
  ExpectUsageError("simulate --epsilon 0", "--epsilon");
  ExpectUsageError("simulate --epsilon -1", "--epsilon");
  ExpectUsageError("simulate --epsilon nan", "--epsilon");
  ExpectUsageError("simulate --noise-multiplier 0", "--noise-multiplier");
  ExpectUsageError("simulate --noise-multiplier 1 --epsilon 2", "--epsilon");
  ExpectUsageError("simulate --delta 0", "delta");
  ExpectUsageError("simulate --delta 1", "delta");
  ExpectUsageError("simulate --clip nan", "--clip");
  ExpectUsageError("simulate --learning-rate nan", "--learning-rate");
  ExpectUsageError("simulate --learning-rate-decay 2", "decay");
  ExpectUsageError("simulate --smoothing -1", "--smoothing");
  ExpectUsageError("simulate --server-learning-rate nan", "--server-learning-rate");
  ExpectUsageError("simulate --sampling sometimes", "--sampling");
  ExpectUsageError("simulate --model no-such-net", "softmax-784-10");
  ExpectUsageError("simulate --sampling uniform --min-devices 1001",
                   "1001 devices must check in (--min-devices), and there are only");
  ExpectUsageError("simulate --sampling poisson --min-devices 1", "devices that check in");
}

TEST(Cli, AnUnattainableEpsilonNamesTheRealisticOne) {
  ExpectUsageError("simulate --epsilon 1e-7", "1e-07");
  ExpectUsageError("simulate --epsilon 1e-7", "smallest");
  ExpectUsageError("simulate --devices 10 --cohort 1", "colluder");
}

TEST(Cli, TheCertificateHoldsAndItsJsonSaysWhatOf) {
  const Json json = SottoLabJson("inspect certificate");
  EXPECT_TRUE(json["holds"].get<bool>());
  EXPECT_EQ(json["constants"]["eta"], kDitherEta);
  EXPECT_EQ(json["constants"]["tau"], kDitherTau);
  EXPECT_EQ(json["range"], kDitherRange);
  EXPECT_LE(json["eta"], kDitherEta);
  EXPECT_LE(json["tau"], kDitherTau);
  for (const char* field : {"eta_at", "mean", "variance", "variance_error", "kurtosis",
                            "kurtosis_error", "nodes", "wall_seconds"}) {
    EXPECT_TRUE(json[field].is_number()) << field;
  }
  const std::string path = TestFile("certificate.json");
  EXPECT_EQ(SottoLab("inspect certificate --json " + path).exit_code, 0);
  EXPECT_EQ(Json::parse(ReadFile(path), nullptr, false)["eta"], json["eta"]);
  EXPECT_EQ(SottoLab("inspect certificate --json /no/such/folder/x.json").exit_code, 1);
  ExpectUsageError("inspect", "subcommand");
}

TEST(Cli, WhatFailsAtRunTimeExitsWithOne) {
  ExpectFailure(1, "simulate --data /no/such/folder", "/no/such/folder");
  ExpectFailure(1, Small() + "--json /no/such/folder/out.json", "/no/such/folder/out.json");
  ExpectFailure(1, Small() + "--model-out /no/such/folder/m.bin", "/no/such/folder/m.bin");
  ExpectFailure(1, Small() + "--learning-rate 1e6 --weight-decay 1e6 --clipping at-end",
                "diverged");
}

TEST(Cli, AJobThatGivesUpWritesItsResultsAndExitsWithThree) {
  const std::string few = "--dropout 0.9 --min-devices 60 --seed 1 --json " + TestFile("json");
  ExpectFailure(3, Small() + few, "given up after 10 attempts");
  const Json json = Json::parse(ReadFile(TestFile("json")), nullptr, false);
  EXPECT_EQ(json["finish_reason"], "round 1 was given up after 10 attempts");
  EXPECT_TRUE(json["rounds"].empty());
}

// Each of them would do the whole work. e2e.ranks has what a build with MPI does.
TEST(Cli, WithoutMpiItRefusesToBeOneOfSeveralProcesses) {
  if (SOTTO_HAS_MPI) GTEST_SKIP() << "this build has MPI";
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  ExpectUsageError("simulate --data synthetic", "built without MPI");
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(Sotto("simulate --help").exit_code, 0);
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

}  // namespace
}  // namespace sotto
