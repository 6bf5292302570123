// Tests of the reader of CSV files.
#include <algorithm>
#include <cmath>
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
using Names = std::vector<std::string>;

class CsvTest : public DataFiles {
 protected:
  // Opens a CSV file of this content.
  SharedDataset Open(const std::string& content, const std::string& options = "",
                     const ModelInfo* model = nullptr) const {
    return Read(Write("a.csv", content) + options, model);
  }
  std::string Refusal(const std::string& content, const std::string& options = "",
                      const ModelInfo* model = nullptr) const {
    return Complaint(Write("a.csv", content) + options, model);
  }
};

constexpr char kFlowers[] =
    "length,width,species\n"
    "5.1,3.5,setosa\n"
    "6.2,2.9,virginica\n"
    "\n"
    "5.7,-1e1,setosa\n";

TEST_F(CsvTest, TextLabelsAreClassesInTheirSortedOrder) {
  const SharedDataset data = Open(kFlowers);
  EXPECT_EQ(data->size(), 3u);
  EXPECT_TRUE(data->info().shape == nn::ShapeOf(2));
  EXPECT_EQ(data->info().classes, 2u);
  EXPECT_EQ(data->info().class_names, (Names{"setosa", "virginica"}));
  EXPECT_EQ(LabelsOf(*data), (Labels{0, 1, 0}));
  EXPECT_EQ(FeaturesOf(*data, 2), (Floats{5.7f, -10.0f}));
}

TEST_F(CsvTest, ClassesCanBeNamedInAnOrderOfTheirOwn) {
  const SharedDataset data = Open(kFlowers, ":classes=virginica,lily,setosa");
  EXPECT_EQ(data->info().class_names, (Names{"virginica", "lily", "setosa"}));
  EXPECT_EQ(LabelsOf(*data), (Labels{2, 0, 2}));
  EXPECT_SAYS(Refusal(kFlowers, ":classes=setosa,lily"),
              "a.csv: line 3, column 3 (species): \"virginica\"; the label is virginica, expected "
              "one of the classes setosa, lily");
}

TEST_F(CsvTest, NumbersStandForClassesThatHaveNames) {
  const SharedDataset data = Open("x,label\n1,2\n2,0\n3,sit\n", ":classes=walk,run,sit");
  EXPECT_EQ(LabelsOf(*data), (Labels{2, 0, 2}));
  EXPECT_EQ(LabelsOf(*Open("x,label\n1,-1\n2,1\n", ":classes=no,yes")), (Labels{0, 1}));
  // Unless the names are numbers themselves.
  EXPECT_EQ(LabelsOf(*Open("x,label\n1,20\n2,10\n", ":classes=10,20")), (Labels{1, 0}));
  EXPECT_SAYS(Refusal("x,label\n1,0\n", ":classes=10,20"), "expected one of the classes 10, 20");
}

TEST_F(CsvTest, AFileWithoutHeaderHasNumberedColumns) {
  const SharedDataset data = Open("7;1;2;0\n8;3;4;1\n", ":separator=semicolon,label=4,drop=1");
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{3, 4}));
  EXPECT_EQ(LabelsOf(*data), (Labels{0, 1}));
  EXPECT_EQ(data->info().classes, 2u);
  EXPECT_TRUE(data->info().class_names.empty());
  // Text labels do not make the first row a header.
  EXPECT_EQ(Open("1,2,a\n3,4,b\n")->size(), 2u);
  EXPECT_EQ(Open("?,NA,a\n3,4,b\n")->size(), 2u);
  // Numbers as names do if somebody says so.
  EXPECT_EQ(Open("1,2,3\n3,4,0\n", ":header=yes")->size(), 1u);
  EXPECT_EQ(Open("1,2,y\n3,4,0\n", ":label=y")->size(), 1u);
  EXPECT_SAYS(Refusal("walk,1,2\nrun,3,4\n"), "if this column is the label: label=1");
}

TEST_F(CsvTest, AMissingValueIsNan) {
  const SharedDataset data =
      Open("a,b,c,d,label\n1,,?,NA,0\n-9,NaN,nan,null,0\n", ":missing=-9,unknown");
  EXPECT_EQ(FeaturesOf(*data, 0)[0], 1.0f);
  for (size_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(FeaturesOf(*data, 0)[i])) << i;
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(FeaturesOf(*data, 1)[i])) << i;
}

TEST_F(CsvTest, ColumnsAreChosenByNameNumberAndRange) {
  const std::string text = "id,a,b,c,label\n9,1,2,3,0\n";
  EXPECT_EQ(FeaturesOf(*Open(text, ":features=c,a"), 0), (Floats{3, 1}));
  EXPECT_EQ(FeaturesOf(*Open(text, ":features=2-4"), 0), (Floats{1, 2, 3}));
  EXPECT_EQ(FeaturesOf(*Open(text, ":drop=id,3"), 0), (Floats{1, 3}));
  EXPECT_EQ(FeaturesOf(*Open(text, ":drop=id,label=none"), 0), (Floats{1, 2, 3, 0}));
  // A comma in a name, and a name with a colon.
  EXPECT_EQ(FeaturesOf(*Open("\"a,b\",x:y=,label\n1,2,0\n", ":drop=a\\,b"), 0), (Floats{2}));
  EXPECT_SAYS(Refusal(text, ":drop=idd"),
              "drop=idd: there is no such column; expected a number from 1 to 5 or a name; the "
              "columns: id, a");
  EXPECT_SAYS(Refusal(text, ":features=0"), "expected a number from 1 to 5");
  EXPECT_SAYS(Refusal(text, ":label=a,b"), "label=a,b: expected one column");
}

TEST_F(CsvTest, GroupsAreNumberedAsTheyCome) {
  const SharedDataset data = Open("x,user,label\n1,eve,0\n2,adam,1\n3,eve,1\n", ":group=user");
  EXPECT_EQ(GroupsOf(*data), (Labels{0, 1, 0}));
  EXPECT_EQ(data->group_count(), 2u);
  EXPECT_EQ(data->input_size(), 1u);
}

TEST_F(CsvTest, TargetsOfARegression) {
  const SharedDataset data = Open("a,b,y,z\n1,2,3,4\n5,6,7,8\n", ":targets=y,z");
  EXPECT_EQ(data->info().classes, 0u);
  EXPECT_EQ(data->info().targets, 2u);
  EXPECT_EQ(TargetOf(*data, 1), (Floats{7, 8}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{5, 6}));
  EXPECT_SAYS(Refusal("a,y\n1,\n", ":targets=y"), "column 2 (y): empty; the target is missing");
}

TEST_F(CsvTest, ANameThatIsThereTwiceIsRefusedWithTheHeader) {
  const std::string twice = "x,x,y,label\n1,2,3,0\n4,5,6,1\n";
  EXPECT_SAYS(
      Refusal(twice, ":features=x"),
      "features=x: columns 1 and 2 have the same name, x; rename one; the columns: x, x, y");
  EXPECT_SAYS(Refusal(twice), "columns 1 and 2 have the same name, x");
  EXPECT_EQ(FeaturesOf(*Open(twice, ":drop=2"), 1), (Floats{4, 6}));
  EXPECT_EQ(FeaturesOf(*Open(twice, ":features=1-3"), 0), (Floats{1, 2, 3}));
  EXPECT_SAYS(Refusal("x,label,label\n1,0,1\n"), "columns 2 and 3 are both named label");
  EXPECT_SAYS(Refusal("x,Label,label\n1,0,1\n"), "columns 2 and 3 are both named label");
  EXPECT_SAYS(Refusal("x,label,label\n1,0,1\n", ":label=label"), "have the same name, label");
  EXPECT_EQ(LabelsOf(*Open("x,label,label\n1,0,1\n", ":label=3,drop=2,classes=2")), (Labels{1}));
  EXPECT_SAYS(Refusal("a,b,label\n1,2,0\n", ":features=a,1"), "column 1 (a) comes twice");
}

TEST_F(CsvTest, AColumnWithoutANameIsNoFeatureAndNoLabel) {
  const std::string text = "x,y,label,\n1,2,0,\n3,4,1,\n";
  EXPECT_SAYS(Refusal(text),
              "column 4 has no name; give it one; the columns: x, y, label, (no name)");
  EXPECT_EQ(FeaturesOf(*Open(text, ":drop=4"), 1), (Floats{3, 4}));
  EXPECT_SAYS(Refusal("x,y,kind,\n1,2,0,\n"), "column 4 has no name");
  EXPECT_SAYS(Refusal(",x,label\n0,2,0\n"), "column 1 has no name");
  EXPECT_SAYS(Refusal("x,label\n1,0\n", ":features=x\\,"), "there is no such column");
  EXPECT_SAYS(Refusal("x,label\n1,0\n", ":drop=x\\,x,label=none"), "there is no such column");
}

TEST_F(CsvTest, BlanksAroundANameAreNoPartOfIt) {
  for (const char* label : {"\" label \"", "label\xC2\xA0", "\"\xC2\xA0 Label\t\""}) {
    const std::string text = "x," + std::string(label) + ",z\n1,0,2\n3,1,4\n";
    EXPECT_EQ(LabelsOf(*Open(text)), (Labels{0, 1})) << label;
    EXPECT_EQ(FeaturesOf(*Open(text, ":features=z, x"), 1), (Floats{4, 3})) << label;
  }
  EXPECT_SAYS(Refusal("x,\" x\",label\n1,2,0\n"), "columns 1 and 2 have the same name, x");
  EXPECT_SAYS(Refusal("x,\" \",label\n1,2,0\n"), "column 2 has no name");
}

TEST_F(CsvTest, ARowThatNamesTheLabelIsAHeader) {
  EXPECT_EQ(Open("1,2,label\n3,4,0\n")->size(), 1u);
  EXPECT_EQ(Open("Class,2,NaN\n0,4,5\n")->size(), 1u);
}

TEST_F(CsvTest, WhatIsANameAndANumberIsRefused) {
  const std::string text = "2,1,label\n7,8,0\n";
  EXPECT_SAYS(Refusal(text, ":header=yes,features=1"),
              "1 is the name of column 2 and the number of another; write 2-2 for the one and 1-1 "
              "for the other");
  EXPECT_EQ(FeaturesOf(*Open(text, ":header=yes,features=1-1"), 0), (Floats{7}));
  EXPECT_SAYS(Refusal(text, ":label=1"), "label=1: 1 is the name of column 2 and the number");
}

// Six rows of two users; the second one changes from class 0 to class 1.
constexpr char kSeries[] =
    "t,user,label\n"
    "0,a,0\n1,a,0\n2,a,0\n3,a,0\n4,a,0\n"
    "10,b,0\n11,b,0\n12,b,0\n13,b,1\n14,b,1\n15,b,1\n";

TEST_F(CsvTest, WindowsNeverCrossAChangeOfGroupOrLabel) {
  const SharedDataset data = Open(kSeries, ":group=user,window=3,stride=1");
  ASSERT_EQ(data->size(), 3u + 1 + 1);
  EXPECT_TRUE(data->info().shape == nn::ShapeOf(3, 1));
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{0, 1, 2}));
  EXPECT_EQ(FeaturesOf(*data, 2), (Floats{2, 3, 4}));
  EXPECT_EQ(FeaturesOf(*data, 3), (Floats{10, 11, 12}));
  EXPECT_EQ(FeaturesOf(*data, 4), (Floats{13, 14, 15}));
  EXPECT_EQ(LabelsOf(*data), (Labels{0, 0, 0, 0, 1}));
  EXPECT_EQ(GroupsOf(*data), (Labels{0, 0, 0, 1, 1}));
}

TEST_F(CsvTest, WindowsThatOverlapShareTheirRows) {
  const SharedDataset data = Open(kSeries, ":group=user,window=3,stride=1");
  EXPECT_EQ(dynamic_cast<const StoredDataset&>(*data).samples().numbers.size(), 5u + 3 + 3);
  const SharedDataset apart = Open(kSeries, ":group=user,window=2");
  EXPECT_EQ(apart->size(), 2u + 1 + 1);
  EXPECT_EQ(FeaturesOf(*apart, 1), (Floats{2, 3}));
  EXPECT_EQ(FeaturesOf(*Open(kSeries, ":group=user,window=2,stride=3"), 1), (Floats{3, 4}));
}

TEST_F(CsvTest, ASelectionOfWindowsReadsTheSameWindows) {
  const std::string path = Write("a.csv", kSeries) + ":group=user,window=3,stride=1";
  const SharedDataset all = Read(path);
  for (size_t i = 0; i < all->size(); ++i) {
    const SharedDataset one = Read(path, nullptr, [&](size_t index) { return index == i; });
    ASSERT_EQ(one->size(), 1u);
    EXPECT_EQ(FeaturesOf(*one, 0), FeaturesOf(*all, i));
    EXPECT_EQ(one->Label(0), all->Label(i));
    EXPECT_EQ(one->Group(0), all->Group(i));
  }
  const SharedDataset two = Read(path, nullptr, [](size_t index) { return index != 1; });
  EXPECT_EQ(FeaturesOf(*two, 0), FeaturesOf(*all, 0));
  EXPECT_EQ(FeaturesOf(*two, 1), FeaturesOf(*all, 2));
  EXPECT_EQ(CountSamples(ParseDataSource(path), nullptr), 5u);
}

TEST_F(CsvTest, NoWindowAtAllIsRefused) {
  EXPECT_SAYS(Refusal(kSeries, ":group=user,window=6"),
              "no window of 6 rows: the longest series has 5");
}

TEST_F(CsvTest, QuotesLineEndsAndAMarkOfByteOrderAreThoseOfRfc4180) {
  const SharedDataset data =
      Open("\xEF\xBB\xBF\"a\",\"the \"\"label\"\"\"\r\n\"1\", x \r\n 2 ,\"x\r\ny\"\r\n3,x",
           ":label=the \"label\"");
  EXPECT_EQ(data->size(), 3u);
  EXPECT_EQ(data->info().class_names, (Names{"x", "x\r\ny"}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{2}));
}

TEST_F(CsvTest, TabsAndOtherSeparators) {
  const std::string tsv = Write("a.tsv.gz", "a\tlabel\n1\t0\n");
  EXPECT_EQ(FeaturesOf(*Read(tsv), 0), (Floats{1}));
  EXPECT_EQ(FeaturesOf(*Open("1|0\n", ":separator=bar"), 0), (Floats{1}));
  EXPECT_EQ(FeaturesOf(*Open("1:0\n", ":separator=:"), 0), (Floats{1}));
  EXPECT_SAYS(Refusal("1,0\n", ":separator=dot"), "separator=dot: expected comma, semicolon");
  EXPECT_SAYS(Refusal("a~b~label\n1~2~0\n"),
              "no column is left for the features; is the separator right? The first row is "
              "one column, \"a~b~label\"; say it, for example separator=semicolon");
  EXPECT_SAYS(Refusal("x,label\n1,0\n", ":separator=;"), "\"x,label\"; say separator=comma");
  EXPECT_SAYS(Refusal("x,label\n1,0\n", ":drop=x"), "all are label, target, group, or left out");
}

TEST_F(CsvTest, WithoutAnOptionTheFirstLineTellsTheSeparator) {
  for (const char separator : {';', '\t', '|'}) {
    std::string text = "\"a, b, c, d\",b,label\n1,2,0\n";
    std::replace(text.begin() + 12, text.end(), ',', separator);
    EXPECT_EQ(FeaturesOf(*Open("\r\n" + text), 0), (Floats{1, 2})) << separator;
  }
  EXPECT_SAYS(Refusal("a;label\n1,5;0\n"),
              "line 2, column 1 (a): \"1,5\"; expected a number with a decimal point");
}

TEST_F(CsvTest, TextsOfOtherSystemsAreRefusedWithWhatToDo) {
  EXPECT_SAYS(Refusal("a,label\r1,0\r2,0\r"), "line 1: lines end with a carriage return alone");
  EXPECT_SAYS(Refusal(std::string("\xFF\xFE"
                                  "a\0,\0b\0\n\0",
                                  10)),
              "line 1: the text is UTF-16");
  EXPECT_SAYS(Refusal("a,label\n\x1B[2J,0\n"), "\"\\x1b[2J\"; expected a number");
}

TEST_F(CsvTest, FeaturesAreNoAnswersAndRangesRise) {
  const std::string text = "a,b,label\n1,2,0\n";
  EXPECT_SAYS(Refusal(text, ":features=2-1"), "features=2-1: expected the lower number first");
  EXPECT_SAYS(Refusal(text, ":features=1-3"), "features=: column 3 (label) is the label");
  EXPECT_SAYS(Refusal(text, ":targets=b,features=a,b"), "features=: column 2 (b) is the target");
  EXPECT_SAYS(Refusal(text, ":lable=a"), "did you mean label?");
  EXPECT_SAYS(Refusal("age,sex,label\n1,2,0\n", ":drop=sez"), "did you mean sex?");
}

TEST_F(CsvTest, ADefectNamesLineAndColumn) {
  EXPECT_SAYS(Refusal("a,b,label\n1,2,0\n1,x,0\n"),
              "a.csv: line 3, column 2 (b): \"x\"; expected a number");
  EXPECT_SAYS(Refusal("a,b,label\n\n1,1e39,0\n"),
              "line 3, column 2 (b): \"1e39\"; expected a number "
              "that float32 can hold");
  EXPECT_SAYS(Refusal("a,b,label\n1,2,0\n1,2\n"), "line 3: 2 columns; expected 3");
  EXPECT_SAYS(Refusal("a,label\n1,0\n1,\n"),
              "line 3, column 2 (label): empty; the label is missing");
  EXPECT_SAYS(Refusal("a,label\n1,0\nx\"y,0\n"), "line 3, column 1: a quote stands within a field");
  EXPECT_SAYS(Refusal("a,label\n\"1,0\n2,0\n"), "the file ends within a quoted field");
  EXPECT_SAYS(Refusal(""), "a.csv: the file is empty; write it, or fetch it again");
  EXPECT_SAYS(Refusal("\n\n"), "the file has no rows");
  EXPECT_SAYS(Refusal("a,label\n"), "it holds no samples");
  EXPECT_SAYS(Refusal("a,label\n1,0\n", ":colour=red"), "csv has no option colour; its options: ");
  EXPECT_SAYS(Refusal("a,label\n1,0\n", ":window=0"), "window=0: expected a whole number from 1");
}

TEST_F(CsvTest, SamplesMustFitTheModel) {
  const ModelInfo& motion = *FindModel("motion");
  EXPECT_SAYS(Refusal("a,label\n1,0\n", "", &motion),
              "model motion takes 384 inputs (128 x 3), but ");
  EXPECT_SAYS(
      Refusal("id,a,label\n1,1,0\n", "", &motion),
      "a.csv has 2 (2); name a model that takes as many: --model FILE.toml, input = [2]; the "
      "features are columns 1 (id), 2 (a); features= takes columns, drop= leaves some out; the "
      "label is column 3 (label), label= names another");
  const ModelInfo& ova = *FindModel("ova-logistic");
  std::string row;
  for (int i = 0; i < 50; ++i) row += "1,";
  EXPECT_SAYS(Refusal(row + "a\n" + row + "b\n", "", &ova),
              "column 51: the labels are a, b, and nothing says which class each is; write the");
  EXPECT_EQ(Open(row + "3\n", "", &ova)->info().classes, 10u);
  EXPECT_SAYS(Refusal(row.substr(2) + "?,3\n", "", &ova),
              "column 50: \"?\"; the value is missing, and the model does not say");
}

TEST_F(CsvTest, AModelFillsMissingValuesAndNamesClasses) {
  static constexpr float kZero = 0;
  static constexpr nn::PreparationStep kFill[] = {
      nn::PlacedStep(nn::internal::FillMissingStep({&kZero, 1}), nn::ShapeOf(50))};
  static constexpr const char* kNames[] = {"no", "yes"};
  ModelInfo model = *FindModel("ova-logistic");
  model.classes = 2;
  model.preparation = kFill;
  model.class_names = kNames;
  std::string row;
  for (int i = 0; i < 50; ++i) row += "?,";
  const SharedDataset data = Open(row + "yes\n" + row + "0\n", "", &model);
  EXPECT_TRUE(std::isnan(FeaturesOf(*data, 0)[0]));
  EXPECT_EQ(LabelsOf(*data), (Labels{1, 0}));
  EXPECT_EQ(data->info().class_names, (Names{"no", "yes"}));
}

TEST_F(CsvTest, ManyRowsAreReadAcrossTheBuffersBorders) {
  std::string text = "a,b,label\n";
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + ",0.5," + std::to_string(i % 7) + "\n";
  const SharedDataset data = Read(Write("many.csv.gz", text));
  ASSERT_EQ(data->size(), 5000u);
  for (size_t i = 0; i < data->size(); ++i) {
    ASSERT_EQ(FeaturesOf(*data, i)[0], static_cast<float>(i));
    ASSERT_EQ(data->Label(i), i % 7);
  }
}

}  // namespace
}  // namespace sotto
