// Files that are part of the program: experiments and their models, the operator's page, the
// library of charts. Part of sotto::server/base.
//
// Reentrant: safe from any thread.
#pragma once

#include <string>
#include <vector>

namespace sotto::server {

// A file as it was when the program was built.
struct BuiltInFile {
  const char* path;  // "dp-fed-ls-table2.toml", "models/softmax-mnist.toml", "page.js"
  const char* text;
};

// The build makes this table (server/embed.cmake).
extern const std::vector<BuiltInFile> kBuiltInFiles;

// Null if there is none.
const BuiltInFile* FindBuiltIn(const std::string& path);

// The text of a built-in file. Throws std::logic_error if there is none.
std::string BuiltInText(const std::string& path);

// Whether the library of charts is built in: "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css" and
// "uplot/LICENSE".
bool HasCharts();

}  // namespace sotto::server
