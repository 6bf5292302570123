// Files of samples for tests, and what a reader says of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <zlib.h>

#include "sotto/data/source.h"
#include "unit/test_folder.h"

namespace sotto {

#define EXPECT_SAYS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

// A folder with data files of the test's own.
class DataFiles : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // With a name in .gz the file is compressed.
  std::string Write(const std::string& name, const std::string& content) const {
    const bool is_gz = name.size() > 3 && name.substr(name.size() - 3) == ".gz";
    gzFile file = gzopen(Path(name).c_str(), is_gz ? "wb" : "wbT");
    if (!content.empty()) {
      EXPECT_GT(gzwrite(file, content.data(), static_cast<unsigned>(content.size())), 0);
    }
    EXPECT_EQ(gzclose(file), Z_OK);
    return Path(name);
  }

  static SharedDataset Read(const std::string& text, const ModelInfo* model = nullptr,
                            const Selection& keep = nullptr) {
    return ReadDataset(ParseDataSource(text), model, keep);
  }

  // What the reader complains about.
  static std::string Complaint(const std::string& text, const ModelInfo* model = nullptr) {
    try {
      Read(text, model);
    } catch (const std::exception& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown: " << text;
    return "";
  }

 private:
  TestFolder folder_;
};

inline std::vector<float> FeaturesOf(const Dataset& data, size_t sample) {
  std::vector<float> features(data.input_size());
  data.CopyFeatures(sample, {features.data(), features.size()});
  return features;
}

inline std::vector<float> TargetOf(const Dataset& data, size_t sample) {
  std::vector<float> target(data.info().targets);
  data.CopyTarget(sample, {target.data(), target.size()});
  return target;
}

inline std::vector<uint32_t> GroupsOf(const Dataset& data) {
  std::vector<uint32_t> groups;
  for (size_t i = 0; i < data.size(); ++i) groups.push_back(data.Group(i));
  return groups;
}

// A .npy file of version 1.
template <class T>
std::string Npy(const std::string& descr, const std::string& shape, const std::vector<T>& values,
                bool fortran = false) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return file;
}

}  // namespace sotto
