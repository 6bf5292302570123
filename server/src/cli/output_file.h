// Files that a command writes. Part of sotto::server/cli.
#ifndef SOTTO_CLI_OUTPUT_FILE_H_
#define SOTTO_CLI_OUTPUT_FILE_H_

#include <fstream>
#include <string>

#include "sotto/span.h"

namespace sotto::server {

// Made, or emptied, at once: so a wrong path can fail before hours of work.
class OutputFile {
 public:
  // Throws std::runtime_error if it cannot be written.
  explicit OutputFile(const std::string& path);

  std::ostream& stream() { return file_; }

  // Throws std::runtime_error if not all of it was written.
  void Finish();

 private:
  std::string path_;
  std::ofstream file_;
};

// A model's parameters as float32, little-endian.
void WriteParameters(Span<const float> parameters, std::ostream& out);

}  // namespace sotto::server

#endif  // SOTTO_CLI_OUTPUT_FILE_H_
