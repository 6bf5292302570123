// Comma-separated test vectors: rows of fields; lines that start with # and the first other line,
// the header, are skipped.
#pragma once

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace sotto {

inline std::vector<std::vector<std::string>> ReadCsv(const std::string& name) {
  std::ifstream file(std::string(SOTTO_VECTORS) + "/" + name);
  EXPECT_TRUE(file.good()) << "cannot open test vectors " << name;
  std::vector<std::vector<std::string>> rows;
  std::string line;
  bool header = true;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (header) {
      header = false;
      continue;
    }
    std::vector<std::string> fields;
    std::stringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    rows.push_back(fields);
  }
  return rows;
}

}  // namespace sotto
