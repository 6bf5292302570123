#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/built_in.h"
#include "base/json_text.h"
#include "base/markup.h"
#include "experiment/library.h"
#include "experiment/result_files.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kStyle[] =
    "body { font-family: sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em }\n"
    "h1 { font-size: 1.4em }\n"
    "h2 { font-size: 1.1em; margin-top: 2em }\n"
    ".table { overflow-x: auto }\n"
    ".table td:not(:last-child) { white-space: nowrap }\n"
    "table { border-collapse: collapse; font-size: 0.9em }\n"
    "th, td { padding: 0.2em 0.8em 0.2em 0; text-align: left; vertical-align: top }\n"
    "thead th { border-bottom: 1px solid #888 }\n"
    ".uplot:not(:hover) .u-value { visibility: hidden }\n"  // nothing is pointed at
    "tbody th { font-weight: normal; color: #555; white-space: nowrap }\n";

// Draws one chart for each panel of `panels`. A paper's line is dashed, its points are hollow, its
// error bars are pale.
constexpr char kScript[] = R"script(
const kLinear = 1, kLogarithmic = 3;  // uPlot's names of distributions
function drawBars(plot, panel) {
  const context = plot.ctx, end = 3 * devicePixelRatio;
  context.save();
  context.lineWidth = devicePixelRatio;
  panel.lines.forEach((line, index) => {
    if (!plot.series[index + 1].show) return;
    context.strokeStyle = line.colour;
    context.globalAlpha = line.is_paper ? 0.5 : 1;
    line.errors.forEach((error, i) => {
      const value = line.values[i];
      if (error === null || value === null) return;
      const x = plot.valToPos(panel.x[i], "x", true) + (line.is_paper ? 2 : 0);
      const ys = [value - error, value + error].map(y => plot.valToPos(y, "y", true));
      context.beginPath();
      context.moveTo(x, ys[0]);
      context.lineTo(x, ys[1]);
      for (const y of ys) {
        context.moveTo(x - end, y);
        context.lineTo(x + end, y);
      }
      context.stroke();
    });
  });
  context.restore();
}
// Bars belong to what is shown.
function yRange(panel) {
  let least = Infinity, most = -Infinity;
  for (const line of panel.lines) {
    line.values.forEach((value, i) => {
      if (value === null) return;
      least = Math.min(least, value - (line.errors[i] ?? 0));
      most = Math.max(most, value + (line.errors[i] ?? 0));
    });
  }
  return uPlot.rangeNum(least, most, 0.1, true);
}
for (const panel of panels) {
  const x_axis = {label: panel.x_label};
  const has_names = panel.x_names.length > 0;
  if (has_names || (panel.x.length <= 8 && !panel.has_log_x)) x_axis.splits = () => panel.x;
  if (has_names) x_axis.values = (plot, splits) => splits.map(at => panel.x_names[at]);
  new uPlot({
    title: panel.title + (panel.bars ? " (" + panel.bars + ")" : ""), width: 900, height: 400, padding: [null, has_names ? 80 : null, null, null],
    legend: {markers: {dash: (plot, index) => panel.lines[index - 1]?.is_paper ? "dashed" : "solid",
                       fill: () => null}},
    scales: {x: {time: false, distr: panel.has_log_x ? kLogarithmic : kLinear},
             y: panel.has_log_y ? {distr: kLogarithmic} : {distr: kLinear, range: () => yRange(panel)}},
    hooks: {draw: [plot => drawBars(plot, panel)]},
    axes: [x_axis, {label: panel.y_label, size: 70}],
    series: [{label: panel.x_label}].concat(panel.lines.map(line => ({
      label: line.name, stroke: line.colour, width: 1.5, dash: line.is_paper ? [4, 3] : [],
      spanGaps: true, paths: has_names ? () => null : undefined,
      points: {show: has_names || panel.x.length <= 20, size: 6,
               fill: line.is_paper ? "white" : line.colour}}))),
  }, [panel.x].concat(panel.lines.map(line => line.values)), document.getElementById("charts"));
}
)script";

constexpr char kNoCharts[] =
    "<p>This build of sotto has no charts; server/SERVE.md says how to build them in.</p>\n";

Json NumbersToJson(const std::vector<double>& numbers) {
  Json json = Json::array();
  for (const double number : numbers) {
    json.push_back(std::isfinite(number) ? Json(number) : Json(nullptr));
  }
  return json;
}

Json PanelsToJson(const std::vector<ChartPanel>& panels) {
  Json json = Json::array();
  for (const ChartPanel& panel : panels) {
    Json lines = Json::array();
    for (const ChartLine& line : panel.lines) {
      lines.push_back({{"name", line.name},
                       {"is_paper", line.is_paper},
                       {"colour", line.colour},
                       {"values", NumbersToJson(line.values)},
                       {"errors", NumbersToJson(line.errors)}});
    }
    json.push_back({{"title", panel.title},
                    {"bars", panel.has_bars() ? kBarsText : ""},
                    {"x_label", panel.x_label},
                    {"y_label", panel.y_label},
                    {"has_log_x", panel.has_log_x},
                    {"has_log_y", panel.has_log_y},
                    {"x", panel.x},
                    {"x_names", panel.x_names},
                    {"lines", lines}});
  }
  return json;
}

std::string Cells(const char* tag, const Row& row) {
  std::string html;
  for (const std::string& text : row)
    html += fmt::format("<{0}>{1}</{0}>", tag, EscapeMarkup(text));
  return html;
}

std::string TableHtml(const Table& table) {
  std::string html = "<div class=\"table\"><table>\n<thead><tr>" + Cells("th", table.front()) +
                     "</tr></thead>\n<tbody>\n";
  for (size_t i = 1; i < table.size(); ++i) html += "<tr>" + Cells("td", table[i]) + "</tr>\n";
  return html + "</tbody>\n</table></div>\n";
}

// Rows of a name and a text.
std::string HeadHtml(const std::vector<Row>& head) {
  std::string html = "<table>\n<tbody>\n";
  for (const Row& row : head) {
    html += "<tr>" + Cells("th", {row[0]}) + Cells("td", {row[1]}) + "</tr>\n";
  }
  return html + "</tbody>\n</table>\n";
}

std::string VerdictHtml(const VerdictReport& verdict) {
  std::string html = fmt::format("<h2>{}</h2>\n", EscapeMarkup(verdict.heading));
  html += TableHtml(verdict.differences);
  if (!verdict.within.empty()) html += fmt::format("<p>{}</p>\n", EscapeMarkup(verdict.within));
  if (!verdict.why.empty()) html += fmt::format("<p>Why: {}</p>\n", EscapeMarkup(verdict.why));
  return html;
}

std::string ListHtml(const char* heading, const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  std::string html = fmt::format("<h2>{}</h2>\n<ul>\n", heading);
  for (const std::string& text : texts) html += fmt::format("<li>{}</li>\n", EscapeMarkup(text));
  return html + "</ul>\n";
}

}  // namespace

std::string ResultHtml(const Report& report, const std::vector<ChartPanel>& panels) {
  const std::string title = EscapeMarkup(fmt::format("{}: {}", report.name, report.title));
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += fmt::format("<title>{}</title>\n<style>\n{}\n{}</style>\n</head>\n", title,
                      HasCharts() ? BuiltInText("uplot/uPlot.min.css") : "", kStyle);
  html += fmt::format("<body>\n<h1>{}</h1>\n", title);
  html += HeadHtml(report.head);
  html += HasCharts() ? "<h2>Charts</h2>\n<div id=\"charts\"></div>\n" : kNoCharts;
  html += "<h2>Cells</h2>\n";
  html += TableHtml(report.cells);
  for (const VerdictReport& verdict : report.verdicts) html += VerdictHtml(verdict);
  html += ListHtml("What runs had to say", report.cell_notes);
  html += ListHtml("What else to know", report.notes);
  if (!report.settings.empty()) {
    html += "<h2>What the paper fixes, what it leaves open, and what is set here</h2>\n";
    html += TableHtml(report.settings);
  }
  if (!HasCharts()) return html + "</body>\n</html>\n";
  html += fmt::format("<!--\nuPlot:\n{}-->\n", BuiltInText("uplot/LICENSE"));
  html += fmt::format("<script>\n{}\n</script>\n", BuiltInText("uplot/uPlot.iife.min.js"));
  html += fmt::format("<script>\nconst panels = {};\n{}</script>\n</body>\n</html>\n",
                      EscapeForScript(JsonText(PanelsToJson(panels))), kScript);
  return html;
}

}  // namespace sotto::server
