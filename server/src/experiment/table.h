// Tables of texts. Part of sotto::server/experiment.
#pragma once

#include <string>
#include <vector>

namespace sotto::server {

using Row = std::vector<std::string>;

// The first row is the header.
using Table = std::vector<Row>;

// For people: columns as wide as their widest text.
std::string PlainTable(const Table& table);

// As a table of a Markdown page.
std::string MarkdownTable(const Table& table);

}  // namespace sotto::server
