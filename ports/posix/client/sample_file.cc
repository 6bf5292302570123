#include "sample_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "sotto/options/kept_lines.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/files.h"
#include "sotto/posix/kept_file.h"

namespace sotto::posix {
namespace {

constexpr size_t kHeadSize = 4096;
constexpr uint32_t kRingPages = 17;  // one is being filled, so 16 are whole
constexpr uint64_t kMostFile = uint64_t{1} << 30;
constexpr uint64_t kMostNumbers = uint64_t{1} << 26;  // of a window
constexpr uint8_t kErased = 0xff;

constexpr KeptFormat kSamplesFormat = {
    "sotto-samples",
    1,
    "file of recorded samples",
    "this is not what --record writes; name another file with --sample-log",
    "remove it and record anew",
    kHeadSize};

uint64_t FileSize(const SampleFileInfo& info) {
  return kHeadSize + uint64_t{info.pages} * info.page_size;
}

std::string HeadOf(const SampleFileInfo& info) {
  std::string body = fmt::format(
      "axes {}\nwindow {}\nhop {}\nelement {}\nscale {}\npages {}\npage-size {}\nfiller ",
      info.axes, info.window, info.hop, NameOf(info.element), info.scale, info.pages,
      info.page_size);
  const size_t others = KeptText(kSamplesFormat, body).text.size() - body.size();
  body.resize(kHeadSize - others - 1, '.');
  body += '\n';
  return KeptText(kSamplesFormat, body).text;
}

// Whether a log can have these pages.
bool IsPossible(const SampleFileInfo& info) {
  const bool has_window = info.axes > 0 && info.window > 0 && info.hop > 0 &&
                          uint64_t{info.axes} * info.window <= kMostNumbers;
  const bool has_pages = info.pages >= 3 && info.pages <= 0xffff && info.page_size > 0 &&
                         info.page_size % kProgramUnit == 0 && FileSize(info) <= kMostFile;
  return has_window && has_pages && std::isfinite(info.scale) && info.scale > 0 &&
         info.LogConfig().SlotsOf(info.page_size) > 0;
}

SampleFileInfo ParseHead(std::string_view text) {
  KeptLines lines(kSamplesFormat, KeptBody(kSamplesFormat, text));
  SampleFileInfo info;
  info.axes = lines.Number("axes");
  info.window = lines.Number("window");
  info.hop = lines.Number("hop");
  const std::string element(lines.Value("element"));
  const auto& names = SampleElementNames();
  if (std::find(names.begin(), names.end(), element) == names.end()) lines.Refuse("element");
  info.element = SampleElementOf(element);
  info.scale = static_cast<float>(ParseReal(lines.Value("scale")).value_or(0));
  info.pages = lines.Number("pages");
  info.page_size = lines.Number("page-size");
  (void)lines.Value("filler");
  if (!lines.is_at_end()) lines.Refuse("filler");
  if (!IsPossible(info)) RefuseKept(kSamplesFormat, "its numbers do not go together");
  return info;
}

[[noreturn]] void FailAt(const std::string& path, int error) {
  ThrowFileError(fmt::format("{}: {}; {}", path, std::strerror(error),
                             AdviceFor(error, "check that the file is yours")),
                 error);
}

// An open file, closed at the end.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : path_(path) {
    RequireRegularFile(path);
    descriptor_ = open(path.c_str(), flags | O_CLOEXEC);
    if (descriptor_ >= 0) return;
    if (errno != ENOENT) FailAt(path, errno);
    throw FileError(
        fmt::format("{}: there is no such file; `sotto-client --record --sample-log {} "
                    "--axes N --window N` begins it",
                    path, path));
  }
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }
  int Take() { return std::exchange(descriptor_, -1); }

  // False: the file ends before.
  bool ReadAt(uint64_t offset, void* out, size_t size) const {
    auto* at = static_cast<char*>(out);
    while (size > 0) {
      const ssize_t got = pread(descriptor_, at, size, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) FailAt(path_, errno);
      if (got == 0) return false;
      at += got;
      offset += static_cast<uint64_t>(got);
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  SampleFileInfo ReadHead() const {
    std::string text(kHeadSize, '\0');
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) FailAt(path_, errno);
    const auto size = static_cast<uint64_t>(status.st_size);
    text.resize(static_cast<size_t>(std::min<uint64_t>(kHeadSize, size)));
    try {
      if (!ReadAt(0, text.data(), text.size())) text.clear();
      const SampleFileInfo info = ParseHead(text);
      if (size != FileSize(info)) {
        RefuseKept(kSamplesFormat,
                   fmt::format("it has {} bytes, and {} in its head", size, FileSize(info)));
      }
      return info;
    } catch (const FileError& error) {
      throw FileError(path_ + ": " + error.what());
    }
  }

 private:
  const std::string& path_;
  int descriptor_ = -1;
};

}  // namespace

const std::vector<std::string>& SampleElementNames() {
  static const auto& names = *new std::vector<std::string>{"float32", "int16", "uint8"};
  return names;
}

SampleElement SampleElementOf(const std::string& name) {
  if (name == "int16") return SampleElement::kInt16;
  return name == "uint8" ? SampleElement::kByte : SampleElement::kFloat32;
}

const std::string& NameOf(SampleElement element) {
  const size_t index = element == SampleElement::kInt16  ? 1
                       : element == SampleElement::kByte ? 2
                                                         : 0;
  return SampleElementNames()[index];
}

SampleLogConfig SampleFileInfo::LogConfig() const {
  SampleLogConfig config;
  config.pages = pages;
  config.shape = nn::ShapeOf(window, axes);
  config.element = element;
  config.scale = scale;
  config.reserve_pages = 0;  // who reads has a copy, and holds nobody up
  return config;
}

void SetCapacity(uint32_t capacity, SampleFileInfo* info) {
  info->pages = kRingPages;
  if (uint64_t{info->axes} * info->window > kMostNumbers) {
    throw std::invalid_argument(
        fmt::format("--window {}: with --axes {} a window has more than {} "
                    "numbers; name a smaller one",
                    info->window, info->axes, kMostNumbers));
  }
  const uint64_t slot = info->LogConfig().SlotBytes();
  const uint64_t slots = (uint64_t{capacity} + kRingPages - 2) / (kRingPages - 1);
  const uint64_t page_size = kProgramUnit + slots * slot;
  if (kHeadSize + kRingPages * page_size > kMostFile) {
    throw std::invalid_argument(fmt::format(
        "--capacity {}: windows of {} bytes would take more than 1 GB; name fewer, or a smaller "
        "--element",
        capacity, slot));
  }
  info->page_size = static_cast<uint32_t>(page_size);
}

void MakeSampleFile(const std::string& path, const SampleFileInfo& info) {
  std::string content = HeadOf(info);
  content.resize(static_cast<size_t>(FileSize(info)), static_cast<char>(kErased));
  PendingFile(path, content).Publish();
}

SampleFileCopy::SampleFileCopy(const std::string& path) {
  const OpenFile file(path, O_RDONLY);
  info_ = file.ReadHead();
  pages_.resize(static_cast<size_t>(FileSize(info_) - kHeadSize));
  if (!file.ReadAt(kHeadSize, pages_.data(), pages_.size())) FailAt(path, EIO);
}

PageMemory SampleFileCopy::memory() {
  PageMemory memory;
  memory.read = Read;
  memory.erase = [](void*, uint32_t) { return Status::kStoreFailed; };
  memory.program = [](void*, uint32_t, size_t, ByteSpan) { return Status::kStoreFailed; };
  memory.context = this;
  memory.page_size = info_.page_size;
  memory.erased = kErased;
  return memory;
}

Status SampleFileCopy::Read(void* context, uint32_t page, size_t offset, MutableByteSpan out) {
  const auto* const self = static_cast<const SampleFileCopy*>(context);
  const size_t begin = size_t{page} * self->info_.page_size + offset;
  std::copy_n(self->pages_.data() + begin, out.size(), out.begin());
  return Status::kOk;
}

SampleFile::SampleFile(const std::string& path) : path_(path) {
  OpenFile file(path_, O_RDWR);
  info_ = file.ReadHead();
  claim_.emplace(path_);
  if (!claim_->Claim()) {
    throw FileError(path_ +
                    ": another process records into it; end that one, or name another file "
                    "with --sample-log");
  }
  descriptor_ = file.Take();
}

SampleFile::~SampleFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

PageMemory SampleFile::memory() { return {Read, Erase, Program, this, info_.page_size, kErased}; }

void SampleFile::Sync() {
  while (fdatasync(descriptor_) != 0) {
    if (errno == EINTR) continue;
    error_ = errno;
    Fail();
  }
}

void SampleFile::Fail() const { FailAt(path_, error_ == 0 ? EIO : error_); }

Status SampleFile::Read(void* context, uint32_t page, size_t offset, MutableByteSpan out) {
  auto* const self = static_cast<SampleFile*>(context);
  uint64_t at = kHeadSize + uint64_t{page} * self->info_.page_size + offset;
  for (size_t done = 0; done < out.size();) {
    const ssize_t got = pread(self->descriptor_, out.data() + done, out.size() - done,
                              static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      self->error_ = got < 0 ? errno : EIO;
      return Status::kStoreFailed;
    }
    done += static_cast<size_t>(got);
  }
  return Status::kOk;
}

bool SampleFile::Write(uint32_t page, size_t offset, ByteSpan bytes) {
  const uint64_t at = kHeadSize + uint64_t{page} * info_.page_size + offset;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(at + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      error_ = errno;
      return false;
    }
    done += static_cast<size_t>(put);
  }
  return true;
}

Status SampleFile::Erase(void* context, uint32_t page) {
  auto* const self = static_cast<SampleFile*>(context);
  const std::vector<uint8_t> erased(self->info_.page_size, kErased);
  return self->Write(page, 0, {erased.data(), erased.size()}) ? Status::kOk : Status::kStoreFailed;
}

Status SampleFile::Program(void* context, uint32_t page, size_t offset, ByteSpan bytes) {
  auto* const self = static_cast<SampleFile*>(context);
  return self->Write(page, offset, bytes) ? Status::kOk : Status::kStoreFailed;
}

}  // namespace sotto::posix
