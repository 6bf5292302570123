// The nodes' job as options and as a file: what was written is what is read, bit for bit.
#include "sotto/peer/peer_options.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/models.h"
#include "sotto/options/command.h"

namespace sotto::posix {
namespace {

PeerJob SampleJob() {
  PeerJob job;
  job.noise_q20 = 1;
  return job;
}

PeerJob DeviceJob() {
  PeerJob job;
  job.rule = PeerRule::kAccumulate;
  job.unit = PeerUnit::kDevice;
  job.batch_size = 65535;
  job.learning_rate = 1e-30f;
  job.weight_decay = 1e-4f;
  job.range = 0.3f;
  job.clip_l2 = 1024;
  job.noise_q20 = 1 << 26;
  job.passes = 65535;
  job.most_local_steps = 1 << 20;
  job.publication_steps = 65535;
  job.most_releases = UINT32_MAX;
  std::memset(job.salt, 0xfe, sizeof(job.salt));
  return job;
}

void ExpectSameId(const PeerJob& a, const PeerJob& b) {
  const ModelInfo& model = *FindModel("softmax-784-10");
  uint8_t id_a[16];
  uint8_t id_b[16];
  ASSERT_EQ(PeerJobId(model, a, id_a), Status::kOk);
  ASSERT_EQ(PeerJobId(model, b, id_b), Status::kOk);
  EXPECT_EQ(std::memcmp(id_a, id_b, sizeof(id_a)), 0);
}

// All settings are in the id, so equal ids are equal jobs.
TEST(PeerOptions, AJobReturnsFromItsFile) {
  for (const PeerJob& job : {SampleJob(), DeviceJob()}) {
    ExpectSameId(ParsePeerJob("x", PeerJobText(job)), job);
  }
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    PeerJob job = SampleJob();
    job.noise_q20 = 1 + random() % (1U << 26);
    job.learning_rate = static_cast<float>(random()) * 1e-9f + 1e-9f;
    job.range = 1e-3f + static_cast<float>(random()) * 3e-9f;
    job.error_clip = static_cast<float>(random()) * 2e-10f;
    ExpectSameId(ParsePeerJob("x", PeerJobText(job)), job);
  }
}

// The job of these options, as RunProgram() reads them.
PeerJob Parse(const std::vector<std::string>& words) {
  PeerJob job;
  const Command program = CommandFor<PeerJobOptions>("test", "")
                              .Takes(PeerJobOptionFields())
                              .Runs([&job](const PeerJobOptions& o) { job = PeerJobOf(o); });
  std::vector<std::string> texts = {"test"};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  ::testing::internal::CaptureStderr();
  const int status = RunProgram(program, "", static_cast<int>(arguments.size()), arguments.data());
  const std::string complaint = ::testing::internal::GetCapturedStderr();
  if (status != 0) throw std::invalid_argument(complaint);
  return job;
}

TEST(PeerOptions, OptionsChangeTheDefaultsAndNoiseIsRoundedUp) {
  const PeerJob job = Parse({"--rule", "shared", "--batch-size", "20", "--noise", "0.0000001",
                             "--salt", "000102030405060708090a0b0c0d0e0f"});
  EXPECT_EQ(job.rule, PeerRule::kShared);
  EXPECT_EQ(job.batch_size, 20u);
  EXPECT_EQ(job.noise_q20, 1u);
  EXPECT_EQ(job.salt[15], 15);
  EXPECT_EQ(job.learning_rate, PeerJob().learning_rate);
}

std::string MessageOf(const std::vector<std::string>& words) {
  try {
    Parse(words);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(PeerOptions, WhatIsWrongIsSaidByItsOption) {
  EXPECT_NE(MessageOf({}).find("--noise SIGMA"), std::string::npos);
  EXPECT_NE(MessageOf({"--noise", "-1"}).find("--noise: -1 is not in"), std::string::npos);
  EXPECT_NE(MessageOf({"--noise", "65"}).find("[0 - 64]"), std::string::npos);
  EXPECT_NE(MessageOf({"--noise", "1", "--rule", "mean"}).find("average,shared"),
            std::string::npos);
  EXPECT_NE(MessageOf({"--noise", "1", "--batch-size", "0"}).find("[1 - 65535]"),
            std::string::npos);
  EXPECT_NE(MessageOf({"--noise", "1", "--range", "0"}).find("--range: 0 is not in"),
            std::string::npos);
  EXPECT_NE(MessageOf({"--noise", "1", "--clip", "1"}).find("--unit device"), std::string::npos);
  EXPECT_NE(MessageOf({"--unit", "none", "--noise", "1"}).find("leave --noise out"),
            std::string::npos);
  EXPECT_NE(MessageOf({"--unit", "device", "--noise", "1"}).find("--clip"), std::string::npos);
  EXPECT_NE(MessageOf({"--noise", "1", "--salt", "00"}).find("32 hexadecimal"), std::string::npos);
}

// An option that was given is never a default of the file, also where it has the default's value.
TEST(PeerOptions, OptionsComeBeforeTheFile) {
  const std::string path = ::testing::TempDir() + "peer_options_job.toml";
  std::ofstream(path) << "noise = 2\nbatch-size = 7\nlearning-rate = 0.5\n";
  const PeerJob job = Parse({"--learning-rate", "0.1", "--job", path});
  EXPECT_EQ(job.noise_q20, 2u << 20);
  EXPECT_EQ(job.batch_size, 7u);
  EXPECT_EQ(job.learning_rate, 0.1f);
}

TEST(PeerOptions, AFilesTextIsTheShortestThatKeepsEveryBit) {
  PeerJob job = SampleJob();
  job.noise_q20 = 129453;
  EXPECT_EQ(PeerJobText(job),
            "rule = \"average\"\nunit = \"sample\"\nbatch-size = 50\nlearning-rate = 0.1\n"
            "weight-decay = 0\nrange = 8\nerror-clip = 0\nfeature-norm = 1\nclip = 0\n"
            "noise = 0.12345600128173828\npasses = 1\nmost-local-steps = 64\n"
            "publication-steps = 1\nmost-releases = 0\n"
            "salt = \"00000000000000000000000000000000\"\n");
}

TEST(PeerOptions, AFilesErrorNamesItsLine) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      ParsePeerJob("job.toml", text);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("noise = 1\nbatchsize = 5\n").find("job.toml:2: batchsize is no setting"), 0u);
  EXPECT_EQ(message("noise = 1\n[a]\nrule = 5\n").find("job.toml:3: a.rule"), 0u);
  EXPECT_EQ(message("noise = \"x\"\n").find("job.toml:1: noise: 'x' is not a number"), 0u);
  EXPECT_EQ(message("noise = x\n").find("job.toml:1:9: noise = x: "), 0u);
  EXPECT_EQ(message("noise = 65\n").find("job.toml:1: noise: 65 is not in the range [0 - 64]"), 0u);
  EXPECT_EQ(message("noise = 1\nsalt = \"00\"\n").find("job.toml:2: salt: 00 is not 32 hex"), 0u);
  EXPECT_EQ(message("noise = 1\nnoise = 2\n"),
            "job.toml:2:1: noise comes twice, in line 1 and here; take one out");
}

TEST(PeerOptions, AJobThatDoesNotSuitItsModelIsRefusedWithWhatToDo) {
  const ModelInfo& convex = *FindModel("softmax-784-10");
  PeerJob job = SampleJob();
  EXPECT_NO_THROW(RequirePeerJobSuits(convex, job));
  job.learning_rate = 10;
  EXPECT_THROW(RequirePeerJobSuits(convex, job), std::invalid_argument);
  job.unit = PeerUnit::kNone;
  job.noise_q20 = 0;
  EXPECT_NO_THROW(RequirePeerJobSuits(convex, job));
}

}  // namespace
}  // namespace sotto::posix
