// Output files of a command. Part of sotto::server/cli.
#ifndef SOTTO_CLI_OUTPUT_FILE_H_
#define SOTTO_CLI_OUTPUT_FILE_H_

#include <fstream>
#include <string>

#include "sotto/span.h"

namespace sotto::server {

// An output file. The constructor creates or empties the file, so a wrong path fails before hours
// of work.
class OutputFile {
 public:
  // Throws std::runtime_error if the file cannot be opened for writing.
  explicit OutputFile(const std::string& path);

  std::ostream& stream() { return file_; }

  // Throws std::runtime_error if not all data was written.
  void Finish();

 private:
  std::string path_;
  std::ofstream file_;
};

// Writes the parameters of a model as float32, little-endian.
void WriteParameters(Span<const float> parameters, std::ostream& out);

}  // namespace sotto::server

#endif  // SOTTO_CLI_OUTPUT_FILE_H_
