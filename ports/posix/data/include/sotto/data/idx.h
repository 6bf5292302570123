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
#include "sotto/data/source.h"

namespace sotto {

constexpr uint32_t kIdxImagesMagic = 0x00000803;  // unsigned bytes, three dimensions
constexpr uint32_t kIdxLabelsMagic = 0x00000801;  // unsigned bytes, one dimension
constexpr uint32_t kMaxIdxSide = 4096;            // pixels
constexpr size_t kMaxIdxBytes = size_t{1} << 30;  // of payload, decompressed

struct IdxSamples {
  uint32_t rows = 0;
  uint32_t columns = 0;
  size_t count = 0;             // of all images of the file
  std::vector<uint8_t> labels;  // of all images of the file, as it has them; or empty
  StoredSamples samples;        // the wanted ones, with labels as the file has them
};

// The wanted images of a file, and the labels of all; all of the file is read. Throws
// std::runtime_error when a file is missing, unreadable, not of its kind, damaged, shorter or
// longer than its header says, empty, or when the header asks for images larger than kMaxIdxSide or
// for more than kMaxIdxBytes; when the numbers of images and labels differ. What a label may be is
// the rule of all formats, see labels.h.
//   labels_path  empty: there are no labels
IdxSamples ReadIdxSamples(const std::string& images_path, const std::string& labels_path,
                          const Selection& keep);

// Reads all labels of a file. Throws like ReadIdxSamples().
std::vector<uint8_t> ReadIdxLabels(const std::string& path);

}  // namespace sotto
