// A folder for the files of one test: tests run side by side, also the tests of two clones.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace sotto {

// Exists as long as the object, with what is in it.
class TestFolder {
 public:
  TestFolder() : path_(testing::TempDir() + "sotto_test_XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A file of the program that runs; CTest runs each test in a separate process.
inline std::string TestFile(const std::string& name) {
  static const TestFolder folder;
  return folder.Path(name);
}

}  // namespace sotto
