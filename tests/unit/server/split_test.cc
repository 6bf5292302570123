// Tests of splitting samples off for evaluation, and of opening files for training and evaluation.
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "data/catalog.h"
#include "data/parts.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

namespace sotto::server {
namespace {

class SplitTest : public DataFiles {
 protected:
  static std::string OpeningComplaint(const std::string& data, const std::string& test) {
    try {
      OpenTrainTest(data, test, nullptr);
    } catch (const std::exception& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }
};

// 40 samples of class 0, 20 of class 1; the feature counts.
std::string Text() {
  std::string text = "x,label\n";
  for (int i = 0; i < 60; ++i) text += std::to_string(i) + (i < 40 ? ",0\n" : ",1\n");
  return text;
}

TEST_F(SplitTest, EachClassGivesItsLastSamples) {
  const TrainTest data = SplitOff(Read(Write("a.csv", Text())), 0.25);
  EXPECT_EQ(data.train->size(), 45u);
  ASSERT_EQ(data.test->size(), 15u);
  EXPECT_EQ(FeaturesOf(*data.test, 0)[0], 30.0f);
  EXPECT_EQ(data.test->Label(10), 1u);
  EXPECT_EQ(FeaturesOf(*data.test, 14)[0], 59.0f);
  EXPECT_EQ(FeaturesOf(*data.train, 44)[0], 54.0f);
}

// 40 rows of each of two recordings, windows of 8 rows every 2: 17 each, of which 4 are for tests.
TEST_F(SplitTest, NoTrainingWindowSharesRowsWithATestWindow) {
  std::string text = "x,who,label\n";
  for (int i = 0; i < 80; ++i) text += std::to_string(i) + (i < 40 ? ",a,0\n" : ",b,0\n");
  const SharedDataset windows =
      Read(Write("a.csv", text) + ":group=who,classes=1,window=8,stride=2");
  ASSERT_EQ(windows->size(), 34u);
  const TrainTest data = SplitOff(windows, 0.25);
  // Of each recording the three windows before the first test window share rows with it.
  EXPECT_EQ(data.train->size() + 2 * 3 + data.test->size(), windows->size());
  for (size_t i = 0; i < data.train->size(); ++i) {
    for (size_t j = 0; j < data.test->size(); ++j) {
      const float apart = FeaturesOf(*data.train, i)[0] - FeaturesOf(*data.test, j)[0];
      EXPECT_GE(std::abs(apart), 8.0f) << i << " " << j;
    }
  }
}

TEST_F(SplitTest, SmallClassesTogetherGiveTheWholeShare) {
  std::string text = "x,label\n";
  for (int i = 0; i < 100; ++i) text += "1," + std::to_string(i) + "\n";
  EXPECT_EQ(SplitOff(Read(Write("a.csv", text)), 0.1).test->size(), 10u);
}

TEST_F(SplitTest, APartWithoutSamplesIsRefused) {
  EXPECT_THROW(SplitOff(Read(Write("a.csv", "x,label\n1,0\n")), 0.1), std::invalid_argument);
}

TEST_F(SplitTest, AFileIsSplitUnlessATestFileIsNamed) {
  const std::string train = Write("a.csv", Text());
  const std::string test = Write("b.csv", "x,label\n7,1\n");
  EXPECT_EQ(OpenTrainTest(train, "", nullptr).test->size(), 6u);
  EXPECT_EQ(OpenTrainTest(train, "0.5", nullptr).test->size(), 30u);
  const TrainTest both = OpenTrainTest(train, test + ":classes=2", nullptr);
  EXPECT_EQ(both.train->size(), 60u);
  EXPECT_EQ(both.test->size(), 1u);
  EXPECT_EQ(OpenTest(train, nullptr)->size(), 60u);
  EXPECT_SAYS(OpeningComplaint(train, "1.5"), "--test 1.5: expected a share between 0 and 1");
  EXPECT_SAYS(OpeningComplaint(train, "none.csv"), "\"none.csv\" is not a data set");
}

TEST_F(SplitTest, ATestFileHasTheClassesOfTheTrainingFile) {
  const std::string train = Write("a.csv", "x,label\n1,run\n1,walk\n1,sit\n");
  const std::string test = Write("b.csv", "x,label\n1,walk\n1,run\n");
  const TrainTest data = OpenTrainTest(train, test, nullptr);
  EXPECT_EQ(data.test->info().class_names, data.train->info().class_names);
  EXPECT_EQ(LabelsOf(*data.test), (std::vector<uint32_t>{2, 0}));
  EXPECT_SAYS(OpeningComplaint(train, Write("c.csv", "x,label\n1,swim\n")),
              "the label is swim, expected one of the classes run, sit, walk");
  EXPECT_SAYS(OpeningComplaint(train, Write("d.csv", "x,z,label\n1,1,run\n")),
              "d.csv: column 2 (z) is not among the training samples; leave it out, drop=2, ");
}

TEST_F(SplitTest, ATestFileHasTheColumnsOfTheTrainingFileInWhateverOrder) {
  const std::string train = Write("a.csv", "x,y,kind\n1,2,run\n3,4,walk\n") + ":label=kind";
  for (const char* text :
       {"y,x,kind\n6,5,walk\n", "kind,x,y\nwalk,5,6\n", "x,y,kind\n5,6,walk\n"}) {
    const TrainTest data = OpenTrainTest(train, Write("b.csv", text), nullptr);
    EXPECT_EQ(FeaturesOf(*data.test, 0), (std::vector<float>{5, 6})) << text;
    EXPECT_EQ(data.test->Label(0), 1u) << text;
  }
  const std::string test = Write("b.csv", "kind,y,z,x\nwalk,6,7,5\n");
  EXPECT_SAYS(OpeningComplaint(train, test), "column 3 (z) is not among the training samples");
  EXPECT_EQ(FeaturesOf(*OpenTrainTest(train, test + ":drop=z", nullptr).test, 0),
            (std::vector<float>{5, 6}));
  EXPECT_EQ(FeaturesOf(*OpenTrainTest(train, test + ":features=y,x", nullptr).test, 0),
            (std::vector<float>{5, 6}));
  EXPECT_SAYS(OpeningComplaint(train, test + ":features=y,z"),
              "features=: the training samples have the features x, y");
  EXPECT_SAYS(OpeningComplaint(train, Write("c.csv", "x,yy,kind\n1,2,run\n")),
              "it has no column y, which the training samples have");
  EXPECT_SAYS(OpeningComplaint(train, Write("c.csv", "x,y,what\n1,2,run\n")),
              "it has no column kind, which the training samples have");
  EXPECT_SAYS(OpeningComplaint(train, Write("c.csv", "x,y,y,kind\n1,2,2,run\n")),
              "columns 2 and 3 have the same name, y");
}

TEST_F(SplitTest, AHeaderOnOneSideAloneNeedsAWord) {
  const std::string with = Write("a.csv", "kind,x,y\n0,1,0\n1,3,1\n") + ":label=kind";
  const std::string without = Write("b.csv", "1,5,0\n0,7,1\n");
  EXPECT_SAYS(OpeningComplaint(with, without),
              "b.csv: it has no header, and the file of the training samples has one; write the "
              "line kind,x,y above it; or if the columns stand in the same order in both: "
              "header=no");
  for (const char* word : {":header=no", ":label=1", ":features=2-3,label=1"}) {
    const SharedDataset test = OpenTrainTest(with, without + word, nullptr).test;
    EXPECT_EQ(FeaturesOf(*test, 0), (std::vector<float>{5, 0})) << word;
    EXPECT_EQ(LabelsOf(*test), (std::vector<uint32_t>{1, 0})) << word;
  }
  EXPECT_SAYS(OpeningComplaint(with, Write("c.csv", "1,5\n") + ":header=no"),
              "header=no: it has 2 columns, and the file of the training samples 3");
  const std::string train = without + ":label=1";
  const std::string named = Write("a.csv", "x,y,kind\n5,0,1\n");
  EXPECT_SAYS(OpeningComplaint(train, named), "a.csv: it has a header, and the file of the");
  const std::string same = Write("a.csv", "kind,x,y\n1,5,0\n");
  EXPECT_EQ(LabelsOf(*OpenTrainTest(train, same + ":header=yes", nullptr).test),
            (std::vector<uint32_t>{1}));
}

TEST_F(SplitTest, WithoutHeadersTheColumnsHaveTheirPlaces) {
  const std::string train = Write("a.csv", "0,1,0\n1,3,1\n") + ":label=1";
  const std::string test = Write("b.csv", "1,5,0\n0,7,1\n");
  const SharedDataset same = OpenTrainTest(train, test, nullptr).test;
  EXPECT_EQ(FeaturesOf(*same, 0), (std::vector<float>{5, 0}));
  EXPECT_EQ(LabelsOf(*same), (std::vector<uint32_t>{1, 0}));
  const std::string moved = Write("c.csv", "5,0,1\n") + ":label=3";
  EXPECT_EQ(FeaturesOf(*OpenTrainTest(train, moved, nullptr).test, 0), (std::vector<float>{5, 0}));
  EXPECT_SAYS(OpeningComplaint(train, Write("c.csv", "1,5\n")), "it has no column 3, which the");
}

TEST_F(SplitTest, NoNumberStandsForAClassThatNobodyHasNumbered) {
  const std::string train = Write("a.csv", "x,kind\n1,walk\n3,run\n") + ":label=kind";
  const std::string test = Write("b.csv", "x,kind\n1,0\n3,1\n");
  EXPECT_SAYS(OpeningComplaint(train, test),
              "the label is 0, expected one of the classes run, walk");
  EXPECT_EQ(LabelsOf(*OpenTrainTest(train + ",classes=walk,run", test, nullptr).test),
            (std::vector<uint32_t>{0, 1}));
}

TEST_F(SplitTest, TextsBecomeTheFeaturesOfTheTrainingFileWithoutAWord) {
  const std::string train = Write("a.csv", "mode,x,kind\na,1,0\nb,2,1\nc,3,0\n");
  const std::string test = Write("b.csv", "kind,x,mode\n1,9,b\n");
  const TrainTest data =
      OpenTrainTest(train + ":onehot=mode,label=kind", test + ":classes=2", nullptr);
  EXPECT_EQ(FeaturesOf(*data.test, 0), (std::vector<float>{0, 1, 0, 9}));
}

TEST_F(SplitTest, AFileToEvaluateFollowsTheTrainingSamples) {
  const SharedDataset train = Read(Write("a.csv", "x,y,label\n1,2,1\n3,4,2\n5,6,3\n"));
  const std::string test = Write("b.csv", "label,y,x\n2,8,7\n");
  const SharedDataset data = OpenTest(test, nullptr, &train->info());
  EXPECT_EQ(FeaturesOf(*data, 0), (std::vector<float>{7, 8}));
  EXPECT_EQ(data->Label(0), 1u) << "the label 2 is the second of three classes";
}

}  // namespace
}  // namespace sotto::server
