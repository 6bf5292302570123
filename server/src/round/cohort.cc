#include "round/cohort.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

namespace sotto::server {
namespace {

void RequireCohort(uint32_t cohort, uint32_t devices) {
  if (cohort < 1 || cohort > devices) {
    throw std::invalid_argument("a cohort has at least one device and at most all of them");
  }
}

void RequireDrawn(const RandomStream& random) {
  if (random.status() != Status::kOk) throw std::runtime_error("drawing a cohort: ChaCha20 failed");
}

std::vector<uint32_t> DrawUniform(uint32_t devices, uint32_t cohort, RandomStream& random) {
  std::vector<uint32_t> all(devices);
  std::iota(all.begin(), all.end(), 0U);
  for (uint32_t i = 0; i < cohort; ++i) std::swap(all[i], all[i + random.Below(devices - i)]);
  all.resize(cohort);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<uint32_t> DrawPoisson(uint32_t devices, uint32_t cohort, uint32_t planned_devices,
                                  RandomStream& random) {
  std::vector<uint32_t> drawn;
  for (uint32_t i = 0; i < devices; ++i) {
    if (random.Below(planned_devices) < cohort) drawn.push_back(i);
  }
  return drawn;
}

std::vector<uint32_t> AllOf(uint32_t devices) {
  std::vector<uint32_t> all(devices);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

}  // namespace

std::vector<uint32_t> DrawCohort(privacy::Sampling sampling, uint32_t devices, uint32_t cohort,
                                 RandomStream& random, uint32_t planned_devices) {
  const bool is_poisson = sampling == privacy::Sampling::kPoisson;
  const uint32_t planned = is_poisson && planned_devices != 0 ? planned_devices : devices;
  RequireCohort(cohort, planned);
  const bool takes_all = sampling != privacy::Sampling::kUniform && cohort == devices;
  std::vector<uint32_t> drawn;
  if (is_poisson) {
    drawn = DrawPoisson(devices, cohort, planned, random);
  } else if (takes_all) {
    drawn = AllOf(devices);
  } else {
    drawn = DrawUniform(devices, cohort, random);
  }
  RequireDrawn(random);
  return drawn;
}

uint32_t LargestCohort(const std::vector<Candidate>& candidates) {
  std::set<uint32_t> owners;
  uint32_t without = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.owner == 0) {
      ++without;
    } else {
      owners.insert(candidate.owner);
    }
  }
  return without + static_cast<uint32_t>(owners.size());
}

std::vector<uint32_t> ChooseByTurns(std::vector<Candidate> candidates, uint32_t cohort,
                                    RandomStream& random) {
  const auto count = static_cast<uint32_t>(candidates.size());
  RequireCohort(cohort, LargestCohort(candidates));
  for (uint32_t i = 0; i + 1 < count; ++i) {
    std::swap(candidates[i], candidates[i + random.Below(count - i)]);
  }
  RequireDrawn(random);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.turns != b.turns ? a.turns < b.turns : a.is_rested && !b.is_rested;
                   });
  std::vector<uint32_t> chosen;
  std::set<uint32_t> owners;
  for (uint32_t i = 0; chosen.size() < cohort; ++i) {
    const Candidate& next = candidates[i];
    if (next.owner == 0 || owners.insert(next.owner).second) chosen.push_back(next.device);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace sotto::server
