// Tests of output files: a wrong path fails at once, and nothing is lost by a run that fails.
#include "cli/output_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <stdexcept>
#include <string>

namespace sotto::server {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() { std::filesystem::remove(path_); }
  ~OutputFileTest() override { std::filesystem::remove(path_); }

  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  std::string Read() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_ = testing::TempDir() + "sotto_output_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(OutputFileTest, ReplacesWhatTheFileHeld) {
  Write("a long text of another run");
  OutputFile file(path_);
  EXPECT_EQ(Read(), "a long text of another run");
  file.stream() << "short";
  file.stream() << "er";
  file.Finish();
  EXPECT_EQ(Read(), "shorter");
}

TEST_F(OutputFileTest, ARunThatFailsLeavesTheFileAsItWas) {
  Write("results");
  { OutputFile file(path_); }
  EXPECT_EQ(Read(), "results");
  std::filesystem::remove(path_);
  { OutputFile file(path_); }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(OutputFileTest, APathThatCannotBeWrittenIsRefusedBeforeAnythingIsDone) {
  EXPECT_THROW(RequireOutput(path_ + "/none/file"), std::runtime_error);
  EXPECT_THROW(RequireOutput(testing::TempDir()), std::runtime_error) << "a folder";
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
  OutputFile file("/dev/full");
  file.stream() << "text";
  EXPECT_THROW(file.Finish(), std::runtime_error);
}

}  // namespace
}  // namespace sotto::server
