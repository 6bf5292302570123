#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/result_files.h"

namespace sotto::server {
namespace {

std::string Plain(const Table& table) {
  std::vector<size_t> widths(table.front().size(), 0);
  for (const Row& row : table) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : table) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format(" {:<{}} ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Markdown(const Table& table) {
  std::string text;
  for (size_t i = 0; i < table.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(table[i], " | "));
    if (i > 0) continue;
    for (size_t column = 0; column < table[i].size(); ++column) text += "|---";
    text += "|\n";
  }
  return text;
}

}  // namespace

std::string ResultText(const Report& report) {
  std::string text = fmt::format("{}: {}\n", report.name, report.title);
  text += Plain(report.head) + "\n" + Plain(report.cells);
  for (const VerdictReport& verdict : report.verdicts) {
    text += fmt::format("\n{}\n{}", verdict.heading, Plain(verdict.differences));
    if (!verdict.why.empty()) text += fmt::format("  why: {}\n", verdict.why);
  }
  for (const std::string& note : report.cell_notes) text += fmt::format("\nnote: {}\n", note);
  if (!report.notes.empty()) text += "\nwhat the paper leaves open, and what was chosen:\n";
  for (const std::string& note : report.notes) text += fmt::format("  - {}\n", note);
  return text;
}

std::string ResultMarkdown(const Report& report) {
  std::string text = fmt::format("### `{}`: {}\n\n", report.name, report.title);
  for (const Row& row : report.head) text += fmt::format("- **{}**: {}\n", row[0], row[1]);
  text += "\n" + Markdown(report.cells);
  for (const VerdictReport& verdict : report.verdicts) {
    text += fmt::format("\n**{}**\n\n{}", verdict.heading, Markdown(verdict.differences));
    if (!verdict.why.empty()) text += fmt::format("\nWhy: {}\n", verdict.why);
  }
  if (!report.cell_notes.empty() || !report.notes.empty()) text += "\n";
  for (const std::string& note : report.cell_notes) text += fmt::format("- {}\n", note);
  for (const std::string& note : report.notes) text += fmt::format("- {}\n", note);
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
  return Markdown(table);
}

}  // namespace sotto::server
