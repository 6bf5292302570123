#include "cli/output_file.h"

#include <cerrno>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include "sotto/bytes.h"

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

// Before the file is opened: opening a named pipe would wait, closing one would end it.
void RequireKind(const Output& output) {
  struct stat info {};
  if (stat(output.path.c_str(), &info) != 0) {
    struct stat link {};
    if (lstat(output.path.c_str(), &link) != 0) return;  // a new file
    Refuse(output, "it is a link to nothing that is there");
  }
  if (S_ISDIR(info.st_mode)) Refuse(output, "it is a folder");
  if (S_ISFIFO(info.st_mode)) Refuse(output, "it is a named pipe, not a regular file");
  if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode)) Refuse(output, "it is no regular file");
}

void RequireNothingPrecious(const Output& output) {
  if (!IsRegularFile(output.path)) return;
  if (access(output.path.c_str(), R_OK) != 0) {
    Refuse(output, "it exists and cannot be read, so it may be a store or a key");
  }
  for (const Precious& precious : kPrecious) {
    if (BeginsWith(output.path, precious.beginning)) {
      Refuse(output, fmt::format("it is {}, and would be lost", precious.what));
    }
  }
}

}  // namespace

Output JsonOutput(const std::string& path, Readers readers) {
  return {"--json", path, readers, true};
}

OutputFile::OutputFile(const Output& output) : output_(output) {
  RequireKind(output);
  RequireNothingPrecious(output);
  RequireNoStoreFile(output, "");
  is_new_ = access(output.path.c_str(), F_OK) != 0;
  const mode_t mode = output.readers == Readers::kOwner ? 0600 : 0666;
  descriptor_ = open(output.path.c_str(),
                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
  if (descriptor_ < 0 || fstat(descriptor_, &info_) != 0) {
    throw std::runtime_error(
        fmt::format("{}: cannot write {}: {}; check that its folder exists and is writable",
                    output.option, output.path, std::generic_category().message(errno)));
  }
  fcntl(descriptor_, F_SETFL, O_APPEND);  // writing may wait
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (is_new_ && !is_finished_) unlink(output_.path.c_str());
}

bool OutputFile::WriteAll(const std::string& text) const {
  // What is not a regular file has no contents to remove.
  if (S_ISREG(info_.st_mode) && ftruncate(descriptor_, 0) != 0) return false;
  for (size_t written = 0; written < text.size();) {
    const ssize_t put = write(descriptor_, text.data() + written, text.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    written += static_cast<size_t>(put);
  }
  return true;
}

void OutputFile::Finish() {
  const bool is_written = WriteAll(text_.str());
  const bool is_closed = close(descriptor_) == 0;
  descriptor_ = -1;
  is_finished_ = true;
  if (is_written && is_closed) return;
  throw std::runtime_error(
      fmt::format("{}: writing {} failed: is the disk full?", output_.option, output_.path));
}

bool OutputFile::IsSameFile(const OutputFile& other) const {
  return S_ISREG(info_.st_mode) && info_.st_dev == other.info_.st_dev &&
         info_.st_ino == other.info_.st_ino;
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

void RequireOutputs(const std::vector<Output>& outputs, const std::string& store) {
  std::deque<OutputFile> files;
  std::deque<const char*> options;
  for (const Output& output : outputs) {
    if (output.path.empty() || (output.may_be_standard_output && output.path == "-")) continue;
    if (output.path == "-") Refuse(output, "it does not go to standard output");
    RequireNoStoreFile(output, store);
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

void WriteParameters(Span<const float> parameters, std::ostream& out) {
  for (const float value : parameters) {
    uint8_t bytes[4];
    StoreU32Le(FloatBits(value), bytes);
    out.write(reinterpret_cast<const char*>(bytes), sizeof(bytes));
  }
}

}  // namespace sotto::server
