// sotto-client with options and files that are wrong: it says which, touches none of them, and ends
// with a status that keeps its unit from starting it again.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "e2e/live.h"

namespace sotto::live {
namespace {

using namespace std::string_literals;

TEST(LiveClientFilesTest, ItsHelpAndItsPageListItsExitStatuses) {
  const Site site(1);
  EXPECT_EQ(Process({SOTTO_CLIENT_PROGRAM, "--help"}, site.Path("help.log")).Wait(), 0);
  std::string help = ReadFile(site.Path("help.log"));
  help.erase(0, help.find("Exit status:"));
  std::replace(help.begin(), help.end(), '\n', ' ');
  const std::string page = ReadFile(SOTTO_SOURCE_DIR "/ports/posix/client/README.md");
  for (const char* status : {"0", "1", "2", "3", "4", "130", "143"}) {
    EXPECT_EQ(Count(help, " "s + status + " "), 1u) << help;
    EXPECT_EQ(Count(page, "\n| "s + status + " | "), 1u);
  }
}

// The files of a site's first client, each of which a test can replace.
struct Files {
  explicit Files(const Site& site)
      : key(site.Path("keys/" + site.key(0).device_id + ".key")),
        data(site.Path("data/train-images-idx3-ubyte")),
        labels(site.Path("data/train-labels-idx1-ubyte")),
        mark(site.Path("mark")),
        log(site.Path("files.log")) {}

  // Without a server: status 4 if nothing is wrong.
  int Run(const Arguments& more = {}) const {
    Arguments all = {SOTTO_CLIENT_PROGRAM,
                     "--server",
                     Address(1),
                     "--give-up",
                     "0.1",
                     "--key",
                     key,
                     "--data",
                     data,
                     "--labels",
                     labels,
                     "--mark",
                     mark};
    all.insert(all.end(), more.begin(), more.end());
    return Process(all, log).Wait();
  }

  std::string key, data, labels, mark, log;
};

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
}

TEST(LiveClientFilesTest, SamplesOutsideTheFileAreToldWithTheFilesNumber) {
  const Site site(1);
  const Files files(site);
  for (const char* samples : {"0:9", "18446744073709551615:2", "2:18446744073709551615"}) {
    EXPECT_EQ(files.Run({"--samples", samples}), 2);
    const std::string log = ReadFile(files.log);
    EXPECT_EQ(Count(log, "--samples "s + samples + ": the file has 8 samples"), 1u) << log;
  }
}

// As the simulator refuses it: the option would have no effect.
TEST(LiveClientFilesTest, SamplesPerDeviceAreRefusedWhereAPartitionTakesNone) {
  const Site site(1);
  const Files files(site);
  const Arguments share = {"--device", "0", "--devices", "2", "--partition", "group"};
  Arguments both = share;
  both.insert(both.end(), {"--samples-per-device", "5"});
  EXPECT_EQ(files.Run(both), 2);
  const std::string says =
      "--samples-per-device: partition group gives each device the samples that its group has";
  EXPECT_EQ(Count(ReadFile(files.log), says), 1u) << ReadFile(files.log);
  EXPECT_EQ(files.Run(share), 2);
  EXPECT_EQ(Count(ReadFile(files.log), says), 1u) << "these images have no groups";
}

// The unit starts the program again after status 1, and not after status 2.
TEST(LiveClientFilesTest, FilesThatStayWrongEndItWithStatus2) {
  const Site site(1);
  const Files good(site);
  EXPECT_EQ(good.Run(), 4) << ReadFile(good.log);
  const std::string other = site.Path("other");
  const std::string key = ReadFile(good.key);
  for (const std::string& text : {""s, key.substr(0, 40), "sotto-key 2\n" + key.substr(12)}) {
    Files wrong = good;
    Write(wrong.key = other, text);
    EXPECT_EQ(wrong.Run(), 2) << text;
  }
  Write(other, "\0\0\x08\x01\0\0\0\x01\0"s);  // one label
  for (const std::string& path :
       {site.Path("none"), site.Path("none/x"), site.Path("data"), other, good.labels + "/x"}) {
    Files wrong = good;
    wrong.key = path;
    EXPECT_EQ(wrong.Run(), 2) << path;
    wrong = good;
    wrong.data = path;
    EXPECT_EQ(wrong.Run(), 2) << path;
    wrong = good;
    wrong.labels = path;
    EXPECT_EQ(wrong.Run(), 2) << path;
  }
  Files swapped = good;
  std::swap(swapped.data, swapped.labels);
  EXPECT_EQ(swapped.Run(), 2);
  EXPECT_EQ(Count(ReadFile(good.log), "\n"), 3u + 3 + 15 + 1) << ReadFile(good.log);
}

TEST(LiveClientFilesTest, SamplesOfAnyFormatAreReadByWhatTheirNameSays) {
  const Site site(1);
  const Files good(site);
  const std::string csv = site.Path("rows.csv");
  Write(csv, "x,kind\n1,a\n2,b\n3,a\n");
  const std::string model = site.Path("one.toml");
  Write(model, "name = \"one\"\ninput = [1]\n[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  const auto run = [&](const std::string& data, const std::string& samples) {
    return Process(
               {SOTTO_CLIENT_PROGRAM, "--server", Address(1), "--give-up", "0.1", "--key", good.key,
                "--mark", good.mark, "--data", data, "--samples", samples, "--model", model},
               good.log)
        .Wait();
  };
  EXPECT_EQ(run(csv + ":classes=a,b", "1:2"), 4) << ReadFile(good.log);
  EXPECT_EQ(run(csv + ":label=kind,classes=a,b", "0:1"), 4) << ReadFile(good.log);
  EXPECT_EQ(run(csv + ":label=kind", "0:3"), 2);
  EXPECT_EQ(run(csv + ":classes=a,b", "1:3"), 2);
  EXPECT_EQ(run(csv + ":label=knd", "0:3"), 2);
  EXPECT_EQ(run(csv + ":label=x", "0:3"), 2);
  EXPECT_EQ(run(site.Path("rows.mat"), "0:3"), 2);
  const std::string log = ReadFile(good.log);
  for (const char* why :
       {"labels: a -> class 0: 1, b -> class 1: 1\n", "labels: a -> class 0: 1; no sample of b\n",
        "the labels are a, b, and nothing says which class each is",
        "--samples 1:3: the file has 3 samples", "label=knd: there is no such column",
        "column 2 (kind): \"a\"; expected a number",
        "built without libmatio, which reads svhn; install libmatio-dev"}) {
    EXPECT_EQ(Count(log, why), 1u) << why << "\n" << log;
  }
}

TEST(LiveClientFilesTest, AKeyFileThatOthersMayReadIsRefused) {
  Site site(1);
  const std::string key = site.Path("keys/" + site.key(0).device_id + ".key");
  ASSERT_EQ(chmod(key.c_str(), 0644), 0);
  EXPECT_EQ(site.Client(0, 1).Wait(), 2);
  EXPECT_NE(ReadFile(site.ClientLog(0)).find(key), std::string::npos);
}

// What is not there to compare is not the same.
TEST(LiveClientFilesTest, AKeyInAFolderThatCannotBeSearchedIsToldAsThat) {
  const Site site(1);
  const Files good(site);
  const std::string loop = site.Path("loop");
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  Files wrong = good;
  wrong.key = loop + "/a.key";
  wrong.mark = loop + "/a.mark";
  EXPECT_EQ(wrong.Run(), 2);
  EXPECT_EQ(Count(ReadFile(wrong.log), "names it, too"), 0u) << ReadFile(wrong.log);
  EXPECT_GE(Count(ReadFile(wrong.log), wrong.key + ": cannot open it: "), 1u)
      << ReadFile(wrong.log);
}

// Before it connects, and so before a round counts on it.
TEST(LiveClientFilesTest, AMarkThatWouldReplaceAnotherFileOrCannotBeWrittenIsRefused) {
  const Site site(1);
  const Files good(site);
  const std::string link = site.Path("link");
  ASSERT_EQ(symlink(good.key.c_str(), link.c_str()), 0);
  const std::string fifo = site.Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Write(site.Path("key2"), "sotto-key 1\n");
  for (const std::string& path : {good.key, link, site.Path("key2"), good.data, good.labels,
                                  site.Path("data"), site.Path("none/x"), fifo}) {
    const std::string before = path == fifo ? "" : ReadFile(path);
    Files wrong = good;
    wrong.mark = path;
    EXPECT_EQ(wrong.Run(), 2) << path;
    EXPECT_TRUE(path == fifo || ReadFile(path) == before) << path;
    EXPECT_GE(Count(ReadFile(wrong.log), path + ": "), 1u) << ReadFile(wrong.log);
  }
}

// Before it connects: a device never counts its updates from zero because a file is wrong.
TEST(LiveClientFilesTest, ALedgerThatIsDamagedOrAnotherFileOrCannotBeWrittenIsRefused) {
  const Site site(1);
  const Files files(site);
  const std::string fifo = site.Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Write(site.Path("empty"), "");
  Write(site.Path("damaged"), std::string(36, 'x'));
  for (const std::string& path :
       {files.key, files.data, files.labels, files.mark, site.Path("data"), site.Path("none/x"),
        site.Path("empty"), site.Path("damaged"), fifo}) {
    const std::string before = path == fifo ? "" : ReadFile(path);
    EXPECT_EQ(files.Run({"--ledger", path}), 2) << path;
    EXPECT_TRUE(path == fifo || ReadFile(path) == before) << path;
    EXPECT_GE(Count(ReadFile(files.log), path + ": "), 1u) << ReadFile(files.log);
  }
  EXPECT_EQ(files.Run({"--ledger", site.Path("new"), "--json", site.Path("new")}), 2);
  EXPECT_EQ(files.Run({"--ledger", site.Path("new")}), 4) << ReadFile(files.log);
  EXPECT_EQ(ReadFile(site.Path("new")), "") << "no update, no record";
  Write(files.key + ".updates", "damaged");
  EXPECT_EQ(files.Run(), 2);
}

// Before it connects, and so before a round counts on it.
TEST(LiveClientFilesTest, AnOutputThatCannotBeWrittenOrIsAnotherFileIsRefusedAndNothingIsTouched) {
  const Site site(1);
  const Files files(site);
  const std::string fifo = site.Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string link = site.Path("link");
  ASSERT_EQ(symlink(files.data.c_str(), link.c_str()), 0);
  for (const char* option : {"--json", "--model-out"}) {
    for (const std::string& path : {files.key, files.data, link, files.labels, files.mark,
                                    site.Path("data"), site.Path("none/x"), fifo}) {
      const std::string before = path == fifo ? "" : ReadFile(path);
      EXPECT_EQ(files.Run({option, path}), 2) << option << " " << path;
      EXPECT_TRUE(path == fifo || ReadFile(path) == before) << path;
    }
  }
  const std::string out = site.Path("out");
  EXPECT_EQ(files.Run({"--json", out, "--model-out", out}), 2);
  EXPECT_EQ(ReadFile(out), "");
  EXPECT_EQ(Count(ReadFile(files.log), "--model-out " + out + ": --json names it, too"), 1u);
}

TEST(LiveClientFilesTest, ItsMessagesHoldNoControlCharacters) {
  const Site site(1);
  Files wrong(site);
  wrong.data = "\x1b[31m\nred\x7f\xc2\x9b";
  EXPECT_EQ(wrong.Run(), 2);
  EXPECT_EQ(Process({SOTTO_CLIENT_PROGRAM, "--\x1b[31m"}, wrong.log).Wait(), 2);
  const std::string log = ReadFile(wrong.log);
  EXPECT_EQ(Count(log, "\\x1b[31m\\x0ared\\x7f\\xc2\\x9b: No such file"), 1u) << log;
  EXPECT_EQ(Count(log, "\x1b"), 0u) << log;
}

Arguments AndMore(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// The status of exit of `sotto-client --check`, and what it prints.
std::pair<int, std::string> Check(const Site& site, uint16_t port, const Arguments& more) {
  const Arguments check = AndMore({"--check", "--server", Address(port), "--key",
                                   site.Path("keys/" + site.key(0).device_id + ".key")},
                                  more);
  const std::string log = site.Path("check.log");
  std::filesystem::remove(log);
  const int status = site.Start(SOTTO_CLIENT_PROGRAM, check, "check.log").Wait();
  const std::string said = ReadFile(log);
  return {status, said};
}

TEST(LiveClientFilesTest, ACheckSaysWhatARunWouldTrainOnAndTellsTheServerNothingOfTheData) {
  Site site(2);
  std::ofstream(site.Path("net.toml"))
      << "name = \"net\"\ninput = [2]\nclasses = [\"sit\", \"walk\", \"run\"]\n[[layer]]\n"
         "kind = \"dense\"\noutputs = 3\n";
  std::ofstream(site.Path("good.csv")) << "x,y,label\n1,2,sit\n3,4,run\n3,4,run\n";
  std::ofstream(site.Path("bad.csv")) << "x,y,label\n1,2,1\n3,4,2\n";
  const Server server = site.Serve({"--cohort", "2", "--rounds", "1", "--noise-multiplier", "50",
                                    "--delta", "0.1", "--model", site.Path("net.toml")});
  const Arguments any = {"--accept-model", "any"};
  const auto with = [&](const std::string& data, const Arguments& more) {
    return Check(site, server.port, AndMore({"--data", site.Path(data)}, more));
  };
  const auto [status, text] = with("good.csv", AndMore(any, {"--held-out", "0.4"}));
  EXPECT_EQ(status, 0) << text;
  for (const char* line :
       {": it knows this device's key, and a job runs there\n",
        "model: takes the job's, net (digest ", "data: 2 samples to train on, and 1 ",
        "labels: sit -> class 0: 1, run -> class 2: 2; no sample of walk\n",
        "result: a run would take part\n"}) {
    EXPECT_EQ(Count(text, line), 1u) << line << text;
  }
  const auto [unsuited, why] = with("bad.csv", any);
  EXPECT_EQ(unsuited, 2) << why;
  EXPECT_EQ(Count(why, "the labels 1, 2 are numbers without a 0"), 1u) << why;
  const auto [other, what] = with("good.csv", {"--accept-model", std::string(64, '0')});
  EXPECT_EQ(other, 3) << what;
  EXPECT_EQ(Count(what, "--accept-model does not list"), 1u) << what;
  const auto [missing, where] = with("none.csv", any);
  EXPECT_EQ(missing, 2) << where;
  EXPECT_EQ(Count(where, "none.csv: No such file or directory; --data names it"), 1u) << where;
  EXPECT_EQ(Check(site, 1, AndMore({"--data", site.Path("good.csv")}, any)).first, 4);
  EXPECT_EQ(Count(ReadFile(server.log), site.key(0).device_id + ": left\n"), 4u);
  for (const char* word : {"walk", "unsuited", "refused"}) {
    EXPECT_EQ(Count(ReadFile(server.log), word), 0u) << ReadFile(server.log);
  }
}

// Of 60 MB the client needs 12 before it has a model.
TEST(LiveClientFilesTest, AModelThatIsTooLargeForTheMachineEndsNoDeviceThatStays) {
#ifdef SOTTO_SANITIZED
  GTEST_SKIP() << "a sanitizer needs more than this memory";
#endif
  Site site(1);
  site.stays = true;
  std::ofstream(site.Path("big.toml"))
      << "name = \"big\"\ninput = [784]\n[[layer]]\nkind = \"dense\"\noutputs = 5000\n"
         "[[layer]]\nkind = \"relu\"\n[[layer]]\nkind = \"dense\"\noutputs = 10\n";
  const Server server = site.Serve({"--cohort", "1", "--rounds", "1", "--noise-multiplier", "50",
                                    "--delta", "0.1", "--model", site.Path("big.toml")});
  Process client = site.Client(0, server.port, {"--accept-model", "any"},
                               {"/usr/bin/prlimit", "--as=60000000", SOTTO_CLIENT_PROGRAM});
  EXPECT_TRUE(Eventually([&] {
    return Count(ReadFile(site.ClientLog(0)), "too little memory for the job's model") == 1;
  })) << ReadFile(site.ClientLog(0));
  EXPECT_EQ(client.Wait(0), -1) << "it waits for another job";
  client.Signal(SIGTERM);
  EXPECT_EQ(client.Wait(), 143);
}

}  // namespace
}  // namespace sotto::live
