#include "export/parameters.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>

#include "sotto/posix/files.h"
#include "sotto/update_scale.h"

namespace sotto::server {
namespace {

// Of the largest model, frozen layers and a text beside it.
constexpr uint64_t kMaxBytes = 2 * 4 * uint64_t{kMaxParameters} + (uint64_t{1} << 24);

}  // namespace

std::string ReadModelBytes(const std::string& path) {
  posix::RequireRegularFile(path);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (!file || size < 0) {
    throw std::runtime_error(
        fmt::format("{}: {}; name a file that you may read", path, std::strerror(errno)));
  }
  if (static_cast<uint64_t>(size) > kMaxBytes) {
    throw std::invalid_argument(
        fmt::format("{}: it has {} bytes, more than any model; expected a file that `sotto model "
                    "export` or --model-out wrote",
                    path, size));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  file.seekg(0);
  file.read(bytes.data(), size);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read", path));
  return bytes;
}

std::vector<float> ReadModelParameters(const std::string& path, const ModelInfo& model,
                                       Metadata* metadata) {
  const std::string bytes = ReadModelBytes(path);
  try {
    return ParametersFromBytes(bytes, model, metadata);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace sotto::server
