#include "views/share_chart.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/markup.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kColumns = 100;
constexpr size_t kBar = 16;  // characters
constexpr std::string_view kSigns = ".:-=+*#%@";

uint32_t Classes(const DealtData& dealt) { return dealt.data.info().classes; }

bool ShowsClasses(const DealtData& dealt) {
  return Classes(dealt) > 0 && Classes(dealt) <= kMostChartClasses;
}

// The sign of `count` out of `total` samples.
char SignOf(uint32_t count, uint32_t total) {
  if (count == 0) return ' ';
  const uint64_t level = (uint64_t{count} * kSigns.size() + total - 1) / total;  // rounded up
  return kSigns[level - 1];
}

std::string Trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The last digits of the classes' numbers, and above them the tens where they change.
std::string Header(const DealtData& dealt) {
  std::string tens;
  std::string ones;
  for (uint32_t k = 0; k < Classes(dealt); ++k) {
    tens += k % 10 == 0 && k > 0 ? static_cast<char>('0' + k / 10 % 10) : ' ';
    ones += static_cast<char>('0' + k % 10);
  }
  const std::string columns = fmt::format("{:>7}{:>9}", "device", "samples");
  if (Classes(dealt) == 0) return columns + "\n";
  const std::string left = fmt::format("{}{:>9}  {:<{}}  ", columns, "classes", "", kBar);
  if (!ShowsClasses(dealt)) return columns + fmt::format("{:>9}\n", "classes");
  const std::string above =
      Classes(dealt) > 10 ? Trimmed(std::string(left.size(), ' ') + tens) + "\n" : std::string();
  return above + left + ones + "\n";
}

std::string Row(const DealtData& dealt, uint32_t device) {
  const uint32_t size = dealt.partition.DeviceSamples(device).size();
  std::string row = fmt::format("{:>7}{:>9}", device, size);
  const std::vector<uint32_t> counts = ClassesOf(dealt.data, dealt.partition, device);
  if (!counts.empty()) {
    const auto held = std::count_if(counts.begin(), counts.end(), [](uint32_t n) { return n > 0; });
    row += fmt::format("{:>9}", held);
  }
  const double most = std::max(1.0, dealt.summary.samples.most);
  const auto bar = static_cast<size_t>(kBar * size / most + 0.5);
  row += fmt::format("  {:<{}}", std::string(bar, '#'), kBar);
  if (ShowsClasses(dealt) && size > 0) {
    row += "  ";
    for (const uint32_t count : counts) row += SignOf(count, size);
  }
  const std::string group = GroupOf(dealt.data, dealt.partition, device);
  if (row.size() + 2 + group.size() <= kColumns) row += "  " + group;
  return Trimmed(row) + "\n";
}

std::string SpreadText(const char* what, const Spread& spread, int decimals) {
  return fmt::format("{:<22}least {:.{}f}, median {:.{}f}, mean {:.{}f}, most {:.{}f}\n", what,
                     spread.least, decimals, spread.median, decimals, spread.mean,
                     std::max(1, decimals), spread.most, decimals);
}

// "heading  a, b, c" in lines of at most kColumns.
std::string Wrapped(const char* heading, const std::vector<std::string>& items) {
  std::string text;
  std::string line = fmt::format("{:<22}", heading);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? ", " : "");
    if (line.size() + items[i].size() + 1 > kColumns) {
      text += Trimmed(line) + "\n";
      line = std::string(22, ' ');
    }
    line += item;
  }
  return text + line + "\n";
}

std::string ClassTotals(const DealtData& dealt) {
  const std::vector<uint64_t>& totals = dealt.summary.of_class;
  std::vector<std::string> items;
  for (uint32_t k = 0; k < totals.size() && k < kMostChartClasses; ++k) {
    const std::string name = ClassName(dealt.data.info(), k);
    const std::string number = std::to_string(k);
    items.push_back(fmt::format("{}{}: {}", number, name == number ? "" : " " + name, totals[k]));
  }
  if (totals.size() > items.size()) items.push_back("...");
  return Wrapped("samples of a class", items);
}

std::string Figures(const DealtData& dealt) {
  const ShareSummary& all = dealt.summary;
  std::string text =
      fmt::format("{:<22}{} of {}{}\n", "samples dealt out", all.different, dealt.data.size(),
                  all.dealt == all.different ? "" : fmt::format(", {} shares of them", all.dealt));
  text += SpreadText("samples of a device", all.samples, 0);
  if (all.without_samples > 0) {
    text += fmt::format("{:<22}{}: they take part and send zeros\n", "without samples",
                        Counted(all.without_samples, "device"));
  }
  if (Classes(dealt) == 0) return text;
  text += SpreadText("classes of a device", all.classes, 0);
  text += SpreadText("skew of its classes", all.skew, 2);
  return text + ClassTotals(dealt);
}

// A colour for each class, far from the colours of its neighbours.
std::string Colour(uint32_t label) {
  return fmt::format("hsl({} {}% {}%)", label * 137 % 360, 65 - label / 3 % 2 * 20,
                     45 + label % 3 * 10);
}

constexpr uint32_t kSvgWidth = 720;
constexpr uint32_t kSvgLeft = 60;
constexpr uint32_t kSvgTop = 34;
constexpr uint32_t kSvgRow = 14;

std::string Bar(double from, double to, uint32_t top, const std::string& colour) {
  return fmt::format("<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>\n",
                     from, top, to - from, kSvgRow - 3, colour);
}

std::string SvgText(uint32_t x, uint32_t y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     EscapeMarkup(text));
}

std::string SvgRow(const DealtData& dealt, uint32_t device) {
  const uint32_t top = kSvgTop + device * kSvgRow;
  const double scale = (kSvgWidth - kSvgLeft - 60) / std::max(1.0, dealt.summary.samples.most);
  const uint32_t size = dealt.partition.DeviceSamples(device).size();
  std::string svg = SvgText(kSvgLeft - 6, top + 10, "end", std::to_string(device));
  std::vector<uint32_t> counts = ClassesOf(dealt.data, dealt.partition, device);
  if (counts.empty()) counts = {size};
  double at = kSvgLeft;
  for (uint32_t label = 0; label < counts.size(); ++label) {
    if (counts[label] == 0) continue;
    svg += Bar(at, at + counts[label] * scale, top, Colour(label));
    at += counts[label] * scale;
  }
  return svg + SvgText(static_cast<uint32_t>(at) + 6, top + 10, "start", std::to_string(size));
}

// The classes' colours, six a line.
std::string SvgLegend(const DealtData& dealt, uint32_t top) {
  std::string svg;
  for (uint32_t label = 0; label < std::min(Classes(dealt), kMostChartClasses); ++label) {
    const uint32_t x = kSvgLeft + label % 6 * 105;
    const uint32_t y = top + label / 6 * kSvgRow;
    svg += Bar(x, x + 11, y, Colour(label));
    svg += SvgText(x + 16, y + 10, "start", ClassName(dealt.data.info(), label).substr(0, 14));
  }
  return svg;
}

Json ToJson(const Spread& spread) {
  return {{"least", spread.least},
          {"median", spread.median},
          {"mean", spread.mean},
          {"most", spread.most}};
}

}  // namespace

std::string ShareChart(const DealtData& dealt, uint32_t devices) {
  std::string text = Header(dealt);
  const uint32_t shown = std::min(devices, dealt.partition.devices());
  for (uint32_t device = 0; device < shown; ++device) text += Row(dealt, device);
  const uint32_t rest = dealt.partition.devices() - shown;
  if (rest > 0) text += fmt::format("    ... and {} more\n", Counted(rest, "device"));
  return text + "\n" + Figures(dealt);
}

std::string ShareSvg(const DealtData& dealt, uint32_t devices, const std::string& title) {
  const uint32_t shown = std::min(devices, dealt.partition.devices());
  const uint32_t below = kSvgTop + shown * kSvgRow + 8;
  const uint32_t lines = (std::min(Classes(dealt), kMostChartClasses) + 5) / 6;
  std::string svg = SvgHead(kSvgWidth, below + lines * kSvgRow + 8);
  svg += SvgText(kSvgLeft, 18, "start", title);
  for (uint32_t device = 0; device < shown; ++device) svg += SvgRow(dealt, device);
  return svg + SvgLegend(dealt, below) + "</svg>\n";
}

Json ShareJson(const DealtData& dealt) {
  const ShareSummary& all = dealt.summary;
  Json json = {{"devices", all.devices},
               {"devices_without_samples", all.without_samples},
               {"samples", dealt.data.size()},
               {"samples_dealt", all.dealt},
               {"samples_different", all.different},
               {"samples_of_device", ToJson(all.samples)},
               {"classes_of_device", nullptr},
               {"skew", nullptr},
               {"class_names", Json::array()},
               {"samples_of_class", all.of_class},
               {"shares", Json::array()}};
  if (Classes(dealt) > 0) {
    json["classes_of_device"] = ToJson(all.classes);
    json["skew"] = ToJson(all.skew);
  }
  for (uint32_t label = 0; label < Classes(dealt); ++label) {
    json["class_names"].push_back(ClassName(dealt.data.info(), label));
  }
  for (uint32_t device = 0; device < all.devices; ++device) {
    const std::string group = GroupOf(dealt.data, dealt.partition, device);
    json["shares"].push_back({{"device", device},
                              {"group", group.empty() ? Json(nullptr) : Json(group)},
                              {"samples", dealt.partition.DeviceSamples(device).size()},
                              {"classes", ClassesOf(dealt.data, dealt.partition, device)}});
  }
  return json;
}

}  // namespace sotto::server
