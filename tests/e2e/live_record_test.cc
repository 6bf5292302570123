// Samples that a machine records (sotto-client --record) and trains on (--sample-log), with a live
// server: what is recorded between two rounds is in the second one, a recorder that is killed has
// lost no window that it has told, and wrong lines and files are told.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "e2e/live.h"

namespace sotto::live {
namespace {

// 28 readings of 28 numbers are a sample of the server's model, softmax-784-10.
constexpr int kAxes = 28;
constexpr int kWindow = 28;

std::string Readings(int windows) {
  std::string text;
  for (int i = 0; i < windows * kWindow; ++i) {
    for (int axis = 0; axis < kAxes; ++axis) text += fmt::format("{} ", (i + axis) % 7 * 0.1);
    text += '\n';
  }
  return text;
}

// A `sotto-client --record` that reads what the test writes.
class Recorder {
 public:
  Recorder(const Site& site, const std::string& file, const std::string& options,
           const std::string& name = "record")
      : pipe_(site.Path(name + ".pipe")), windows_(site.Path(name + ".txt")) {
    std::filesystem::remove(pipe_);
    std::filesystem::remove(windows_);
    EXPECT_EQ(mkfifo(pipe_.c_str(), 0600), 0);
    descriptor_ = open(pipe_.c_str(), O_RDWR);
    const std::string command = fmt::format("exec {} --record --sample-log {} {} < {} > {}",
                                            SOTTO_CLIENT_PROGRAM, file, options, pipe_, windows_);
    process_ = site.Start("/bin/sh", {"-c", command}, name + ".log");
  }
  ~Recorder() { Close(); }

  void Write(const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t put = write(descriptor_, text.data() + done, text.size() - done);
      ASSERT_GT(put, 0);
      done += static_cast<size_t>(put);
    }
  }
  bool WaitForWindows(size_t count) const {
    return Eventually([&] { return Count(ReadFile(windows_), "window ") >= count; });
  }
  std::string windows() const { return ReadFile(windows_); }
  // The end of its input, which it has opened, since it has told a window. Returns its exit status.
  int End() {
    Close();
    return process_.Wait();
  }
  Process& process() { return process_; }

 private:
  void Close() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }

  std::string pipe_;
  std::string windows_;
  int descriptor_ = -1;
  Process process_;
};

constexpr char kNewFile[] = "--axes 28 --window 28 --hop 28";

class LiveRecordTest : public testing::Test {
 protected:
  LiveRecordTest() { site_.stays = true; }

  std::string File(size_t device) const {
    return site_.Path("device-" + std::to_string(device) + ".samples");
  }
  std::string KeyOf(size_t device) const {
    return site_.Path("keys/" + site_.key(device).device_id + ".key");
  }

  // Runs `sh -c` with standard input from a text. Returns the exit status; the output is output_.
  int Run(const std::string& arguments, const std::string& input = "") {
    std::ofstream(site_.Path("input.txt")) << input;
    std::filesystem::remove(site_.Path("run.log"));
    Process process = site_.Start("/bin/sh",
                                  {"-c", fmt::format("exec {} {} < {}", SOTTO_CLIENT_PROGRAM,
                                                     arguments, site_.Path("input.txt"))},
                                  "run.log");
    const int status = process.Wait();
    output_ = ReadFile(site_.Path("run.log"));
    return status;
  }
  int Record(size_t device, const std::string& options, const std::string& input) {
    return Run("--record --sample-log " + File(device) + " " + options, input);
  }

  void StartJob() const {
    Process start = site_.Sotto({"job", "start", site_.Path("store"), "--yes", "--close-early",
                                 "--accept-delta", "--sampling", "passes", "--cohort", "2",
                                 "--rounds", "1", "--noise-multiplier", "50", "--delta", "0.1"},
                                "start.log");
    EXPECT_EQ(start.Wait(), 0) << ReadFile(site_.Path("start.log"));
  }

  Process Client(size_t device, const Arguments& more = {}) const {
    Arguments arguments = {"--server",     Address(server_.port), "--key", KeyOf(device),
                           "--sample-log", File(device),          "--log", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return site_.Start(SOTTO_CLIENT_PROGRAM, arguments,
                       "client-" + std::to_string(device) + ".log");
  }

  bool Trained(size_t device, int samples) const {
    return Eventually([&] {
      return Says(ReadFile(site_.ClientLog(device)),
                  fmt::format("\"event\":\"trained\",\"device\":\"{}\",\"round\":1,\"attempt\":1,"
                              "\"samples\":{},",
                              site_.key(device).device_id, samples));
    });
  }

  Site site_{2};
  Server server_;
  std::string output_;
};

TEST_F(LiveRecordTest, EachRoundTrainsOnWhatIsRecordedWhenItBegins) {
  Recorder recorder(site_, File(0), kNewFile);
  recorder.Write("label 3 30\n" + Readings(12) + "# a pause\npause\n");
  ASSERT_TRUE(recorder.WaitForWindows(12)) << ReadFile(site_.Path("record.log"));
  ASSERT_EQ(Record(1, kNewFile, "label 1 40\n" + Readings(42)), 0) << output_;

  server_ = site_.Serve({});
  // Of 40 windows 8 are held out; the last two have no label.
  std::vector<Process> clients;
  clients.push_back(Client(0));
  clients.push_back(Client(1, {"--held-out", "0.2"}));
  StartJob();
  ASSERT_TRUE(server_.WaitForReleases(1)) << ReadFile(server_.log);
  EXPECT_TRUE(Trained(0, 12)) << ReadFile(site_.ClientLog(0));
  EXPECT_TRUE(Trained(1, 32)) << ReadFile(site_.ClientLog(1));

  // Both processes have the file: the recorder goes on, and so do the rounds.
  recorder.Write(Readings(5));
  ASSERT_TRUE(recorder.WaitForWindows(17));
  std::filesystem::remove(File(1));
  StartJob();
  ASSERT_TRUE(server_.WaitForReleases(2)) << ReadFile(server_.log);
  EXPECT_TRUE(Trained(0, 17)) << ReadFile(site_.ClientLog(0));
  EXPECT_TRUE(Trained(1, 0)) << ReadFile(site_.ClientLog(1));
  EXPECT_TRUE(Says(ReadFile(site_.ClientLog(1)), "\"event\":\"unread\""));
  EXPECT_EQ(Count(ReadFile(site_.ClientLog(1)), "\"event\":\"sent\""), 2u) << "like any other";
  EXPECT_EQ(recorder.End(), 0);
}

TEST_F(LiveRecordTest, ARecorderThatIsKilledHasLostNoWindowThatItHasTold) {
  size_t told = 0;
  for (int i = 0; i < 3; ++i) {
    Recorder recorder(site_, File(0), kNewFile);
    recorder.Write("label 2 1000\n" + Readings(4));
    ASSERT_TRUE(recorder.WaitForWindows(2));
    recorder.process().End();
    told += Count(recorder.windows(), "window ");
    EXPECT_TRUE(Says(recorder.windows(), "class 2"));
  }
  EXPECT_EQ(Run("--check --server 127.0.0.1:1 --key " + KeyOf(0) + " --model softmax-784-10" +
                " --sample-log " + File(0)),
            4);
  const size_t at = output_.find("data: ");
  ASSERT_NE(at, std::string::npos) << output_;
  EXPECT_GE(std::stoul(output_.substr(at + 6)), told) << output_;
  EXPECT_TRUE(Says(output_, "labels: class 2: ")) << output_;
}

TEST_F(LiveRecordTest, LinesThatAreWrongAreToldAndLeftOut) {
  const std::string small = "--axes 2 --window 2 --hop 1 --element int16 --scale 0.5 --capacity 40";
  EXPECT_EQ(Record(0, small, "1 2\n3 4\n5,\t6\n"), 0) << output_;
  EXPECT_TRUE(Says(output_, "window 0\nwindow 1\n")) << output_;
  EXPECT_TRUE(Says(output_, "the input has ended; windows: 2, lines left out: 0")) << output_;

  const std::pair<const char*, const char*> lines[] = {
      {"1", "line 2 is left out: it has 1 words; expected a reading of 2"},
      {"1 2 3", "it has 3 words"},
      {"1,5 2,5", "decimals begin with a point; the window under way goes with it"},
      {"1 x", "word 2 is no number"},
      {"1,", "word 2 is empty"},
      {",1", "word 1 is empty"},
      {"1 nan", "its numbers must be finite"},
      {"inf 1", "its numbers must be finite"},
  };
  for (const auto& [line, reason] : lines) {
    const std::string input = fmt::format("7 7\n{}\n8 8\n", line);
    EXPECT_EQ(Record(0, "", input), 0) << output_;
    EXPECT_TRUE(Says(output_, reason)) << line << "\n" << output_;
    EXPECT_TRUE(Says(output_, "windows: 0, lines left out: 1")) << "none over the gap: " << output_;
  }
  // Lines of labels say nothing of readings: the window under way goes on.
  const std::pair<const char*, const char*> labels[] = {
      {"label 1", "expected `label CLASS COUNT`"},
      {"label 1 -1", "expected `label CLASS COUNT`"},
      {"label 1,,3", "expected `label CLASS COUNT`"},
      {"label walk 3", "`walk` is no number of a class; names need the model, --model FILE"},
      {"label-window 1", "expected `label-window N CLASS`"},
      {"label-window 99 1", "there is no window 99"},
  };
  for (const auto& [line, reason] : labels) {
    EXPECT_EQ(Record(0, "", fmt::format("7 7\n{}\n8 8\n", line)), 0) << output_;
    EXPECT_TRUE(Says(output_, reason)) << line << "\n" << output_;
    EXPECT_TRUE(Says(output_, "windows: 1, lines left out: 1")) << output_;
  }
  EXPECT_EQ(Record(0, "", "label-window 1 4\nlabel-window 1 5\n"), 0);
  EXPECT_TRUE(Says(output_, "window 1 class 4\n")) << output_;
  EXPECT_TRUE(Says(output_, "line 2 is left out: window 1 has a label")) << output_;
  EXPECT_EQ(Record(0, "", "x\ny\n"), 2) << "none of its lines could be read";
  EXPECT_EQ(Record(0, "", std::string(70000, '1') + "\n"), 2);
  EXPECT_TRUE(Says(output_, "it is longer than 64 KB")) << output_;
  EXPECT_EQ(Record(0, "", "1 2\n3 4"), 0) << "without a line end";
  EXPECT_TRUE(Says(output_, "window 8\n")) << output_;
}

TEST_F(LiveRecordTest, OptionsAndFilesThatAreWrongAreRefused) {
  const auto expect = [&](const std::string& arguments, const std::string& words) {
    EXPECT_EQ(Run(arguments), 2) << arguments << "\n" << output_;
    EXPECT_TRUE(Says(output_, words)) << arguments << "\n" << output_;
  };
  const std::string file = File(0);
  expect("--record", "--record");
  expect("--record --sample-log " + file, "a new file needs --axes");
  expect("--record --sample-log " + file + " --axes 2", "and --window");
  EXPECT_FALSE(std::filesystem::exists(file));
  expect("--record --sample-log " + file + " --axes 4096 --window 1000000",
         "--window 1000000: with --axes 4096 a window has more than");
  expect("--record --sample-log " + file + " --axes 64 --window 10000 --capacity 1000000",
         "would take more than 1 GB");
  expect("--sample-log " + file + " --key " + KeyOf(0),
         "there is no such file; `sotto-client --rec");
  expect("--sample-log " + file + " --data " + file + " --key " + KeyOf(0), "--data");

  EXPECT_EQ(Record(0, "--axes 2 --window 2", ""), 0) << output_;
  expect("--record --sample-log " + file + " --window 3",
         "--window: " + file + " was begun with 2; leave the option out, or name another file");
  expect("--record --sample-log " + file + " --element uint8", "was begun with float32");
  expect("--record --sample-log " + file + " --capacity 9", "was begun with 1008");
  EXPECT_EQ(Record(0, "--capacity 1000 --scale 1", ""), 0) << output_;
  expect("--record --sample-log " + file + " --model softmax-784-10",
         "it takes 784 numbers, and a window has 4");
  expect("--sample-log " + file + " --key " + KeyOf(0) + " --model softmax-784-10",
         "its windows have 2 readings of 2 numbers, 4 in all, but model softmax-784-10 takes 784");
  {
    Recorder other(site_, file, "");
    ASSERT_TRUE(Eventually([&] { return Says(ReadFile(site_.Path("record.log")), "records"); }));
    expect("--record --sample-log " + file, "another process records into it");
  }
  std::filesystem::resize_file(file, 5000);
  expect("--record --sample-log " + file, "it is damaged (it has 5000 bytes, and");
  std::ofstream(file) << "x,y\n1,2\n";
  expect("--record --sample-log " + file, "this is not what --record writes");
}

}  // namespace
}  // namespace sotto::live
