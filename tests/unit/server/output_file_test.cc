// Tests of output files: a wrong path fails at once, and nothing is lost by a run that fails.
#include "views/output_file.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>

#include "unit/test_folder.h"

namespace sotto::server {
namespace {

constexpr char kStoreBeginning[] = "SQLite format 3";  // its zero byte ends the text

class OutputFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  void Write(const std::string& text) const { WriteTo(path_, text); }

  static void WriteTo(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  std::string WriteStore(const std::string& name) const {
    WriteTo(Path(name), std::string(kStoreBeginning, sizeof(kStoreBeginning)) + "the rest");
    return Path(name);
  }

  std::string Read() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // The output is refused at the start of a command and when it is written.
  static void ExpectRefused(const std::string& path, const std::string& store = "") {
    EXPECT_THROW(RequireOutput(path, store), std::invalid_argument) << path;
    if (store.empty()) {
      EXPECT_THROW(OutputFile file(JsonOutput(path)), std::invalid_argument) << path;
    }
  }

  mode_t Mode() const {
    struct stat info {};
    EXPECT_EQ(stat(path_.c_str(), &info), 0);
    return info.st_mode & 0777;
  }

  size_t CountFiles() const {
    const std::filesystem::directory_iterator files(folder_.path());
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  TestFolder folder_;
  std::string path_ = Path("file");
};

TEST_F(OutputFileTest, ReplacesWhatTheFileHeld) {
  Write("a long text of another run");
  OutputFile file(JsonOutput(path_));
  EXPECT_EQ(Read(), "a long text of another run");
  file.stream() << "short";
  file.stream() << "er";
  file.Finish();
  EXPECT_EQ(Read(), "shorter");
}

TEST_F(OutputFileTest, ARunThatFailsLeavesTheFileAsItWas) {
  Write("results");
  { OutputFile file(JsonOutput(path_)); }
  EXPECT_EQ(Read(), "results");
  std::filesystem::remove(path_);
  { OutputFile file(JsonOutput(path_)); }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(OutputFileTest, APathThatCannotBeWrittenIsRefusedBeforeAnythingIsDone) {
  EXPECT_THROW(RequireOutput(path_ + "/none/file"), std::runtime_error);
  EXPECT_THROW(RequireOutput(testing::TempDir()), std::invalid_argument) << "a folder";
  RequireOutput("");
  RequireOutput("-");
  RequireOutput("/dev/null");
  RequireOutput(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
  Write("results");
  RequireOutput(path_);
  EXPECT_EQ(Read(), "results");
}

TEST_F(OutputFileTest, AFullDiskIsAnError) {
  OutputFile file(JsonOutput("/dev/full"));
  file.stream() << "text";
  try {
    file.Finish();
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "--json: cannot write /dev/full: No space left on device; make room on this disk, "
                 "or name a file on another one");
  }
}

TEST_F(OutputFileTest, ANewFileThatTellsWhoTookPartIsTheOwnersAlone) {
  WriteOutput(JsonOutput(path_, Readers::kOwner), "who");
  EXPECT_EQ(Mode(), 0600u);
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  WriteOutput(JsonOutput(path_, Readers::kOwner), "others");
  EXPECT_EQ(Mode(), 0640u) << "the owner's choice";
  EXPECT_EQ(Read(), "others");
}

TEST_F(OutputFileTest, TheStoreOfTheCommandIsNoOutputUnderAnyName) {
  const std::string store = Path("store");  // empty, so its contents tell nothing
  WriteTo(store, "");
  std::filesystem::create_symlink(store, Path("link"));
  std::filesystem::create_hard_link(store, Path("twin"));
  std::filesystem::create_symlink(folder_.path(), Path("folder"));
  for (const char* name : {"store", "link", "twin", "folder/store", "store-journal", "store-wal",
                           "store-shm", "folder/store-journal"}) {
    ExpectRefused(Path(name), store);
    ExpectRefused(Path(name), Path("link"));
  }
  ExpectRefused(Path("new"), Path("new"));
  ExpectRefused(Path("new-journal"), Path("new"));
  RequireOutput(Path("other-journal"), store);
  EXPECT_EQ(CountFiles(), 4u) << "nothing was made";
}

TEST_F(OutputFileTest, NoStoreAndNoSecretIsAnOutput) {
  const std::string store = WriteStore("fleet.db");
  std::filesystem::create_symlink(store, Path("link"));
  for (const char* name :
       {"fleet.db", "link", "fleet.db-journal", "fleet.db-wal", "fleet.db-shm"}) {
    ExpectRefused(Path(name));
  }
  for (const char* text : {"sotto-key 1\ndevice a\n", "// SECRET: the key", "sotto-mark 1\n"}) {
    Write(text);
    ExpectRefused(path_);
    EXPECT_EQ(Read(), text);
  }
  Write("sotto-keys are no keys");
  RequireOutput(path_);
}

TEST_F(OutputFileTest, AStoreThatComesAfterTheStartIsNotReplaced) {
  RequireOutput(path_);
  WriteStore("file");
  EXPECT_THROW(WriteOutput(JsonOutput(path_), "results"), std::invalid_argument);
  EXPECT_NE(Read(), "results");
}

TEST_F(OutputFileTest, ANamedPipeIsRefusedAndNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectRefused(path_);
}

TEST_F(OutputFileTest, ALinkToNothingIsRefusedAndStays) {
  std::filesystem::create_symlink(Path("nothing"), path_);
  ExpectRefused(path_);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_FALSE(std::filesystem::exists(Path("nothing")));
}

TEST_F(OutputFileTest, WithoutRoomTheOldContentsStayAndNoNewFileIsLeft) {
  Write("results of another run");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit little = before;
  little.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  for (const std::string& path : {path_, Path("new")}) {
    OutputFile file(JsonOutput(path));
    file.stream() << std::string(10000, 'x');
    EXPECT_THROW(file.Finish(), std::runtime_error);
  }
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(Read(), "results of another run");
  EXPECT_EQ(CountFiles(), 1u);
}

TEST_F(OutputFileTest, AFileThatTheCommandReadsIsNotReplaced) {
  Write("samples");
  for (const std::string& input : {path_, path_ + ":label=y", Path("./file"),
                                   Path("x.npy") + ":y=" + path_, "file:" + path_}) {
    EXPECT_THROW(RequireOutputs({JsonOutput(path_)}, "", {"", input}), std::invalid_argument)
        << input;
  }
  RequireOutputs({JsonOutput(Path("other"))}, "", {path_, "synthetic", ""});
  EXPECT_EQ(Read(), "samples");
}

TEST_F(OutputFileTest, TwoOutputsAreTwoFilesButForDevices) {
  const auto require = [](const std::string& one, const std::string& other) {
    RequireOutputs({JsonOutput(one), {"--model-out", other}});
  };
  EXPECT_THROW(require(path_, path_), std::invalid_argument) << "both new";
  EXPECT_THROW(require(path_, Path("./file")), std::invalid_argument);
  EXPECT_EQ(CountFiles(), 0u);
  Write("results");
  std::filesystem::create_hard_link(path_, Path("twin"));
  EXPECT_THROW(require(path_, Path("twin")), std::invalid_argument);
  require(path_, Path("other"));
  require("/dev/full", "/dev/full");
  require("-", path_);
  EXPECT_THROW(require(path_, "-"), std::invalid_argument) << "not offered";
  EXPECT_EQ(Read(), "results");
}

}  // namespace
}  // namespace sotto::server
