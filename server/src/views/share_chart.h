// What devices hold, as a chart for a terminal, as SVG and as JSON. Part of sotto::server/views.
//
// Pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "data/shares.h"

namespace sotto::server {

// A training set that is dealt out. The members outlive the view.
struct DealtData {
  const Dataset& data;
  const Partition& partition;
  const ShareSummary& summary;
};

// A line a device for the first `devices`, then figures of all of them. Lines have at most 100
// columns. A sign for each class says how much of a device's samples it is:
//   blank none   . up to 1/9   : - = + * # % up to 8/9   @ more
// At the end stands the group of a device whose samples are all from one, if there is room.
// Of more than kMostChartClasses classes a device's number of classes is shown alone.
std::string ShareChart(const DealtData& dealt, uint32_t devices);
constexpr uint32_t kMostChartClasses = 54;

// A bar a device for the first `devices`: as long as its number of samples, in a colour for each
// class.
std::string ShareSvg(const DealtData& dealt, uint32_t devices, const std::string& title);

// The summary, and the counts of all devices.
nlohmann::ordered_json ShareJson(const DealtData& dealt);

}  // namespace sotto::server
