#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/markup.h"
#include "experiment/charts.h"

namespace sotto::server {
namespace {

// Of one panel, in pixels.
constexpr double kWidth = 760;
constexpr double kLeft = 64;
constexpr double kRight = 250;  // the legend's
constexpr double kTop = 34;
constexpr double kPlot = 240;  // height of the plot
constexpr double kBelow = 46;
constexpr double kLegendLine = 14;

constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e",
                                    "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22"};

struct Interval {
  double least = 0;
  double most = 1;
};

Interval Widened(double least, double most) {
  if (!(least <= most)) return {};
  const double margin =
      least == most ? std::max(1e-9, std::fabs(least) * 0.1) : (most - least) * 0.05;
  return {least - margin, most + margin};
}

Interval YOf(const ChartPanel& panel) {
  double least = INFINITY;
  double most = -INFINITY;
  for (const ChartLine& line : panel.lines) {
    for (const double value : line.values) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  return Widened(least, most);
}

// A step of 1, 2 or 5 times a power of ten that divides the interval into about five parts.
double StepOf(const Interval& interval) {
  const double rough = (interval.most - interval.least) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::vector<double> TicksOf(const Interval& interval) {
  const double step = StepOf(interval);
  std::vector<double> ticks;
  for (double i = std::ceil(interval.least / step); i * step <= interval.most; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     EscapeMarkup(text));
}

std::string Stroke(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

// One panel from `top` on.
class PanelSvg {
 public:
  PanelSvg(const ChartPanel& panel, double top)
      : panel_(panel),
        top_(top + kTop),
        x_(panel.x.empty() ? Interval{} : Widened(panel.x.front(), panel.x.back())),
        y_(YOf(panel)) {}

  std::string Draw() const {
    std::string svg = Text(kLeft, top_ - 12, "start", panel_.title);
    svg += YAxis() + XAxis();
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
        kLeft, top_, PlotWidth(), kPlot);
    for (size_t i = 0; i < panel_.lines.size(); ++i) svg += Line(i);
    return svg;
  }

 private:
  static double PlotWidth() { return kWidth - kLeft - kRight; }
  double X(double value) const {
    return kLeft + (value - x_.least) / (x_.most - x_.least) * PlotWidth();
  }
  double Y(double value) const {
    return top_ + kPlot - (value - y_.least) / (y_.most - y_.least) * kPlot;
  }

  std::string YAxis() const {
    std::string svg;
    for (const double tick : TicksOf(y_)) {
      svg += Stroke(kLeft, Y(tick), kLeft + PlotWidth(), Y(tick), "stroke=\"#ddd\"");
      svg += Text(kLeft - 6, Y(tick) + 3, "end", fmt::format("{:.6g}", tick));
    }
    return svg + fmt::format(
                     "<text transform=\"translate(14 {:.1f}) rotate(-90)\" "
                     "text-anchor=\"middle\">{}</text>\n",
                     top_ + kPlot / 2, EscapeMarkup(panel_.y_label));
  }

  std::string XAxis() const {
    std::string svg;
    const std::vector<double> ticks = panel_.x_names.empty() ? TicksOf(x_) : panel_.x;
    for (size_t i = 0; i < ticks.size(); ++i) {
      svg += Text(X(ticks[i]), top_ + kPlot + 14, "middle",
                  panel_.x_names.empty() ? fmt::format("{:.6g}", ticks[i]) : panel_.x_names[i]);
    }
    return svg + Text(kLeft + PlotWidth() / 2, top_ + kPlot + 32, "middle", panel_.x_label);
  }

  // Here and paper of one name have one colour.
  std::string ColourOf(const ChartLine& line) const {
    const std::string prefix = "paper: ";
    const std::string name = line.is_paper ? line.name.substr(prefix.size()) : line.name;
    size_t number = 0;
    for (const ChartLine& other : panel_.lines) {
      if (other.name == name) break;
      if (!other.is_paper) ++number;
    }
    return kColours[number % std::size(kColours)];
  }

  std::string Line(size_t index) const {
    const ChartLine& line = panel_.lines[index];
    const std::string style =
        fmt::format("stroke=\"{}\"{} fill=\"none\" stroke-width=\"1.5\"", ColourOf(line),
                    line.is_paper ? " stroke-dasharray=\"4 3\"" : "");
    std::string points;
    std::string dots;
    for (size_t i = 0; i < line.values.size(); ++i) {
      if (!std::isfinite(line.values[i])) continue;
      points += fmt::format("{:.1f},{:.1f} ", X(panel_.x[i]), Y(line.values[i]));
      if (panel_.x.size() <= 20) {
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n",
                            X(panel_.x[i]), Y(line.values[i]), ColourOf(line));
      }
    }
    const double legend = top_ + 8 + static_cast<double>(index) * kLegendLine;
    const double left = kWidth - kRight + 10;
    return fmt::format("<polyline points=\"{}\" {}/>\n", points, style) + dots +
           Stroke(left, legend, left + 20, legend, style) +
           Text(left + 26, legend + 3, "start", line.name);
  }

  const ChartPanel& panel_;
  const double top_;
  const Interval x_;
  const Interval y_;
};

double HeightOf(const ChartPanel& panel) {
  const double legend = static_cast<double>(panel.lines.size()) * kLegendLine;
  return kTop + std::max(kPlot + kBelow, legend + kBelow / 2);
}

}  // namespace

std::string ChartSvg(const Summary& summary) {
  double top = 0;
  std::string panels;
  for (const ChartPanel& panel : PanelsOf(summary)) {
    panels += PanelSvg(panel, top).Draw();
    top += HeightOf(panel);
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
             "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"10\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             kWidth, top) +
         panels + "</svg>\n";
}

}  // namespace sotto::server
