#include "cli/output_file.h"

#include <fmt/format.h>
#include <stdexcept>

#include "sotto/bytes.h"

namespace sotto::server {

OutputFile::OutputFile(const std::string& path)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc) {
  if (file_) return;
  throw std::runtime_error(
      fmt::format("cannot write {}: check that its folder exists and is writable", path));
}

void OutputFile::Finish() {
  file_.close();
  if (!file_) throw std::runtime_error(fmt::format("writing {} failed: is the disk full?", path_));
}

void WriteParameters(Span<const float> parameters, std::ostream& out) {
  for (const float value : parameters) {
    uint8_t bytes[4];
    StoreU32Le(FloatBits(value), bytes);
    out.write(reinterpret_cast<const char*>(bytes), sizeof(bytes));
  }
}

}  // namespace sotto::server
