// Output files of a command, and the results that it writes there. Part of sotto::server/views.
//
// An output never replaces what it must not. Before its work a command gives all its outputs, and
// its store, to RequireOutputs(); OutputFile checks each one again when it is written. Refused are
//   - the store, and the files that SQLite keeps beside it, under whatever name, link or path
//   - any store, key file, header with a secret or mark, known by its first bytes
//   - a name beside any store that SQLite would take as its own, such as fleet.db-journal
//   - two outputs in one file
//   - a file that the command reads: samples, a model, parameters
//   - folders, named pipes (whose opening would wait for a reader), sockets and disks.
// Regular files are fine, and character devices such as /dev/null. Not thread-safe.
#pragma once

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "sotto/posix/output_descriptor.h"
#include "sotto/span.h"

namespace sotto::server {

// Who may read an output that is a new file. A file that exists keeps its mode.
enum class Readers {
  kAll,    // whom the umask lets
  kOwner,  // mode 0600: it tells who took part
};

// A file that a command writes, as the user named it.
struct Output {
  const char* option;  // that names it, for messages: "--json"
  std::string path;    // empty: the user wants no such file
  Readers readers = Readers::kAll;
  bool may_be_standard_output = false;  // "-" stands for it
};

// The output of --json.
Output JsonOutput(const std::string& path, Readers readers = Readers::kAll);

// An output file. The constructor opens it, so a wrong path fails before hours of work, and changes
// nothing in a file that exists: its contents are replaced by Finish(). Without that the destructor
// removes a file that the constructor created.
class OutputFile {
 public:
  // Throws std::invalid_argument for a file that is refused, see above, and std::runtime_error if
  // it cannot be opened for writing.
  explicit OutputFile(const Output& output);

  // Collects the new contents in memory.
  std::ostream& stream() { return text_; }

  // Throws std::runtime_error if not all data was written.
  void Finish();

  // True if both write to one regular file. Two outputs may share a device such as /dev/null.
  bool IsSameFile(const OutputFile& other) const { return file_->IsSameFile(*other.file_); }

 private:
  Output output_;
  std::unique_ptr<posix::OutputDescriptor> file_;
  std::ostringstream text_;
};

// Checks the outputs of a command; leaves nothing behind.
//   outputs  all of them; those with an empty path count for nothing
//   store    of the command, or empty; need not exist
//   inputs   what the command reads, as the user named it: a path, FILE:KEY=VALUE of samples, whose
//            values may be files, too, or file:PATH of a partition. What is no file, such as the
//            name of a model, is fine
// Throws as OutputFile does, and std::invalid_argument for "-" where it is not offered.
void RequireOutputs(const std::vector<Output>& outputs, const std::string& store = "",
                    const std::vector<std::string>& inputs = {});

// The same for a command whose only output is --json.
void RequireOutput(const std::string& json, const std::string& store = "");

// Throws std::invalid_argument if the output is the store, or has the name of a file that SQLite
// keeps beside this store or any other.
void RequireNoStoreFile(const Output& output, const std::string& store);

// Writes a text to an output, if it has a path. Throws as OutputFile does.
void WriteOutput(const Output& output, const std::string& text);

// Writes the parameters of a model as float32, little-endian, if the output has a path. Throws as
// OutputFile does, and std::runtime_error if there is no model.
void WriteModel(const Output& output, Span<const float> parameters);

// Where text for people goes: to standard output, or to standard error if --json selects that.
std::FILE* TextStream(const std::string& json_path);

// Writes to the file of --json, as OutputFile does, to standard output for "-", or nowhere for an
// empty path. Throws std::runtime_error if the write fails.
void WriteJson(const std::string& path, const nlohmann::ordered_json& json,
               Readers readers = Readers::kAll);

// Prints the results for people and writes them as JSON.
void PrintResults(const std::string& json_path, const std::string& text,
                  const nlohmann::ordered_json& json, Readers readers = Readers::kAll);

}  // namespace sotto::server
