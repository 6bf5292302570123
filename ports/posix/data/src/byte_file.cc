#include "byte_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <system_error>
#include <utility>

#include "sotto/posix/text.h"

namespace sotto {

namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
constexpr uint8_t kPackedByte = 0x1F;  // with which each compressed part begins

// 0 for what is no file; opening it says so.
uint64_t SizeOf(const std::string& path) {
  std::error_code ignored;
  const auto size = std::filesystem::file_size(path, ignored);
  return ignored ? 0 : size;
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr size_t kMost = 40;
  size_t end = std::min(text.size(), kMost);
  // Not within a character of UTF-8.
  while (end < text.size() && end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  std::string quoted = "\"";
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<uint8_t>(c);
    quoted += byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return quoted + (end < text.size() ? "\"..." : "\"");
}

std::string FindFile(const std::string& path, const std::string& advice) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // an unreadable path counts as missing
  for (const char* suffix : {"", ".gz"}) {
    if (fs::exists(path + suffix, ignored)) return path + suffix;
  }
  const fs::path file = path;
  throw posix::FileError(fmt::format("{}: neither {} nor {}.gz is there; {}",
                                     file.has_parent_path() ? file.parent_path().string() : ".",
                                     file.filename().string(), file.filename().string(), advice));
}

void ByteSource::ReadExactly(uint8_t* out, size_t count, const std::string& what) {
  if (Read(out, count) == count) return;
  throw Defect(fmt::format("is truncated: it ends within {}", what), "fetch the file again");
}

posix::FileError ByteSource::Defect(const std::string& what, const std::string& advice) const {
  return posix::FileError(fmt::format("{}: {}; {}", name_, what, advice));
}

posix::FileError ByteSource::GrowthDefect(const std::string& advice) const {
  return Defect(
      fmt::format("its compressed data grow to more than {} times their size", Growth::kMost),
      advice);
}

ByteFile::ByteFile(const std::string& path)
    : ByteSource(path), buffer_(kBufferBytes), growth_(SizeOf(path)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw posix::FileError(path + ": this is a folder; name a file");
  }
  posix::RequireRegularFile(path);
  errno = 0;
  file_.reset(std::fopen(path.c_str(), "rb"));
  if (file_ == nullptr) {
    const int error = errno;
    posix::ThrowFileError(
        fmt::format("{}: cannot be opened: {}; check the path and its permissions", path,
                    std::strerror(error)),
        error);
  }
  is_packed_ = Fill() && stream_.avail_in > 1 && buffer_[0] == kPackedByte && buffer_[1] == 0x8B;
  constexpr int kGzip = 16 + MAX_WBITS;
  if (is_packed_ && inflateInit2(&stream_, kGzip) != Z_OK) throw std::bad_alloc();
}

ByteFile::~ByteFile() {
  if (is_packed_) inflateEnd(&stream_);
}

// The next bytes of the file; false at its end.
bool ByteFile::Fill() {
  stream_.next_in = buffer_.data();
  stream_.avail_in =
      static_cast<unsigned>(std::fread(buffer_.data(), 1, buffer_.size(), file_.get()));
  if (std::ferror(file_.get()) == 0) return stream_.avail_in > 0;
  const int error = errno;
  posix::ThrowFileError(fmt::format("{}: cannot be read: {}; if it is damaged, fetch it again",
                                    name(), std::strerror(error)),
                        error);
}

size_t ByteFile::Read(uint8_t* out, size_t count) {
  size_t read = 0;
  while (read < count && (stream_.avail_in > 0 || Fill() || (is_packed_ && !is_between_))) {
    if (is_packed_ && is_between_ && !BeginPart()) continue;
    read += is_packed_ ? Unpack(out + read, count - read) : Copy(out + read, count - read);
  }
  return read;
}

size_t ByteFile::Copy(uint8_t* out, size_t count) {
  const auto size = static_cast<unsigned>(std::min<size_t>(count, stream_.avail_in));
  std::copy_n(stream_.next_in, size, out);
  stream_.next_in += size;
  stream_.avail_in -= size;
  return size;
}

// Between two parts. False: there were zeros alone in the buffer.
bool ByteFile::BeginPart() {
  while (stream_.avail_in > 0 && *stream_.next_in == 0) {
    ++stream_.next_in;
    --stream_.avail_in;
  }
  if (stream_.avail_in == 0) return false;
  if (*stream_.next_in != kPackedByte || inflateReset(&stream_) != Z_OK) {
    throw Defect("goes on after its compressed data",
                 "fetch the file again, or unpack it: gunzip -k FILE.gz");
  }
  is_between_ = false;
  return true;
}

size_t ByteFile::Unpack(uint8_t* out, size_t count) {
  constexpr size_t kMostAtOnce = size_t{1} << 20;
  if (stream_.avail_in == 0) {
    throw Defect("is truncated: the compressed data stop early", "fetch the file again");
  }
  const size_t wanted = std::min(count, kMostAtOnce);
  stream_.next_out = out;
  stream_.avail_out = static_cast<unsigned>(wanted);
  const int code = inflate(&stream_, Z_NO_FLUSH);
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
    throw Defect(
        fmt::format("cannot be read: {}", stream_.msg == nullptr ? "no gzip" : stream_.msg),
        "if it is damaged, fetch it again");
  }
  is_between_ = code == Z_STREAM_END;
  const size_t got = wanted - stream_.avail_out;
  if (!growth_.Add(got)) {
    throw GrowthDefect("if it is what it should be, unpack it first: gunzip -k FILE.gz");
  }
  return got;
}

bool LineFile::Next(std::string* line) {
  if (!Find(line)) return false;
  if (number_ == 1) line->erase(0, line->size() - posix::WithoutByteOrderMark(*line).size());
  if (const auto fault = posix::FaultOfLine(*line, number_, returns_ == Returns::kKept)) {
    throw posix::FileError(fmt::format("{}: {}", path(), fault->Describe()));
  }
  if (returns_ == Returns::kTaken && !line->empty() && line->back() == '\r') line->pop_back();
  return true;
}

// The next line as it is.
bool LineFile::Find(std::string* line) {
  line->clear();
  bool is_line = false;
  for (;;) {
    if (next_ == end_) {
      end_ = file_.Read(reinterpret_cast<uint8_t*>(buffer_.data()), buffer_.size());
      next_ = 0;
      if (end_ == 0) break;
    }
    is_line = true;
    const char* const begin = buffer_.data() + next_;
    const char* const stop =
        std::find(begin, static_cast<const char*>(buffer_.data()) + end_, '\n');
    line->append(begin, stop);
    next_ = static_cast<size_t>(stop - buffer_.data());
    if (line->size() > kMaxLine) {
      ++number_;
      throw Defect("", fmt::format("longer than {} bytes", kMaxLine), "is this a text file?");
    }
    if (next_ == end_) continue;
    ++next_;
    break;
  }
  if (is_line) ++number_;
  return is_line;
}

posix::FileError LineFile::Defect(const std::string& where, const std::string& what,
                                  const std::string& advice) const {
  return posix::FileError(fmt::format("{}: line {}{}{}: {}; {}", path(), number_,
                                      where.empty() ? "" : ", ", where, what, advice));
}

}  // namespace sotto
