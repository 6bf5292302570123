// How two models differ, in words.
#include "sotto/model/model_difference.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sotto/model/model_file.h"
#include "sotto/model/model_text.h"
#include "sotto/models.h"

namespace sotto::posix {
namespace {

std::string FileText(const std::string& keys = "", const std::string& more = "",
                     const std::string& input = "[3]", int outputs = 2) {
  return "name = \"mine\"\ninput = " + input + "\n" + keys + "\n" + more +
         "\n[[layer]]\nkind = \"dense\"\noutputs = " + std::to_string(outputs) + "\n";
}

std::string Difference(const std::string& own, const std::string& job) {
  return DifferenceOf(*ParseModel("own.toml", own), *ParseModel("job.toml", job));
}

TEST(ModelDifference, SaysTheFirstDifference) {
  const std::string plain = FileText();
  const auto step = [](const std::string& numbers) {
    return "[[prepare]]\nkind = \"normalise\"\n" + numbers;
  };
  const std::vector<std::vector<std::string>> cases = {
      {plain, plain, ""},
      {plain, FileText("", "", "[4]"), "a sample is 3 here and 4 in the job"},
      {plain, FileText("", "", "[3]", 3), "the number of outputs is 2 here and 3 in the job"},
      {plain, FileText("loss = \"one-vs-all\""),
       "the loss is softmax here and one-vs-all in the job"},
      {FileText("classes = [\"normal\", \"anomaly\"]"),
       FileText("classes = [\"Normal\", \"anomaly\"]"),
       "class 0 is normal here and Normal in the job"},
      {FileText("classes = [\"a\", \"b \"]"), FileText("classes = [\"a\", \"b\"]"),
       "class 1 is \"b \" here and b in the job"},
      {plain, FileText("classes = [\"a\", \"b\"]"),
       "the classes have no names here and names in the job"},
      {FileText("features = [\"x\", \"y\", \"z\"]"), FileText("features = [\"y\", \"x\", \"z\"]"),
       "feature 0 is x here and y in the job"},
      {FileText("units = [\"g\"]"), FileText("units = [\"m/s2\"]"),
       "unit 0 is g here and m/s2 in the job"},
      {FileText("units = [\"g\"]"), FileText("units = [\"g\", \"g\", \"m\"]"),
       "1 units have names here and 3 in the job"},
      {plain, FileText("samples = \"a wrist\""),
       "the kind of samples is not said here and a wrist in the job"},
      {plain, FileText("", step("mean = 0\ndeviation = 1\n")),
       "preparation step 1 is none here and normalise, mean 0, deviation 1 in the job"},
      {FileText("", step("mean = 0\ndeviation = 1\n")),
       FileText("", step("mean = 0.5\ndeviation = 1\n")),
       "preparation step 1 is normalise, mean 0, deviation 1 here and normalise, mean 0.5, "
       "deviation 1 in the job"},
      {plain + "[[layer]]\nkind = \"dense\"\noutputs = 2\n", plain,
       "layer 2 is Dense<2, 2> here and none in the job"},
  };
  for (const std::vector<std::string>& one : cases) EXPECT_EQ(Difference(one[0], one[1]), one[2]);
}

// Two digests that differ always give a text of at most kMaxDifference bytes, without control
// characters, and a long one shows where the texts part.
TEST(ModelDifference, FitsAnyNames) {
  const std::string many(61, 'n');
  const auto classes = [](const std::string& first) {
    return FileText("classes = [\"" + first + "\", \"b\"]");
  };
  const std::string text = Difference(classes(many + "1"), classes(many + "2"));
  EXPECT_EQ(text, "class 0 is ...nnnnnnnn1 here and ...nnnnnnnn2 in the job");
  std::string wide;
  for (int i = 0; i < 32; ++i) wide += "\u00e9";
  EXPECT_LE(Difference(classes(wide), classes("a" + wide.substr(0, 62))).size(), kMaxDifference);
  for (const ModelInfo& own : Models()) {
    for (const ModelInfo& job : Models()) {
      const std::string words = DifferenceOf(own, job);
      EXPECT_EQ(words.empty(), ModelDigestHex(own) == ModelDigestHex(job))
          << own.name << " " << job.name;
      EXPECT_LE(words.size(), kMaxDifference);
    }
  }
}

}  // namespace
}  // namespace sotto::posix
