#include "float_file.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include "sotto/bytes.h"

namespace sotto::posix {

namespace fs = std::filesystem;

FloatFile::FloatFile(const std::string& model_path, const Table& table, const std::string& key,
                     const std::string& expected)
    : table_(table),
      key_(key),
      path_((fs::path(model_path).parent_path() / table.Text(key, expected)).string()) {
  std::error_code error;
  bytes_ = fs::is_regular_file(path_, error) ? fs::file_size(path_, error) : 0;
  if (error || bytes_ == 0) {
    table_.Refuse(key_, fmt::format("{} cannot be read, or is empty", path_));
  }
}

std::vector<float> FloatFile::Read(size_t count) const {
  std::vector<uint8_t> content(4 * count);
  std::ifstream stream(path_, std::ios::binary);
  stream.read(reinterpret_cast<char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
  if (!stream) table_.Refuse(key_, fmt::format("{} cannot be read", path_));
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = FloatFromBits(LoadU32Le(content.data() + 4 * i));
    if (std::isfinite(numbers[i])) continue;
    table_.Refuse(key_, fmt::format("{}: number {} is not finite", path_, i + 1));
  }
  return numbers;
}

}  // namespace sotto::posix
