// Tests of columns of texts that become features: the options onehot and categories of CSV files.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "unit/data_files.h"

namespace sotto {
namespace {

using Floats = std::vector<float>;

class OneHotTest : public DataFiles {
 protected:
  SharedDataset Open(const std::string& content, const std::string& options) const {
    return Read(Write("a.csv", content) + options);
  }
  std::string Refusal(const std::string& content, const std::string& options) const {
    return Complaint(Write("a.csv", content) + options);
  }
};

constexpr char kAdults[] =
    "age,work,sex,income\n"
    "30,state,m,<=50K\n"
    "40,private,f,>50K\n"
    "50,?,m,>50K\n";

TEST_F(OneHotTest, AColumnBecomesAFeatureForEachOfItsTextsInSortedOrder) {
  const SharedDataset data = Open(kAdults, ":onehot=work,sex");
  EXPECT_TRUE(data->info().shape == nn::ShapeOf(5));
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{30, 0, 1, 0, 1}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{40, 1, 0, 1, 0}));
  EXPECT_EQ(FeaturesOf(*data, 2), (Floats{50, 0, 0, 0, 1})) << "what is missing is no category";
}

TEST_F(OneHotTest, ADeviceThatKeepsSomeSamplesHasTheCategoriesOfTheWholeFile) {
  const SharedDataset all = Open(kAdults, ":onehot=work,sex");
  const SharedDataset last =
      Read(Path("a.csv") + ":onehot=work,sex", nullptr, [](size_t sample) { return sample == 2; });
  ASSERT_EQ(last->size(), 1u);
  EXPECT_EQ(FeaturesOf(*last, 0), FeaturesOf(*all, 2));
}

TEST_F(OneHotTest, ADeviceWithAFileOfItsOwnTakesTheCategoriesOfAnother) {
  const std::string list = Write("list.csv", "sex;work\nm;state\nf;private\n;own\n");
  const SharedDataset own =
      Open("age,work,sex,income\n30,state,m,0\n", ":onehot=work,sex,categories=" + list);
  EXPECT_EQ(FeaturesOf(*own, 0), (Floats{30, 0, 0, 1, 0, 1}));
  EXPECT_SAYS(
      Refusal("age,work,sex,income\n30,state,x,0\n", ":onehot=work,sex,categories=" + list),
      "line 2, column 3 (sex): \"x\"; expected a category of the file of categories=: f, ...");
}

TEST_F(OneHotTest, ColumnsWithoutNamesAreNumbered) {
  const SharedDataset data = Open("1,b,0\n2,a,1\n", ":onehot=2");
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{1, 0, 1}));
}

TEST_F(OneHotTest, AWindowHasTheFeaturesOfItsRows) {
  const SharedDataset data = Open("x,mode,label\n1,b,0\n2,a,0\n", ":onehot=mode,window=2");
  EXPECT_TRUE(data->info().shape == nn::ShapeOf(2, 3));
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{1, 0, 1, 2, 1, 0}));
}

TEST_F(OneHotTest, WhatCannotBeEncodedIsRefused) {
  EXPECT_SAYS(Refusal(kAdults, ""),
              "\"state\"; expected a number; leave the column out with drop=, "
              "make features of its texts with onehot=");
  EXPECT_SAYS(Refusal(kAdults, ":onehot=income"), "onehot=: column 4 (income) is no feature");
  EXPECT_SAYS(Refusal(kAdults, ":onehot=work,drop=work"), "column 2 (work) is no feature");
  EXPECT_SAYS(Refusal(kAdults, ":onehot=works"), "did you mean work?");
  EXPECT_SAYS(Refusal("a,b,label\n1,,0\n", ":onehot=b"), "column 2 (b) has no categories");
  const std::string list = Write("list.csv", "work\nstate\n");
  EXPECT_SAYS(Refusal(kAdults, ":onehot=work,sex,categories=" + list),
              "list.csv: onehot=: column 3 (sex) is not there");
  EXPECT_SAYS(Refusal(kAdults, ":onehot=sex,categories=nowhere.csv"), "nowhere.csv: ");
  std::string names = "name,label\n";
  for (int i = 0; i <= 1000; ++i) names += "n" + std::to_string(i) + ",0\n";
  EXPECT_SAYS(Refusal(names, ":onehot=name"), "column 1 (name) has more than 1000 different texts");
}

TEST_F(OneHotTest, CategoriesWithoutOnehotAreRefused) {
  EXPECT_SAYS(Refusal("a,label\n1,0\n", ":categories=list.csv"), "categories= goes with onehot=");
}

}  // namespace
}  // namespace sotto
