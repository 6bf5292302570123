#include "round/cohort.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace sotto::server {
namespace {

std::vector<uint32_t> DrawUniform(uint32_t devices, uint32_t cohort, RandomStream& random) {
  std::vector<uint32_t> all(devices);
  std::iota(all.begin(), all.end(), 0U);
  for (uint32_t i = 0; i < cohort; ++i) std::swap(all[i], all[i + random.Below(devices - i)]);
  all.resize(cohort);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<uint32_t> DrawPoisson(uint32_t devices, uint32_t cohort, RandomStream& random) {
  std::vector<uint32_t> drawn;
  for (uint32_t i = 0; i < devices; ++i) {
    if (random.Below(devices) < cohort) drawn.push_back(i);
  }
  return drawn;
}

}  // namespace

std::vector<uint32_t> DrawCohort(privacy::Sampling sampling, uint32_t devices, uint32_t cohort,
                                 RandomStream& random) {
  if (cohort < 1 || cohort > devices) {
    throw std::invalid_argument("a cohort has at least one device and at most all of them");
  }
  std::vector<uint32_t> drawn;
  switch (sampling) {
    case privacy::Sampling::kUniform:
      drawn = DrawUniform(devices, cohort, random);
      break;
    case privacy::Sampling::kPoisson:
      drawn = DrawPoisson(devices, cohort, random);
      break;
    case privacy::Sampling::kNone:
    case privacy::Sampling::kFull:
      drawn.resize(devices);
      std::iota(drawn.begin(), drawn.end(), 0U);
      break;
  }
  if (random.status() != Status::kOk) throw std::runtime_error("drawing a cohort: ChaCha20 failed");
  return drawn;
}

}  // namespace sotto::server
