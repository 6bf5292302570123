#include "sotto/layers/group_norm.h"

#include <cmath>

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"

namespace sotto::nn::internal {
namespace {

constexpr Real kEpsilon = Real{1} / Real{100000};

// Of a group.
struct Moments {
  Real mean;
  Real scale;  // 1 / sqrt(variance + epsilon)
};

// The channels of a group at one position. They lie side by side.
struct GroupRun {
  size_t group;
  size_t channel;  // the first
  size_t index;    // of that channel in the tensor
};

size_t GroupSize(const LayerInfo& info) { return info.input.channels / info.size; }

Real ValuesOfGroup(const LayerInfo& info) {
  const uint32_t values = info.input.size() / info.size;
  return static_cast<Real>(values);
}

// visit(GroupRun) position by position, at each group by group.
template <class Visit>
void ForEachRun(const LayerInfo& info, Visit visit) {
  const size_t size = GroupSize(info);
  for (size_t i = 0; i < info.input.size(); i += info.input.channels) {
    for (size_t g = 0; g < info.size; ++g) visit(GroupRun{g, g * size, i + g * size});
  }
}

Real Sum(const Real* values, size_t n) {
  Real sum{0};
  for (size_t i = 0; i < n; ++i) sum += values[i];
  return sum;
}

Moments MomentsOf(const LayerCall& call, size_t group) {
  return {call.kept[2 * group], call.kept[2 * group + 1]};
}

void ComputeMeans(const LayerCall& call) {
  const LayerInfo& info = call.info;
  const size_t channels = info.input.channels;
  FillZero(channels, call.scratch);
  for (size_t i = 0; i < info.input.size(); i += channels) {
    AddScaled(Real{1}, call.input + i, channels, call.scratch);
  }
  const size_t size = GroupSize(info);
  for (size_t g = 0; g < info.size; ++g) {
    call.kept[2 * g] = Sum(call.scratch + g * size, size) / ValuesOfGroup(info);
  }
}

void ComputeScales(const LayerCall& call) {
  const size_t size = GroupSize(call.info);
  FillZero(call.info.input.channels, call.scratch);
  ForEachRun(call.info, [&](const GroupRun& run) {
    const Real mean = call.kept[2 * run.group];
    for (size_t j = 0; j < size; ++j) {
      const Real difference = call.input[run.index + j] - mean;
      call.scratch[run.channel + j] += difference * difference;
    }
  });
  for (size_t g = 0; g < call.info.size; ++g) {
    const Real variance = Sum(call.scratch + g * size, size) / ValuesOfGroup(call.info);
    call.kept[2 * g + 1] = Real{1} / std::sqrt(variance + kEpsilon);
  }
}

// Means over a group of delta * gain, and of delta * gain * normalised input: into scratch, two
// numbers a group. They replace the channels' sums of groups that are done.
void ComputeDeltaMeans(const LayerCall& call) {
  const size_t channels = call.info.input.channels;
  const size_t size = GroupSize(call.info);
  FillZero(2 * channels, call.scratch);
  ForEachRun(call.info, [&](const GroupRun& run) {
    const Moments m = MomentsOf(call, run.group);
    for (size_t j = 0; j < size; ++j) {
      const Real delta = call.output[run.index + j] * call.parameters[run.channel + j];
      Real* sums = call.scratch + 2 * (run.channel + j);
      sums[0] += delta;
      sums[1] += delta * ((call.input[run.index + j] - m.mean) * m.scale);
    }
  });
  for (size_t g = 0; g < call.info.size; ++g) {
    Real sums[2] = {};
    for (size_t c = g * size; c < (g + 1) * size; ++c) {
      sums[0] += call.scratch[2 * c];
      sums[1] += call.scratch[2 * c + 1];
    }
    for (size_t k = 0; k < 2; ++k) call.scratch[2 * g + k] = sums[k] / ValuesOfGroup(call.info);
  }
}

}  // namespace

void GroupNormForward(const LayerCall& call) {
  ComputeMeans(call);
  ComputeScales(call);
  const Real* gain = call.parameters;
  const Real* bias = call.parameters + call.info.input.channels;
  const size_t size = GroupSize(call.info);
  ForEachRun(call.info, [&](const GroupRun& run) {
    const Moments m = MomentsOf(call, run.group);
    for (size_t j = 0; j < size; ++j) {
      const Real normalised = (call.input[run.index + j] - m.mean) * m.scale;
      call.output[run.index + j] = gain[run.channel + j] * normalised + bias[run.channel + j];
    }
  });
}

void GroupNormAddGradient(const LayerCall& call, Real* gradient) {
  Real* bias_gradient = gradient + call.info.input.channels;
  const size_t size = GroupSize(call.info);
  ForEachRun(call.info, [&](const GroupRun& run) {
    const Moments m = MomentsOf(call, run.group);
    for (size_t j = 0; j < size; ++j) {
      const Real delta = call.output[run.index + j];
      gradient[run.channel + j] += delta * ((call.input[run.index + j] - m.mean) * m.scale);
      bias_gradient[run.channel + j] += delta;
    }
  });
}

void GroupNormInputDelta(const LayerCall& call) {
  ComputeDeltaMeans(call);
  const size_t size = GroupSize(call.info);
  ForEachRun(call.info, [&](const GroupRun& run) {
    const Moments m = MomentsOf(call, run.group);
    const Real* means = call.scratch + 2 * run.group;
    for (size_t j = 0; j < size; ++j) {
      const Real normalised = (call.input[run.index + j] - m.mean) * m.scale;
      const Real delta = call.output[run.index + j] * call.parameters[run.channel + j];
      call.input[run.index + j] = m.scale * ((delta - means[0]) - normalised * means[1]);
    }
  });
}

}  // namespace sotto::nn::internal
