#include "data/shares.h"

#include <algorithm>
#include <cmath>

namespace sotto::server {
namespace {

Spread SpreadOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return {values.front(), values[(values.size() - 1) / 2], sum / static_cast<double>(values.size()),
          values.back()};
}

// Half of the sum over classes of |share of the device - share of all|.
double SkewOf(const std::vector<uint32_t>& counts, uint32_t total, const ShareSummary& all) {
  double sum = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    sum += std::abs(static_cast<double>(counts[k]) / total -
                    static_cast<double>(all.of_class[k]) / static_cast<double>(all.dealt));
  }
  return sum / 2;
}

void AddClasses(const Dataset& data, const Partition& partition, ShareSummary* all) {
  std::vector<double> held;
  std::vector<double> skews;
  for (uint32_t device = 0; device < partition.devices(); ++device) {
    const uint32_t size = partition.DeviceSamples(device).size();
    if (size == 0) continue;
    const std::vector<uint32_t> counts = ClassesOf(data, partition, device);
    held.push_back(static_cast<double>(
        std::count_if(counts.begin(), counts.end(), [](uint32_t count) { return count > 0; })));
    skews.push_back(SkewOf(counts, size, *all));
  }
  all->classes = SpreadOf(std::move(held));
  all->skew = SpreadOf(std::move(skews));
}

}  // namespace

ShareSummary Summarise(const Dataset& data, const Partition& partition) {
  ShareSummary all;
  all.devices = partition.devices();
  all.without_samples = CountEmpty(partition);
  all.of_class.resize(data.info().classes);
  std::vector<bool> is_dealt(data.size());
  std::vector<double> sizes;
  for (uint32_t device = 0; device < all.devices; ++device) {
    const DeviceIndices samples = partition.DeviceSamples(device);
    sizes.push_back(samples.size());
    all.dealt += samples.size();
    for (uint32_t i = 0; i < samples.size(); ++i) {
      all.different += is_dealt[samples[i]] ? 0 : 1;
      is_dealt[samples[i]] = true;
      if (!all.of_class.empty()) ++all.of_class[data.Label(samples[i])];
    }
  }
  all.samples = SpreadOf(std::move(sizes));
  if (!all.of_class.empty()) AddClasses(data, partition, &all);
  return all;
}

std::vector<uint32_t> ClassesOf(const Dataset& data, const Partition& partition, uint32_t device) {
  std::vector<uint32_t> counts(data.info().classes);
  const DeviceIndices samples = partition.DeviceSamples(device);
  if (counts.empty()) return counts;
  for (uint32_t i = 0; i < samples.size(); ++i) ++counts[data.Label(samples[i])];
  return counts;
}

std::string GroupOf(const Dataset& data, const Partition& partition, uint32_t device) {
  const DeviceIndices samples = partition.DeviceSamples(device);
  if (samples.size() == 0) return {};
  const uint32_t group = data.Group(samples[0]);
  for (uint32_t i = 1; i < samples.size(); ++i) {
    if (data.Group(samples[i]) != group) return {};
  }
  return data.GroupName(group);
}

std::string ClassName(const SampleInfo& info, uint32_t label) {
  return info.class_names.empty() ? std::to_string(label) : info.class_names[label];
}

}  // namespace sotto::server
