// Output files of a command. Part of sotto::server/cli.
#ifndef SOTTO_CLI_OUTPUT_FILE_H_
#define SOTTO_CLI_OUTPUT_FILE_H_

#include <fstream>
#include <string>

#include "sotto/span.h"

namespace sotto::server {

// An output file. The constructor opens it, so a wrong path fails before hours of work, and changes
// nothing in a file that exists: its contents are replaced when the new ones are there. If nothing
// is finished, the destructor removes a file that the constructor created.
class OutputFile {
 public:
  // Throws std::runtime_error if the file cannot be opened for writing.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // The first call empties the file.
  std::ostream& stream();

  // Throws std::runtime_error if not all data was written.
  void Finish();

 private:
  std::string path_;
  bool is_new_;
  bool is_begun_ = false;
  bool is_finished_ = false;
  std::ofstream file_;
};

// Throws std::runtime_error if an output cannot be written; leaves nothing behind. For commands
// that write at their end.
//   path  empty or "-" for standard output: always possible
void RequireOutput(const std::string& path);

// Writes the parameters of a model as float32, little-endian.
void WriteParameters(Span<const float> parameters, std::ostream& out);

}  // namespace sotto::server

#endif  // SOTTO_CLI_OUTPUT_FILE_H_
