#include "spec/parameters_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>

#include "sotto/bytes.h"
#include "sotto/posix/check.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"

namespace sotto::server {
namespace {

[[noreturn]] void Refuse(const std::string& path, const std::string& why) {
  throw std::invalid_argument(fmt::format("--initial-model {}: {}", path, why));
}

[[noreturn]] void RefuseSize(const std::string& path, const ModelInfo& model, uint64_t found) {
  Refuse(path, fmt::format("it has {} bytes, and model {} has {} parameters, {} bytes as float32; "
                           "take a file that `--model-out` wrote for this model",
                           found, model.name, model.parameters, 4 * uint64_t{model.parameters}));
}

// The bytes of a file of the right size.
std::vector<uint8_t> ReadBytes(const std::string& path, const ModelInfo& model) {
  posix::RequireRegularFile(path);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (!file || size < 0) {
    throw std::runtime_error(fmt::format("--initial-model {}: {}; name a file that you may read",
                                         path, std::strerror(errno)));
  }
  std::vector<uint8_t> bytes(4 * size_t{model.parameters});
  if (static_cast<uint64_t>(size) != bytes.size()) {
    RefuseSize(path, model, static_cast<uint64_t>(size));
  }
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!file) throw std::runtime_error(fmt::format("--initial-model {}: cannot be read", path));
  return bytes;
}

void RequireFinite(const std::string& path, const std::vector<float>& parameters) {
  const auto bad = std::find_if(parameters.begin(), parameters.end(),
                                [](float value) { return !std::isfinite(value); });
  if (bad == parameters.end()) return;
  Refuse(path, fmt::format("parameter {} of {} is {}, and all must be finite; the file is no "
                           "model, or its training diverged",
                           bad - parameters.begin() + 1, parameters.size(), *bad));
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

std::vector<float> ReadParameters(const std::string& path, const ModelInfo& model) {
  const std::vector<uint8_t> bytes = ReadBytes(path, model);
  std::vector<float> parameters(model.parameters);
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i] = FloatFromBits(LoadU32Le(bytes.data() + 4 * i));
  }
  RequireFinite(path, parameters);
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
