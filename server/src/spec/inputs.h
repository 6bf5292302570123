// The files that a run reads, by their content and not by their name. Part of sotto::server/spec.
//
// A row of a table of options says that it names files: NamesFiles() of sotto/options/field.h. From
// the rows follow the inputs of a run: what no output may replace, and what a later run compares.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace sotto::server {

// What an option names.
struct NamedInput {
  std::string option;  // without dashes
  std::string text;    // as the user gave it: FILE, FILE:KEY=VALUE, file:PATH, fashion-mnist
};

// What the rows of a table name in a request, in their order.
template <class Row, class Request>
std::vector<NamedInput> InputsNamedIn(const std::vector<Row>& fields, const Request& request) {
  std::vector<NamedInput> inputs;
  for (const Row& field : fields) {
    if (!field.is_option() || !field.input) continue;
    if (std::string text = field.input(request); !text.empty()) {
      inputs.push_back({field.name, std::move(text)});
    }
  }
  return inputs;
}

// The regular files that a text names: of a folder with a data set its files, and files among the
// options behind a FILE. Empty for what is no file, such as the name of a model.
std::vector<std::string> FilesNamedBy(const std::string& text);

// The texts alone.
std::vector<std::string> TextsOf(const std::vector<NamedInput>& inputs);

// What an option named, and the SHA-256 of the content in hexadecimal digits. Of several files it
// is the SHA-256 of their digests, a line each, in the order of FilesNamedBy().
struct InputDigest {
  std::string text;
  std::string sha256;
};

// By option. What names no file is not there.
using InputDigests = std::map<std::string, InputDigest>;

// {"data": {"text": "x.csv", "sha256": "..."}}, as results, states and logs of runs have it, and
// back. The way back throws nlohmann::json's exceptions.
nlohmann::ordered_json InputsToJson(const InputDigests& inputs);
InputDigests InputsFromJson(const nlohmann::ordered_json& json);

// SHA-256 of the content of one file, in hexadecimal digits. Throws std::runtime_error for a file
// that cannot be read.
std::string FileSha256(const std::string& path);

// Reads each file once in its life. Thread-safe.
class InputReader {
 public:
  // Throws std::runtime_error for a file that cannot be read.
  InputDigests Read(const std::vector<NamedInput>& inputs);

 private:
  const std::string& DigestOf(const std::string& path);

  std::mutex mutex_;
  std::map<std::string, std::string> digests_;  // by path
};

// An input that has another content now.
struct ChangedInput {
  std::string option;
  InputDigest was;
  InputDigest is;

  // "--data x.csv has another content: its SHA-256 was AB and is CD"
  std::string Describe() const;
};

// The first input that both runs name and that has changed. That an option names something else is
// for the comparison of options.
std::optional<ChangedInput> FirstChangedInput(const InputDigests& was, const InputDigests& is);

}  // namespace sotto::server
