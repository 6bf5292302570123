// A small simulation by the command `sotto`, for tests of what it writes.
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "e2e/program.h"
#include "unit/test_folder.h"

namespace sotto {

// A run of a few seconds at most. Options that follow win over the file's.
inline std::string Small() {
  const std::string path = TestFile("small.toml");
  WriteFile(path,
            "devices = 60\ncohort = 10\nrounds = 3\nlocal-epochs = 1\nsampling = \"uniform\"\n"
            "delta = 1e-5\n");
  return "simulate --data synthetic --config " + path + " ";
}

inline Json SmallRun(const std::string& arguments) {
  const std::string path = TestFile("out.json");
  const Outcome run = Sotto(Small() + arguments + " --json " + path);
  EXPECT_EQ(run.exit_code, 0) << run.output;
  return Json::parse(ReadFile(path), nullptr, false);
}

}  // namespace sotto
