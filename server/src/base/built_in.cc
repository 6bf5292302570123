#include "base/built_in.h"

#include <algorithm>
#include <stdexcept>

namespace sotto::server {

const BuiltInFile* FindBuiltIn(const std::string& path) {
  const auto found = std::find_if(kBuiltInFiles.begin(), kBuiltInFiles.end(),
                                  [&](const BuiltInFile& file) { return file.path == path; });
  return found == kBuiltInFiles.end() ? nullptr : &*found;
}

std::string BuiltInText(const std::string& path) {
  const BuiltInFile* file = FindBuiltIn(path);
  if (file == nullptr) throw std::logic_error("no such built-in file: " + path);
  return file->text;
}

bool HasCharts() { return FindBuiltIn("uplot/uPlot.iife.min.js") != nullptr; }

}  // namespace sotto::server
