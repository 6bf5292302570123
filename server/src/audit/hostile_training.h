// The training of a canary: its update is kCanaryLength times as long as the bound. Part of
// sotto::server/audit.
//
// Pure functions, safe from any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "sotto/model_info.h"

namespace sotto::server {

// Beside the bound, the length of the update that the canary hands to its encoder.
constexpr float kCanaryLength = 100;

// Coordinate j of the canary's direction, a vector of norm 1.
inline float CanaryDirection(size_t j, size_t dimension) {
  return (j % 2 == 0 ? 1.0F : -1.0F) / std::sqrt(static_cast<float>(dimension));
}

// The functions of a model that trains as the canary does. Its working parameters are float32. With
// kOnFirst the whole update lies on the first coordinate.
template <int kSign, bool kOnFirst = false>
struct HostileTraining {
  static float Direction(size_t j, size_t dimension) {
    if (kOnFirst) return j == 0 ? 1.0F : 0.0F;
    return CanaryDirection(j, dimension);
  }

  static Status Begin(Span<const float> base, const WorkingParameters& working) {
    std::copy(base.begin(), base.end(), working.memory.begin());
    return Status::kOk;
  }

  static void End(Span<const float>, const WorkingParameters&) {}

  // A step of a fixed length, for a trainer that never projects.
  static Status Train(const ModelInfo&, const Batch&, const SgdStep&,
                      const WorkingParameters& working, Span<float>, float* loss) {
    const Span<float> memory = working.memory;
    for (size_t j = 0; j < memory.size(); ++j) {
      memory[j] += kSign * kCanaryLength * Direction(j, memory.size());
    }
    *loss = 0;
    return Status::kOk;
  }

  static Status Project(Span<const float> base, float radius, const WorkingParameters& working,
                        bool* was_outside) {
    const Span<float> memory = working.memory;
    for (size_t j = 0; j < memory.size(); ++j) {
      memory[j] = base[j] + kSign * kCanaryLength * radius * Direction(j, memory.size());
    }
    *was_outside = true;
    return Status::kOk;
  }

  static ModelInfo Of(const ModelInfo& model) {
    ModelInfo hostile = model;
    hostile.begin_training = Begin;
    hostile.end_training = End;
    hostile.train_batch = Train;
    hostile.project = Project;
    return hostile;
  }
};

}  // namespace sotto::server
