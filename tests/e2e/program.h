// Runs the commands `sotto` and `sotto-lab` as a user does and checks their output, files and
// refusals. For programs that are compiled with SOTTO_PROGRAM, the path of `sotto`; and with
// SOTTO_LAB_PROGRAM, if they run `sotto-lab`.
#pragma once

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

namespace sotto {

using Json = nlohmann::json;

struct Outcome {
  int exit_code = -1;
  std::string output;  // standard output and, unless redirected, standard error
};

inline Outcome RunCommand(const std::string& command) {
  Outcome run;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    run.output.append(buffer, got);
  }
  const int status = pclose(pipe);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

inline Outcome Sotto(const std::string& arguments, const char* standard_error = "2>&1") {
  return RunCommand(std::string(SOTTO_PROGRAM) + " " + arguments + " " + standard_error);
}

// Expects that a run has failed with this exit code and has printed the message.
//   arguments  of the run, for the report
inline void ExpectFailureOf(const Outcome& run, int exit_code, const std::string& arguments,
                            const std::string& message) {
  EXPECT_EQ(run.exit_code, exit_code) << arguments << "\n" << run.output;
  EXPECT_NE(run.output.find(message), std::string::npos) << arguments << "\n" << run.output;
}

inline void ExpectFailure(int exit_code, const std::string& arguments, const std::string& message) {
  ExpectFailureOf(Sotto(arguments), exit_code, arguments, message);
}

inline void ExpectUsageError(const std::string& arguments, const std::string& message) {
  ExpectFailure(2, arguments, message);
}

// The JSON that the command writes to standard output with `--json -`; a discarded value if the
// output is not JSON.
inline Json JsonOf(const std::string& command) {
  const Outcome run = RunCommand(command + " --json - 2>/dev/null");
  EXPECT_EQ(run.exit_code, 0) << command;
  return Json::parse(run.output, nullptr, false);
}

inline Json SottoJson(const std::string& arguments) {
  return JsonOf(std::string(SOTTO_PROGRAM) + " " + arguments);
}

#ifdef SOTTO_LAB_PROGRAM
inline Outcome SottoLab(const std::string& arguments, const char* standard_error = "2>&1") {
  return RunCommand(std::string(SOTTO_LAB_PROGRAM) + " " + arguments + " " + standard_error);
}

inline void ExpectLabFailure(int exit_code, const std::string& arguments,
                             const std::string& message) {
  ExpectFailureOf(SottoLab(arguments), exit_code, arguments, message);
}

inline void ExpectLabUsageError(const std::string& arguments, const std::string& message) {
  ExpectLabFailure(2, arguments, message);
}

inline Json SottoLabJson(const std::string& arguments) {
  return JsonOf(std::string(SOTTO_LAB_PROGRAM) + " " + arguments);
}
#endif

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

inline void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace sotto
