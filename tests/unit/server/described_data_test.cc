// What a model says of its data decides on every device alike: labels by the names of classes,
// columns by the names of features, or a refusal that says what to add.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/catalog.h"
#include "sotto/data/source.h"
#include "sotto/model/model_file.h"
#include "unit/data_files.h"
#include "unit/stored_bytes.h"

namespace sotto {
namespace {

using Floats = std::vector<float>;
using Labels = std::vector<uint32_t>;

class DescribedData : public DataFiles {
 protected:
  static posix::SharedModel Model(const std::string& keys, const std::string& input = "[2]",
                                  int outputs = 3) {
    return posix::ParseModel("m.toml", "name = \"m\"\ninput = " + input + "\n" + keys +
                                           "\n[[layer]]\nkind = \"flatten\"\n[[layer]]\nkind = "
                                           "\"dense\"\noutputs = " +
                                           std::to_string(outputs) + "\n");
  }
  // Rows of two features with these labels.
  std::string Rows(const std::vector<std::string>& labels) const {
    std::string text = "x,y,label\n";
    for (const std::string& label : labels) text += "1,2," + label + "\n";
    return Write("a.csv", text);
  }
  Labels LabelsIn(const std::vector<std::string>& labels, const std::string& keys,
                  const std::string& options = "", int outputs = 3) const {
    return LabelsOf(*Read(Rows(labels) + options, Model(keys, "[2]", outputs).get()));
  }
  std::string Refusal(const std::vector<std::string>& labels, const std::string& keys,
                      const std::string& options = "", int outputs = 3) const {
    return Complaint(Rows(labels) + options, Model(keys, "[2]", outputs).get());
  }
  std::string NotesOf(const std::string& text, const ModelInfo* model) const {
    return server::NotesText({Read(text, model)});
  }
  Floats Features(const std::string& csv, const std::string& keys,
                  const std::string& options = "") const {
    return FeaturesOf(*Read(Write("f.csv", csv) + options, Model(keys).get()), 0);
  }
  std::string ColumnsRefusal(const std::string& csv, const std::string& keys,
                             const std::string& options = "") const {
    return Complaint(Write("f.csv", csv) + options, Model(keys).get());
  }
};

constexpr char kActivities[] = "classes = [\"rest\", \"walk\", \"run\"]";

TEST_F(DescribedData, LabelsAreTheNamesOfTheModelsClasses) {
  EXPECT_EQ(LabelsIn({"run", "rest", " run "}, kActivities), (Labels{2, 0, 2}));
  EXPECT_EQ(LabelsIn({"2", "3.0", "+2"}, "classes = [\"1\", \"2\", \"3\"]"), (Labels{1, 2, 1}));
  EXPECT_SAYS(Refusal({"rest", "Run"}, kActivities),
              "line 3, column 3 (label): \"Run\"; the label is Run, expected one of the classes "
              "rest, walk, run; did you mean run?");
  EXPECT_SAYS(Refusal({"high_load"}, "classes = [\"High load\", \"low\", \"off\"]"),
              "did you mean High load?");
  EXPECT_SAYS(Refusal({"wlk"}, kActivities), "did you mean walk?");
  EXPECT_SAYS(Refusal({"0", "1"}, "classes = [\"1\", \"2\", \"3\"]"),
              "expected one of the classes 1, 2, 3");
}

// A file may write the model's classes in its own words, but not its names in another order.
TEST_F(DescribedData, TheOptionClassesTranslatesAndDoesNotReorder) {
  EXPECT_EQ(LabelsIn({"3", "1"}, kActivities, ":classes=1,2,3"), (Labels{2, 0}));
  EXPECT_SAYS(Refusal({"walk"}, kActivities, ":classes=walk,rest,run"),
              "classes=: walk is class 0 here and class 1 of model m; leave the option out");
}

TEST_F(DescribedData, WithoutNamesOnlyWholeNumbersFrom0AreClasses) {
  EXPECT_EQ(LabelsIn({"0", "2", "2.0"}, ""), (Labels{0, 2, 2}));
  EXPECT_SAYS(Refusal({"3", "1", "2"}, ""),
              "column 3 (label): the labels are 1, 2, 3, and nothing says which class each is; "
              "write the names of all 3 classes, in order, into the model file of all devices: "
              "classes = [\"1\", \"2\", \"3\"]; or for this file alone, behind its name: "
              "classes=1,2,3. These are the labels of this file, in sorted order");
  EXPECT_SAYS(Refusal({"up", "\"a \"\"b\"\"\""}, ""), "[\"a \\\"b\\\"\", \"up\"]; or for");
  EXPECT_SAYS(Refusal({"up", "down"}, ""), "which lacks some: put them in their places");
  EXPECT_SAYS(Refusal({"a", "b", "c", "d"}, ""),
              "4 different labels (a, b, c, d), but the model has 3 classes");
  EXPECT_SAYS(Refusal({"no", "yes"}, "", "", 2), "classes = [\"no\", \"yes\"]");
}

TEST_F(DescribedData, MinusOneAndOneAreTwoClassesWithoutA0) {
  EXPECT_EQ(LabelsIn({"1", "-1"}, "", "", 2), (Labels{1, 0}));
  EXPECT_EQ(LabelsIn({"-1"}, "", "", 2), (Labels{0}));
  EXPECT_SAYS(Refusal({"-1", "0"}, "", "", 2), "the labels are -1, 0, and nothing says");
  EXPECT_EQ(LabelsIn({"-1", "1"}, "classes = [\"no\", \"yes\"]", "", 2), (Labels{0, 1}));
  for (const std::vector<std::string>& labels :
       {std::vector<std::string>{"-1", "0"}, {"0", "-1"}, {"no", "-1"}}) {
    EXPECT_SAYS(Refusal(labels, "classes = [\"no\", \"yes\"]", "", 2),
                "both would be the class no; write its name in all rows");
  }
}

TEST_F(DescribedData, NumbersThatMayCountFrom1AreNoted) {
  const std::string csv = Rows({"1", "2"});
  EXPECT_SAYS(
      NotesOf(csv, Model("").get()),
      "no label is 0; the labels 1, 2 count from 0, so 1 is class 1; if yours count from 1, say so "
      "behind the file's name: classes=1,2,3");
  EXPECT_EQ(NotesOf(csv, Model("classes = [\"1\", \"2\", \"3\"]").get()), "");
  EXPECT_EQ(NotesOf(Rows({"0", "2"}), Model("").get()), "");
}

// A device that lacks the last class, and one that lacks the first, write the same numbers.
TEST_F(DescribedData, NumbersWithoutA0AreNoClassesThatHaveNames) {
  EXPECT_SAYS(Refusal({"1", "2"}, kActivities),
              "column 3 (label): the labels 1, 2 are numbers without a 0, so they may count from 0 "
              "or from 1, and the classes have names: rest, walk, run. Write the names as labels, "
              "or say behind the file's name how it counts: classes=3 if 0 is rest, classes=1,2,3 "
              "if 1 is rest");
  EXPECT_SAYS(Refusal({"1", "3"}, kActivities),
              "the label is 3, expected one of the classes rest, walk, run; if the labels count "
              "from 1, say so behind the file's name: classes=1,2,3");
  EXPECT_SAYS(Refusal({"walk", "1"}, kActivities), "the labels 1 are numbers without a 0");
  EXPECT_SAYS(Refusal({"1"}, "classes = [\"no\", \"yes\"]", "", 2), "without a 0");
  EXPECT_SAYS(Refusal({"1", "2"}, "", ":classes=rest,walk,run"), "without a 0");
  // What is certain is taken.
  EXPECT_EQ(LabelsIn({"2", "0"}, kActivities), (Labels{2, 0}));
  EXPECT_EQ(LabelsIn({"1", "2"}, kActivities, ":classes=3"), (Labels{1, 2}));
  EXPECT_EQ(LabelsIn({"1", "2"}, kActivities, ":classes=1,2,3"), (Labels{0, 1}));
  EXPECT_EQ(LabelsIn({"1", "2"}, "classes = [\"0\", \"1\", \"2\"]"), (Labels{1, 2}));
  EXPECT_EQ(LabelsIn({"-1"}, "classes = [\"no\", \"yes\"]", "", 2), (Labels{0}));
}

TEST_F(DescribedData, ClassesHaveTheNamesOfTheModelWhateverTheFileWrites) {
  for (const char* option : {"", ":classes=3", ":classes=0,1,2"}) {
    const SharedDataset data = Read(Rows({"0", "2"}) + option, Model(kActivities).get());
    EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"rest", "walk", "run"}));
    EXPECT_EQ(data->info().spellings, (std::vector<std::string>{"0", "", "2"})) << option;
  }
}

// Otherwise a test that lacks a class could not be read beside its training samples.
TEST_F(DescribedData, ATestFileCountsAsItsTrainingFile) {
  const posix::SharedModel model = Model(kActivities);
  const std::string test = Write("t.csv", "x,y,label\n1,2,1\n1,2,2\n");
  const auto labels = [&](const std::vector<std::string>& train, const std::string& option = "") {
    const SharedDataset all = Read(Rows(train) + option, model.get());
    return LabelsOf(*server::OpenTest(test, model.get(), &all->info()));
  };
  EXPECT_EQ(labels({"0", "1"}), (Labels{1, 2}));
  EXPECT_EQ(labels({"1", "3"}, ":classes=1,2,3"), (Labels{0, 1}));
  EXPECT_THROW(labels({"rest", "run"}), std::invalid_argument);
}

// An accuracy of 0 would not say that all labels are one too high.
TEST_F(DescribedData, ATestThatMayCountFrom1IsRefused) {
  const posix::SharedModel model = Model("");
  const std::string csv = Rows({"1", "2"});
  try {
    server::OpenTest(csv, model.get());
    ADD_FAILURE() << "it was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_SAYS(error.what(),
                "no label is 0, so they may count from 1; if they count from 0, say "
                "classes=3 behind the file's name, and if from 1 classes=1,2,3;");
  }
  EXPECT_EQ(LabelsOf(*server::OpenTest(csv + ":classes=3", model.get())), (Labels{1, 2}));
  EXPECT_EQ(LabelsOf(*server::OpenTest(csv + ":classes=1,2,3", model.get())), (Labels{0, 1}));
  const SharedDataset all = Read(Write("t.csv", "x,y,label\n1,2,0\n"), model.get());
  EXPECT_EQ(LabelsOf(*server::OpenTest(csv, model.get(), &all->info())), (Labels{1, 2}));
}

TEST_F(DescribedData, WhoWantsNoLabelsTakesAny) {
  const posix::SharedModel model = Model("");
  for (const std::string& csv : {Rows({"up", "down"}), Rows({"1", "2"}), Rows({"", "0.5"})}) {
    const auto open = [&] {
      return server::OpenTest(csv, model.get(), nullptr, server::LabelUse::kNobody);
    };
    EXPECT_EQ(open()->size(), 2u);
    EXPECT_TRUE(open()->info().notes.empty());
  }
}

// A simulation deals one file out, which lacks no class. Numbers are refused there, too: a later
// file with some of them would have other classes.
TEST_F(DescribedData, TextsOfAWholeFleetAreSortedAndSaid) {
  const auto open = [&](const std::vector<std::string>& labels) {
    return server::OpenTrainTest(Rows(labels), "0.5", Model("").get()).train;
  };
  const SharedDataset sorted = open({"walk", "rest", "run", "walk", "rest", "run"});
  EXPECT_EQ(sorted->info().class_names, (std::vector<std::string>{"rest", "run", "walk"}));
  EXPECT_SAYS(server::NotesText({sorted}), "names them: classes = [\"rest\", \"run\", \"walk\"]");
  for (const std::vector<std::string>& labels :
       {std::vector<std::string>{"1", "2", "3"}, {"1", "b", "c"}, {"a", "b"}}) {
    EXPECT_THROW(open(labels), std::invalid_argument) << labels[0];
  }
}

TEST_F(DescribedData, SpellingsSayWhichLabelIsWhichClass) {
  using Texts = std::vector<std::string>;
  const auto spellings = [&](const Texts& labels, const std::string& keys,
                             const std::string& options = "") {
    return Read(Rows(labels) + options, Model(keys).get())->info().spellings;
  };
  EXPECT_EQ(spellings({"run", "rest"}, kActivities), (Texts{"rest", "", "run"}));
  EXPECT_EQ(spellings({"2", "1"}, kActivities, ":classes=3"), (Texts{"", "1", "2"}));
  EXPECT_EQ(spellings({"2", "0"}, ""), (Texts{"0", "", "2"}));
}

constexpr char kAxes[] = "features = [\"x\", \"y\"]";

TEST_F(DescribedData, ColumnsAreFoundByTheNamesOfTheModelsFeatures) {
  for (const char* csv :
       {"x,y,label\n1,2,0\n", "y,x,label\n2,1,0\n", "label,y,x\n0,2,1\n", "kind,y,x\n0,2,1\n",
        "\"y\", x ,kind\n2,1,0\n", "\xEF\xBB\xBFy,x,label\n2,1,0\n", "y;x;label\n2;1;0\n"}) {
    EXPECT_EQ(Features(csv, kAxes), (Floats{1, 2})) << csv;
  }
  EXPECT_EQ(Features("y,t,x,label\n2,9,1,0\n", kAxes, ":drop=t"), (Floats{1, 2}));
  EXPECT_EQ(Features("who,y,x,kind\n7,2,1,0\n", kAxes, ":group=who"), (Floats{1, 2}));
  // The owner says which columns these are.
  EXPECT_EQ(Features("b,a,label\n2,1,0\n", kAxes, ":features=a,b"), (Floats{1, 2}));
  EXPECT_EQ(Features("y,x,label\n2,1,0\n", kAxes, ":features=1-2"), (Floats{1, 2}));
  // Names that are numbers.
  EXPECT_EQ(Features("2,1,label\n2,1,0\n", "features = [\"1\", \"2\"]"), (Floats{1, 2}));
}

TEST_F(DescribedData, OtherColumnsAreRefusedByName) {
  EXPECT_SAYS(
      ColumnsRefusal("x,z,label\n1,2,0\n", kAxes),
      "it has no column y, which the model names; add it, or rename the one that it is; the "
      "columns: x, z, label");
  EXPECT_SAYS(ColumnsRefusal("X,y,label\n1,2,0\n", kAxes), "it has no column x, which the model");
  EXPECT_SAYS(
      ColumnsRefusal("x,y,t,label\n1,2,9,0\n", kAxes),
      "column 3 (t) is not among the model's features; leave it out, drop=3; the columns: x,");
  EXPECT_SAYS(
      ColumnsRefusal("x,y,t,kind\n1,2,9,0\n", kAxes),
      "columns 3 (t) and 4 (kind) are no features of the model; say which one is the label, "
      "and leave the other out: label=4,drop=3");
  EXPECT_SAYS(ColumnsRefusal("x,y\n1,0\n", kAxes), "all columns are features of the model");
  EXPECT_SAYS(ColumnsRefusal("x,x,y,label\n1,1,2,0\n", kAxes), "have the same name, x");
  EXPECT_SAYS(ColumnsRefusal("x,y,label\n1,2,0\n", kAxes, ":drop=y"),
              "drop=: column 2 (y) is a feature of the model");
}

TEST_F(DescribedData, AxesOfAWindowAreColumns) {
  const posix::SharedModel model = Model(kAxes, "[2, 2]");
  const std::string csv = Write("w.csv", "y,x,label\n2,1,0\n4,3,0\n");
  EXPECT_EQ(FeaturesOf(*Read(csv + ":window=2", model.get()), 0), (Floats{1, 2, 3, 4}));
}

TEST_F(DescribedData, FeaturesOfTextsHaveTheirTextAsName) {
  const std::string keys = "features = [\"t\", \"sex=f\", \"sex=m\"]";
  const std::string list = Write("list.csv", "sex\nf\nm\n");
  const auto path = [&](const char* csv) {
    return Write("o.csv", csv) + ":onehot=sex,categories=" + list;
  };
  const posix::SharedModel model = Model(keys, "[3]");
  EXPECT_EQ(FeaturesOf(*Read(path("t,sex,label\n7,m,0\n"), model.get()), 0), (Floats{7, 0, 1}));
  EXPECT_SAYS(Complaint(path("sex,t,label\nm,7,0\n"), model.get()),
              "feature 0 is \"sex=f\" here and \"t\" in model m; put the columns into its order");
  EXPECT_EQ(FeaturesOf(*Read(path("sex,t,label\nm,7,0\n") + ",features=t,sex", model.get()), 0),
            (Floats{7, 0, 1}));
}

TEST_F(DescribedData, WhatHasNoNamesCountsInOrderAndIsNoted) {
  const posix::SharedModel model = Model(kAxes);
  const std::string csv = Write("h.csv", "1,2,0\n");
  EXPECT_SAYS(NotesOf(csv, model.get()), "h.csv: it has no header, so the features of model m are");
  const std::string x = Write("x.npy", Npy<float>("<f4", "(1, 2)", {1, 2}));
  const std::string y = ":y=" + Write("y.npy", Npy<int64_t>("<i8", "(1,)", {0}));
  EXPECT_SAYS(NotesOf(x + y, model.get()), "x.npy: its features have no names, and count in the");
  EXPECT_EQ(NotesOf(x + y, Model("").get()), "");
}

TEST_F(DescribedData, BytesThatAreNoImagesAreNoted) {
  const std::string bytes = Write("b.npy", Npy<uint8_t>("|u1", "(1, 4)", {1, 2, 3, 4}));
  EXPECT_SAYS(NotesOf(bytes, nullptr), "b.npy: its bytes are read as byte / 255");
  const std::string image = Write("i.npy", Npy<uint8_t>("|u1", "(1, 2, 2)", {1, 2, 3, 4}));
  EXPECT_EQ(NotesOf(image, nullptr), "");
  const std::string shorts = Write("s.npy", Npy<int16_t>("<i2", "(1, 4)", {1, 2, 3, 4}));
  EXPECT_EQ(NotesOf(shorts, nullptr), "");
}

}  // namespace
}  // namespace sotto
