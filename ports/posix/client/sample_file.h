// The file of --sample-log: a log of samples (sotto/sample_log.h) whose pages lie in a file. Part
// of ports/posix/client.
//
//   bytes 0..4095   a kept file (sotto/posix/kept_file.h) of these lines:
//
//     sotto-samples 1
//     sha256 HEX        of all that follows, up to byte 4095
//     axes N            numbers of a reading
//     window N          readings of a sample
//     hop N             readings from the beginning of a window to the next one's
//     element NAME      float32, int16 or uint8
//     scale X           value of a 1
//     pages N
//     page-size N       bytes
//     filler ...        dots, up to byte 4095
//
//   from 4096 on    the pages
//
// One process writes, and claims the file while it does. Any number of others read it meanwhile,
// and need no lock: what is being written while they read has no valid checksum, so to them it is
// not there yet.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sotto/posix/held_file.h"
#include "sotto/sample_log.h"

namespace sotto::posix {

struct SampleFileInfo {
  uint32_t axes = 0;
  uint32_t window = 0;
  uint32_t hop = 0;
  SampleElement element = SampleElement::kFloat32;
  float scale = 1;
  uint32_t pages = 0;
  uint32_t page_size = 0;

  SampleLogConfig LogConfig() const;
};

// The names of elements, "float32", "int16" and "uint8", and the one of each.
const std::vector<std::string>& SampleElementNames();
SampleElement SampleElementOf(const std::string& name);
const std::string& NameOf(SampleElement element);

// Sets pages and page_size so that a log holds `capacity` samples at least. Throws
// std::invalid_argument if they take more than a file may have, 1 GB.
void SetCapacity(uint32_t capacity, SampleFileInfo* info);

// Makes a file without samples, for its owner alone. Throws as PendingFile does.
void MakeSampleFile(const std::string& path, const SampleFileInfo& info);

// What a file had when it was read, in memory.
class SampleFileCopy {
 public:
  // Throws a FileError for a file that is not there, that is no such file, or damaged.
  explicit SampleFileCopy(const std::string& path);
  SampleFileCopy(const SampleFileCopy&) = delete;
  SampleFileCopy& operator=(const SampleFileCopy&) = delete;

  const SampleFileInfo& info() const { return info_; }
  // The pages, to read only; the object outlives what uses them.
  PageMemory memory();

 private:
  static Status Read(void* context, uint32_t page, size_t offset, MutableByteSpan out);

  SampleFileInfo info_;
  std::vector<uint8_t> pages_;
};

// A file to write.
class SampleFile {
 public:
  // Throws as SampleFileCopy() does, and a FileError if another process writes the file.
  explicit SampleFile(const std::string& path);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  const SampleFileInfo& info() const { return info_; }

  // The pages; the object outlives what uses them. What is written survives the end of the process;
  // after Sync() also a power failure.
  PageMemory memory();

  // Throws where Fail() does.
  void Sync();

  // Throws the error of the last call that failed, as files.h does.
  [[noreturn]] void Fail() const;

 private:
  static Status Read(void* context, uint32_t page, size_t offset, MutableByteSpan out);
  static Status Erase(void* context, uint32_t page);
  static Status Program(void* context, uint32_t page, size_t offset, ByteSpan bytes);
  bool Write(uint32_t page, size_t offset, ByteSpan bytes);

  const std::string path_;
  SampleFileInfo info_;
  std::optional<HeldFile> claim_;
  int descriptor_ = -1;
  int error_ = 0;  // errno
};

}  // namespace sotto::posix
