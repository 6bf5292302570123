#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/markup.h"
#include "experiment/charts.h"
#include "experiment/library.h"
#include "experiment/tables.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kStyle[] =
    "body { font-family: sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em }\n"
    "pre { overflow-x: auto; background: #f6f6f6; padding: 1em }\n"
    "h1 { font-size: 1.4em }\n";

// Draws one chart for each panel of `panels`. A paper's line is dashed.
constexpr char kScript[] = R"script(
const colours = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e",
                 "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22"];
for (const panel of panels) {
  const own = panel.lines.filter(line => !line.is_paper).map(line => line.name);
  const colour = line => {
    const name = line.is_paper ? line.name.slice("paper: ".length) : line.name;
    return colours[Math.max(0, own.indexOf(name)) % colours.length];
  };
  const x_axis = {label: panel.x_label};
  if (panel.x_names.length > 0) {
    x_axis.splits = () => panel.x;
    x_axis.values = (plot, splits) => splits.map(at => panel.x_names[at]);
  }
  new uPlot({
    title: panel.title, width: 900, height: 360,
    scales: {x: {time: false}},
    axes: [x_axis, {label: panel.y_label, size: 70}],
    series: [{label: panel.x_label}].concat(panel.lines.map(line => ({
      label: line.name, stroke: colour(line), width: 1.5, dash: line.is_paper ? [4, 3] : [],
      spanGaps: true, points: {show: panel.x.length <= 20}}))),
  }, [panel.x].concat(panel.lines.map(line => line.values)), document.getElementById("charts"));
}
)script";

Json PanelsToJson(const std::vector<ChartPanel>& panels) {
  Json json = Json::array();
  for (const ChartPanel& panel : panels) {
    Json lines = Json::array();
    for (const ChartLine& line : panel.lines) {
      Json values = Json::array();
      for (const double value : line.values) {
        values.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
      }
      lines.push_back({{"name", line.name}, {"is_paper", line.is_paper}, {"values", values}});
    }
    json.push_back({{"title", panel.title},
                    {"x_label", panel.x_label},
                    {"y_label", panel.y_label},
                    {"x", panel.x},
                    {"x_names", panel.x_names},
                    {"lines", lines}});
  }
  return json;
}

// JSON inside of <script>: no "</" may end it early.
std::string ForScript(const Json& json) {
  std::string text;
  for (const char c : json.dump()) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

}  // namespace

std::string ResultHtml(const Summary& summary) {
  const Definition& d = summary.definition;
  const std::string title = EscapeMarkup(fmt::format("{}: {}", d.name, d.title));
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += fmt::format("<title>{}</title>\n<style>\n{}\n{}</style>\n</head>\n", title,
                      BuiltInText("uPlot.min.css"), kStyle);
  html += fmt::format("<body>\n<h1>{}</h1>\n<div id=\"charts\"></div>\n", title);
  html += fmt::format("<pre>{}</pre>\n", EscapeMarkup(ResultText(summary)));
  html += fmt::format("<!--\nuPlot:\n{}-->\n", BuiltInText("LICENSE"));
  html += fmt::format("<script>\n{}\n</script>\n", BuiltInText("uPlot.iife.min.js"));
  html += fmt::format("<script>\nconst panels = {};\n{}</script>\n</body>\n</html>\n",
                      ForScript(PanelsToJson(PanelsOf(summary))), kScript);
  return html;
}

}  // namespace sotto::server
