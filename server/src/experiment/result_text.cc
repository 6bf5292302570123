#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/result_files.h"

namespace sotto::server {
std::string ResultText(const Report& report) {
  std::string text = fmt::format("{}: {}\n", report.name, report.title);
  text += PlainTable(report.head) + "\n" + PlainTable(report.cells);
  for (const VerdictReport& verdict : report.verdicts) {
    text += fmt::format("\n{}\n{}", verdict.heading, PlainTable(verdict.differences));
    if (!verdict.within.empty()) text += fmt::format("  {}\n", verdict.within);
    if (!verdict.why.empty()) text += fmt::format("  why: {}\n", verdict.why);
  }
  for (const std::string& note : report.cell_notes) text += fmt::format("\nnote: {}\n", note);
  if (!report.notes.empty()) text += "\nwhat else to know:\n";
  for (const std::string& note : report.notes) text += fmt::format("  - {}\n", note);
  if (report.settings.empty()) return text;
  text += "\nwhat the paper fixes, what it leaves open, and what is set here:\n";
  text += PlainTable(report.settings);
  return text;
}

std::string ResultMarkdown(const Report& report) {
  std::string text = fmt::format("### `{}`: {}\n\n", report.name, report.title);
  for (const Row& row : report.head) text += fmt::format("- **{}**: {}\n", row[0], row[1]);
  text += "\n" + MarkdownTable(report.cells);
  for (const VerdictReport& verdict : report.verdicts) {
    text += fmt::format("\n**{}**\n\n{}", verdict.heading, MarkdownTable(verdict.differences));
    if (!verdict.within.empty()) text += fmt::format("\nHere {}.\n", verdict.within);
    if (!verdict.why.empty()) text += fmt::format("\nWhy: {}\n", verdict.why);
  }
  if (!report.cell_notes.empty() || !report.notes.empty()) text += "\n";
  for (const std::string& note : report.cell_notes) text += fmt::format("- {}\n", note);
  for (const std::string& note : report.notes) text += fmt::format("- {}\n", note);
  if (report.settings.empty()) return text;
  text += "\nWhat the paper fixes, what it leaves open, and what is set here:\n\n";
  text += MarkdownTable(report.settings);
  return text;
}

std::string ExperimentsTable(const std::vector<Definition>& definitions) {
  Table table = {{"experiment", "what it repeats", "runs, quick", "the paper's data"}};
  for (const Definition& d : definitions) {
    size_t cells = 1;
    size_t quick = 1;
    for (const Axis& axis : d.axes) {
      cells *= axis.values.size();
      quick *= ValuesOf(axis, true).size();
    }
    table.push_back({fmt::format("`{}`", d.name), fmt::format("{}: {}", d.source, d.title),
                     fmt::format("{}, {}", cells * d.seeds, quick * d.quick_seeds),
                     d.choices.empty() ? "none needed" : d.dataset});
  }
  return MarkdownTable(table);
}

}  // namespace sotto::server
