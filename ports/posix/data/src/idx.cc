#include "sotto/data/idx.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <system_error>
#include <zlib.h>

#include "sotto/posix/files.h"

namespace sotto {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

// One open file. zlib passes files that are not compressed through unchanged.
class IdxFile {
 public:
  explicit IdxFile(const std::string& path) : path_(path) {
    // zlib refuses a folder by itself.
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) posix::RequireRegularFile(path);
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (file_ == nullptr) {
      const int error = errno != 0 ? errno : ENOMEM;
      posix::ThrowFileError(fmt::format("{}: cannot be opened: {}; check the path and its "
                                        "permissions",
                                        path, std::strerror(error)),
                            error);
    }
  }

  uint32_t ReadU32() {
    uint8_t bytes[4];
    ReadExactly(bytes, sizeof(bytes), "the header");
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

  // The rest of the file, which must be exactly `size` bytes. The vector grows with what arrives.
  std::vector<uint8_t> ReadRest(uint64_t size) {
    if (size == 0 || size > kMaxIdxBytes) {
      throw Defect(
          fmt::format("announces {} bytes of content, expected 1 to {}", size, kMaxIdxBytes),
          "the header is damaged: fetch the file again");
    }
    std::vector<uint8_t> content;
    while (content.size() < size) {
      const size_t begin = content.size();
      const size_t count = std::min(kChunkBytes, static_cast<size_t>(size) - begin);
      content.resize(begin + count);
      ReadExactly(content.data() + begin, count, fmt::format("its {} bytes of content", size));
    }
    ExpectEnd(size);
    return content;
  }

  posix::FileError Defect(const std::string& what, const std::string& advice) const {
    return posix::FileError(fmt::format("{}: {}; {}", path_, what, advice));
  }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };

  void ReadExactly(uint8_t* out, size_t count, const std::string& what) {
    const int got = gzread(file_.get(), out, static_cast<unsigned>(count));
    if (got == static_cast<int>(count)) return;
    ThrowIfUnreadable();
    throw Defect(fmt::format("is truncated: it ends within {}", what), "fetch the file again");
  }

  // zlib verifies the checksum only when a read reaches the end.
  void ExpectEnd(uint64_t size) {
    uint8_t extra;
    if (gzread(file_.get(), &extra, 1) == 1) {
      throw Defect(fmt::format("goes on after the {} bytes its header announces", size),
                   "the file is damaged or not what it seems: fetch it again");
    }
    ThrowIfUnreadable();
  }

  void ThrowIfUnreadable() {
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    if (code == Z_BUF_ERROR) {
      throw Defect("is truncated: the compressed data stop early", "fetch the file again");
    }
    const int error = code == Z_ERRNO ? errno : code == Z_MEM_ERROR ? ENOMEM : 0;
    posix::ThrowFileError(fmt::format("{}: cannot be read: {}; if it is damaged, fetch it again",
                                      path_, code == Z_ERRNO ? std::strerror(error) : message),
                          error);
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

void CheckLabels(const std::vector<uint8_t>& labels, uint32_t classes, const std::string& path) {
  const auto is_foreign = [&](uint8_t label) { return label >= classes; };
  const auto bad = std::find_if(labels.begin(), labels.end(), is_foreign);
  if (bad == labels.end()) return;
  throw posix::FileError(
      fmt::format("{}: label {} is {}, expected 0 to {}; choose a data set with {} classes", path,
                  bad - labels.begin(), static_cast<int>(*bad), classes - 1, classes));
}

}  // namespace

IdxImages ReadIdxImages(const std::string& path) {
  IdxFile file(path);
  file.ExpectMagic(kIdxImagesMagic, "image");
  IdxImages images;
  images.count = file.ReadU32();
  images.rows = file.ReadU32();
  images.columns = file.ReadU32();
  const auto is_side = [](uint32_t side) { return side >= 1 && side <= kMaxIdxSide; };
  if (!is_side(images.rows) || !is_side(images.columns)) {
    throw file.Defect(fmt::format("announces images of {} x {} pixels, expected sides of 1 to {}",
                                  images.rows, images.columns, kMaxIdxSide),
                      "the header is damaged: fetch the file again");
  }
  // At most 2^32 * 2^24: no overflow.
  images.pixels = file.ReadRest(uint64_t{images.count} * images.rows * images.columns);
  return images;
}

std::vector<uint8_t> ReadIdxLabels(const std::string& path) {
  IdxFile file(path);
  file.ExpectMagic(kIdxLabelsMagic, "label");
  return file.ReadRest(file.ReadU32());
}

SharedDataset ReadIdxDataset(const std::string& name, const std::string& images_path,
                             const std::string& labels_path, uint32_t classes) {
  IdxImages images = ReadIdxImages(images_path);
  const std::vector<uint8_t> labels = ReadIdxLabels(labels_path);
  if (labels.size() != images.count) {
    throw posix::FileError(
        fmt::format("{} holds {} images but {} holds {} labels, expected one label an image; take "
                    "both files from the same release",
                    images_path, images.count, labels_path, labels.size()));
  }
  CheckLabels(labels, classes, labels_path);
  SampleInfo info;
  info.shape = nn::ShapeOf(images.rows, images.columns, 1);
  info.classes = classes;
  StoredSamples samples;
  samples.bytes = std::move(images.pixels);
  samples.labels.assign(labels.begin(), labels.end());
  return std::make_shared<StoredDataset>(name, info, std::move(samples));
}

}  // namespace sotto
