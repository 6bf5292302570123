#include "experiment/table.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sotto::server {

std::string PlainTable(const Table& table) {
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

std::string MarkdownTable(const Table& table) {
  std::string text;
  for (size_t i = 0; i < table.size(); ++i) {
    text += fmt::format("| {} |\n", fmt::join(table[i], " | "));
    if (i > 0) continue;
    for (size_t column = 0; column < table[i].size(); ++column) text += "|---";
    text += "|\n";
  }
  return text;
}

}  // namespace sotto::server
