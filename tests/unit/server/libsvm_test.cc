// Tests of the reader of LIBSVM files.
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/models.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

namespace sotto {
namespace {

using Floats = std::vector<float>;
using Labels = std::vector<uint32_t>;

class LibsvmTest : public DataFiles {
 protected:
  SharedDataset Open(const std::string& content, const std::string& options = "",
                     const ModelInfo* model = nullptr) const {
    return Read(Write("a.libsvm", content) + options, model);
  }
  std::string Refusal(const std::string& content, const std::string& options = "") const {
    return Complaint(Write("a.libsvm", content) + options);
  }
};

TEST_F(LibsvmTest, IndicesThatAreNotThereAreZero) {
  const SharedDataset data = Open("-1 1:0.5 4:2 # a comment\n\n+1\t2:-1e-1\r\n");
  EXPECT_EQ(data->size(), 2u);
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{0.5f, 0, 0, 2}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{0, -0.1f, 0, 0}));
  EXPECT_EQ(LabelsOf(*data), (Labels{0, 1}));
  EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"-1", "1"}));
}

TEST_F(LibsvmTest, TheNumberOfFeaturesAndTheFirstIndexCanBeGiven) {
  EXPECT_EQ(FeaturesOf(*Open("0 0:7 2:8\n", ":inputs=4,base=0"), 0), (Floats{7, 0, 8, 0}));
  EXPECT_SAYS(Refusal("0 0:7\n"),
              "line 1, column 3: \"0:7\"; expected an index from 1 to 1; base=0");
  EXPECT_SAYS(Refusal("0 5:7\n", ":inputs=4"), "expected an index from 1 to 4");
}

TEST_F(LibsvmTest, AModelGivesTheNumberOfFeaturesAndClasses) {
  const SharedDataset data = Open("9 50:1\n3 1:2\n", "", FindModel("ova-logistic"));
  EXPECT_EQ(data->input_size(), 50u);
  EXPECT_EQ(data->info().classes, 10u);
  EXPECT_EQ(LabelsOf(*data), (Labels{9, 3}));
}

TEST_F(LibsvmTest, AModelWithoutClassesNeedsNoLabels) {
  ModelInfo coder = *FindModel("ova-logistic");
  coder.classes = 0;
  coder.loss.target = nn::TargetKind::kInput;
  const SharedDataset data = Open("1:3 2:4\n7 2:5\n", "", &coder);
  EXPECT_EQ(FeaturesOf(*data, 0)[0], 3.0f);
  EXPECT_EQ(FeaturesOf(*data, 1)[1], 5.0f);
}

TEST_F(LibsvmTest, QidIsTheGroup) {
  const SharedDataset data = Open("0 qid:7 1:1\n1 qid:3 1:1\n1 qid:7 1:1\n");
  EXPECT_EQ(GroupsOf(*data), (Labels{0, 1, 0}));
  EXPECT_EQ(data->group_count(), 2u);
}

TEST_F(LibsvmTest, LabelsFromOneOnAreClassesFromZeroOn) {
  EXPECT_EQ(LabelsOf(*Open("3 1:1\n1 1:1\n2 1:1\n")), (Labels{2, 0, 1}));
}

TEST_F(LibsvmTest, ADefectNamesLineAndColumn) {
  EXPECT_SAYS(Refusal("0 1:1\n0 1:1 2\n"),
              "a.libsvm: line 2, column 7: \"2\"; expected INDEX:VALUE");
  EXPECT_SAYS(Refusal("0 1:1\n2:1\n"), "line 2, column 1: \"2:1\"; expected the label first");
  EXPECT_SAYS(Refusal("0 1:x\n"), "column 3: \"1:x\"; expected a number");
  EXPECT_SAYS(Refusal("0 2:1 1:1\n"), "column 7: \"1:1\"; expected indices in rising order");
  EXPECT_SAYS(Refusal("0 2:1 2:1\n"), "rising order, each once");
  EXPECT_SAYS(Refusal("7 1:1\n", ":classes=3"), "\"7\"; the label is 7, expected 0 to 2");
  EXPECT_SAYS(Refusal("# nothing\n"), "it holds no samples");
  EXPECT_SAYS(Refusal("1.5,2,0\n"), "line 1, column 1: \"1.5,2,0\"; expected LABEL INDEX:VALUE");
  EXPECT_SAYS(Refusal("1.5,2,0\n"), "if the file is CSV, say format=csv");
  EXPECT_SAYS(Refusal("0\n1\n"), "no line has a feature");
}

TEST_F(LibsvmTest, AdultHas32561RowsOf123Features) {
  const char* folder = std::getenv("SOTTO_TEST_DATA");
  if (folder == nullptr) {
    GTEST_SKIP() << "SOTTO_TEST_DATA is not set: name a folder with a9a.libsvm";
  }
  const SharedDataset data = Read(std::string(folder) + "/a9a.libsvm");
  EXPECT_EQ(data->size(), 32561u);
  EXPECT_EQ(data->input_size(), 123u);
  EXPECT_EQ(data->info().classes, 2u);
}

}  // namespace
}  // namespace sotto
