#include "views/output_file.h"

#include <cerrno>
#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_text.h"
#include "sotto/bytes.h"
#include "sotto/posix/files.h"
#include "spec/inputs.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

// Of the files that SQLite keeps beside a database.
constexpr const char* kStoreSuffixes[] = {"-journal", "-wal", "-shm"};

constexpr std::string_view kStoreBeginning("SQLite format 3\0", 16);

// What a file begins with that no output replaces.
struct Precious {
  std::string_view beginning;
  const char* what;
};

constexpr Precious kPrecious[] = {
    {kStoreBeginning, "a store (or another SQLite database)"},
    {"sotto-key ", "a device's key file"},
    {"// SECRET: ", "a header with a device's secret"},
    {"sotto-mark ", "the mark of a device"},
};

[[noreturn]] void Refuse(const Output& output, const std::string& why) {
  throw std::invalid_argument(
      fmt::format("{}: cannot write {}: {}; name another file", output.option, output.path, why));
}

// Links are followed and need not lead to anything yet.
fs::path Resolved(const std::string& path) {
  std::error_code failed;
  fs::path resolved = fs::weakly_canonical(fs::absolute(path, failed), failed);
  return failed ? fs::path(path) : resolved;
}

bool BeginsWith(const std::string& path, std::string_view beginning) {
  std::ifstream file(path, std::ios::binary);
  std::string head(beginning.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return file && head == beginning;
}

bool IsRegularFile(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

bool IsSame(const std::string& path, const fs::path& other) {
  std::error_code failed;
  return Resolved(path) == other || fs::equivalent(path, other, failed);
}

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Before the file is opened.
void RequireKind(const Output& output) {
  switch (posix::KindOfFile(output.path)) {
    case posix::FileKind::kNothing:
    case posix::FileKind::kRegular:
    case posix::FileKind::kCharacterDevice:
      return;
    case posix::FileKind::kBrokenLink:
      Refuse(output, "it is a link to nothing that is there");
    case posix::FileKind::kFolder:
      Refuse(output, "it is a folder");
    case posix::FileKind::kNamedPipe:
      Refuse(output, "it is a named pipe, not a regular file");
    case posix::FileKind::kOther:
      Refuse(output, "it is no regular file");
  }
}

void RequireNothingPrecious(const Output& output) {
  if (!IsRegularFile(output.path)) return;
  if (!posix::MayRead(output.path)) {
    Refuse(output, "it exists and cannot be read, so it may be a store or a key");
  }
  for (const Precious& precious : kPrecious) {
    if (BeginsWith(output.path, precious.beginning)) {
      Refuse(output, fmt::format("it is {}, and would be lost", precious.what));
    }
  }
}

// The files that the texts of inputs name.
std::vector<std::string> FilesOf(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    for (std::string& file : FilesNamedBy(input)) files.push_back(std::move(file));
  }
  return files;
}

void RequireNoInput(const Output& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (!IsRegularFile(input) || !IsSame(output.path, Resolved(input))) continue;
    Refuse(output, "the command reads it, and it would be lost");
  }
}

bool IsStandardOutput(const std::string& path) { return path == "-"; }

}  // namespace

Output JsonOutput(const std::string& path, Readers readers) {
  return {"--json", path, readers, true};
}

OutputFile::OutputFile(const Output& output) : output_(output) {
  RequireKind(output);
  RequireNothingPrecious(output);
  RequireNoStoreFile(output, "");
  try {
    const bool is_private = output.readers == Readers::kOwner;
    file_ = std::make_unique<posix::OutputDescriptor>(output.path, is_private);
  } catch (const std::system_error& error) {
    throw std::runtime_error(fmt::format(
        "{}: cannot write {}: {}; {}", output.option, output.path, error.code().message(),
        posix::AdviceFor(error.code().value(), "check that its folder exists and is writable")));
  }
}

void OutputFile::Finish() {
  const int error = file_->Replace(text_.str());
  if (error == 0) return;
  throw std::runtime_error(fmt::format("{}: cannot write {}: {}; {}", output_.option, output_.path,
                                       std::generic_category().message(error),
                                       posix::AdviceFor(error, "name another file")));
}

void RequireNoStoreFile(const Output& output, const std::string& store) {
  if (!store.empty() && IsSame(output.path, Resolved(store))) Refuse(output, "it is the store");
  const std::string resolved = Resolved(output.path).string();
  for (const std::string suffix : kStoreSuffixes) {
    const bool is_of_this = !store.empty() && IsSame(output.path, Resolved(store) += suffix);
    const std::string owner =
        EndsWith(resolved, suffix) ? resolved.substr(0, resolved.size() - suffix.size()) : "";
    if (is_of_this || (IsRegularFile(owner) && BeginsWith(owner, kStoreBeginning))) {
      Refuse(output, "SQLite takes it as a part of the store of this name without " + suffix);
    }
  }
}

void RequireOutputs(const std::vector<Output>& outputs, const std::string& store,
                    const std::vector<std::string>& inputs) {
  const std::vector<std::string> read = FilesOf(inputs);
  std::deque<OutputFile> files;
  std::deque<const char*> options;
  for (const Output& output : outputs) {
    if (output.path.empty() || (output.may_be_standard_output && output.path == "-")) continue;
    if (output.path == "-") Refuse(output, "it does not go to standard output");
    RequireNoStoreFile(output, store);
    RequireNoInput(output, read);
    const OutputFile& file = files.emplace_back(output);
    for (size_t i = 0; i < options.size(); ++i) {
      if (file.IsSameFile(files[i])) Refuse(output, fmt::format("{} names it, too", options[i]));
    }
    options.push_back(output.option);
  }
}

void RequireOutput(const std::string& json, const std::string& store) {
  RequireOutputs({JsonOutput(json)}, store);
}

void WriteOutput(const Output& output, const std::string& text) {
  if (output.path.empty()) return;
  OutputFile file(output);
  file.stream() << text;
  file.Finish();
}

void WriteModel(const Output& output, Span<const float> parameters) {
  if (output.path.empty()) return;
  if (parameters.empty()) {
    throw std::runtime_error(std::string(output.option) +
                             ": there is no such model: the job released none");
  }
  const std::vector<uint8_t> bytes = BytesOf(parameters);
  WriteOutput(output, {bytes.begin(), bytes.end()});
}

std::FILE* TextStream(const std::string& json_path) {
  return IsStandardOutput(json_path) ? stderr : stdout;
}

void WriteJson(const std::string& path, const nlohmann::ordered_json& json, Readers readers) {
  if (path.empty()) return;
  const std::string text = JsonText(json, 2) + "\n";
  if (IsStandardOutput(path)) {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!is_written || std::fflush(stdout) != 0) {
      const int error = errno;
      throw std::runtime_error(fmt::format("writing the JSON to standard output failed: {}; {}",
                                           std::generic_category().message(error),
                                           posix::AdviceFor(error, "read its output to the end")));
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
