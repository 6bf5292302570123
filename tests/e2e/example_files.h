// An example of each kind of file that a program reads, most of them written by the programs; and
// the programs' commands, run in this process.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <matio.h>
#include <memory>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/program.h"
#include "e2e/program.h"
#include "experiment/run_log.h"
#include "kept_model.h"
#include "lab/commands.h"
#include "mark.h"
#include "peers/directory_folder.h"
#include "sample_file.h"
#include "sotto/bytes.h"
#include "sotto/data/mat_files.h"
#include "sotto/model/model_file.h"
#include "sotto/models.h"
#include "sotto/posix/record_store.h"
#include "sotto/shard.h"
#include "sotto/update_ledger.h"
#include "unit/data_files.h"
#include "unit/recordings.h"
#include "unit/sdk/peers.h"
#include "unit/server/directory_fixture.h"
#include "unit/server/store_fixture.h"

namespace sotto {

using namespace std::string_literals;

// A simulation of a tenth of a second, in the folder {dir}.
inline const std::string& kRun = *new std::string(
    "simulate --data {dir}/plain.csv --test {dir}/plain.csv --model {dir}/net.toml --devices 8 "
    "--samples-per-device 4 --cohort 4 --rounds 2 --local-epochs 1 --seed 1");

inline const std::vector<std::string>& NodesOfADirectory() {
  static const std::vector<std::string> kIds = {"a", "b", "c"};
  return kIds;
}

inline std::string DirectorysState() {
  server::DirectoryState state;
  server::ContinueState(server::PeerModel(), server::TestPeerJob(), false, NodesOfADirectory(),
                        &state);
  state.head = state.nodes[1].last = {3, 1, {9, 8, 7}, 500};
  state.parent = {2, 0, {1, 2}, 400};
  state.nodes[1].publications = 2;
  state.nodes[0].address = "127.0.0.1:7000";
  state.fences = 7;
  return server::DirectoryStateText(state);
}

inline void WriteMat(const std::string& path, matio_compression compression) {
  size_t x_size[4] = {2, 3, 3, 4};
  size_t y_size[2] = {4, 1};
  std::vector<uint8_t> x(2 * 3 * 3 * 4, 7);
  double y[4] = {1, 2, 10, 3};
  mat_t* const file = Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5);
  for (matvar_t* variable : {Mat_VarCreate("X", MAT_C_UINT8, MAT_T_UINT8, 4, x_size, x.data(), 0),
                             Mat_VarCreate("y", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, y_size, y, 0)}) {
    EXPECT_EQ(Mat_VarWrite(file, variable, compression), 0);
    Mat_VarFree(variable);
  }
  Mat_Close(file);
}

inline std::string Floats(size_t count, float value) {
  const std::vector<float> values(count, value);
  return {reinterpret_cast<const char*>(values.data()), count * sizeof(float)};
}

// Three samples of bytes for a model of two inputs and two classes.
inline std::string ShardOf(const ModelInfo& model) {
  ShardInfo info;
  info.element = ShardElement::kByte;
  info.shape = {1, 1, 2};
  info.classes = 2;
  info.count = 3;
  EXPECT_EQ(ShardModel(model, info.model), Status::kOk);
  const uint8_t samples[] = {0, 7, 8, 1, 9, 10, 0, 11, 12};
  uint8_t head[kShardHeadSize];
  EXPECT_EQ(MakeShardHead(info, ByteSpan(samples), head), Status::kOk);
  return std::string(head, std::end(head)) + std::string(samples, std::end(samples));
}

// Three windows of one reading of two numbers, of two classes.
inline void MakeSampleLog(const std::string& path) {
  posix::SampleFileInfo info;
  info.axes = 2;
  info.window = info.hop = 1;
  posix::SetCapacity(4, &info);
  posix::MakeSampleFile(path, info);
  posix::SampleFile file(path);
  SampleLog log(file.memory(), info.LogConfig());
  EXPECT_EQ(log.Open(), Status::kOk);
  uint8_t raw[8] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    log.LabelNext(i % 2, 1);
    StoreU32Le(FloatBits(static_cast<float>(i)), raw);
    EXPECT_EQ(log.Append(ByteSpan(raw)), Status::kOk);
  }
}

// The first publication of a node.
inline server::Published PublicationOfARelay() {
  return server::PublicationOf({1, 2, 3}, 1, 0, 0.5F);
}

// A node whose ledger is this file.
inline std::unique_ptr<Peer> NodeWithLedger(const std::string& path, posix::RecordStore* store) {
  auto node = std::make_unique<Peer>(SampleJob(), uint8_t{1});
  store->SetPath(StoreSlot::kPeer, path);
  node->config.store = store->store();
  return node;
}

// Runs a command line in this process. Its texts go where standard output and error go.
inline int RunInside(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> texts;
  for (std::string word; words >> word;) texts.push_back(word);
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  posix::Command program =
      texts.at(0) == "sotto" ? server::SottoProgram() : server::SottoLabProgram();
  const auto is_other = [&](const posix::Command& command) { return command.name != texts.at(1); };
  program.commands.erase(std::remove_if(program.commands.begin(), program.commands.end(), is_other),
                         program.commands.end());
  return server::RunProgram(program, static_cast<int>(arguments.size()), arguments.data());
}

class ExampleFiles : public DataFiles {
 protected:
  ExampleFiles() {
    AddMatFiles();
    std::filesystem::create_directory(Path("spoilt"));
  }

  std::string Filled(const std::string& command, const std::string& file) const {
    return fmt::format(command, fmt::arg("dir", Path("")), fmt::arg("file", file));
  }

  void Make(const std::string& command, const std::string& file = "") const {
    ASSERT_EQ(RunInside(Filled("sotto " + command, file)), 0) << command;
  }

  // In a child: a fork of a process that has threads could wait for them for ever.
  void MakeExamples() const {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      MakeAll();
      std::fflush(nullptr);
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }

 private:
  void MakeAll() const {
    WriteSamples();
    WriteTexts();
    Make(kRun + " --state-out {dir}/state --json {dir}/results.json --model-out {dir}/m.f32");
    for (const char* format : {"safetensors", "npz", "npy"}) {
      Make("model export {dir}/m.f32 --model {dir}/net.toml --format "s + format +
           " --out {dir}/m." + format);
    }
    Make(
        "peers simulate --data {dir}/plain.csv --model {dir}/net.toml --peers 2 --unit device "
        "--batch-size 4 "
        "--job-out {dir}/job.toml");
    std::filesystem::copy_file(Path("m.npz"), Path("arrays.npz"));
    WriteFormerResults();
    MakeRecords();
  }

  // As they were before infinite figures had a word, and files a digest.
  void WriteFormerResults() const {
    nlohmann::ordered_json json = server::ParseJson(ReadFile(Path("results.json")));
    for (const char* name : {"inputs", "build", "warnings", "initial_evaluation"}) json.erase(name);
    std::string text = server::JsonText(json, 1);
    for (size_t at = 0; (at = text.find("\"Infinity\"", at)) != std::string::npos;) {
      text.replace(at, 10, "null");
    }
    Write("former.json", text);
  }

  void WriteSamples() const {
    std::string plain = "x,y,label\n";
    std::string mixed = "x,y,mode,who,label\n";
    for (int i = 0; i < 40; ++i) {
      plain += fmt::format("0.{},{},{}\n", i, i * 7 % 40, i % 2);
      mixed +=
          fmt::format("{},\"0.{}\",{},u{},{}\n", i, i, i % 3 == 0 ? "walk" : "run", i % 4, i % 2);
    }
    Write("plain.csv", plain);
    Write("plain.csv.gz", plain);
    Write("mixed.csv", mixed);
    Write("categories.csv", "mode\nwalk\nrun\n");
    Write("x.npy", Npy<float>("<f4", "(4, 2)", {1, 2, 3, 4, 5, 6, 7, 8}));
    Write("y.npy",
          Npy<char>("|S3", "(4,)", {'a', 'b', 'c', 'd', 'e', 'f', 'a', 'b', 'c', 'd', 'e', 'f'}));
    Write("rows.libsvm", "1 qid:1 1:0.5 3:1\n2 qid:1 2:1e-3\n1 qid:2 1:1 2:2 3:3\n");
    Write("images", "\0\0\x08\x03\0\0\0\x04\0\0\0\x02\0\0\0\x02"s + std::string(16, '\x05'));
    Write("labels", "\0\0\x08\x01\0\0\0\x04\x01\x02\x03\x01"s);
    Write("test_batch.bin", std::string(2 * 3073, '\x03'));
    Write("test.bin", std::string(2 * 3074, '\x03'));
    Write("rows.jsonl",
          "{\"x\":[0.5,1],\"mode\":\"run\",\"who\":\"a\",\"label\":0}\n{\"mode\":\"walk\",\"x\":[2,"
          "null],\"who\":\"b\",\"label\":1}\n{\"x\":[-1e1,3],\"who\":\"b\",\"label\":1}\n");
    Write("leaf.json",
          "{\"users\":[\"a\",\"b\"],\"num_samples\":[2,1],\"user_data\":{\"a\":{\"x\":[[0.5,1],[2,"
          "3]],"
          "\"y\":[0,1]},\"b\":{\"y\":[1],\"x\":[[4,5]]}}}");
    Write("play.txt", "ANN:\nTo be, or not.\n\nBOB:\nThat is the question.\n");
    std::vector<int16_t> values;
    for (int i = 0; i < 400; ++i) values.push_back(static_cast<int16_t>(i * 131 - 20000));
    WriteRecording(Path("plain.wav"), values, 50, 2);
    WriteRecording(Path("small.flac"), values, 50, 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
    WriteRecording(Path("small.ogg"), values, 8000, 1, SF_FORMAT_OGG | SF_FORMAT_VORBIS);
    std::filesystem::create_directory(Path("sounds"));
    WriteRecording(Path("sounds/1.wav"), values, 50);
    WriteRecording(Path("sounds/2.wav"), values, 50);
    Write("recordings.csv", "file,label,group\n1.wav,a,u\n2.wav,b,v\n");
    WriteMat(Path("plain.mat"), MAT_COMPRESSION_NONE);
    WriteMat(Path("small.mat"), MAT_COMPRESSION_ZLIB);
  }

  void WriteTexts() const {
    const std::string dense = "[[layer]]\nkind = \"dense\"\noutputs = 2\n";
    Write("net.toml", "name = \"net\"\ninput = [2]\n" + dense);
    Write("frozen.toml",
          "name = \"frozen\"\ninput = [2]\nfrozen = 1\nfrozen-weights = \"spoilt/weights.bin\"\n" +
              dense + dense);
    Write("weights.bin", Floats(6, 0.5F));
    Write("wide.toml",
          "name = \"wide\"\ninput = [8, 8, 3]\nclasses = [\"a\", \"b\"]\n"
          "features = [\"r\", \"g\", \"b\"]\nunits = [\"nit\"]\nsamples = \"a "
          "lamp\"\n\n[[prepare]]\nkind = "
          "\"normalise\"\nmean = "
          "[0.1, 0.2, 0.3]\ndeviation = 2.5\n\n[[layer]]\nkind = \"conv2d\"\noutputs = 4\nkernel = "
          "3\n\n[[layer]]\nkind "
          "= \"relu\"\n\n[[layer]]\nkind = \"max-pool2d\"\nsize = 2\n\n" +
              dense);
    Write("partition.csv", [] {
      std::string text = "sample,device\n";
      for (int i = 0; i < 36; ++i) text += fmt::format("{},{}\n", i, i % 4);
      return text;
    }());
    Write("settings.toml",
          "devices = 60\ncohort = 10\n# a comment\nsampling = \"poisson\"\nlocal-epochs = 1\nclip "
          "= 0.4\n");
    Write("schedule.csv", "# by hand\nZ,Q,T\n1,0.1,10\n2.5,0.01,5\n");
    Write("own.toml",
          "name = \"own\"\ntitle = \"a title\"\nsource = \"ours\"\nconclusion = \"none\"\nkind = "
          "\"simulation\"\nfigure = "
          "\"accuracy\"\nfigure-text = \"accuracy\"\ndecimals = 4\ncolumns = [\"epsilon\"]\nseeds "
          "= 3\nquick-seeds = 1\n"
          "dataset = \"any\"\nask = \"give data\"\n\n[options]\ndata = \"" +
              Path("plain.csv") + "\"\nmodel = \"" + Path("net.toml") +
              "\"\nrounds = 2\ncohort = 4\n\n[[axis]]\nname = \"devices\"\nvalues = [\"8\", "
              "\"12\"]\nquick = [\"8\"]\n\n"
              "[[set]]\nat = [\"devices=8\"]\noptions = [\"clip=0.5\"]\n");
    Write("device.key", "sotto-key 1\ndevice small-1\nsecret " + std::string(64, 'a') + "\n");
    std::filesystem::permissions(Path("device.key"), std::filesystem::perms::owner_read);
    Write("device.sotto", "version = 1\ndevice = \"small-1\"\nkey = \"" + std::string(64, 'a') +
                              "\"\nserver = \"[::1]:7177\"\naccept-model = [\"" +
                              std::string(64, 'd') + "\"]\ndata = \"a.csv:label=y\"\n");
    std::filesystem::permissions(Path("device.sotto"), std::filesystem::perms::owner_read);
    Write("names.txt", "# the kitchen\npi-1\npi-2,household-7\n");
    Write("token", std::string(64, 'b') + "\n");
    Write("state.json", DirectorysState());
    Write("shard", ShardOf(*posix::OpenModel(Path("net.toml"))));
    MakeSampleLog(Path("motion.samples"));
  }

  void MakeRecords() const {
    using namespace server;
    {
      SqlStore store(Path("store"), kCreate);
      store.AddDevices(SomeDevices(), false);
      store.BeginJob(RecordOf(SmallConfig()));
      store.CommitAttempt({0, 0, {}});
      server::Release(store, 0, 0);
    }
    posix::RecordStore records(Path("records"));
    records.SetPath(StoreSlot::kClient, Path("updates"));
    const UpdateLedger ledger = LedgerIn(records.store());
    PrivateSpending total;
    TrainTask task;
    task.private_noise_q20 = 1 << 20;
    EXPECT_EQ(ledger.charge(ledger.store, task, &total), Status::kOk) << records.error();
    const std::unique_ptr<Peer> node = NodeWithLedger(Path("node.peer"), &records);
    EXPECT_EQ(node->Begin(), Status::kOk);
    EXPECT_EQ(node->trainer.Publish(1, 0), Status::kOk) << records.error();
    const server::Published published = PublicationOfARelay();
    Write("1.pub", std::string(published.bytes.begin(), published.bytes.end()));
    const ModelInfo& net = *FindModel("softmax-64-10");
    const std::vector<float> parameters(net.parameters);
    sotto::Release release;
    release.rounds = 3;
    release.threshold = 0.25f;
    posix::ModelKeeper(std::filesystem::path(Path("mark")).parent_path().string())
        .Keep(net, release, {parameters.data(), parameters.size()});
    posix::WriteMark(Path("mark"), posix::MarkBody(task, ByteSpan(task.job_id)));
    LoggedRun run;
    run.outcome.figures["accuracy"] = 0.5;
    run.outcome.series["loss"] = {1, 0.5};
    run.outcome.core_seconds = 1.5;
    run.inputs["data"] = {"plain.csv", std::string(64, '0')};
    run.build = "a build";
    RunLogFile(Path("runs.jsonl")).Append("key", "simulation", {{"rounds", "2"}}, run);
  }
};

}  // namespace sotto
