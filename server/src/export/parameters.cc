#include "export/parameters.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>

#include "sotto/bytes.h"
#include "sotto/data/foreign.h"
#include "sotto/posix/check.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "sotto/update_scale.h"

namespace sotto::server {
namespace {

// Of the largest model, frozen layers and a text beside it.
constexpr uint64_t kMaxBytes = 2 * 4 * uint64_t{kMaxParameters} + (uint64_t{1} << 24);

[[noreturn]] void Refuse(const std::string& path, const std::string& why) {
  throw std::invalid_argument(fmt::format("--initial-model {}: {}", path, why));
}

// A training begins with the model, as on each device.
void RequireInRange(const std::string& path, const ModelInfo& model,
                    const std::vector<float>& parameters) {
  std::vector<float> working(parameters.size());
  const Span<float> memory = {working.data(), working.size()};
  if (model.begin_training({parameters.data(), parameters.size()}, {memory}) == Status::kOk) return;
  const auto is_smaller = [](float a, float b) { return std::fabs(a) < std::fabs(b); };
  const auto largest = std::max_element(parameters.begin(), parameters.end(), is_smaller);
  Refuse(path, fmt::format("model {} cannot begin with it: parameter {} is {}, beyond the model's "
                           "fixed-point format",
                           model.name, largest - parameters.begin() + 1, *largest));
}

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
    const std::string is = ForeignFile(path, bytes.substr(0, 16), NamedAs::kModel);
    if (!is.empty()) throw std::invalid_argument(fmt::format("{}: {}", path, is));
    throw std::invalid_argument(fmt::format("{}: {}", path, error.what()));
  }
}

std::vector<float> ReadParameters(const std::string& path, const ModelInfo& model) {
  std::vector<float> parameters;
  Metadata ignored;
  try {
    parameters = ReadModelParameters(path, model, &ignored);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--initial-model {}", error.what()));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("--initial-model {}", error.what()));
  }
  RequireInRange(path, model, parameters);
  return parameters;
}

std::string ParametersDigest(Span<const float> parameters) {
  Sha256 hash;
  for (const float value : parameters) posix::Check(hash.UpdateU32(FloatBits(value)), "SHA-256");
  uint8_t digest[kSha256Size] = {};
  posix::Check(hash.Finish(digest), "SHA-256");
  return posix::Hex(digest);
}

}  // namespace sotto::server
