// Tests of the IDX reader on files written here, one defect at a time, and on real files.
#include "sotto/data/idx.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>
#include <zlib.h>

#include "unit/test_folder.h"

namespace sotto::server {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes BigEndian(uint32_t x) {
  return {static_cast<uint8_t>(x >> 24), static_cast<uint8_t>(x >> 16),
          static_cast<uint8_t>(x >> 8), static_cast<uint8_t>(x)};
}

Bytes ImageHeader(uint32_t count, uint32_t rows, uint32_t columns) {
  return BigEndian(kIdxImagesMagic) + BigEndian(count) + BigEndian(rows) + BigEndian(columns);
}

Bytes LabelHeader(uint32_t count) { return BigEndian(kIdxLabelsMagic) + BigEndian(count); }

// Three images of 2 x 4 pixels with the values 0 .. 23, and their labels.
Bytes ThreeImages() {
  Bytes pixels(24);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i);
  return ImageHeader(3, 2, 4) + pixels;
}

Bytes ThreeLabels() { return LabelHeader(3) + Bytes{7, 0, 9}; }

// Files live in a folder of the test's own.
class IdxTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  std::string WriteRaw(const std::string& name, const Bytes& bytes) const {
    return Write(name, bytes, "wbT");
  }
  std::string WriteGz(const std::string& name, const Bytes& bytes) const {
    return Write(name, bytes, "wb");
  }

  // Calls `read` and returns its complaint, which must name `path`.
  template <typename Read>
  static std::string Complaint(const std::string& path, Read read) {
    try {
      read();
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  static std::string ImagesComplaint(const std::string& path) {
    return Complaint(path, [&] { ReadIdxSamples(path, "", nullptr); });
  }
  static std::string LabelsComplaint(const std::string& path) {
    return Complaint(path, [&] { ReadIdxLabels(path); });
  }

 private:
  std::string Write(const std::string& name, const Bytes& bytes, const char* mode) const {
    gzFile file = gzopen(Path(name).c_str(), mode);
    EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
              static_cast<int>(bytes.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return Path(name);
  }

  TestFolder folder_;
};

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(IdxTest, RawAndCompressedFilesReadTheSame) {
  for (const bool compressed : {false, true}) {
    const auto write = [&](const std::string& name, const Bytes& bytes) {
      return compressed ? WriteGz(name, bytes) : WriteRaw(name, bytes);
    };
    const std::string images = write("images", ThreeImages());
    EXPECT_EQ(std::filesystem::file_size(images) == ThreeImages().size(), !compressed);
    const IdxSamples read = ReadIdxSamples(images, write("labels", ThreeLabels()), nullptr);
    EXPECT_EQ(read.rows, 2U);
    EXPECT_EQ(read.columns, 4U);
    EXPECT_EQ(read.count, 3U);
    EXPECT_EQ(read.labels, (std::vector<uint8_t>{7, 0, 9}));
    EXPECT_EQ(read.samples.labels, (std::vector<uint32_t>{7, 0, 9}));
    EXPECT_EQ(read.samples.bytes.size(), 24U);
    EXPECT_EQ(read.samples.bytes[23], 23);
  }
}

TEST_F(IdxTest, ASampleIsItsPixelsDividedBy255) {
  SampleInfo info;
  info.shape = nn::ShapeOf(1, 3, 1);
  info.classes = 2;
  StoredSamples samples;
  samples.bytes = {1, 1, 1, 0, 51, 255};
  samples.labels = {0, 1};
  const StoredDataset data("some", info, samples);
  float out[3];
  data.CopyFeatures(1, out);
  EXPECT_EQ(out[0], 0.F);
  EXPECT_FLOAT_EQ(out[1], 0.2F);
  EXPECT_EQ(out[2], 1.F);
}

TEST_F(IdxTest, ContentLargerThanOneChunkIsReadWhole) {
  Bytes pixels(3000000);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i % 251);
  const std::string path = WriteGz("images", ImageHeader(3, 1000, 1000) + pixels);
  EXPECT_EQ(ReadIdxSamples(path, "", nullptr).samples.bytes, pixels);
}

TEST_F(IdxTest, AMissingFileIsNamed) {
  EXPECT_CONTAINS(ImagesComplaint(Path("nowhere")), "No such file");
}

TEST_F(IdxTest, AFolderIsNotAFile) {
  EXPECT_CONTAINS(ImagesComplaint(testing::TempDir()), "this is a folder; name a file");
}

TEST_F(IdxTest, EveryTruncationOfARawFileIsRefused) {
  const Bytes whole = ThreeImages();
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_CONTAINS(ImagesComplaint(WriteRaw("images", part)), "truncated") << size;
  }
}

TEST_F(IdxTest, EveryTruncationOfACompressedFileIsRefused) {
  const std::string path = WriteGz("labels", ThreeLabels());
  for (auto size = std::filesystem::file_size(path); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    EXPECT_THROW(ReadIdxLabels(path), std::runtime_error) << size;
  }
}

TEST_F(IdxTest, AFlippedBitInACompressedFileIsRefused) {
  const std::string path = WriteGz("images", ThreeImages());
  std::FILE* file = std::fopen(path.c_str(), "r+b");
  ASSERT_EQ(std::fseek(file, -8, SEEK_END), 0);  // the checksum
  const int byte = std::fgetc(file);
  ASSERT_EQ(std::fseek(file, -8, SEEK_END), 0);
  std::fputc(byte ^ 1, file);
  std::fclose(file);
  EXPECT_CONTAINS(ImagesComplaint(path), "cannot be read");
}

TEST_F(IdxTest, TrailingBytesAreRefused) {
  for (const std::string& path : {WriteRaw("raw", ThreeLabels() + Bytes{1}),
                                  WriteGz("compressed", ThreeLabels() + Bytes{1})}) {
    EXPECT_CONTAINS(LabelsComplaint(path), "goes on after the 3 bytes");
  }
}

TEST_F(IdxTest, AForeignMagicNumberIsShownBesideTheExpectedOne) {
  const std::string labels = WriteRaw("labels", ThreeLabels());
  EXPECT_CONTAINS(ImagesComplaint(labels), "0x00000801, expected 0x00000803");
  const std::string images = WriteGz("images", ThreeImages());
  EXPECT_CONTAINS(LabelsComplaint(images), "0x00000803, expected 0x00000801");
}

TEST_F(IdxTest, AbsurdDimensionsAreRefusedBeforeAnythingIsAllocated) {
  const uint32_t huge = 0xFFFFFFFF;
  for (const Bytes& header :
       {ImageHeader(1, huge, huge), ImageHeader(1, 28, kMaxIdxSide + 1), ImageHeader(1, 0, 28),
        ImageHeader(1, 28, 0), ImageHeader(0, 28, 28), ImageHeader(huge, kMaxIdxSide, kMaxIdxSide),
        ImageHeader(1U << 20, 28, 28) + Bytes(100) /* 784 MB announced, 100 bytes there */}) {
    ImagesComplaint(WriteRaw("images", header));
  }
  EXPECT_CONTAINS(LabelsComplaint(WriteRaw("labels", LabelHeader(huge))), "4294967295 bytes");
  EXPECT_CONTAINS(LabelsComplaint(WriteRaw("labels", LabelHeader(0))), "expected 1 to");
}

TEST_F(IdxTest, DifferentNumbersOfImagesAndLabelsAreRefused) {
  const std::string images = WriteRaw("images", ThreeImages());
  const std::string labels = WriteRaw("labels", LabelHeader(2) + Bytes{1, 2});
  const std::string complaint = Complaint(labels, [&] { ReadIdxSamples(images, labels, nullptr); });
  EXPECT_CONTAINS(complaint, "3 images");
  EXPECT_CONTAINS(complaint, "2 labels");
}

TEST(IdxRealData, MnistHasTenThousandTestImages) {
  const char* folder = std::getenv("SOTTO_TEST_DATA");
  if (folder == nullptr) {
    GTEST_SKIP()
        << "SOTTO_TEST_DATA is not set: name a folder with mnist-t10k-images-idx3-ubyte.gz "
           "and mnist-t10k-labels-idx1-ubyte.gz";
  }
  const std::string stem = std::string(folder) + "/mnist-t10k-";
  const IdxSamples read =
      ReadIdxSamples(stem + "images-idx3-ubyte.gz", stem + "labels-idx1-ubyte.gz", nullptr);
  EXPECT_EQ(read.count, 10000U);
  EXPECT_EQ(read.rows, 28U);
  EXPECT_EQ(read.columns, 28U);
  EXPECT_EQ(read.samples.labels[0], 7U);
}

}  // namespace
}  // namespace sotto::server
