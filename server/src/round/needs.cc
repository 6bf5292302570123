#include "round/needs.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

#include "base/counted.h"

namespace sotto::server {
namespace {

constexpr uint32_t kAny = std::numeric_limits<uint32_t>::max();

bool Clips(const TrainingOptions& t, GradientClipOf what) {
  return t.gradient_clip > 0 && t.gradient_clip_of == what;
}

bool NeedsSchedule(const TrainingOptions& t) {
  return t.local_steps > 0 || t.batches != Batches::kPasses || t.rate_power != RatePower::kZero;
}

const Need kNeeds[] = {
    {"largest_batch", [](const Demand& of) { return of.training.batch_size; },
     [](const Abilities& by) { return by.largest_batch == 0 ? kAny : by.largest_batch; },
     [](uint32_t needed) {
       return fmt::format("memory for batches of {}", Counted(needed, "sample"));
     },
     [](uint32_t least) {
       return fmt::format("a job with --batch-size {} suits all of them", least);
     }},
    {"momentum", [](const Demand& of) { return of.training.momentum > 0 ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureMomentum) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("momentum"); },
     [](uint32_t) { return std::string("a job without --momentum suits them"); }},
    {"accuracy", [](const Demand& of) { return of.accuracy_q20 > 0 ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureAccuracy) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("evaluation on held-out samples"); },
     [](uint32_t) { return std::string("a job without --evaluate-on-devices suits them"); }},
    {"schedule", [](const Demand& of) { return NeedsSchedule(of.training) ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureSchedule) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("steps, batches and rates of newer programs"); },
     [](uint32_t) {
       return std::string(
           "a job without --local-steps, --batches and a --learning-rate-schedule of steps suits "
           "them");
     }},
    {"proximal", [](const Demand& of) { return of.training.proximal > 0 ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureProximal) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("a proximal term"); },
     [](uint32_t) { return std::string("a job without --proximal suits them"); }},
    {"clip_of_batch",
     [](const Demand& of) { return Clips(of.training, GradientClipOf::kBatch) ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureClipOfBatch) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("the gradient clip of a batch"); },
     [](uint32_t) {
       return std::string(
           "a job without --gradient-clip, or with --gradient-clip-of sample, may suit them");
     }},
    {"clip_of_sample",
     [](const Demand& of) { return Clips(of.training, GradientClipOf::kSample) ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureClipOfSample) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("the gradient clip of samples"); },
     [](uint32_t) {
       return std::string(
           "a job without --gradient-clip, or with --gradient-clip-of batch, may suit them");
     }},
    {"clip_by_layer",
     [](const Demand& of) { return of.training.clip_by_layer != ClipByLayer::kNone ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureClipByLayer) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("clipping by layer"); },
     [](uint32_t) { return std::string("a job without --clip-by-layer suits them"); }},
    {"clamping", [](const Demand& of) { return of.NeedsClamping() ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureClamping) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("clipping bounds above 1024 deviations of the noise"); },
     [](uint32_t) { return std::string("a job with more noise or a lower --clip suits them"); }},
    {"salt", [](const Demand& of) { return of.salt ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureSalt) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("the salt of newer programs"); },
     [](uint32_t) { return std::string("a job without --require-salt suits them"); }},
    {"errors", [](const Demand& of) { return of.measures ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureErrors) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("a histogram of prediction errors"); },
     [](uint32_t) { return std::string("a job without --threshold-bins suits them"); }},
    {"one_length", [](const Demand& of) { return of.format.length > 0 ? 1U : 0U; },
     [](const Abilities& by) { return (by.features & kFeatureOneLength) != 0 ? 1U : 0U; },
     [](uint32_t) { return std::string("updates of one length"); },
     [](uint32_t) { return std::string("a job with --one-length off suits them"); }},
};

}  // namespace

Span<const Need> Needs() { return kNeeds; }

bool IsLacking(const Demand& task, const Abilities& device) {
  return std::any_of(std::begin(kNeeds), std::end(kNeeds),
                     [&](const Need& need) { return need.held(device) < need.needed(task); });
}

LackCounts CountLacks(const Demand& task, const std::map<uint32_t, Abilities>& lacking,
                      const std::vector<uint32_t>& drawn) {
  LackCounts counts;
  counts.by_need.resize(Needs().size());
  for (const auto& [device, abilities] : lacking) {
    const uint32_t is_drawn = std::binary_search(drawn.begin(), drawn.end(), device) ? 1 : 0;
    counts.devices += 1;
    counts.drawn += is_drawn;
    for (size_t i = 0; i < Needs().size(); ++i) {
      const uint32_t needed = kNeeds[i].needed(task);
      const uint32_t held = kNeeds[i].held(abilities);
      if (held < needed) counts.by_need[i].Merge({1, is_drawn, needed, held});
    }
  }
  return counts;
}

std::string DescribeLack(const Demand& task, const Abilities& device) {
  std::vector<std::string> parts;
  for (const Need& need : kNeeds) {
    const uint32_t needed = need.needed(task);
    if (need.held(device) < needed) parts.push_back(need.what(needed));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string DescribeNeeds(const Demand& task) {
  std::vector<std::string> parts;
  for (const Need& need : kNeeds) {
    const uint32_t needed = need.needed(task);
    if (needed > 0) parts.push_back(need.what(needed));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string DescribeLacks(const LackCounts& counts) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < counts.by_need.size(); ++i) {
    const LackCount& lack = counts.by_need[i];
    if (lack.devices == 0) continue;
    parts.push_back(fmt::format("{} without {} ({} drawn; {})", Counted(lack.devices, "device"),
                                kNeeds[i].what(lack.needed), lack.drawn,
                                kNeeds[i].advice(lack.least)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace sotto::server
