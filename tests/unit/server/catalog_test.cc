// Tests of opening data sets by name and by folder.
#include "data/catalog.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>
#include <zlib.h>

#include "sotto/data/idx.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> Idx(const std::vector<uint32_t>& header, size_t payload) {
  std::vector<uint8_t> bytes;
  for (const uint32_t x : header) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(x >> shift));
  }
  bytes.resize(bytes.size() + payload, 1);
  return bytes;
}

// A folder of the test's own: 4 training and 2 test images.
class CatalogTest : public testing::Test {
 protected:
  void WritePart(const std::string& part, uint32_t count, uint32_t side,
                 const std::string& suffix) const {
    Write(part + "-images-idx3-ubyte" + suffix,
          Idx({kIdxImagesMagic, count, side, side}, size_t{count} * side * side));
    Write(part + "-labels-idx1-ubyte" + suffix, Idx({kIdxLabelsMagic, count}, count));
  }

  // Opens `source` and returns the complaint.
  std::string Complaint(const std::string& source) const {
    try {
      OpenTrainTest(source, "", nullptr, folder_.path());
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  TestFolder folder_;

 private:
  void Write(const std::string& name, const std::vector<uint8_t>& bytes) const {
    const bool compressed = fs::path(name).extension() == ".gz";
    gzFile file = gzopen(folder_.Path(name).c_str(), compressed ? "wb" : "wbT");
    EXPECT_GT(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), 0);
    EXPECT_EQ(gzclose(file), Z_OK);
  }
};

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(CatalogTest, AFolderIsOpenedWithAndWithoutCompression) {
  WritePart("train", 4, 5, ".gz");
  WritePart("t10k", 2, 5, "");
  const TrainTest data = OpenTrainTest(folder_.path(), "", nullptr);
  EXPECT_EQ(data.train->size(), 4U);
  EXPECT_EQ(data.test->size(), 2U);
  EXPECT_EQ(data.train->input_size(), 25U);
  EXPECT_EQ(data.train->info().classes, 10U);
  EXPECT_EQ(data.train->name(), folder_.path());
}

TEST_F(CatalogTest, TheUncompressedFileWins) {
  WritePart("train", 4, 5, ".gz");
  WritePart("train", 3, 5, "");
  WritePart("t10k", 2, 5, "");
  EXPECT_EQ(OpenTrainTest(folder_.path(), "", nullptr).train->size(), 3U);
}

TEST_F(CatalogTest, AMissingFileOfAFolderIsNamed) {
  WritePart("train", 4, 5, "");
  const std::string complaint = Complaint(folder_.path());
  EXPECT_CONTAINS(complaint, folder_.path());
  EXPECT_CONTAINS(complaint, "t10k-images-idx3-ubyte");
}

TEST_F(CatalogTest, TrainingAndTestImagesMustHaveOneSize) {
  WritePart("train", 4, 5, "");
  WritePart("t10k", 2, 6, "");
  EXPECT_CONTAINS(Complaint(folder_.path()), "5 x 5");
}

TEST_F(CatalogTest, MissingFashionMnistNamesThePackageAndTheWayWithout) {
  for (int i = 0; i < 2; ++i) {  // first an empty folder, then none
    const std::string complaint = Complaint("fashion-mnist");
    EXPECT_CONTAINS(complaint, "dataset-fashion-mnist");
    EXPECT_CONTAINS(complaint, "--data synthetic");
    fs::remove_all(folder_.path());
  }
}

TEST_F(CatalogTest, AnUnknownNameListsTheKnownOnes) {
  const std::string complaint = Complaint("fashon-mnist");
  EXPECT_CONTAINS(complaint, "\"fashon-mnist\"");
  EXPECT_CONTAINS(complaint, "fashion-mnist, or");
}

TEST_F(CatalogTest, SyntheticNeedsNoFiles) {
  const TrainTest data = OpenTrainTest("synthetic", "", nullptr, "/nowhere");
  EXPECT_EQ(data.train->size(), 60000U);
  EXPECT_EQ(data.test->size(), 10000U);
}

TEST_F(CatalogTest, FashionMnistIsReadFromItsPackage) {
  if (!fs::exists(kFashionMnistFolder)) {
    GTEST_SKIP() << kFashionMnistFolder << " is absent: install the package dataset-fashion-mnist";
  }
  const TrainTest data = OpenTrainTest("fashion-mnist", "", nullptr);
  EXPECT_EQ(data.train->size(), 60000U);
  EXPECT_EQ(data.test->size(), 10000U);
  EXPECT_EQ(data.train->input_size(), 784U);
}

}  // namespace
}  // namespace sotto::server
