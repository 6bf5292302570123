// Files that are read once from their beginning to their end. Part of sotto::data.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <zlib.h>

#include "sotto/posix/files.h"

namespace sotto {

// The text in quotes, for messages: of a long one the beginning, and without characters that would
// steer a terminal.
std::string Quoted(std::string_view text);

// The file itself or its form with .gz. Throws a FileError that names both and gives the advice.
std::string FindFile(const std::string& path, const std::string& advice);

// How much compressed data may grow: a megabyte can hold a gigabyte of nothing. Real samples shrink
// to a tenth; those that shrink further are read once somebody has unpacked them.
class Growth {
 public:
  static constexpr uint64_t kMost = 64;  // times its size
  static constexpr uint64_t kFree = uint64_t{1} << 24;

  explicit Growth(uint64_t compressed) : most_(kFree + kMost * compressed) {}

  // Takes note of bytes that were read. False: they are too many.
  bool Add(uint64_t bytes) {
    read_ += bytes;
    return read_ <= most_;
  }

 private:
  uint64_t most_;
  uint64_t read_ = 0;
};

// Bytes in their order: of a file, or of an entry of an archive.
class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Begins with the path; messages begin with it.
  const std::string& name() const { return name_; }

  // Reads `count` bytes, fewer only at the end. Throws if the bytes cannot be read.
  virtual size_t Read(uint8_t* out, size_t count) = 0;

  // Throws a Defect() if there are fewer.
  //   what  for people: "the header"
  void ReadExactly(uint8_t* out, size_t count, const std::string& what);

  // Of data for which Growth::Add() was false.
  posix::FileError GrowthDefect(const std::string& advice) const;

  // "NAME: WHAT; ADVICE"
  posix::FileError Defect(const std::string& what, const std::string& advice) const;

 private:
  std::string name_;
};

// A file as it is, or compressed by gzip, with any name: its first bytes say which. Compressed
// parts may follow one another, and zeros the last one; anything else there is a Defect().
class ByteFile : public ByteSource {
 public:
  // Throws a FileError if it cannot be opened, and std::invalid_argument for what is no file.
  explicit ByteFile(const std::string& path);
  ~ByteFile() override;

  size_t Read(uint8_t* out, size_t count) override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  bool Fill();
  size_t Copy(uint8_t* out, size_t count);
  bool BeginPart();
  size_t Unpack(uint8_t* out, size_t count);

  std::unique_ptr<std::FILE, Close> file_;
  std::vector<uint8_t> buffer_;
  z_stream stream_{};  // its input is what is left of the buffer, packed or not
  bool is_packed_ = false;
  bool is_between_ = false;  // a part has ended
  Growth growth_;
};

// The lines of a text, as sotto/posix/text.h takes them: without a byte-order mark.
class LineFile {
 public:
  static constexpr size_t kMaxLine = size_t{1} << 24;

  // The CR of a line that ends in CR LF, and those within a line.
  enum class Returns {
    kTaken,  // they end lines: they are taken off, or refused
    kKept,   // they may be part of a quoted field
  };

  explicit LineFile(const std::string& path, Returns returns = Returns::kTaken)
      : file_(path), returns_(returns), buffer_(kBufferBytes) {}

  // The next line, without its \n. False at the end; a last line needs no \n. Throws for a line of
  // more than kMaxLine bytes, and for a TextFault.
  bool Next(std::string* line);

  size_t number() const { return number_; }  // of the last line, from 1
  const std::string& path() const { return file_.name(); }

  // "PATH: line 7, column 2: WHAT; ADVICE", `where` is "column 2" or empty.
  posix::FileError Defect(const std::string& where, const std::string& what,
                          const std::string& advice) const;

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 14;

  bool Find(std::string* line);

  ByteFile file_;
  Returns returns_;
  std::vector<char> buffer_;
  size_t next_ = 0;
  size_t end_ = 0;
  size_t number_ = 0;
};

}  // namespace sotto
