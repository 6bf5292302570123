// Tests of simulations that go on where an earlier one ended.
#include "sim/run_state.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "data/catalog.h"
#include "data/synthetic.h"
#include "sim/simulation.h"
#include "sim/simulation_request.h"
#include "sotto/models.h"
#include "spec/inputs.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

// Devices drop out, and so many must check in that some attempts are given up.
SimulationRequest SmallRequest() {
  SimulationRequest request;
  request.data = "synthetic";
  request.fleet.devices = 40;
  request.fleet.samples_per_device = 10;
  request.fleet.dropout = 0.4;
  request.job.plan.sampling = privacy::Sampling::kUniform;
  request.job.plan.cohort = 8;
  request.job.plan.rounds = 5;
  request.job.training.local_epochs = 1;
  request.min_devices = 28;
  request.adaptive_clip = true;
  request.seed = 3;
  return request;
}

const TrainTest& Data() {
  static const TrainTest kData = MakeSynthetic({400, 600, 1});
  return kData;
}

SimulationResult Simulated(const SimulationConfig& config) {
  return Simulate(config, Data(), [](const RoundReport&) {});
}

// Stops before the round with this number.
SimulationConfig StoppedBefore(SimulationConfig config, int round) {
  config.stop = [asked = 0, round]() mutable { return asked++ == round; };
  return config;
}

std::string RefusalOf(const SimulationConfig& config) {
  try {
    Simulated(config);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// Below the lines of the format.
nlohmann::ordered_json BodyOf(const std::string& text) {
  return nlohmann::ordered_json::parse(text.substr(text.find('{')));
}

// A file whose digest is right.
std::string TextOf(const nlohmann::ordered_json& body) {
  const std::string text = body.dump(1) + "\n";
  return "sotto-simulation 2\nsha256 " + Sha256Hex(text) + "\n" + text;
}

std::string RefusalOfText(const std::string& text) {
  try {
    RunStateFromText("file", text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(RunState, AResumedSimulationGivesTheBytesOfOneThatWasNeverInterrupted) {
  const SimulationConfig config = MakeSimulation(SmallRequest());
  const SimulationResult whole = Simulated(config);
  ASSERT_EQ(whole.rounds.size(), 5U);
  EXPECT_GT(whole.rounds.back().attempts, 5U) << "no attempt was given up: the test is weak";
  for (int round = 0; round < 5; ++round) {
    const SimulationResult part = Simulated(StoppedBefore(config, round));
    EXPECT_TRUE(part.stopped);
    ASSERT_EQ(part.rounds.size(), static_cast<size_t>(round));
    SimulationConfig rest = config;
    rest.resume = RunStateFromText("state", ToText(part.state));
    const SimulationResult resumed = Simulated(rest);
    EXPECT_EQ(resumed.parameters, whole.parameters);
    EXPECT_EQ(ToText(resumed.state), ToText(whole.state));
    EXPECT_EQ(resumed.spent.epsilon(), whole.spent.epsilon());
    EXPECT_EQ(resumed.finish_reason, whole.finish_reason);
    for (size_t i = 0; i < whole.rounds.size(); ++i) {
      EXPECT_EQ(resumed.rounds[i].outcome.spent.epsilon(), whole.rounds[i].outcome.spent.epsilon());
      EXPECT_EQ(resumed.rounds[i].evaluation->loss, whole.rounds[i].evaluation->loss);
    }
  }
}

TEST(RunState, AServerOptimiserAndAnAverageGoOnToTheByteOnAnyNumberOfThreads) {
  for (const char* optimiser : {"momentum", "adam"}) {
    SimulationRequest request = SmallRequest();
    request.job.plan.rounds = 3;
    request.job.aggregation.server_optimiser = optimiser;
    request.job.aggregation.server_learning_rate = 0.05;
    request.job.aggregation.average = "geometric:1.5";
    request.job.aggregation.smoothing = 0.5;
    request.smoothing_axes = 2;
    request.job.aggregation.smoothing_image = "28x28";
    request.job.process.threads = 1;
    const SimulationConfig config = MakeSimulation(request);
    const SimulationResult whole = Simulated(config);
    ASSERT_EQ(whole.average.size(), whole.parameters.size());
    EXPECT_NE(whole.average, whole.parameters);
    request.job.process.threads = 2;
    SimulationConfig rest = MakeSimulation(request);
    for (int round = 0; round < 3; ++round) {
      const SimulationResult part = Simulated(StoppedBefore(config, round));
      EXPECT_EQ(part.average.empty(), round == 0);
      rest.resume = RunStateFromText("state", ToText(part.state));
      const SimulationResult resumed = Simulated(rest);
      EXPECT_EQ(resumed.parameters, whole.parameters) << optimiser << round;
      EXPECT_EQ(resumed.average, whole.average);
      EXPECT_EQ(ToText(resumed.state), ToText(whole.state));
      EXPECT_EQ(resumed.average_evaluation->loss, whole.average_evaluation->loss);
    }
    SimulationConfig other = config;
    other.job.aggregation.average = "uniform";
    other.resume = whole.state;
    EXPECT_NE(RefusalOf(other).find("average"), std::string::npos);
  }
}

// Devices take part in at most two rounds. Attempts in which fewer than five of eight report are
// given up.
SimulationRequest PassesRequest() {
  SimulationRequest request = SmallRequest();
  request.job.plan.sampling = privacy::Sampling::kPasses;
  request.participations = 2;
  request.job.plan.rounds = 10;
  request.given = {"cohort", "rounds"};
  request.min_devices.reset();
  request.quorum = 5;
  return request;
}

TEST(RunState, TurnsGoOnToTheByteAndNobodyHasMoreThanTheLimit) {
  const SimulationConfig config = MakeSimulation(PassesRequest());
  const SimulationResult whole = Simulated(config);
  ASSERT_EQ(whole.rounds.size(), 10u) << whole.finish_reason;
  SimulationConfig resumed = config;
  resumed.resume = RunStateFromText("file", ToText(Simulated(StoppedBefore(config, 4)).state));
  ASSERT_EQ(resumed.resume->job.seals.size(), 4u);
  const SimulationResult rest = Simulated(resumed);
  EXPECT_EQ(rest.parameters, whole.parameters);
  std::map<int64_t, int> turns;
  for (const SealRecord& seal : rest.state.job.seals) {
    for (const int64_t device : seal.devices) ++turns[device];
  }
  EXPECT_EQ(turns.size(), 40u);
  for (const auto& [device, count] : turns) EXPECT_EQ(count, 2) << device;
}

TEST(RunState, TurnsThatDoNotFitTheRoundsAreRefused) {
  const Json body =
      BodyOf(ToText(Simulated(StoppedBefore(MakeSimulation(PassesRequest()), 4)).state));
  Json fewer = body;
  fewer["job"]["seals"].erase(3);
  EXPECT_NE(RefusalOfText(TextOf(fewer)).find("turns of 3 attempts, and 4 were sealed"),
            std::string::npos);
  Json smaller = body;
  smaller["job"]["seals"][1]["devices"].erase(0);
  EXPECT_NE(RefusalOfText(TextOf(smaller)).find("the turns of round 2 are not its cohort"),
            std::string::npos);
  Json none = body;
  none["job"].erase("seals");
  EXPECT_NE(RefusalOfText(TextOf(none)).find("turns of 0 attempts"), std::string::npos);
}

TEST(RunState, AStateWithoutAnAverageHasNoFieldOfIt) {
  const SimulationResult result = Simulated(MakeSimulation(SmallRequest()));
  EXPECT_TRUE(result.average.empty());
  EXPECT_FALSE(result.average_evaluation);
  EXPECT_EQ(ToText(result.state).find("average"), std::string::npos);
}

TEST(RunState, DevicesBeyondTheFleetAreRefused) {
  SimulationConfig config = MakeSimulation(SmallRequest());
  config.resume = Simulated(StoppedBefore(config, 1)).state;
  config.resume->job.heard.assign(100000, true);
  EXPECT_THROW(Simulated(config), std::runtime_error);
}

TEST(RunState, WhatDevicesMeasuredSurvives) {
  SimulationRequest request = SmallRequest();
  request.job.evaluates_on_devices = true;
  request.fleet.dropout = 0;
  request.job.plan.rounds = 2;
  const SimulationConfig config = MakeSimulation(request);
  const SimulationResult whole = Simulated(config);
  ASSERT_TRUE(whole.rounds.at(0).outcome.device_accuracy);
  const RunState read = RunStateFromText("state", ToText(whole.state));
  ASSERT_EQ(read.rounds.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const privacy::AccuracyEstimate& was = *whole.rounds[i].outcome.device_accuracy;
    ASSERT_TRUE(read.rounds[i].outcome.device_accuracy);
    const privacy::AccuracyEstimate& is = *read.rounds[i].outcome.device_accuracy;
    EXPECT_EQ(is.accuracy, was.accuracy);
    EXPECT_EQ(is.bar, was.bar);
    EXPECT_EQ(is.noise_deviation, was.noise_deviation);
  }
}

TEST(RunState, WithoutASeedTheStateHoldsTheKeyOfTheRun) {
  SimulationRequest request = SmallRequest();
  request.seed.reset();
  request.job.plan.rounds = 2;
  const SimulationConfig config = MakeSimulation(request);
  const SimulationResult part = Simulated(StoppedBefore(config, 1));
  SimulationConfig rest = config;
  rest.resume = RunStateFromText("state", ToText(part.state));
  EXPECT_EQ(Simulated(rest).parameters, Simulated(rest).parameters)
      << "two runs from one file are one";
}

TEST(RunState, EvaluationsAreMadeWhenTheyAreDueAndAtTheEnd) {
  SimulationConfig config = MakeSimulation(SmallRequest());
  config.evaluate_every = 3;
  const SimulationResult result = Simulated(config);
  ASSERT_EQ(result.rounds.size(), 5U);
  for (const size_t round : {0, 1, 3}) EXPECT_FALSE(result.rounds[round].evaluation.has_value());
  for (const size_t round : {2, 4}) EXPECT_TRUE(result.rounds[round].evaluation.has_value());
  EXPECT_EQ(result.last->loss, result.rounds[4].evaluation->loss);
  const SimulationResult part = Simulated(StoppedBefore(config, 2));
  EXPECT_FALSE(part.rounds[1].evaluation.has_value());
  EXPECT_EQ(part.last->samples, 600U) << "the end is evaluated, whatever the round";
}

TEST(RunState, AnotherSimulationsStateIsRefusedByTheFieldThatDiffers) {
  const SimulationResult result = Simulated(StoppedBefore(MakeSimulation(SmallRequest()), 1));
  const auto refusal = [&](void (*change)(SimulationRequest&)) {
    SimulationRequest request = SmallRequest();
    change(request);
    SimulationConfig config = MakeSimulation(request);
    config.resume = RunStateFromText("state", ToText(result.state));
    return RefusalOf(config);
  };
  EXPECT_NE(refusal([](SimulationRequest& r) {
              r.seed = 4;
            }).find("--resume state: the simulation in it began with seed = 3, and now it is 4"),
            std::string::npos);
  EXPECT_NE(refusal([](SimulationRequest& r) { r.fleet.dropout = 0.1; }).find("dropout = 0.4"),
            std::string::npos);
  EXPECT_NE(refusal([](SimulationRequest& r) {
              r.job.training.batch_size = 5;
            }).find("began with batch_size"),
            std::string::npos);
  EXPECT_NE(refusal([](SimulationRequest& r) { r.job.plan.rounds = 6; }).find("and now it is"),
            std::string::npos);
  EXPECT_EQ(refusal([](SimulationRequest& r) { r.job.process.threads = 2; }), "");
  EXPECT_EQ(refusal([](SimulationRequest& r) { r.evaluate_every = 2; }), "");
}

TEST(RunState, AnotherContentOfAFileIsRefusedByTheFilesName) {
  const TestFolder folder;
  const std::string data = folder.Path("rows.csv");
  std::ofstream(data) << "x,label\n1,a\n2,b\n";
  SimulationConfig config = MakeSimulation(SmallRequest());
  const std::vector<NamedInput> named = {{"data", data + ":label=label"}, {"test", "0.1"}};
  config.inputs = InputReader().Read(named);
  config.build = "0.2.0 aa";
  EXPECT_EQ(config.inputs.size(), 1U) << "a share is no file";
  const SimulationResult part = Simulated(StoppedBefore(config, 1));
  config.resume = RunStateFromText("state", ToText(part.state));
  EXPECT_EQ(RefusalOf(config), "");
  EXPECT_EQ(OtherBuildWarning(*config.resume, "0.2.0 aa"), "");
  EXPECT_NE(OtherBuildWarning(*config.resume, "0.2.0 bb").find("build 0.2.0 aa ran rounds"),
            std::string::npos);
  std::ofstream(data, std::ios::app) << "3,a\n";
  config.inputs = InputReader().Read(named);
  const std::string refusal = RefusalOf(config);
  EXPECT_NE(refusal.find("--resume state: since its simulation began, --data " + data +
                         ":label=label has another content"),
            std::string::npos)
      << refusal;
}

TEST(RunState, ABuildThatGoesOnIsRememberedBesideTheOneThatBegan) {
  SimulationConfig config = MakeSimulation(SmallRequest());
  config.build = "one";
  config.resume = Simulated(StoppedBefore(config, 1)).state;
  config.build = "two";
  config.resume = Simulated(config).state;
  EXPECT_EQ(config.resume->builds, (std::vector<std::string>{"one", "two"}));
  EXPECT_NE(OtherBuildWarning(*config.resume, "two"), "");
}

TEST(Inputs, TheRowsOfTheTablesGiveTheFilesThatARunReads) {
  SimulationRequest request = SmallRequest();
  request.data = "a.csv";
  request.test = "b.csv";
  request.fleet.partition = "file:c.csv";
  request.noise_decay_from = "d.csv";
  request.model_file = "e.toml";
  request.initial_model = "f.npy";
  const std::vector<std::string> texts = TextsOf(InputsOf(request));
  for (const char* text : {"a.csv", "b.csv", "file:c.csv", "d.csv", "e.toml", "f.npy"}) {
    EXPECT_EQ(std::count(texts.begin(), texts.end(), text), 1) << text;
  }
  EXPECT_TRUE(InputReader().Read(InputsOf(request)).empty()) << "none of them is there";
}

TEST(Inputs, AFolderCountsByTheFilesOfItsDataSetAndAnOptionByItsFile) {
  const TestFolder folder;
  const auto write = [&](const char* name) { std::ofstream(folder.Path(name)) << name; };
  for (const char* name : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                           "t10k-images-idx3-ubyte", "notes.txt", "kinds"}) {
    write(name);
  }
  EXPECT_EQ(FilesNamedBy(folder.path()).size(), 3U);
  EXPECT_EQ(FilesNamedBy(folder.Path("notes.txt") + ":categories=" + folder.Path("kinds")).size(),
            2U);
  EXPECT_TRUE(FilesNamedBy("synthetic").empty());
}

TEST(RunState, WithoutEvaluationsTheModelsAreTheSameAndNoneIsEvaluated) {
  SimulationConfig config = MakeSimulation(SmallRequest());
  const SimulationResult whole = Simulated(config);
  config.evaluate_every = 0;
  const SimulationResult result = Simulated(config);
  EXPECT_EQ(result.parameters, whole.parameters);
  EXPECT_FALSE(result.initial || result.last);
  for (const RoundReport& round : result.rounds) EXPECT_FALSE(round.evaluation.has_value());
  // One that goes on may evaluate from then on.
  SimulationConfig rest = config;
  rest.resume = RunStateFromText("state", ToText(Simulated(StoppedBefore(config, 2)).state));
  rest.evaluate_every = 1;
  const SimulationResult resumed = Simulated(rest);
  EXPECT_FALSE(resumed.initial.has_value());
  EXPECT_EQ(resumed.last->loss, whole.last->loss);
}

TEST(RunState, ALossThatIsNotFiniteSurvives) {
  const SimulationResult result = Simulated(StoppedBefore(MakeSimulation(SmallRequest()), 1));
  RunState state = result.state;
  state.initial->loss = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(RunStateFromText("state", ToText(state)).initial->loss));
}

TEST(RunState, WhatIsNoStateIsRefused) {
  const std::string text =
      ToText(Simulated(StoppedBefore(MakeSimulation(SmallRequest()), 1)).state);
  for (const char* bad : {"{}", "[1]", "weights", "sotto-mark 2\n"}) {
    EXPECT_NE(RefusalOfText(bad).find("--resume file: it is no state of a simulation"),
              std::string::npos);
  }
  EXPECT_NE(RefusalOfText("").find("it is empty"), std::string::npos);
  EXPECT_NE(RefusalOfText("sotto-simulation 99\n").find("a state of version 99"),
            std::string::npos);
  EXPECT_NE(RefusalOfText("{\n \"sotto_simulation\": 1,").find("a state of version 1"),
            std::string::npos);
  EXPECT_EQ(RefusalOfText(TextOf(BodyOf(text))), "") << "the test writes what the program writes";
  const auto refusal = [&](void (*change)(nlohmann::ordered_json&)) {
    nlohmann::ordered_json json = BodyOf(text);
    change(json);
    return RefusalOfText(TextOf(json));
  };
  EXPECT_NE(refusal([](Json& json) { json["job"]["id"] = "00"; }).find("it is damaged"),
            std::string::npos);
  EXPECT_NE(
      refusal([](Json& json) { json["job"]["parameters"] = ""; }).find("rounds without a model"),
      std::string::npos);
  EXPECT_NE(refusal([](Json& json) { json.erase("run_key"); }).find("it is damaged"),
            std::string::npos);
}

// No byte of a state may change, go or come without a word.
TEST(RunState, DamageAnywhereIsFound) {
  const std::string text =
      ToText(Simulated(StoppedBefore(MakeSimulation(SmallRequest()), 1)).state);
  ASSERT_EQ(RefusalOfText(text), "");
  const size_t step = text.size() / 150;
  for (size_t at = 0; at < text.size(); at += step) {
    std::string bad = text;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    EXPECT_NE(RefusalOfText(bad), "") << "byte " << at;
    EXPECT_NE(RefusalOfText(text.substr(0, at)), "") << "cut at " << at;
  }
  EXPECT_NE(RefusalOfText(text + " "), "");
}

// Somebody who computes the digest anew can still not have rounds that nobody counts.
TEST(RunState, RoundsAttemptsAndReleasesThatDoNotFitEachOtherAreRefused) {
  const std::string text = ToText(Simulated(MakeSimulation(SmallRequest())).state);
  const auto refusal = [&](const std::function<void(nlohmann::ordered_json&)>& change) {
    nlohmann::ordered_json json = BodyOf(text);
    change(json);
    return RefusalOfText(TextOf(json));
  };
  ASSERT_EQ(refusal([](Json&) {}), "");
  const auto of_job = [&](const char* name, int by) {
    return refusal([=](Json& json) { json["job"][name] = json["job"][name].get<int>() + by; });
  };
  EXPECT_NE(of_job("next_round", -1).find("it goes on with round 5 after 5 rounds"),
            std::string::npos);
  EXPECT_NE(of_job("next_round", 1).find("6 rounds are released, and the job has 5"),
            std::string::npos);
  EXPECT_NE(of_job("attempts", -1).find("attempts in all"), std::string::npos);
  EXPECT_NE(of_job("next_attempt", 1).find("attempts in all"), std::string::npos);
  for (const char* name : {"round", "attempt", "attempts"}) {
    EXPECT_NE(refusal([=](Json& json) {
                json["rounds"][2][name] = json["rounds"][2][name].get<int>() + 1;
              }),
              "")
        << name;
  }
  EXPECT_NE(refusal([](Json& json) { json["rounds"].erase(4); }), "");
  EXPECT_NE(refusal([](Json& json) { json["rounds"][1]["reported"] = 4000; }), "");
  EXPECT_NE(refusal([](Json& json) { json["job"]["clip_l2"] = 2.5; }).find("set the bound"),
            std::string::npos);
  EXPECT_NE(refusal([](Json& json) { json["job"]["heard"] = std::string(41, '1'); }), "");
}

// Takes a number of a state, and its path, such as /rounds/2/cohort.
using Change = std::function<void(const std::string& path, Json& number)>;
void ForEachNumber(Json& json, const std::string& path, const Change& visit) {
  if (json.is_structured()) {
    for (auto& [name, child] : json.items()) ForEachNumber(child, path + "/" + name, visit);
  } else if (json.is_number() || json.is_boolean()) {
    visit(path, json);
  }
}

// Why a simulation does not go on with this body, whose digest is right.
std::string RefusalOfBody(const SimulationConfig& config, const Json& body) {
  SimulationConfig rest = config;
  try {
    rest.resume = RunStateFromText("file", TextOf(body));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return RefusalOf(rest);
}

// Each number in turn, with the digest computed anew. Numbers that devices or evaluations measured
// may be others; but no count is negative, has a fraction or is beyond its type.
TEST(RunState, NoNumberThatTheJobGivesMayBeAnother) {
  SimulationRequest request = SmallRequest();
  request.job.plan.rounds = 2;
  request.job.evaluates_on_devices = true;
  const SimulationConfig config = MakeSimulation(request);
  const Json whole = BodyOf(ToText(Simulated(config).state));
  ASSERT_EQ(RefusalOfBody(config, whole), "");
  const std::vector<std::string> measured = {
      "checked_in", "rejected", "update_bytes",       "failed_trainings", "saturated_trainings",
      "loss",       "classes/", "unclipped_fraction", "device_accuracy/", "rounds/1/diverged"};
  const auto is_measured = [&](const std::string& path) {
    return std::any_of(measured.begin(), measured.end(), [&](const std::string& name) {
      return path.find(name) != std::string::npos;
    });
  };
  Json body = whole;
  int changed = 0;
  ForEachNumber(body, "", [&](const std::string& path, Json& number) {
    if (path.find("/configuration") == 0 || path.find("/fleet") == 0) return;
    const Json was = number;
    std::vector<Json> bad;
    if (was.is_number_unsigned()) bad = {-1, 2.5, 1e300};
    if (was.is_boolean()) bad = {1};
    if (!is_measured(path)) bad.push_back(was.is_boolean() ? Json(true) : Json(was.get<double>()));
    if (!is_measured(path) && was.is_number_unsigned()) bad.back() = was.get<uint64_t>() + 1;
    if (!is_measured(path) && was.is_number_float()) bad.back() = 1.5 * was.get<double>();
    for (const Json& other : bad) {
      number = other;
      EXPECT_NE(RefusalOfBody(config, body), "")
          << path << " " << was.dump() << " -> " << other.dump();
      ++changed;
    }
    number = was;
  });
  EXPECT_GT(changed, 100);
  body["job"]["parameters"].get_ref<std::string&>().replace(0, 8, "0000c07f");
  EXPECT_NE(RefusalOfBody(config, body).find("not finite"), std::string::npos);
  body["run_key"].get_ref<std::string&>().replace(0, 8, "01234567");
  EXPECT_NE(RefusalOfBody(config, body).find("not the one of its key"), std::string::npos);
}

TEST(RunState, AJobNeverGoesOnBeyondItsPlan) {
  SimulationConfig config = MakeSimulation(SmallRequest());
  config.resume = Simulated(config).state;
  config.resume->job.next_round = 6;
  EXPECT_THROW(Simulated(config), std::runtime_error);
}

TEST(Seeds, AreARangeOrAList) {
  EXPECT_EQ(ParseSeeds("1-3"), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(ParseSeeds("9,2-3,18446744073709551615"),
            (std::vector<uint64_t>{9, 2, 3, 18446744073709551615U}));
  for (const char* bad : {"", "3-1", "1,,2", "a", "1-", "-1", "1-2-3", "1,1", "0-99999"}) {
    EXPECT_THROW(ParseSeeds(bad), std::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace sotto::server
