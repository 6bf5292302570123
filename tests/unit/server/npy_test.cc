// Tests of the readers of NumPy's files.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <string>
#include <vector>
#include <zip.h>

#include "sotto/models.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

namespace sotto {
namespace {

using Floats = std::vector<float>;
using Labels = std::vector<uint32_t>;

class NpyTest : public DataFiles {
 protected:
  // Writes an archive of these arrays, as numpy.savez_compressed() does.
  std::string WriteNpz(const std::string& name,
                       const std::map<std::string, std::string>& arrays) const {
    zip_t* archive = zip_open(Path(name).c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    for (const auto& [array, content] : arrays) {
      zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
      EXPECT_GE(zip_file_add(archive, (array + ".npy").c_str(), source, 0), 0);
    }
    EXPECT_EQ(zip_close(archive), 0);
    return Path(name);
  }
};

const std::string kFeatures = Npy<float>("<f4", "(3, 2)", {0, 1, 2, 3, 4, 5});

TEST_F(NpyTest, AnArchiveHasSamplesLabelsAndGroups) {
  const std::string path = WriteNpz("a.npz", {{"x", kFeatures},
                                              {"y", Npy<int64_t>("<i8", "(3,)", {2, 0, 1})},
                                              {"user", Npy<int8_t>("|i1", "(3,)", {5, 5, 9})}});
  const SharedDataset data = Read(path + ":group=user");
  EXPECT_EQ(data->size(), 3u);
  EXPECT_TRUE(data->info().shape == nn::ShapeOf(2));
  EXPECT_EQ(data->info().classes, 3u);
  EXPECT_EQ(LabelsOf(*data), (Labels{2, 0, 1}));
  EXPECT_EQ(GroupsOf(*data), (Labels{0, 0, 1}));
  EXPECT_EQ(data->group_count(), 2u);
  EXPECT_EQ(FeaturesOf(*data, 2), (Floats{4, 5}));
}

TEST_F(NpyTest, ArraysAreFoundByOptionOrUsualName) {
  const std::string path =
      WriteNpz("a.npz", {{"windows", kFeatures}, {"what", Npy<uint8_t>("|u1", "(3,)", {0, 1, 0})}});
  EXPECT_EQ(LabelsOf(*Read(path + ":x=windows,y=what")), (Labels{0, 1, 0}));
  EXPECT_SAYS(Complaint(path), "which array holds the samples? Say x=NAME");
  EXPECT_SAYS(Complaint(path + ":x=windows,y=who"),
              "y=who: there is no such array; the arrays: what, windows");
  const std::string unnamed =
      WriteNpz("b.npz", {{"arr_0", kFeatures}, {"arr_1", Npy<uint8_t>("|u1", "(3,)", {0, 1, 0})}});
  EXPECT_EQ(LabelsOf(*Read(unnamed)), (Labels{0, 1, 0}));
}

TEST_F(NpyTest, EveryTypeOfNumberIsRead) {
  const Floats expected = {1, 2, 3, 4};
  const std::vector<std::string> files = {
      Npy<float>("<f4", "(2, 2)", {1, 2, 3, 4}),
      Npy<double>("<f8", "(2, 2)", {1, 2, 3, 4}),
      Npy<int8_t>("|i1", "(2, 2)", {1, 2, 3, 4}),
      Npy<int16_t>("<i2", "(2, 2)", {1, 2, 3, 4}),
      Npy<int32_t>("<i4", "(2, 2)", {1, 2, 3, 4}),
      Npy<int64_t>("<i8", "(2, 2)", {1, 2, 3, 4}),
      Npy<uint16_t>("<u2", "(2, 2)", {1, 2, 3, 4}),
      Npy<uint32_t>("<u4", "(2, 2)", {1, 2, 3, 4}),
      Npy<uint64_t>("<u8", "(2, 2)", {1, 2, 3, 4}),
      Npy<uint16_t>(">u2", "(2, 2)", {0x100, 0x200, 0x300, 0x400}),
  };
  for (const std::string& file : files) {
    const SharedDataset data = Read(Write("x.npy", file));
    Floats all = FeaturesOf(*data, 0);
    const Floats second = FeaturesOf(*data, 1);
    all.insert(all.end(), second.begin(), second.end());
    EXPECT_EQ(all, expected) << file.substr(10, 30);
  }
  EXPECT_EQ(FeaturesOf(*Read(Write("x.npy", Npy<int16_t>("<i2", "(1, 2)", {-1, -300}))), 0),
            (Floats{-1, -300}));
}

TEST_F(NpyTest, HalfPrecisionIsReadExactly) {
  const SharedDataset data =
      Read(Write("x.npy", Npy<uint16_t>("<f2", "(1, 7)",
                                        {0x0000, 0x3C00, 0xC100, 0x7BFF, 0x0001, 0x0400, 0x3555})));
  EXPECT_EQ(FeaturesOf(*data, 0),
            (Floats{0, 1, -2.5F, 65504, 5.9604645e-8F, 6.1035156e-5F, 0.33325195F}));
  EXPECT_TRUE(std::isnan(
      FeaturesOf(*Read(Write("x.npy", Npy<uint16_t>("<f2", "(1, 1)", {0x7E00}))), 0)[0]));
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<uint16_t>("<f2", "(1, 1)", {0xFC00}))), "-inf");
}

TEST_F(NpyTest, BytesStayBytes) {
  const SharedDataset data =
      Read(Write("x.npy", Npy<uint8_t>("|u1", "(2, 1, 2)", {0, 255, 51, 0})));
  EXPECT_TRUE(data->info().shape == nn::ShapeOf(1, 2, 1));
  EXPECT_EQ(data->Bytes(0).size(), 2u);
  EXPECT_FLOAT_EQ(FeaturesOf(*data, 1)[0], 0.2f);
}

TEST_F(NpyTest, FortranOrderIsConverted) {
  // The array [[[0,1,2],[3,4,5]], [[6,7,8],[9,10,11]]], the first axis fastest.
  const Floats fortran = {0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11};
  const std::string path = Write("x.npy", Npy<float>("<f4", "(2, 2, 3)", fortran, true));
  const SharedDataset data = Read(path);
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{6, 7, 8, 9, 10, 11}));
  const SharedDataset second = Read(path, nullptr, [](size_t index) { return index == 1; });
  EXPECT_EQ(FeaturesOf(*second, 0), FeaturesOf(*data, 1));
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<uint8_t>("|u1", "(2, 2)", {1, 2, 3, 4}, true))),
              "bytes in Fortran order; write it as numpy.ascontiguousarray(x)");
}

TEST_F(NpyTest, TextsAreLabels) {
  const std::string labels =
      Npy<uint32_t>("<U3", "(3,)", {'u', 'p', 0, 'd', 'o', 0xE9, 'u', 'p', 0});
  const std::string path = WriteNpz("a.npz", {{"x", kFeatures}, {"y", labels}});
  const SharedDataset data = Read(path);
  EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"do\xC3\xA9", "up"}));
  EXPECT_EQ(LabelsOf(*data), (Labels{1, 0, 1}));
}

TEST_F(NpyTest, FloatsInYAreTargets) {
  const std::string path = WriteNpz(
      "a.npz", {{"x", kFeatures}, {"y", Npy<double>("<f8", "(3, 2)", {1, 2, 3, 4, 5, 6})}});
  const SharedDataset data = Read(path, nullptr, [](size_t index) { return index == 2; });
  EXPECT_EQ(data->info().targets, 2u);
  EXPECT_EQ(TargetOf(*data, 0), (Floats{5, 6}));
}

TEST_F(NpyTest, MissingValuesStayNanAndInfinityIsRefused) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(
      std::isnan(FeaturesOf(*Read(Write("x.npy", Npy<float>("<f4", "(1, 1)", {kNan}))), 0)[0]));
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<float>("<f4", "(2, 1)", {0, kInfinity}))),
              "sample 1: inf; expected a number that float32 can hold");
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<double>("<f8", "(1, 1)", {1e300}))),
              "sample 0: 1e+300; expected a number that float32 can hold");
}

TEST_F(NpyTest, AxesInAnotherOrderThanTheModelsAreRefused) {
  const ModelInfo& motion = *FindModel("motion");
  const auto path = [&](const char* shape) {
    return WriteNpz("a.npz", {{"x", Npy<float>("<f4", shape, Floats(2 * 384))},
                              {"y", Npy<int64_t>("<i8", "(2,)", {5, 0})}});
  };
  EXPECT_SAYS(Complaint(path("(2, 3, 128)"), &motion),
              "model motion takes samples of 128 x 3, but the samples of ");
  for (const char* shape : {"(2, 128, 3)", "(2, 384)", "(2, 128, 1, 3)"}) {
    const SharedDataset data = Read(path(shape), &motion);
    EXPECT_TRUE(data->info().shape == nn::ShapeOf(128, 3)) << shape;
    EXPECT_EQ(data->info().classes, 6u);
  }
}

TEST_F(NpyTest, WhatIsNoArrayIsRefused) {
  const std::string good = kFeatures;
  EXPECT_SAYS(Complaint(Write("x.npy", "hello, world")), "is no .npy array");
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<float>("<c8", "(1, 1)", {1, 2}))),
              "the type '<c8' is not read here; expected float16 to float64");
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<uint8_t>("|O", "(1, 1)", {1}))),
              "it holds objects of Python; convert them: labels with y.astype(str)");
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<float>("<f4", "()", {1}))), "it holds a single number");
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<float>("<f4", "(0, 3)", {}))), "its shape is (0, 3)");
  EXPECT_SAYS(Complaint(Write("x.npy", Npy<float>("<f4", "(99999999, 99999999)", {}))),
              "expected axes of at least 1, and at most ");
  EXPECT_SAYS(Complaint(Write("x.npy", good + "x")), "goes on after the elements");
  for (size_t size = 0; size < good.size(); size += 7) {
    EXPECT_SAYS(Complaint(Write("x.npy", good.substr(0, size))), "x.npy: ") << size;
  }
  EXPECT_SAYS(
      Complaint(WriteNpz("a.npz", {{"x", kFeatures}, {"y", Npy<uint8_t>("|u1", "(2,)", {0, 1})}})),
      "a.npz: array y: 2 rows; expected 3, one for each sample");
  EXPECT_SAYS(
      Complaint(WriteNpz(
          "a.npz", {{"x", kFeatures}, {"y", Npy<uint8_t>("|u1", "(3, 2)", {0, 1, 0, 1, 0, 1})}})),
      "take y.argmax(axis=1)");
  EXPECT_SAYS(Complaint(Write("bad.npz", "PK\x03\x04 and nothing more")),
              "cannot be opened as .npz");
}

TEST_F(NpyTest, ASecondFileHasTheLabelsOfAnArrayAlone) {
  const std::string x = Write("x.npy.gz", kFeatures);
  const std::string y = Write("y.npy", Npy<uint8_t>("|b1", "(3, 1)", {0, 1, 0}));
  EXPECT_EQ(LabelsOf(*Read(x + ":y=" + y)), (Labels{0, 1, 0}));
}

}  // namespace
}  // namespace sotto
