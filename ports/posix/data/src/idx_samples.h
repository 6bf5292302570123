// IDX files, an image at a time. Part of sotto::data.
#pragma once

#include <cstdint>
#include <string>

#include "sotto/data/dataset.h"
#include "sotto/data/source.h"

namespace sotto {

struct IdxSamples {
  uint32_t rows = 0;
  uint32_t columns = 0;
  size_t count = 0;   // of all images of the file
  uint32_t most = 0;  // the largest label of the file
  StoredSamples samples;
};

// The wanted images and their labels; all of the file is read. Throws like ReadIdxDataset().
//   labels_path  empty: there are no labels
//   classes      0: any label is right
IdxSamples ReadIdxSamples(const std::string& images_path, const std::string& labels_path,
                          uint32_t classes, const Selection& keep);

// The file itself or its form with .gz. Throws a FileError that names both and gives the advice.
std::string FindFile(const std::string& path, const std::string& advice);

}  // namespace sotto
