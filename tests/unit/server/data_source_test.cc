// Tests of FILE[:KEY=VALUE,...], of the table of formats, and of the readers of images and text.
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <matio.h>
#include <stdexcept>
#include <string>
#include <vector>
#include <zip.h>

#include "sotto/data/mat_files.h"
#include "sotto/data/source.h"
#include "sotto/models.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

#ifdef SOTTO_SANITIZED
// libmatio does not end zlib's copy of a stream that it refuses.
extern "C" const char* __lsan_default_suppressions() { return "leak:inflateCopy\n"; }
#endif

namespace sotto {
namespace {

using Floats = std::vector<float>;
using Labels = std::vector<uint32_t>;
using Names = std::vector<std::string>;
using namespace std::string_literals;

TEST(DataSource, OptionsBeginAtTheFirstColonBeforeAKey) {
  const DataSource plain = ParseDataSource("folder:1/data.csv");
  EXPECT_EQ(plain.path, "folder:1/data.csv");
  EXPECT_TRUE(plain.options.empty());
  const DataSource source = ParseDataSource("a:b.csv:features=ax,ay,az,label=what,separator=:");
  EXPECT_EQ(source.path, "a:b.csv");
  EXPECT_EQ(source.options.at("features"), "ax,ay,az");
  EXPECT_EQ(source.options.at("label"), "what");
  EXPECT_EQ(source.options.at("separator"), ":");
  EXPECT_EQ(source.options.size(), 3u);
}

TEST(DataSource, ABackslashTakesAwayAMeaning) {
  const DataSource source = ParseDataSource("a.txt:alphabet=ab\\,c\\=d\\n\\t,label=x\\,y=z");
  EXPECT_EQ(source.options.at("alphabet"), "ab\\,c=d\n\t");
  EXPECT_EQ(SplitList(source.options.at("label")), (Names{"x,y=z"}));
}

TEST(DataSource, ABackslashAlsoWorksInFile) {
  const DataSource source = ParseDataSource("a\\:b=c\\,d\\\\e.csv:label=x");
  EXPECT_EQ(source.path, "a:b=c,d\\e.csv");
  EXPECT_EQ(source.options.at("label"), "x");
}

TEST(DataSource, FormattingIsTheReverseOfParsing) {
  for (const std::string& path :
       {"a.csv"s, "a:b=c.csv"s, "C:\\x\\n.csv"s, "a,b=c"s, "a\nb\tc"s, "\\"s, "a\\:x=y"s, "=:,"s}) {
    for (const std::string& value :
         {"x"s, "x,y"s, "x\\,y"s, "x,y=z"s, "a:b=c"s, "\\\\:"s, "line\nend\t"s, "a\\\\,b"s}) {
      DataSource source{path};
      source.options = {{"label", value}, {"features", "p,q"}};
      const DataSource parsed = ParseDataSource(FormatDataSource(source));
      EXPECT_EQ(parsed.path, path) << FormatDataSource(source);
      EXPECT_EQ(parsed.options, source.options) << FormatDataSource(source);
    }
    EXPECT_EQ(ParseDataSource(FormatDataSource({path})).path, path);
  }
}

TEST(DataSource, ListsSurviveJoiningAndSplitting) {
  for (const Names& names : {Names{"a"}, Names{"a", "b,c", "d\\e"}, Names{"", "x"}}) {
    EXPECT_EQ(SplitList(JoinList(names)), names);
  }
}

TEST(DataSource, WrongTextsAreRefused) {
  EXPECT_THROW(ParseDataSource(""), std::invalid_argument);
  EXPECT_THROW(ParseDataSource(":label=x"), std::invalid_argument);
  EXPECT_THROW(ParseDataSource("a.csv:label=x,label=y"), std::invalid_argument);
}

class FormatsTest : public DataFiles {
 protected:
  static void SetUpTestSuite() { AddMatFiles(); }

  std::string MakeFolder(const std::string& name) const {
    std::filesystem::create_directory(Path(name));
    return Path(name);
  }
};

TEST_F(FormatsTest, TheFormatIsToldByEndingContentOrOption) {
  EXPECT_EQ(Read(Write("a.csv", "1,0\n"))->input_size(), 1u);
  const std::string unnamed = Write("data", "1,0\n");
  EXPECT_EQ(Read(unnamed + ":format=csv")->input_size(), 1u);
  EXPECT_SAYS(Complaint(unnamed),
              "say it, for example " + unnamed + ":format=csv; the formats: csv");
  EXPECT_SAYS(Complaint(unnamed + ":format=xls"), "format=xls: there is no such format");
  EXPECT_EQ(Read(Write("array", Npy<float>("<f4", "(1, 2)", {1, 2})))->input_size(), 2u);
  EXPECT_SAYS(Complaint(Path("none.csv")), "none.csv: cannot be opened: No such file");
  EXPECT_SAYS(Complaint(MakeFolder("empty")),
              "this folder holds no data set; expected one with "
              "train-images-idx3-ubyte (idx)");
}

TEST_F(FormatsTest, AFileWithAColonInItsNameIsFoundOrNamed) {
  const std::string path = Write("a:b=c.csv", "1,0\n");
  EXPECT_SAYS(Complaint(path), "write a backslash before the colon: " + Path("a\\:b\\=c.csv"));
  EXPECT_EQ(Read(Path("a\\:b\\=c.csv"))->size(), 1u);
  EXPECT_EQ(Read(Path("a\\:b=c.csv"))->size(), 1u);
}

TEST_F(FormatsTest, EveryRowOfTheTableIsDocumentedWithAnExample) {
  const std::string table = FormatsTable();
  for (const char* format : {"csv", "jsonl", "npz", "npy", "libsvm", "idx", "cifar10", "cifar100",
                             "svhn", "text", "sound", "leaf"}) {
    EXPECT_SAYS(table, "\n| `"s + format + "` | `");
  }
  EXPECT_SAYS(table, "| `csv` | `stride=` | ");
}

std::string IdxImages(uint8_t count) {
  std::string file("\0\0\x08\x03\0\0\0", 7);
  file += static_cast<char>(count);
  file += "\0\0\0\x02\0\0\0\x02"s;
  for (int i = 0; i < 4 * count; ++i) file += static_cast<char>(i);
  return file;
}

std::string IdxLabels(const std::string& labels) {
  return "\0\0\x08\x01\0\0\0"s + static_cast<char>(labels.size()) + labels;
}

TEST_F(FormatsTest, ImagesFindTheirLabelsBesideThem) {
  const std::string images = Write("my-images-idx3-ubyte.gz", IdxImages(3));
  EXPECT_SAYS(Complaint(images),
              "neither my-labels-idx1-ubyte nor my-labels-idx1-ubyte.gz is there; "
              "name the file of the labels: --data IMAGES:labels=LABELS");
  Write("my-labels-idx1-ubyte", IdxLabels("\x07\x01\x02"));
  const SharedDataset data = Read(images);
  EXPECT_EQ(LabelsOf(*data), (Labels{7, 1, 2}));
  EXPECT_EQ(data->info().classes, 10u);
  const std::string other = Write("other", IdxLabels("\x01\x01\x0C"));
  EXPECT_EQ(Read(images + ":labels=" + other)->info().classes, 13u);
  EXPECT_SAYS(Complaint(images + ":classes=12,labels=" + other),
              "other: label 2: the label is 12, expected 0 to 11");
}

TEST_F(FormatsTest, OnlyTheWantedImagesAreKept) {
  const std::string images = Write("images", IdxImages(200));
  const std::string labels = Write("labels", IdxLabels(std::string(200, '\x03')));
  const SharedDataset data = Read(images + ":labels=" + labels, nullptr,
                                  [](size_t index) { return index == 2 || index == 100; });
  EXPECT_EQ(LabelsOf(*data).size(), 2u);
  EXPECT_EQ(BytesOf(*data), (std::vector<uint8_t>{8, 9, 10, 11, 144, 145, 146, 147}));
  const StoredSamples& stored = dynamic_cast<const StoredDataset&>(*data).samples();
  EXPECT_EQ(stored.bytes.capacity(), 8u);
  EXPECT_LE(stored.labels.capacity(), 2u);
}

TEST_F(FormatsTest, AFolderHasATrainingAndATestPart) {
  const std::string folder = MakeFolder("mnist");
  Write("mnist/train-images-idx3-ubyte", IdxImages(3));
  Write("mnist/train-labels-idx1-ubyte.gz", IdxLabels("\x01\x02\x03"));
  EXPECT_EQ(Read(folder)->size(), 3u);
  EXPECT_EQ(Read(folder)->name(), folder);
  EXPECT_TRUE(IsDataFolder(folder));
  EXPECT_SAYS(Complaint(folder + ":part=test"),
              "neither t10k-images-idx3-ubyte nor t10k-images-idx3-ubyte.gz is there");
  EXPECT_SAYS(Complaint(folder + ":part=all"), "part=all: expected train or test");
}

// A record of CIFAR: labels, then three planes of one value each.
std::string Record(const std::string& labels, char red, char green, char blue) {
  return labels + std::string(1024, red) + std::string(1024, green) + std::string(1024, blue);
}

TEST_F(FormatsTest, PlanesOfCifarBecomePixels) {
  const SharedDataset data =
      Read(Write("test_batch.bin", Record("\x03", 1, 2, 3) + Record("\x09", 4, 5, 6)),
           FindModel("svhn-cnn"));
  EXPECT_EQ(LabelsOf(*data), (Labels{3, 9}));
  EXPECT_EQ(data->info().class_names.at(3), "cat");
  const std::vector<uint8_t> bytes = BytesOf(*data);
  for (size_t i = 0; i < 3072; ++i) {
    ASSERT_EQ(bytes[i], 1 + i % 3);
    ASSERT_EQ(bytes[3072 + i], 4 + i % 3);
  }
}

TEST_F(FormatsTest, AFolderOfCifarHasFiveTrainingFiles) {
  const std::string folder = MakeFolder("cifar-10-batches-bin");
  for (char i = 1; i <= 5; ++i) {
    Write("cifar-10-batches-bin/data_batch_"s + static_cast<char>('0' + i) + ".bin",
          Record(std::string(1, i), i, i, i));
  }
  EXPECT_EQ(LabelsOf(*Read(folder)), (Labels{1, 2, 3, 4, 5}));
  const SharedDataset third = Read(folder, nullptr, [](size_t index) { return index == 2; });
  EXPECT_EQ(LabelsOf(*third), (Labels{3}));
}

TEST_F(FormatsTest, Cifar100HasFineAndCoarseLabels) {
  const std::string path = Write("train.bin", Record("\x05\x63", 0, 0, 0));
  EXPECT_EQ(LabelsOf(*Read(path)), (Labels{99}));
  EXPECT_EQ(Read(path)->info().classes, 100u);
  EXPECT_EQ(LabelsOf(*Read(path + ":labels=coarse")), (Labels{5}));
  EXPECT_SAYS(Complaint(path + ":format=cifar10"),
              "ends within record 1; expected records of 3073");
  EXPECT_SAYS(Complaint(Write("test.bin", Record("\x05\x64", 0, 0, 0))),
              "the label of record 0 is 100; expected 0 to 99");
}

TEST_F(FormatsTest, LabelsThatTheModelHasNotAreRefused) {
  ModelInfo model = *FindModel("svhn-cnn");
  const std::string path = Write("train.bin", Record("\x05\x63", 0, 0, 0));
  EXPECT_SAYS(Complaint(path, &model),
              "record 0; the label is 99, expected 0 to 9, the 10 classes of the model");
  EXPECT_EQ(LabelsOf(*Read(path + ":labels=coarse", &model)), (Labels{5}));
  model.classes = 5;
  EXPECT_SAYS(Complaint(path + ":labels=coarse", &model),
              "the label is 5, expected 0 to 4, the 5 classes");
  EXPECT_SAYS(Complaint(Write("test_batch.bin", Record("\x07", 1, 2, 3)), &model),
              "record 0; the label is 7, expected 0 to 4");
}

// Images of 2 x 3 in three colours, whose values say where they stand: 100 colour + 10 x + y.
std::string WriteSvhn(const std::string& path, const std::vector<double>& labels,
                      matio_compression compression) {
  size_t count = labels.size();
  std::vector<uint8_t> x;
  for (size_t n = 0; n < count; ++n) {
    for (size_t colour = 0; colour < 3; ++colour) {
      for (size_t column = 0; column < 3; ++column) {
        for (size_t row = 0; row < 2; ++row) {
          x.push_back(static_cast<uint8_t>(50 * colour + 10 * column + row + n));
        }
      }
    }
  }
  mat_t* file = Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5);
  size_t x_size[4] = {2, 3, 3, count};
  size_t y_size[2] = {count, 1};
  matvar_t* image = Mat_VarCreate("X", MAT_C_UINT8, MAT_T_UINT8, 4, x_size, x.data(), 0);
  matvar_t* label = Mat_VarCreate("y", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, y_size,
                                  const_cast<double*>(labels.data()), 0);
  EXPECT_EQ(Mat_VarWrite(file, image, compression), 0);
  EXPECT_EQ(Mat_VarWrite(file, label, compression), 0);
  Mat_VarFree(image);
  Mat_VarFree(label);
  Mat_Close(file);
  return path;
}

TEST_F(FormatsTest, SvhnIsReadWithTheZeroAsLabel10) {
  for (const matio_compression compression : {MAT_COMPRESSION_NONE, MAT_COMPRESSION_ZLIB}) {
    const std::string path = WriteSvhn(Path("train_32x32.mat"), {10, 1, 9}, compression);
    const SharedDataset data = Read(path);
    EXPECT_EQ(LabelsOf(*data), (Labels{0, 1, 9}));
    EXPECT_TRUE(data->info().shape == nn::ShapeOf(2, 3, 3));
    const SharedDataset last = Read(path, nullptr, [](size_t index) { return index > 0; });
    EXPECT_EQ(LabelsOf(*last), (Labels{1, 9}));
    for (const Dataset* read : {data.get(), last.get()}) {
      const size_t n = read->size() - 1;  // the third image
      const Span<const uint8_t> bytes = read->Bytes(n);
      for (size_t i = 0; i < bytes.size(); ++i) {
        ASSERT_EQ(bytes[i], 50 * (i % 3) + 10 * (i / 3 % 3) + i / 9 + 2) << i;
      }
    }
  }
  EXPECT_SAYS(Complaint(WriteSvhn(Path("x.mat"), {11}, MAT_COMPRESSION_NONE)), "label 0 is 11");
  EXPECT_SAYS(Complaint(WriteSvhn(Path("x.mat"), {1}, MAT_COMPRESSION_NONE) + ":x=Z"),
              "holds no variable Z");
  EXPECT_SAYS(Complaint(Write("x.mat", "no MATLAB file")), "cannot be opened as a MATLAB file");
}

TEST_F(FormatsTest, FilesOfOtherProgramsAreNamedWithWhatToDo) {
  EXPECT_SAYS(Complaint(Write("x.pt", "PK\x03\x04")),
              "x.pt: it is a file of PyTorch; write its tensors as arrays: numpy.savez(");
  EXPECT_SAYS(Complaint(Write("x.xlsx", "PK\x03\x04")),
              "it is a spreadsheet; save the table as CSV");
  EXPECT_SAYS(Complaint(Write("x.csv", "PK\x03\x04")), "it is a zip archive, as .xlsx");
  EXPECT_SAYS(Complaint(Write("x.csv", "PAR1....")),
              "it is a Parquet file; write it as CSV: pandas");
  for (const char* begin :
       {"PAR1....", "ARROW1..", "\x89HDF\r\n..", "\x89PNG....", "\xFF\xD8\xFF\xE0...."}) {
    EXPECT_SAYS(Complaint(Write("x.jsonl", begin)),
                "a script does it: \"Other formats\" in server/YOUR_DATA.md");
  }
  EXPECT_SAYS(Complaint(Write("x.csv.gz", "\x89HDF\r\n....")), "it is an HDF5 file");
  EXPECT_SAYS(Complaint(Write("x.mat", "MATLAB 7.3 MAT-file, Platform: GLNXA64")),
              "it is of MATLAB 7.3, which is HDF5; save it as MATLAB 5: save -v7");
  EXPECT_SAYS(Complaint(Write("x.csv", "version https://git-lfs.github.com/spec/v1\n")),
              "x.csv: it is a pointer of Git LFS; fetch the file that it stands for: git lfs pull");
  EXPECT_SAYS(Complaint(Write("x.csv", "<!DOCTYPE html>\n<html>\n")),
              "it is a web page; the download");
}

// An archive with one member of any content.
std::string WriteArchive(const std::string& path, const char* member) {
  int code = 0;
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  zip_file_add(archive, member, zip_source_buffer(archive, "text", 4, 0), 0);
  EXPECT_EQ(zip_close(archive), 0);
  return path;
}

TEST_F(FormatsTest, WhatIsNamedNpzAndIsNoneIsNamedWithWhatToDo) {
  EXPECT_SAYS(Complaint(WriteArchive(Path("x.npz"), "archive/data.pkl")),
              "it is a file of PyTorch");
  EXPECT_SAYS(Complaint(WriteArchive(Path("x.npz"), "xl/workbook.xml")), "it is a spreadsheet");
  EXPECT_SAYS(Complaint(WriteArchive(Path("x.npz"), "data.csv")),
              "it holds no array of NumPy, NAME.npy, but \"data.csv\"; unpack it");
  EXPECT_SAYS(Complaint(Write("x.npz", Npy<float>("<f4", "(1, 1)", {1}))),
              "it is one array of NumPy: give it a name that ends in .npy");
  EXPECT_SAYS(Complaint(Write("x.npz", "x,label\n1,0\n")), "write it with numpy.savez");
  EXPECT_SAYS(Complaint(Write("x.npz", "PK\x03\x04 and no more")), "damaged: fetch it again");
  EXPECT_SAYS(Complaint(Write("x.npz.gz", "x,label\n")), "it is compressed by gzip: gunzip FILE");
}

TEST_F(FormatsTest, AnEmptyFileAndAFolderAreToldAsWhatTheyAre) {
  for (const char* name : {"x.csv", "x.npz", "x.npy", "x.libsvm", "x.mat", "x.txt"}) {
    EXPECT_SAYS(Complaint(Write(name, "")), "the file is empty; write it, or fetch it again");
  }
  const std::string x = Write("x.npy", Npy<float>("<f4", "(1, 1)", {1}));
  std::filesystem::create_directory(Path("folder"));
  EXPECT_SAYS(Complaint(x + ":y=" + Path("folder")), "folder: this is a folder; name a file");
}

TEST_F(FormatsTest, AMatlabFileOfNothingIsRefused) {
  const std::vector<double> ones(size_t{1} << 21, 1);
  EXPECT_SAYS(
      Complaint(WriteSvhn(Path("x.mat"), ones, MAT_COMPRESSION_ZLIB)),
      "x.mat: its compressed data grow to more than 64 times their size; if the data are right");
}

TEST_F(FormatsTest, PartsOfGzipFollowOneAnotherAndNothingElseDoes) {
  const auto bytes_of = [&](const std::string& text) {
    std::ifstream file(Write("part.gz", text), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  };
  const std::string head = bytes_of("x,label\n1,0\n");
  const std::string rest = bytes_of("2,1\n3,0\n");
  const std::string zeros(70000, '\0');
  for (const std::string& good : {head + rest, head + zeros, head + rest + zeros}) {
    const size_t samples = good.find(rest) == std::string::npos ? 1 : 3;
    EXPECT_EQ(Read(Write("a.csv", good))->size(), samples);
  }
  for (const std::string& bad : {head + "2,1\n", head + zeros + "2,1\n"}) {
    EXPECT_SAYS(Complaint(Write("a.csv", bad)), "a.csv: goes on after its compressed data; fetch");
  }
  std::string damaged = head + rest;
  damaged[head.size()] = 'x';  // once it was left out without a word, and all rows behind it
  EXPECT_SAYS(Complaint(Write("a.csv", damaged)), "goes on after its compressed data");
  EXPECT_SAYS(Complaint(Write("a.csv", head.substr(0, head.size() - 1))), "is truncated");
  damaged = head;
  damaged[head.size() - 6] = static_cast<char>(~damaged[head.size() - 6]);
  EXPECT_SAYS(Complaint(Write("a.csv", damaged)), "cannot be read: incorrect data check");
}

TEST_F(FormatsTest, AFileOfAnOptionCountsWithACommaInItsName) {
  const std::string list = Write("c,d.csv", "mode\na\n");
  const DataSource source = ParseDataSource(Write("a.csv", "mode,label\na,0\n") +
                                            ":onehot=mode,categories=" + Path("c\\,d.csv"));
  EXPECT_EQ(FilesIn(source), (Names{Path("a.csv"), list}));
}

TEST_F(FormatsTest, ADamagedMatlabFileIsOneMessage) {
  const std::string path = WriteSvhn(Path("x.mat"), {1, 2, 3}, MAT_COMPRESSION_ZLIB);
  std::ifstream good(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(good)), std::istreambuf_iterator<char>());
  testing::internal::CaptureStderr();
  for (size_t at = 128; at < bytes.size(); at += 3) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    try {
      Read(Write("y.mat", damaged));
    } catch (const std::exception&) {
    }
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

constexpr char kPlay[] =
    "ANNA:\n"
    "abc\n"
    "\n"
    "BOB:\n"
    "cab:\n"
    "bb\n"
    "\n"
    "ANNA:\n"
    "d\n";

TEST_F(FormatsTest, ASpeakersLinesAreCutIntoWindowsAndTheNextCharacterIsTheLabel) {
  // ANNA: "abc\nd\n"; BOB: "cab:\nbb\n". The alphabet is \n:abcd.
  const SharedDataset data = Read(Write("play.txt", kPlay) + ":length=3");
  EXPECT_EQ(data->info().tokens, 6u);
  EXPECT_EQ(data->info().classes, 6u);
  EXPECT_TRUE(data->info().shape == nn::ShapeOf(3));
  ASSERT_EQ(data->size(), 3u);
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{2, 3, 4}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{4, 2, 3}));
  EXPECT_EQ(FeaturesOf(*data, 2), (Floats{1, 0, 3}));
  EXPECT_EQ(LabelsOf(*data), (Labels{0, 1, 3}));
  EXPECT_EQ(GroupsOf(*data), (Labels{0, 1, 1}));
  EXPECT_EQ(data->group_count(), 2u);
  const SharedDataset dense = Read(Path("play.txt") + ":length=3,stride=1");
  EXPECT_EQ(dense->size(), 3u + 5);
  const SharedDataset one = Read(Path("play.txt") + ":length=3,stride=1", nullptr,
                                 [](size_t index) { return index == 1; });
  EXPECT_EQ(FeaturesOf(*one, 0), FeaturesOf(*dense, 1));
}

TEST_F(FormatsTest, AModelOf82TokensHasTheAlphabetOfLeafAndOneTokenForTheRest) {
  const ModelInfo& model = *FindModel("char-lstm-small");
  const SharedDataset data = Read(
      Write("a.txt", "A:\n" + std::string(40, 'a') + "\n" + std::string(40, '~') + "\n"), &model);
  ASSERT_EQ(data->size(), 2u);
  EXPECT_EQ(data->info().tokens, 82u);
  EXPECT_EQ(FeaturesOf(*data, 0)[0], 53.0f);
  EXPECT_EQ(data->Label(0), 0u);
  EXPECT_EQ(FeaturesOf(*data, 1)[5], 80.0f);
}

TEST_F(FormatsTest, ACharacterBeyondTheAlphabetIsNamedWithItsPlace) {
  const std::string path = Write("a.txt", "A:\nabc\nabq\nabc\n");
  EXPECT_SAYS(Complaint(path + ":length=2,alphabet=abc\\n"),
              "line 3, column 3: the character 0x71 is not in the alphabet");
  EXPECT_SAYS(Complaint(path + ":length=2,alphabet=abca"),
              "a character twice, the second time at 4");
  EXPECT_SAYS(Complaint(Write("b.txt", "A:\na\n")), "it holds no samples");
}

TEST_F(FormatsTest, TinyShakespeareIsReadBySpeaker) {
  const char* folder = std::getenv("SOTTO_TEST_DATA");
  if (folder == nullptr) {
    GTEST_SKIP() << "SOTTO_TEST_DATA is not set: name a folder with tinyshakespeare.txt";
  }
  const SharedDataset data =
      Read(std::string(folder) + "/tinyshakespeare.txt", FindModel("char-lstm"));
  EXPECT_GT(data->size(), 10000u);
  EXPECT_GT(data->group_count(), 200u);
}

}  // namespace
}  // namespace sotto
