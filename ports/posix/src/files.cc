#include "sotto/posix/files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "sotto/bytes.h"

namespace sotto::posix {
namespace {

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

constexpr char kCheckFolder[] = "check that its folder exists and is writable";
constexpr char kCheckDisk[] = "check that the disk has space left";

[[noreturn]] void Fail(const std::string& path, const std::string& what) {
  throw FileError(path + ": " + what);
}

// Throws the error that `what` failed, with the reason in errno.
[[noreturn]] void FailErrno(const std::string& path, const char* what, const char* advice) {
  const int error = errno;
  ThrowFileError(path + ": " + what + ": " + std::generic_category().message(error) + "; " +
                     AdviceFor(error, advice),
                 error);
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

// Without O_NONBLOCK, opening a named pipe would wait for its writer.
int OpenForReading(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

std::string Octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof(text), "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

void RequirePrivate(const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode)) Fail(path, "this is not a regular file; name another one");
  if ((info.st_mode & kOthers) != 0) {
    Fail(path, "it holds secrets, and its mode " + Octal(info.st_mode) +
                   " lets others at them; run `chmod 600 " + path + "`");
  }
}

struct stat Inspect(const File& file, const std::string& path) {
  struct stat info {};
  if (fstat(file.descriptor(), &info) != 0) FailErrno(path, "cannot inspect it", kCheckFolder);
  return info;
}

// Reads a file of `most` bytes or fewer. The text is allocated once: it may be a secret.
void ReadAll(const File& file, const std::string& path, size_t most, std::string& content) {
  // A pipe has no size.
  const auto there = static_cast<size_t>(std::max<off_t>(Inspect(file, path).st_size, 0));
  const size_t fits = std::min(most, std::max(there, kMaxSmallFile));
  content.reserve(fits + 1);
  content.resize(fits + 1);
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = read(file.descriptor(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) FailErrno(path, "cannot read it", "check that it is a readable file");
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > fits) Fail(path, "too long for what is expected here; name another file");
  content.resize(size);
}

void WriteAll(const File& file, const std::string& path, const std::string& content) {
  for (size_t written = 0; written < content.size();) {
    const ssize_t put =
        write(file.descriptor(), content.data() + written, content.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) FailErrno(path, "cannot write it", kCheckDisk);
    written += static_cast<size_t>(put);
  }
}

// Makes a new or changed name durable.
void SyncFolder(const std::string& path) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  const File file(open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  // Some file systems cannot sync a folder and return EINVAL, which is ignored.
  if (!file.is_open() || (fsync(file.descriptor()) != 0 && errno != EINVAL)) {
    FailErrno(path, "cannot make its name durable", kCheckDisk);
  }
}

constexpr char kPattern[] = ".XXXXXX";
constexpr char kPart[] = ".part";

// A new file beside `target`. It is locked: so RemoveLeftovers() knows it from one that a killed
// process left. Before it is locked another process may remove it: then there is a next one.
int CreatePart(const std::string& target, std::string* name) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    *name = target + kPattern + kPart;
    const int descriptor = mkostemps(name->data(), sizeof(kPart) - 1, O_CLOEXEC);
    if (descriptor < 0) FailErrno(target, "cannot create it", kCheckFolder);
    struct stat info {};
    flock(descriptor, LOCK_EX);  // where there are no locks, nobody takes it for a leftover
    if (fstat(descriptor, &info) == 0 && info.st_nlink > 0) return descriptor;
    close(descriptor);
  }
  errno = EAGAIN;
  FailErrno(target, "cannot create it", kCheckFolder);
}

// A complete, durable file beside `target`, removed by the destructor.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& target, const std::string& content, mode_t mode = kOwnerOnly)
      : file_(CreatePart(target, &name_)) {
    try {
      WriteAll(file_, target, content);
      if (fchmod(file_.descriptor(), mode) != 0 || fsync(file_.descriptor()) != 0) {
        FailErrno(target, "cannot make it durable", kCheckDisk);
      }
    } catch (...) {
      unlink(name_.c_str());
      throw;
    }
  }
  // After a rename no file has this name, and unlink() fails harmlessly.
  ~TemporaryFile() { unlink(name_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const char* name() const { return name_.c_str(); }

 private:
  std::string name_;
  const File file_;
};

constexpr char kParts[] = "sotto-part.";

// A new folder in `folder`, locked as a file of CreatePart() is.
int CreateParts(const std::string& folder, std::string* name) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    *name = folder + "/" + kParts + "XXXXXX";
    if (mkdtemp(name->data()) == nullptr) FailErrno(folder, "cannot create a file", kCheckFolder);
    File parts(open(name->c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (!parts.is_open()) continue;
    flock(parts.descriptor(), LOCK_EX);
    struct stat held {};
    struct stat named {};
    if (fstat(parts.descriptor(), &held) == 0 && lstat(name->c_str(), &named) == 0 &&
        held.st_ino == named.st_ino) {
      return parts.Release();
    }
  }
  errno = EAGAIN;
  FailErrno(folder, "cannot create a file", kCheckFolder);
}

bool IsPartsName(const std::string& name) {
  constexpr size_t kStart = sizeof(kParts) - 1;
  return name.size() == kStart + 6 && name.compare(0, kStart, kParts) == 0 &&
         std::all_of(name.begin() + kStart, name.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

// Returns how many files there were.
size_t RemovePartsIfUnlocked(const std::string& path) {
  namespace fs = std::filesystem;
  const File parts(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW));
  if (!parts.is_open() || flock(parts.descriptor(), LOCK_EX | LOCK_NB) != 0) return 0;
  std::error_code failed;
  const std::uintmax_t removed = fs::remove_all(path, failed);
  return failed || removed == 0 ? 0 : static_cast<size_t>(removed) - 1;
}

constexpr char kNeverOverwritten[] = "a key is never overwritten: remove it or name another";

void RequireFree(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return;
  errno = EEXIST;
  FailErrno(path, "cannot create it", kNeverOverwritten);
}

// A link, unlike a rename, fails if the name is taken.
void NameFile(const char* part, const std::string& path) {
  if (link(part, path.c_str()) != 0) FailErrno(path, "cannot create it", kNeverOverwritten);
  SyncFolder(path);
}

// Whether `name` is one that CreatePart() gives a file beside `target`.
bool IsTemporaryOf(const std::string& target, const std::string& name) {
  const size_t random = target.size() + 1;  // behind the dot
  const size_t part = target.size() + sizeof(kPattern) - 1;
  if (name.size() != part + sizeof(kPart) - 1 || name[target.size()] != '.') return false;
  return name.compare(0, target.size(), target) == 0 && name.compare(part, name.npos, kPart) == 0 &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(random),
                     name.begin() + static_cast<std::ptrdiff_t>(part),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

void RemoveIfUnlocked(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.is_open() && flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
}

void Replace(const std::string& path, const std::string& content, mode_t mode) {
  RequireRegularFile(path);
  const TemporaryFile file(path, content, mode);
  if (rename(file.name(), path.c_str()) != 0) FailErrno(path, "cannot replace it", kCheckFolder);
  SyncFolder(path);
}

}  // namespace

void ThrowFileError(const std::string& message, int error) {
  constexpr int kOfTheMachine[] = {ENOSPC, EDQUOT, EIO, ENOMEM, EMFILE, ENFILE, EAGAIN};
  const bool may_pass = std::find(std::begin(kOfTheMachine), std::end(kOfTheMachine), error) !=
                        std::end(kOfTheMachine);
  if (may_pass) throw std::runtime_error(message);
  throw FileError(message);
}

const char* AdviceFor(int error, const char* otherwise) {
  struct Row {
    int error;
    const char* advice;
  };
  constexpr Row kTable[] = {
      {ENOSPC, "make room on this disk, or name a file on another one"},
      {EDQUOT, "your share of this disk is used up: remove files, or name one on another disk"},
      {EROFS, "nothing can be written to this disk: name a file on another one"},
      {EIO, "the disk fails: look into the system's log, and save what is on it"},
      {EMFILE, "this process has too many files open: raise `ulimit -n`"},
      {ENFILE, "the system has too many files open: end other programs, or raise fs.file-max"},
      {ENAMETOOLONG, "choose a shorter name"},
      {EISDIR, "this is a folder: name a file in it"},
  };
  for (const Row& row : kTable) {
    if (row.error == error) return row.advice;
  }
  return otherwise;
}

SecretText::~SecretText() { SecureWipe(text.data(), text.size()); }

void RequirePrivateFile(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) FailErrno(path, "cannot inspect it", "check its name");
  RequirePrivate(info, path);
}

void RequireRegularFile(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return;
  throw std::invalid_argument(path + (S_ISDIR(info.st_mode)
                                          ? ": this is a folder; name a file"
                                          : ": this is not a regular file; name another one"));
}

bool CreatePrivateFile(const std::string& path) {
  const File file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (!file.is_open()) {
    if (errno == EEXIST) return false;
    FailErrno(path, "cannot create it", kCheckFolder);
  }
  SyncFolder(path);
  return true;
}

void MakePrivateFolder(const std::string& name) {
  std::string path = name;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::error_code ignored;
  const std::filesystem::path above = std::filesystem::path(path).parent_path();
  if (!above.empty()) std::filesystem::create_directories(above, ignored);
  if (mkdir(path.c_str(), S_IRWXU) == 0) return;
  if (errno != EEXIST) FailErrno(path, "cannot create it", kCheckFolder);
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) FailErrno(path, "cannot inspect it", "check its name");
  if (!S_ISDIR(info.st_mode)) Fail(path, "this is not a folder; name another one");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0) {
    Fail(path, "it is for secrets, and its mode " + Octal(info.st_mode) +
                   " lets others change it; run `chmod 700 " + path + "`");
  }
}

SecretText ReadSecretFile(const std::string& path) {
  const File file(OpenForReading(path));
  if (!file.is_open()) FailErrno(path, "cannot open it", "check its name and its owner");
  RequirePrivate(Inspect(file, path), path);
  SecretText secret;
  ReadAll(file, path, kMaxSmallFile, secret.text);
  return secret;
}

std::optional<size_t> ReadPrivateFileAt(const std::string& path, size_t offset,
                                        MutableByteSpan out) {
  const File file(OpenForReading(path));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  if (!file.is_open()) FailErrno(path, "cannot open it", "check its name and its owner");
  RequirePrivate(Inspect(file, path), path);
  size_t size = 0;
  while (size < out.size()) {
    const ssize_t got = pread(file.descriptor(), out.data() + size, out.size() - size,
                              static_cast<off_t>(offset + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) FailErrno(path, "cannot read it", "check that it is a readable file");
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  return size;
}

void WriteSecretFile(const std::string& path, const std::string& content) {
  const TemporaryFile file(path, content);
  NameFile(file.name(), path);
}

PendingFile::PendingFile(const std::string& path, const std::string& content, Taken taken)
    : path_(path), taken_(taken) {
  if (taken == Taken::kRefused) RequireFree(path);
  RemoveLeftovers(path);
  File file(CreatePart(path, &part_));
  try {
    WriteAll(file, path, content);
    if (fsync(file.descriptor()) != 0) FailErrno(path, "cannot make it durable", kCheckDisk);
  } catch (...) {
    unlink(part_.c_str());
    throw;
  }
  descriptor_ = file.Release();
}

PendingFile::~PendingFile() {
  unlink(part_.c_str());
  close(descriptor_);
}

void PendingFile::Publish() {
  if (taken_ == Taken::kRefused) return NameFile(part_.c_str(), path_);
  if (rename(part_.c_str(), path_.c_str()) != 0)
    FailErrno(path_, "cannot replace it", kCheckFolder);
  SyncFolder(path_);
}

PendingFiles::PendingFiles(std::string folder) : folder_(std::move(folder)) {
  MakePrivateFolder(folder_);
  descriptor_ = CreateParts(folder_, &parts_);
}

PendingFiles::~PendingFiles() {
  for (const std::string& name : names_) unlink(Part(name).c_str());
  rmdir(parts_.c_str());
  close(descriptor_);
}

size_t PendingFiles::RemoveLeftovers(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (IsPartsName(entry->path().filename().string())) found.push_back(entry->path().string());
  }
  size_t files = 0;
  for (const std::string& path : found) files += RemovePartsIfUnlocked(path);
  return files;
}

std::string PendingFiles::Target(const std::string& name) const {
  return (std::filesystem::path(folder_) / name).string();
}

std::string PendingFiles::Part(const std::string& name) const { return parts_ + "/" + name; }

void PendingFiles::Add(const std::string& name, const std::string& content) {
  const std::string target = Target(name);
  RequireFree(target);
  const File file(open(Part(name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (!file.is_open()) FailErrno(target, "cannot create it", kCheckFolder);
  names_.push_back(name);
  WriteAll(file, target, content);
  if (fsync(file.descriptor()) != 0) FailErrno(target, "cannot make it durable", kCheckDisk);
}

void PendingFiles::Publish() {
  for (const std::string& name : names_) {
    const std::string target = Target(name);
    if (link(Part(name).c_str(), target.c_str()) != 0) {
      FailErrno(target, "cannot create it", kNeverOverwritten);
    }
  }
  SyncFolder(Target("any"));
}

std::optional<std::string> ReadTextFile(const std::string& path, size_t most) {
  const File file(OpenForReading(path));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  if (!file.is_open()) FailErrno(path, "cannot open it", "check its owner and its mode");
  std::string content;
  ReadAll(file, path, most, content);
  return content;
}

void ReplaceTextFile(const std::string& path, const std::string& content) {
  struct stat former {};
  const bool is_there = stat(path.c_str(), &former) == 0;
  Replace(path, content, is_there ? former.st_mode & 0777 : kOwnerOnly);
}

void ReplacePrivateFile(const std::string& path, const std::string& content) {
  Replace(path, content, kOwnerOnly);
}

void ReplacePassingFile(const std::string& path, const std::string& content) {
  const std::string part = path + kPart;
  unlink(part.c_str());
  const File file(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (!file.is_open()) FailErrno(path, "cannot create it", kCheckFolder);
  WriteAll(file, path, content);
  if (rename(part.c_str(), path.c_str()) != 0) FailErrno(path, "cannot replace it", kCheckFolder);
}

void RemoveLeftovers(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path target(path);
  const std::string name = target.filename().string();
  std::error_code error;
  fs::directory_iterator entry(target.has_parent_path() ? target.parent_path() : fs::path("."),
                               error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (IsTemporaryOf(name, entry->path().filename().string())) {
      RemoveIfUnlocked(entry->path().string());
    }
  }
}

std::vector<std::string> OtherLeftovers(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr size_t kTail = sizeof(kPattern) + sizeof(kPart) - 2;
  const fs::path folder = fs::path(path).parent_path();
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(folder.empty() ? fs::path(".") : folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() <= kTail) continue;
    if (!IsTemporaryOf(name.substr(0, name.size() - kTail), name)) continue;
    const std::string each = entry->path().string();
    const File file(open(each.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    if (file.is_open() && flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) found.push_back(each);
  }
  std::sort(found.begin(), found.end());
  return found;
}

void RequireReplaceable(const std::string& path) {
  RequireRegularFile(path);
  RemoveLeftovers(path);
  const TemporaryFile file(path, "");
}

}  // namespace sotto::posix
