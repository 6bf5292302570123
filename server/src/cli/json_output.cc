#include "cli/json_output.h"

#include <cstdio>
#include <fmt/format.h>
#include <stdexcept>

#include "cli/output_file.h"

namespace sotto::server {

bool IsStandardOutput(const std::string& path) { return path == "-"; }

void WriteJson(const std::string& path, const nlohmann::ordered_json& json) {
  if (path.empty()) return;
  const std::string text = json.dump(2) + "\n";
  if (IsStandardOutput(path)) {
    fmt::print("{}", text);
    if (std::fflush(stdout) != 0) {
      throw std::runtime_error("writing the JSON failed: is the disk full?");
    }
  } else {
    OutputFile file(path);
    file.stream() << text;
    file.Finish();
  }
}

}  // namespace sotto::server
