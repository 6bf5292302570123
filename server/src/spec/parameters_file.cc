#include "spec/parameters_file.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "export/parameters.h"
#include "sotto/bytes.h"
#include "sotto/posix/check.h"
#include "sotto/posix/hex.h"

namespace sotto::server {
namespace {

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
