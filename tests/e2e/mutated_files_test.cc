// Every kind of file that a program reads, spoilt in some hundred ways: the file is read, or it is
// refused in one line that names it and with a status that the pages list. Nothing crashes, leaks,
// hangs or takes memory without bound.
//
// A kind is a row of Kinds(): which options name such a file, an example, and the commands that
// read it. They run in a child of this process, on the code of the programs; once for each kind the
// program itself starts. An option of text that is in no row and not in kNamesNoFileToRead fails
// the last test. A failure names kind and seed, and keeps the file.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "e2e/example_files.h"
#include "e2e/program.h"
#include "e2e/spoilt_files.h"
#include "export/format.h"
#include "options.h"
#include "recorded_samples.h"
#include "sotto/options/kit_file.h"
#include "sotto/posix/check.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/terminal.h"
#include "store/enrolment.h"
#include "web/page_access.h"

#ifdef SOTTO_SANITIZED
extern "C" int __lsan_do_recoverable_leak_check();
// Of what they refuse, libmatio does not end zlib's copy of the stream, and libsndfile does not
// clear what libvorbis knows of it.
constexpr char kLeaksOfLibraries[] = "leak:inflateCopy\nleak:vorbis_info_init\n";
extern "C" const char* __lsan_default_suppressions() { return kLeaksOfLibraries; }
#endif

namespace sotto {
namespace {

using MutatedFiles = ExampleFiles;

// ---- The kinds

// A program's exit statuses that are no failure of the program itself.
constexpr int kMostStatus = 4;
constexpr char kClient[] =
    "sotto-client --server 127.0.0.1:1 --give-up 0.05 --model {dir}/net.toml --data "
    "{dir}/plain.csv ";

// In commands {file} is the spoilt file, {dir} the folder of the examples.
struct Kind {
  const char* name;
  std::vector<const char*> options;   // whose text names such a file; the format that it has
  const char* file;                   // the example
  std::vector<std::string> commands;  // the first one also runs as a program
  // Reads the file instead of the commands, which then are the programs' alone.
  std::function<void(const std::string& path)> read = nullptr;
  Spoil spoil = Bytes;
  // What a refusal may name in place of the file; null: nothing.
  const char* or_names = nullptr;
};

// A reader has so much memory.
constexpr uint64_t kMemoryLimit = 1 << 24;

// Samples, read as each of these sources in turn: of "{file}:KEY=VALUE".
Kind Samples(const char* name, std::vector<const char*> options, const char* file,
             const std::vector<std::string>& sources, const char* or_names = nullptr) {
  Kind kind = {name, std::move(options), file, {"sotto data stats --data " + sources.front()}};
  kind.read = [sources](const std::string& path) {
    for (const std::string& text : sources) {
      const std::string dir = std::filesystem::path(path).parent_path().parent_path().string();
      DataSource source =
          ParseDataSource(fmt::format(text, fmt::arg("file", path), fmt::arg("dir", dir)));
      source.memory_limit = kMemoryLimit;
      const SharedDataset data = ReadDataset(source, nullptr);
      for (size_t i = 0; i < data->size(); ++i) FeaturesOf(*data, i);
    }
  };
  kind.or_names = or_names;
  return kind;
}

void ReadDirectorysState(const std::string& path) {
  const std::string text = ReadFile(path);
  server::DirectoryState state = server::ParseDirectoryState(path, text);
  server::DirectoryOptions options;
  options.model = &server::PeerModel();
  options.job = server::TestPeerJob();
  server::MemoryLog log;
  try {
    server::ContinueState(*options.model, options.job, false, NodesOfADirectory(), &state);
    const server::Directory directory(options, state, {}, {}, {}, &log);
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());  // as RunDirectory() does
  }
}

// As a board does: for its model, then sample by sample.
void ReadShard(const std::string& path) {
  const std::filesystem::path dir = std::filesystem::path(path).parent_path().parent_path();
  const posix::SharedModel model = posix::OpenModel((dir / "net.toml").string());
  const std::string bytes = ReadFile(path);
  Shard shard;
  const ShardStatus status =
      shard.Open({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, *model);
  if (status != ShardStatus::kOk) throw std::runtime_error(path + ": " + ShardText(status));
  const SampleSource source = shard.source();
  std::vector<float> features(model->inputs);
  for (uint32_t i = 0, label = 0; i < source.count; ++i) {
    posix::Check(source.read(source.context, i, {features.data(), features.size()}, &label),
                 path.c_str());
  }
}

// As a round does.
void ReadSampleLog(const std::string& path) {
  const std::filesystem::path dir = std::filesystem::path(path).parent_path().parent_path();
  const posix::SharedModel model = posix::OpenModel((dir / "net.toml").string());
  posix::RecordedSamples samples(path, 0.2, *model);
  const SampleSource source = samples.source();
  std::vector<float> features(model->inputs);
  for (uint32_t i = 0, label = 0; i < source.count; ++i) {
    posix::Check(source.read(source.context, i, {features.data(), features.size()}, &label),
                 path.c_str());
  }
}

void ReadNodesLedger(const std::string& path) {
  posix::RecordStore store(path);
  if (NodeWithLedger(path, &store)->Begin() == Status::kOk) return;
  throw std::runtime_error(store.error().empty() ? path + ": damaged" : store.error());
}

std::vector<Kind> Kinds() {
  const std::string evaluate =
      "sotto model evaluate {file} --model {dir}/net.toml --data {dir}/plain.csv";
  return {
      Samples(
          "CSV",
          {"format=csv", "data", "test", "DATA", "trained-on", "noise-decay-from", "public-data"},
          "mixed.csv",
          {"{file}:onehot=mode,group=who", "{file}:onehot=mode,drop=who,label=none,window=2",
           "{file}:features=2,targets=x", "{file}:drop=3-5,targets=y,header=yes"}),
      Samples("categories", {}, "categories.csv",
              {"{dir}/mixed.csv:onehot=mode,group=who,categories={file}"}, "categories="),
      Samples("gzip", {}, "plain.csv.gz", {"{file}"}),
      Samples("NPZ", {"format=npz"}, "arrays.npz",
              {"{file}:x=0.weight,y=0.bias", "{file}:x=0.weight"}),
      Samples("NPY", {"format=npy"}, "x.npy", {"{file}:y={dir}/y.npy", "{file}"}),
      Samples("NPY of labels", {}, "y.npy", {"{dir}/x.npy:y={file}", "{dir}/x.npy:group={file}"}),
      Samples("LIBSVM", {"format=libsvm"}, "rows.libsvm", {"{file}", "{file}:base=0,inputs=9"}),
      Samples("IDX", {"format=idx"}, "images", {"{file}:format=idx,labels={dir}/labels"}),
      Samples("IDX of labels", {"labels"}, "labels", {"{dir}/images:format=idx,labels={file}"}),
      Samples("CIFAR-10", {"format=cifar10"}, "test_batch.bin", {"{file}"}),
      Samples("CIFAR-100", {"format=cifar100"}, "test.bin", {"{file}:labels=coarse"}),
      Samples("MATLAB", {"format=svhn"}, "plain.mat", {"{file}"}),
      Samples("MATLAB, compressed", {}, "small.mat", {"{file}"}),
      Samples("text", {"format=text"}, "play.txt", {"{file}:length=4"}),
      Samples("WAV", {"format=sound"}, "plain.wav",
              {"{file}:label=a", "{file}:window=30,stride=10,rate=50"}),
      Samples("FLAC", {}, "small.flac", {"{file}:window=40", "{file}"}),
      Samples("OGG", {}, "small.ogg", {"{file}:window=40"}),
      Samples("list of recordings", {}, "recordings.csv", {"{dir}/sounds:window=20,list={file}"}),
      Samples("JSON lines", {"format=jsonl"}, "rows.jsonl",
              {"{file}:onehot=mode,group=who", "{file}:features=x,label=none,window=2",
               "{file}:features=x[1],targets=x[0]"}),
      Samples("LEAF's JSON", {"format=leaf"}, "leaf.json", {"{file}"}),
      {"partition",
       {"partition"},
       "partition.csv",
       {"sotto data show {dir}/plain.csv --partition file:{file} --devices 4"}},
      {"model", {"model", "MODEL"}, "wide.toml", {"sotto model show {file}"}},
      {"weights of a model", {}, "weights.bin", {"sotto model show {dir}/frozen.toml"}},
      {"settings",
       {"config"},
       "settings.toml",
       {"sotto simulate --config {file} --help"},
       nullptr,
       Bytes,
       "--"},
      {"schedule",
       {"schedule"},
       "schedule.csv",
       {"sotto account epsilon --schedule {file} --delta 1e-5 --accountant gdp",
        "sotto account epsilon --schedule {file} --delta 1e-5 --accountant rdp"}},
      {"job of nodes",
       {"job"},
       "job.toml",
       {"sotto peers account --job {file} --model {dir}/net.toml"},
       nullptr,
       Bytes,
       "--"},
      {"safetensors", {"model=safetensors", "SOURCE"}, "m.safetensors", {evaluate}},
      {"parameters in NPZ", {"model=npz"}, "m.npz", {evaluate}},
      {"parameters in NPY", {"model=npy"}, "m.npy", {evaluate}},
      {"parameters",
       {"initial-model"},
       "m.f32",
       {evaluate, "sotto " + kRun + " --initial-model {file}"}},
      {"state of a simulation",
       {"resume"},
       "state",
       {"sotto " + kRun + " --resume {file}"},
       nullptr,
       Kept<BytesOrJson>},
      {"store",
       {"STORE", "store"},
       "store",
       {"sotto status {file} --verify", "sotto status {file}", "sotto keys list {file}",
        "sotto account ledger {file}", "sotto report {file} --out {dir}/report.html"}},
      {"results",
       {},
       "results.json",
       {"sotto report {file} --out {dir}/report.html"},
       nullptr,
       BytesOrJson},
      {"results of an earlier build",
       {},
       "former.json",
       {"sotto report {file} --out {dir}/report.html"},
       nullptr,
       BytesOrJson},
      {"experiment",
       {"NAME"},
       "own.toml",
       {"sotto-lab experiment {file} --dry-run --out {dir}/own"}},
      {"runs of an experiment",
       {},
       "runs.jsonl",
       {},
       [](const std::string& path) { server::RunLogFile file(path); },
       Runs},
      {"key",
       {"key", "keys"},
       "device.key",
       {kClient + "--key {file} --mark {dir}/other.mark"s},
       [](const std::string& path) { posix::ReadKeyFile(path); }},
      {"kit",
       {"kit"},
       "device.sotto",
       {kClient + "--kit {file}"s},
       [](const std::string& path) { posix::ReadKit(path); }},
      {"recorded samples",
       {"sample-log"},
       "motion.samples",
       {"sotto-client --server 127.0.0.1:1 --give-up 0.05 --model {dir}/net.toml --key "
        "{dir}/device.key --sample-log {file}"},
       ReadSampleLog,
       SampleLogs},
      {"names of devices",
       {"names"},
       "names.txt",
       {"sotto keys new {dir}/named.store --names {file}"},
       [](const std::string& path) { server::ReadNames(path); }},
      {"mark",
       {"mark"},
       "mark",
       {kClient + "--key {dir}/device.key --mark {file}"s},
       [](const std::string& path) { posix::PrepareMark(path); },
       Kept<Bytes>},
      {"description of a kept model",  // beside it in the folder of --keep-model
       {"keep-model"},
       "model.release",
       {},
       [](const std::string& path) { posix::ReadKeptRelease(path); },
       Kept<Bytes>},
      {"ledger of a device",
       {"ledger"},
       "updates",
       {kClient + "--key {dir}/device.key --ledger {file} --min-private-noise 1"s},
       [](const std::string& path) {
         posix::RecordStore store(path);
         store.SetPath(StoreSlot::kClient, path);
         PrivateSpending total;
         const UpdateLedger ledger = LedgerIn(store.store());
         if (ledger.load(ledger.store, &total) != Status::kOk) {
           throw std::runtime_error(path + ": " + store.error());
         }
       }},
      {"ledger of a node without a server",
       {},
       "node.peer",
       {kClient + "--key {dir}/device.key --peer --job {dir}/job.toml --ledger {file}"s},
       ReadNodesLedger,
       NodeLedgers},
      {"token of the page",
       {"http-token"},
       "token",
       {},
       [](const std::string& path) { server::ReadOrMakeToken(path); }},
      {"state of a directory", {"state"}, "state.json", {}, ReadDirectorysState, Directorys},
      {"publication at a relay",
       {},
       "1.pub",
       {},
       [](const std::string& path) {
         const server::DirectoryFolder folder(std::filesystem::path(path).parent_path());
         folder.LoadPublication(PublicationOfARelay().name);
       }},
      {"shard", {}, "shard", {}, ReadShard, Shards},
      {"samples of a shard",  // the options of sotto-shard have the readers above
       {},
       "plain.csv",
       {"sotto-shard --data {file} --device 0 --samples 4 --out {dir}/other.shard"},
       [](const std::string& path) { ReadDataset(ParseDataSource(path), nullptr); }},
  };
}

// Options of text whose text is no file that a program reads.
const std::set<std::string> kNamesNoFileToRead = {
    // Files that are written, and folders.
    "json", "model-out", "average-out", "rounds-csv", "spectrum", "state-out", "out", "header",
    "port-file", "metrics", "FILE", "FOLDER", "svg", "job-out", "head-out", "data-dir", "numbers",
    "DIR", "epsilon-csv", "trade-off-csv",
    // Taken by its SHA-256 alone: DataFetch.
    "from",
    // No files.
    "classes", "average", "smoothing-image", "seeds", "spectrum-rounds", "threshold-bins", "id",
    "prefix", "ID", "TO", "listen", "proxies", "http", "http-name", "share", "salt", "only",
    "server", "samples", "address", "sampling-rate", "owner", "accept-model", "kits"};

// ---- Reading

// Why an answer is not an allowed one; empty: it is allowed.
std::string WhatIsWrong(const Kind& kind, const std::string& file, int status, std::string says) {
  if (status < 0 || status > kMostStatus) return fmt::format("exit status {}", status);
  if (status == 0 || status == kMostStatus) return "";
  const size_t data = says.find(": labels: ");  // a device tells its owner what its data are
  if (data != std::string::npos && data < says.find('\n')) says.erase(0, says.find('\n') + 1);
  while (says.rfind("warning: ", 0) == 0) says.erase(0, std::min(says.size(), says.find('\n')) + 1);
  const size_t hint = says.find("\n`");  // which help lists what the command takes
  if (hint != std::string::npos) says.resize(hint + 1);
  const bool names_another = kind.or_names != nullptr && says.find(kind.or_names) != says.npos;
  if (says.find(file) == says.npos && !names_another) return "the refusal does not name the file";
  if (std::count(says.begin(), says.end(), '\n') != 1 || says.back() != '\n')
    return "the refusal is not one line";
  const bool is_text = std::all_of(says.begin(), says.end() - 1,
                                   [](unsigned char c) { return c >= 0x20 && c != 0x7F; });
  return is_text ? "" : "the refusal has control characters";
}

// What parent and child share.
struct Progress {
  uint64_t seed;
  char wrong[4096];
};

// Files that some reader leaves beside the one that it reads go, too.
void WriteSpoilt(const std::string& path, const std::string& bytes) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(path).parent_path())) {
    std::filesystem::remove_all(entry.path());
  }
  WriteFile(path, bytes);
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
}

int ReadOnce(const Kind& kind, const std::string& command, const std::string& path) {
  if (!kind.read) return RunInside(command);
  try {
    kind.read(path);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", posix::Printable(error.what()).c_str());  // as all programs do
    return 1;
  }
}

// A reading takes at most these seconds of this process's time.
void LimitSeconds(rlim_t seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const rlim_t until =
      static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1 + seconds;
  const rlimit limit = {until, RLIM_INFINITY};
  setrlimit(RLIMIT_CPU, &limit);
}

void LimitMemory() {
#ifndef SOTTO_SANITIZED  // whose shadow is all of the address space
  const rlimit limit = {rlim_t{1} << 30, rlim_t{1} << 30};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

class Attack {
 public:
  Attack(const Kind& kind, std::string file, std::string good)
      : kind_(kind),
        path_(std::move(file)),
        good_(std::move(good)),
        texts_(memfd_create("texts", 0)) {
    shared_ = static_cast<Progress*>(
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  ~Attack() {
    munmap(shared_, sizeof(Progress));
    close(texts_);
  }
  Attack(const Attack&) = delete;
  Attack& operator=(const Attack&) = delete;

  std::string Spoilt(uint64_t seed) const {
    MutationRandom random(seed);
    return seed == 0 ? good_ : kind_.spoil(random, good_);
  }

  // Seed 0 is the example as it is, which every command reads.
  void Run(const std::vector<std::string>& commands, uint64_t seeds) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) _exit(RunChild(commands, seeds));
    int status = 0;
    rusage used{};
    ASSERT_EQ(wait4(child, &status, 0, &used), child);
    EXPECT_LT(used.ru_maxrss, 1 << 20) << kind_.name << ": more than 1 GB";
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    const std::string kept =
        fmt::format("{}sotto_spoilt_{}_{}", testing::TempDir(), shared_->seed, kind_.file);
    WriteFile(kept, Spoilt(shared_->seed));
    ADD_FAILURE() << kind_.name << ", seed " << shared_->seed << ", kept as " << kept << ": "
                  << (WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                          : shared_->wrong)
                  << "\n"
                  << Text();
  }

 private:
  int RunChild(const std::vector<std::string>& commands, uint64_t seeds) {
    LimitMemory();
    dup2(texts_, STDERR_FILENO);
    static_cast<void>(!std::freopen("/dev/null", "w", stdout));
    const uint64_t examples = std::max<size_t>(1, commands.size());
    for (uint64_t i = 0; i < examples + seeds; ++i) {
      const uint64_t seed = shared_->seed = i < examples ? 0 : i - examples + 1;
      WriteSpoilt(path_, Spoilt(seed));
      static_cast<void>(!ftruncate(texts_, 0));
      lseek(texts_, 0, SEEK_SET);
      LimitSeconds(5);
      alarm(60);
      const int status =
          ReadOnce(kind_, commands.empty() ? "" : commands[i % commands.size()], path_);
      std::fflush(stderr);
      const std::string text = Text();
      std::string wrong = WhatIsWrong(kind_, path_, status, text);
      if (seed == 0 && status != 0) wrong = "the example is refused";
      if (wrong.empty()) continue;
      std::snprintf(shared_->wrong, sizeof(shared_->wrong), "%s", wrong.c_str());
      return 1;
    }
#ifdef SOTTO_SANITIZED
    if (__lsan_do_recoverable_leak_check() != 0) {
      std::snprintf(shared_->wrong, sizeof(shared_->wrong), "memory leaks");
      return 1;
    }
#endif
    return 0;
  }

  std::string Text() const {
    std::string text(1 << 16, '\0');
    text.resize(
        static_cast<size_t>(std::max<ssize_t>(0, pread(texts_, text.data(), text.size(), 0))));
    return text;
  }

  const Kind& kind_;
  const std::string path_;
  const std::string good_;
  const int texts_;
  Progress* shared_ = nullptr;
};

#ifdef SOTTO_FEW_TRIALS
constexpr uint64_t kSeeds = 15;
#else
constexpr uint64_t kSeeds = 40;
#endif

TEST_F(MutatedFiles, AreReadOrRefusedInOneLine) {
  ASSERT_NO_FATAL_FAILURE(MakeExamples());
  // For a longer search by hand.
  const char* const seeds = std::getenv("SOTTO_MUTATIONS");
  const char* const only = std::getenv("SOTTO_KIND");
  for (const Kind& kind : Kinds()) {
    if (only != nullptr && std::string(kind.name) != only) continue;
    const std::string file = Path("spoilt/"s + kind.file);
    std::vector<std::string> commands;
    for (const std::string& command : kind.commands) commands.push_back(Filled(command, file));
    Attack attack(kind, file, ReadFile(Path(kind.file)));
    attack.Run(commands, seeds == nullptr ? kSeeds : std::stoull(seeds));
  }
}

TEST_F(MutatedFiles, ProgramsAnswerAsTheirReadersDo) {
  ASSERT_NO_FATAL_FAILURE(MakeExamples());
#ifdef SOTTO_SANITIZED
  const std::string leaks = Path("leaks.txt");
  WriteFile(leaks, kLeaksOfLibraries);
  setenv("LSAN_OPTIONS", ("print_suppressions=0:suppressions=" + leaks).c_str(), 1);
#endif
  for (const Kind& kind : Kinds()) {
    if (kind.commands.empty()) continue;
    const std::string file = Path("spoilt/"s + kind.file);
    const Attack attack(kind, file, ReadFile(Path(kind.file)));
    WriteSpoilt(file, attack.Spoilt(1));
    const std::string command = Filled(kind.commands.front(), file);
    const Outcome run = RunCommand(SOTTO_PROGRAMS "/" + command + " 2>&1 > /dev/null");
    EXPECT_EQ(WhatIsWrong(kind, file, run.exit_code, run.output), "") << command << "\n"
                                                                      << run.output;
  }
}

// ---- Whether all options are here

void CollectNames(const posix::Command& command, std::set<std::string>* names) {
  for (const posix::BoundOption& option : command.options) {
    const posix::FieldText& row = option.text;
    const bool is_text = row.kind == posix::Kind::kText || row.kind == posix::Kind::kTexts;
    const bool is_choice = !row.choices.empty() && row.or_file == nullptr;
    if (!is_text || is_choice || row.or_word != nullptr) continue;
    names->insert(row.name[0] == '\0' ? row.argument : row.name);
  }
  for (const posix::Command& inner : command.commands) CollectNames(inner, names);
}

TEST_F(MutatedFiles, EveryOptionThatNamesAFileAndEveryFormatHasARow) {
  std::set<std::string> names;
  std::istringstream formats(FormatsTable());
  for (std::string line; std::getline(formats, line);) {
    if (line.rfind("| `", 0) == 0) names.insert("format=" + line.substr(3, line.find('`', 3) - 3));
  }
  for (const server::ExportFormat& format : server::ExportFormats()) {
    if (format.read != nullptr) names.insert("model="s + format.name);
  }
  CollectNames(server::SottoProgram(), &names);
  CollectNames(server::SottoLabProgram(), &names);
  CollectNames(posix::ClientCommand([](const posix::ClientOptions&) {}), &names);
  std::set<std::string> known = kNamesNoFileToRead;
  for (const Kind& kind : Kinds()) known.insert(kind.options.begin(), kind.options.end());
  for (const std::string& name : names) {
    EXPECT_EQ(known.count(name), 1u)
        << name << ": give it a row of Kinds(), or say that it names no file to read";
  }
}

}  // namespace
}  // namespace sotto
