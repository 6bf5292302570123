#include "cli/output_file.h"

#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <system_error>

#include "sotto/bytes.h"

namespace sotto::server {

OutputFile::OutputFile(const std::string& path)
    : path_(path),
      is_new_(!std::filesystem::exists(path)),
      file_(path, std::ios::binary | std::ios::app) {
  if (file_) return;
  throw std::runtime_error(
      fmt::format("cannot write {}: check that its folder exists and is writable", path));
}

OutputFile::~OutputFile() {
  std::error_code ignored;
  if (is_new_ && !is_finished_) std::filesystem::remove(path_, ignored);
}

std::ostream& OutputFile::stream() {
  std::error_code ignored;  // what is not a regular file has no contents to remove
  if (!is_begun_ && std::filesystem::is_regular_file(path_, ignored)) {
    std::filesystem::resize_file(path_, 0, ignored);
  }
  is_begun_ = true;
  return file_;
}

void OutputFile::Finish() {
  file_.close();
  is_finished_ = true;
  if (!file_) throw std::runtime_error(fmt::format("writing {} failed: is the disk full?", path_));
}

void RequireOutput(const std::string& path) {
  std::error_code ignored;
  // Opening and closing a pipe would end it for its reader.
  if (path.empty() || path == "-" || std::filesystem::is_fifo(path, ignored)) return;
  const OutputFile file(path);
}

void WriteParameters(Span<const float> parameters, std::ostream& out) {
  for (const float value : parameters) {
    uint8_t bytes[4];
    StoreU32Le(FloatBits(value), bytes);
    out.write(reinterpret_cast<const char*>(bytes), sizeof(bytes));
  }
}

}  // namespace sotto::server
