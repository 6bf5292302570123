#include "sotto/data/idx.h"

#include <algorithm>
#include <fmt/format.h>

#include "byte_file.h"
#include "sotto/posix/files.h"

namespace sotto {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : file_(path) {}

  uint32_t ReadU32() {
    uint8_t bytes[4];
    file_.ReadExactly(bytes, sizeof(bytes), "the header");
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
  }

  // `kind` names the content for people: "image" or "label".
  void ExpectMagic(uint32_t expected, const char* kind) {
    const uint32_t magic = ReadU32();
    if (magic == expected) return;
    throw Defect(
        fmt::format("is not an IDX {} file: it begins with {:#010x}, expected {:#010x}", kind,
                    magic, expected),
        "check that images and labels are not swapped and that the file is IDX or gzip of IDX");
  }

  // Before the content is read.
  void ExpectSize(uint64_t size) {
    size_ = size;
    if (size > 0 && size <= kMaxIdxBytes) return;
    throw Defect(fmt::format("announces {} bytes of content, expected 1 to {}", size, kMaxIdxBytes),
                 "the header is damaged: fetch the file again");
  }

  void ReadContent(uint8_t* out, size_t count) {
    file_.ReadExactly(out, count, fmt::format("its {} bytes of content", size_));
  }

  void ExpectEnd() {
    uint8_t extra;
    if (file_.Read(&extra, 1) == 0) return;
    throw Defect(fmt::format("goes on after the {} bytes its header announces", size_),
                 "the file is damaged or of another format: fetch it again");
  }

  // The rest of the file, which must be exactly `size` bytes. The vector grows with what arrives.
  std::vector<uint8_t> ReadRest(uint64_t size) {
    ExpectSize(size);
    std::vector<uint8_t> content;
    while (content.size() < size) {
      const size_t begin = content.size();
      const size_t count = std::min(kChunkBytes, static_cast<size_t>(size) - begin);
      content.resize(begin + count);
      ReadContent(content.data() + begin, count);
    }
    ExpectEnd();
    return content;
  }

  posix::FileError Defect(const std::string& what, const std::string& advice) const {
    return file_.Defect(what, advice);
  }

 private:
  ByteFile file_;
  uint64_t size_ = 0;  // of the content
};

// The header of an image file: everything but the pixels.
IdxSamples ReadHeader(IdxFile& file) {
  file.ExpectMagic(kIdxImagesMagic, "image");
  IdxSamples images;
  images.count = file.ReadU32();
  images.rows = file.ReadU32();
  images.columns = file.ReadU32();
  const auto is_side = [](uint32_t side) { return side >= 1 && side <= kMaxIdxSide; };
  if (!is_side(images.rows) || !is_side(images.columns)) {
    throw file.Defect(fmt::format("announces images of {} x {} pixels, expected sides of 1 to {}",
                                  images.rows, images.columns, kMaxIdxSide),
                      "the header is damaged: fetch the file again");
  }
  return images;
}

}  // namespace

std::vector<uint8_t> ReadIdxLabels(const std::string& path) {
  IdxFile file(path);
  file.ExpectMagic(kIdxLabelsMagic, "label");
  return file.ReadRest(file.ReadU32());
}

IdxSamples ReadIdxSamples(const std::string& images_path, const std::string& labels_path,
                          const Selection& keep) {
  IdxFile file(images_path);
  IdxSamples read = ReadHeader(file);
  // At most 2^32 * 2^24: no overflow.
  file.ExpectSize(uint64_t{read.count} * read.rows * read.columns);
  if (!labels_path.empty()) {
    read.labels = ReadIdxLabels(labels_path);
    if (read.labels.size() != read.count) {
      throw posix::FileError(
          fmt::format("{} holds {} images but {} holds {} labels, expected one label an image; "
                      "take both files from the same release",
                      images_path, read.count, labels_path, read.labels.size()));
    }
  }
  std::vector<uint8_t> image(size_t{read.rows} * read.columns);
  for (size_t i = 0; i < read.count; ++i) {
    file.ReadContent(image.data(), image.size());
    if (keep && !keep(i)) continue;
    read.samples.bytes.insert(read.samples.bytes.end(), image.begin(), image.end());
    if (!read.labels.empty()) read.samples.labels.push_back(read.labels[i]);
  }
  file.ExpectEnd();
  read.samples.bytes.shrink_to_fit();
  return read;
}

}  // namespace sotto
