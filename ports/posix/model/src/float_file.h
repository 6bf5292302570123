// Files of float32, little-endian, beside a model file. Part of sotto::model_file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "table.h"

namespace sotto::posix {

class FloatFile {
 public:
  // The file that a key names, relative to the folder of the model file. Refuses the key if there
  // is no such file, or an empty one.
  //   expected  of the key's text
  FloatFile(const std::string& model_path, const Table& table, const std::string& key,
            const std::string& expected);

  const std::string& path() const { return path_; }
  uintmax_t bytes() const { return bytes_; }

  // The first numbers, 4 * count <= bytes(). Refuses the key for one that is not finite.
  std::vector<float> Read(size_t count) const;

 private:
  const Table& table_;
  std::string key_;
  std::string path_;
  uintmax_t bytes_ = 0;
};

}  // namespace sotto::posix
