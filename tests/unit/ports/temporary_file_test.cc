#include "sotto/posix/temporary_file.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace sotto::posix {
namespace {

TEST(TemporaryFile, IsZerosUntilSomethingIsWritten) {
  const TemporaryFile file(uint64_t{1} << 30);  // takes no room
  const uint8_t bytes[] = {1, 2, 3};
  const uint64_t at = (uint64_t{1} << 29) + 7;
  ASSERT_TRUE(file.Write(at, bytes));
  std::vector<uint8_t> read(5, 9);
  ASSERT_TRUE(file.Read(at - 1, {read.data(), read.size()}));
  EXPECT_EQ(read, (std::vector<uint8_t>{0, 1, 2, 3, 0}));
  ASSERT_TRUE(file.Read(0, {read.data(), read.size()}));
  EXPECT_EQ(read, std::vector<uint8_t>(5));
  EXPECT_FALSE(file.Read(uint64_t{1} << 30, {read.data(), 1})) << "behind the end";
}

TEST(TemporaryFile, NamesTheFolderInWhichItCannotBe) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere/at/all", 1);
  std::string text;
  try {
    const TemporaryFile file(1);
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_EQ(text.rfind("/nowhere/at/all: a temporary file cannot be made there: ", 0), 0U) << text;
  EXPECT_NE(text.find("set TMPDIR"), std::string::npos) << text;
}

}  // namespace
}  // namespace sotto::posix
