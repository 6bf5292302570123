#include "views/json_output.h"

#include <fmt/format.h>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace sotto::server {

namespace {

bool IsStandardOutput(const std::string& path) { return path == "-"; }

}  // namespace

std::FILE* TextStream(const std::string& json_path) {
  return IsStandardOutput(json_path) ? stderr : stdout;
}

void WriteJson(const std::string& path, const nlohmann::ordered_json& json, Readers readers) {
  if (path.empty()) return;
  const std::string text = JsonText(json, 2) + "\n";
  if (IsStandardOutput(path)) {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!is_written || std::fflush(stdout) != 0) {
      throw std::runtime_error("writing the JSON to standard output failed: is the disk full?");
    }
  } else {
    WriteOutput(JsonOutput(path, readers), text);
  }
}

void PrintResults(const std::string& json_path, const std::string& text,
                  const nlohmann::ordered_json& json, Readers readers) {
  fmt::print(TextStream(json_path), "{}", text);
  WriteJson(json_path, json, readers);
}

}  // namespace sotto::server
