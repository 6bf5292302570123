// Reader of IDX files, the format of MNIST and its successors. Part of sotto::data.
//
// An IDX file is a magic number, the dimensions (all 32-bit big endian) and the bytes. Files may be
// gzip-compressed or not, with any name. The format is described on the page of LeCun, Cortes and
// Burges, "The MNIST database of handwritten digits".
//
// Every defect is a std::runtime_error that names the file, the defect, the expected content and
// the remedy: a posix::FileError unless the machine itself fails. A path that names neither a
// regular file nor a folder, for example a named pipe, whose opening would wait, is a
// std::invalid_argument. The reader takes at most twice the memory of the bytes that the file
// really has. A header that announces more than kMaxIdxBytes is refused at once; a header that
// announces more than the file has does not cost memory. Stateless; safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/data/dataset.h"

namespace sotto {

constexpr uint32_t kIdxImagesMagic = 0x00000803;  // unsigned bytes, three dimensions
constexpr uint32_t kIdxLabelsMagic = 0x00000801;  // unsigned bytes, one dimension
constexpr uint32_t kMaxIdxSide = 4096;            // pixels
constexpr size_t kMaxIdxBytes = size_t{1} << 30;  // of payload, decompressed

struct IdxImages {
  uint32_t count = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
  std::vector<uint8_t> pixels;  // [count][rows][columns]
};

// Reads all images of a file. Throws std::runtime_error when the file is missing, unreadable, not
// an IDX image file, damaged, shorter or longer than its header says, empty, or when the header
// asks for images larger than kMaxIdxSide or for more than kMaxIdxBytes.
IdxImages ReadIdxImages(const std::string& path);

// Reads all labels of a file. Throws like ReadIdxImages.
std::vector<uint8_t> ReadIdxLabels(const std::string& path);

// Reads images and their labels into a data set.
//   classes  1 to 256; the labels must be below it
// Throws also when the numbers of images and labels differ or a label is not below `classes`.
SharedDataset ReadIdxDataset(const std::string& name, const std::string& images_path,
                             const std::string& labels_path, uint32_t classes);

}  // namespace sotto
