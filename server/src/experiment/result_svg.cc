#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/markup.h"
#include "experiment/result_files.h"

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

struct Extent {
  double least = 0;
  double most = 1;
};

Extent Widened(double least, double most) {
  if (!(least <= most)) return {};
  const double margin =
      least == most ? std::max(1e-9, std::fabs(least) * 0.1) : (most - least) * 0.05;
  return {least - margin, most + margin};
}

// A tick of 1, 2 or 5 times a power of ten, about five in the interval.
double StepOf(const Extent& interval) {
  const double rough = (interval.most - interval.least) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

// An axis: where values are on it, from 0 to 1, and its ticks.
class Scale {
 public:
  Scale(const std::vector<double>& values, bool is_log) : is_log_(is_log) {
    double least = INFINITY;
    double most = -INFINITY;
    for (const double value : values) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, Of(value));
      most = std::max(most, Of(value));
    }
    shown_ = Widened(least, most);
  }

  double At(double value) const {
    return (Of(value) - shown_.least) / (shown_.most - shown_.least);
  }

  std::vector<double> Ticks() const {
    // Whole powers of ten, if there are enough of them.
    if (is_log_ && shown_.most - shown_.least > 2) return Powers();
    std::vector<double> ticks;
    const Extent plain =
        is_log_ ? Extent{std::pow(10, shown_.least), std::pow(10, shown_.most)} : shown_;
    const double step = StepOf(plain);
    for (double i = std::ceil(plain.least / step); i * step <= plain.most; ++i) {
      if (!is_log_ || i > 0) ticks.push_back(i * step + 0.0);  // not -0
    }
    return ticks;
  }

 private:
  double Of(double value) const { return is_log_ ? std::log10(value) : value; }

  std::vector<double> Powers() const {
    std::vector<double> ticks;
    for (double power = std::ceil(shown_.least); power <= shown_.most; ++power) {
      ticks.push_back(std::pow(10, power));
    }
    return ticks;
  }

  const bool is_log_;
  Extent shown_;  // in logarithms to the base of ten, if is_log_
};

std::vector<double> AllValues(const ChartPanel& panel) {
  std::vector<double> values;
  for (const ChartLine& line : panel.lines) {
    values.insert(values.end(), line.values.begin(), line.values.end());
    for (size_t i = 0; i < line.values.size(); ++i) {  // NaN where there is no bar
      values.push_back(line.values[i] - line.errors[i]);
      values.push_back(line.values[i] + line.errors[i]);
    }
  }
  return values;
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
        x_(panel.x, panel.has_log_x),
        y_(AllValues(panel), panel.has_log_y) {}

  std::string Draw() const {
    std::string svg = Text(kLeft, top_ - 12, "start", panel_.title);
    svg += YAxis() + XAxis();
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
        kLeft, top_, PlotWidth(), kPlot);
    for (size_t i = 0; i < panel_.lines.size(); ++i) svg += Line(i);
    if (panel_.has_bars()) svg += Text(kLeft + PlotWidth(), top_ - 12, "end", kBarsText);
    return svg;
  }

 private:
  static double PlotWidth() { return kWidth - kLeft - kRight; }
  double X(double value) const { return kLeft + x_.At(value) * PlotWidth(); }
  double Y(double value) const { return top_ + kPlot - y_.At(value) * kPlot; }

  std::string YAxis() const {
    std::string svg;
    for (const double tick : y_.Ticks()) {
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
    const std::vector<double> ticks = panel_.x_names.empty() ? x_.Ticks() : panel_.x;
    for (size_t i = 0; i < ticks.size(); ++i) {
      svg += Text(X(ticks[i]), top_ + kPlot + 14, "middle",
                  panel_.x_names.empty() ? fmt::format("{:.6g}", ticks[i]) : panel_.x_names[i]);
    }
    return svg + Text(kLeft + PlotWidth() / 2, top_ + kPlot + 32, "middle", panel_.x_label);
  }

  // Error bars, with a short stroke at either end.
  std::string Bars(const ChartLine& line) const {
    constexpr double kEnd = 3;
    const std::string style = fmt::format("stroke=\"{}\"{} class=\"bar\"", line.colour,
                                          line.is_paper ? " stroke-opacity=\"0.5\"" : "");
    std::string svg;
    for (size_t i = 0; i < line.values.size(); ++i) {
      if (!std::isfinite(line.values[i]) || !std::isfinite(line.errors[i])) continue;
      const double x = X(panel_.x[i]) + (line.is_paper ? 2 : 0);
      const double low = Y(line.values[i] - line.errors[i]);
      const double high = Y(line.values[i] + line.errors[i]);
      svg += Stroke(x, low, x, high, style) + Stroke(x - kEnd, low, x + kEnd, low, style) +
             Stroke(x - kEnd, high, x + kEnd, high, style);
    }
    return svg;
  }

  std::string Line(size_t index) const {
    const ChartLine& line = panel_.lines[index];
    const std::string style =
        fmt::format("stroke=\"{}\"{} fill=\"none\" stroke-width=\"1.5\"", line.colour,
                    line.is_paper ? " stroke-dasharray=\"4 3\"" : "");
    std::string points;
    std::string dots;
    for (size_t i = 0; i < line.values.size(); ++i) {
      if (!std::isfinite(line.values[i])) continue;
      points += fmt::format("{:.1f},{:.1f} ", X(panel_.x[i]), Y(line.values[i]));
      if (panel_.x.size() <= 20) {
        dots += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\" stroke=\"{}\"/>\n",
            X(panel_.x[i]), Y(line.values[i]), line.is_paper ? "white" : line.colour, line.colour);
      }
    }
    const double legend = top_ + 8 + static_cast<double>(index) * kLegendLine;
    const double left = kWidth - kRight + 10;
    const std::string joined = fmt::format("<polyline points=\"{}\" {}/>\n", points, style);
    return (panel_.x_names.empty() ? joined : "") + Bars(line) + dots +
           Stroke(left, legend, left + 20, legend, style) +
           Text(left + 26, legend + 3, "start", line.name);
  }

  const ChartPanel& panel_;
  const double top_;
  const Scale x_;
  const Scale y_;
};

double HeightOf(const ChartPanel& panel) {
  const double legend = static_cast<double>(panel.lines.size()) * kLegendLine;
  return kTop + std::max(kPlot + kBelow, legend + kBelow / 2);
}

}  // namespace

std::string ResultSvg(const std::vector<ChartPanel>& panels) {
  double top = 0;
  std::string drawn;
  for (const ChartPanel& panel : panels) {
    drawn += PanelSvg(panel, top).Draw();
    top += HeightOf(panel);
  }
  return SvgHead(kWidth, top) + drawn + "</svg>\n";
}

}  // namespace sotto::server
