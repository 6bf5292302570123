// [[prepare]], missing and classes of model files: the same models as the types of nn.h, or refused
// with the line and the reason.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/model/model_file.h"
#include "sotto/model/model_text.h"
#include "sotto/model/preparation_kinds.h"
#include "sotto/nn.h"
#include "unit/sdk/hex.h"
#include "unit/test_folder.h"

namespace sotto::posix {
namespace {

using nn::Dense;
using nn::Input;
using nn::Sequential;

constexpr float kZero[] = {0};
constexpr float kMeans[] = {0.1307f, -1, 2.5e-3f};
constexpr float kDeviation[] = {0.3081f};
constexpr float kByte[] = {1.0f / 255};
constexpr char kDense[] = "[[layer]]\nkind = \"dense\"\noutputs = 3\n";

std::string Head(const std::string& input, const std::string& more = "") {
  return "name = \"mine\"\ninput = " + input + "\n" + more + "\n";
}

std::string Step(const std::string& kind, const std::string& keys = "") {
  return "[[prepare]]\nkind = \"" + kind + "\"\n" + keys + "\n";
}

SharedModel Parse(const std::string& text) { return ParseModel("my.toml", text); }

std::string DigestOf(const ModelInfo& model) {
  uint8_t digest[kSha256Size];
  EXPECT_EQ(ModelDigest(model, digest), Status::kOk);
  return ToHex(digest);
}

// A file's model equals a type's model: digest, steps, functions.
void ExpectSame(const ModelInfo& file, const ModelInfo& type) {
  EXPECT_EQ(DigestOf(file), DigestOf(type));
  EXPECT_EQ(file.train_batch, type.train_batch);
  EXPECT_EQ(file.predict, type.predict);
  EXPECT_EQ(file.predict_floats, type.predict_floats);
  EXPECT_EQ(file.update_digest, type.update_digest);
  ASSERT_EQ(file.preparation.size(), type.preparation.size());
  for (size_t i = 0; i < file.preparation.size(); ++i) {
    EXPECT_EQ(file.preparation[i].apply, type.preparation[i].apply);
    EXPECT_EQ(file.preparation[i].is_random, type.preparation[i].is_random);
  }
}

using EachStep = Sequential<Input<4, 5, 3>, nn::FillMissing<kZero>, nn::Rescale<kByte, kZero>,
                            nn::Normalise<kMeans, kDeviation>, nn::UnitNorm, nn::RandomCrop<2>,
                            nn::RandomFlip, Dense<60, 3>>;

std::string EachStepText(const std::string& more = "") {
  return Head("[4, 5, 3]", "missing = 0.0\n" + more) + Step("rescale", "factor = 0.003921569") +
         Step("normalise", "mean = [0.1307, -1, 2.5e-3]\ndeviation = 0.3081") + Step("unit-norm") +
         Step("random-crop", "padding = 2") + Step("random-flip") + kDense;
}

TEST(ModelPreparation, GivesTheStepsThatATypeGives) {
  ExpectSame(*Parse(EachStepText()), MakeModelInfo<EachStep>("type"));
  ExpectSame(*Parse(EachStepText("arithmetic = \"fixed-point\"")),
             MakeModelInfo<nn::FixedPoint<EachStep>>("type"));
  ExpectSame(*WithFixedPoint(*Parse(EachStepText())),
             MakeModelInfo<nn::FixedPoint<EachStep>>("type"));
  using Net = Sequential<Input<4>, nn::UnitNorm, Dense<4, 3>, nn::Relu, Dense<3, 3>>;
  const std::string net =
      Step("unit-norm") + kDense + "[[layer]]\nkind = \"relu\"\n" + std::string(kDense);
  ExpectSame(*Parse(Head("[4]") + net), MakeModelInfo<Net>("type"));
  ExpectSame(*Parse(Head("[4]", "arithmetic = \"fixed-point\"") + net),
             MakeModelInfo<nn::FixedPoint<Net>>("type"));
}

TEST(ModelPreparation, MissingIsFillMissingBeforeAllSteps) {
  const std::string norm = Step("unit-norm") + kDense;
  EXPECT_EQ(DigestOf(*Parse(Head("[4]", "missing = -1.5") + norm)),
            DigestOf(*Parse(Head("[4]") + Step("fill-missing", "value = -1.5") + norm)));
}

TEST(ModelPreparation, NamesOfClassesAreThoseOfTheType) {
  constexpr const char* kNames[] = {"rest", "Gehen \"schnell\"", "stra\u00dfe"};
  using Plain = Sequential<Dense<4, 3>>;
  const SharedModel model =
      Parse(Head("[4]", "classes = [\"rest\", 'Gehen \"schnell\"', \"stra\u00dfe\"]") + kDense);
  ExpectSame(*model, MakeModelInfo<Plain>("type", kNames));
  ASSERT_EQ(model->class_names.size(), 3u);
  EXPECT_STREQ(model->class_names[1], "Gehen \"schnell\"");
  EXPECT_NE(DigestOf(*model), DigestOf(*Parse(Head("[4]") + kDense)));
  EXPECT_EQ(WithFixedPoint(*model)->class_names.size(), 3u);
  EXPECT_EQ(DigestOf(*WithFixedPoint(*model)), DigestOf(*model));
}

constexpr const char* kAxes[] = {"x", "y", "z"};
constexpr const char* kUnits[] = {"m/s2"};
constexpr const char* kThree[] = {"a", "b", "c"};
constexpr ModelDescription kAll = {kThree, kAxes, kUnits, "a wrist, 2.56 s"};
constexpr ModelDescription kAxesAlone = {{}, kAxes, {}, nullptr};
constexpr ModelDescription kClassesAlone = {kThree, {}, {}, nullptr};
constexpr ModelDescription kNothing;

constexpr char kAllText[] =
    "classes = [\"a\", \"b\", \"c\"]\nfeatures = [\"x\", \"y\", \"z\"]\nunits = [\"m/s2\"]\n"
    "samples = \"a wrist, 2.56 s\"";

TEST(ModelPreparation, DescriptionIsThatOfTheType) {
  using Window = Sequential<Input<8, 3>, Dense<24, 3>>;
  const std::string flat = "[[layer]]\nkind = \"flatten\"\n" + std::string(kDense);
  const SharedModel model = Parse(Head("[3]", kAllText) + kDense);
  ExpectSame(*model, MakeModelInfo<Sequential<Dense<3, 3>>, kAll>("type"));
  EXPECT_STREQ(model->feature_names[2], "z");
  EXPECT_STREQ(model->feature_units[0], "m/s2");
  EXPECT_STREQ(model->sample_kind, "a wrist, 2.56 s");
  static_assert(MakeModelInfo<Window, kAll>("type").feature_names.size() == 3);
  EXPECT_EQ(Parse(Head("[8, 3]", kAllText) + flat)->feature_names.size(), 3u);
  EXPECT_EQ(DigestOf(*WithFixedPoint(*model)), DigestOf(*model));
  EXPECT_EQ(
      CppText(*model),
      "#include \"sotto/nn.h\"\n\nnamespace model_mine {\n\n"
      "inline constexpr const char* kClassNames[] = {\n    \"a\",\n    \"b\",\n    \"c\"};\n"
      "inline constexpr const char* kFeatureNames[] = {\n    \"x\",\n    \"y\",\n    \"z\"};\n"
      "inline constexpr const char* kFeatureUnits[] = {\n    \"m/s2\"};\n"
      "inline constexpr sotto::ModelDescription kDescription = {\n"
      "    kClassNames, kFeatureNames, kFeatureUnits,\n    \"a wrist, 2.56 s\"};\n\n"
      "using Net = sotto::nn::Sequential<\n    sotto::nn::Dense<3, 3>>;\n"
      "constexpr sotto::ModelInfo kModel = "
      "sotto::MakeModelInfo<Net, kDescription>(\"mine\");\n\n}  // namespace model_mine\n");
}

// Each part changes the digest, none stands for another, and what describes nothing changes
// nothing.
TEST(ModelPreparation, DigestCoversTheDescription) {
  using Plain = Sequential<Dense<3, 3>>;
  EXPECT_EQ(DigestOf(MakeModelInfo<Plain, kNothing>("type")),
            DigestOf(MakeModelInfo<Plain>("type")));
  EXPECT_EQ(DigestOf(MakeModelInfo<Plain, kClassesAlone>("type")),
            DigestOf(MakeModelInfo<Plain>("type", kThree)));
  EXPECT_EQ(DigestOf(MakeModelInfo<Plain, kAxesAlone>("type")),
            DigestOf(*Parse(Head("[3]", "features = [\"x\", \"y\", \"z\"]") + kDense)));
  std::set<std::string> digests;
  const std::vector<std::string> heads = {"",
                                          "classes = [\"x\", \"y\", \"z\"]",
                                          "features = [\"x\", \"y\", \"z\"]",
                                          "features = [\"y\", \"x\", \"z\"]",
                                          "units = [\"x\", \"y\", \"z\"]",
                                          "units = [\"x\"]",
                                          "samples = \"x\"",
                                          kAllText};
  for (const std::string& head : heads)
    digests.insert(DigestOf(*Parse(Head("[3]", head) + kDense)));
  EXPECT_EQ(digests.size(), heads.size());
}

void ExpectRefused(const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [text, why] : files) {
    try {
      Parse(text);
      ADD_FAILURE() << text << "\nis taken; expected " << why;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos)
          << error.what() << "\nexpected " << why;
    }
  }
}

TEST(ModelPreparation, RefusesDescriptionsWithLineAndReason) {
  const auto of = [](const std::string& input, const std::string& keys) {
    return Head(input, keys) + "[[layer]]\nkind = \"flatten\"\n" + kDense;
  };
  ExpectRefused({
      {of("[8, 3]", "features = [\"x\", \"y\"]"),
       "my.toml:3: the model: features: 2 names; samples are 8 x 3: expected 3, one for each of "
       "the last axis, or 24, one a feature"},
      {of("[3]", "features = [\"x\", \"y\", \"x\"]"), "\"x\" comes twice"},
      {of("[3]", "features = [\"x\", \"y\", \" z\"]"), "\" z\" has a blank before or behind it"},
      {of("[3]", "features = [\"x\", \"\", \"z\"]"), "a name has 1 to 64 bytes"},
      {of("[3]", "features = \"x\""), "no array of texts"},
      {of("[3]", "features = [\"x\", \"y\", \"z\"]\nunits = [\"m\", \"s\"]"),
       "my.toml:4: the model: units: 2 units; expected one for all, or 3, one for each of "
       "features"},
      {of("[8, 3]", "units = [\"m\", \"s\"]"), "units: 2 units; samples are 8 x 3"},
      {of("[3]", "samples = \"\""), "a kind has 1 to 200 bytes"},
      {of("[3]", "samples = [\"a\"]"), "samples"},
      {Head("[3]", "tokens = 9\nfeatures = [\"x\"]") +
           "[[layer]]\nkind = \"embedding\"\nwidth = 2\n[[layer]]\nkind = \"flatten\"\n" + kDense,
       "tokens are ids; leave the key out"},
  });
}

// A file with these steps is the net of the type.
TEST(ModelPreparation, FeaturesOfASignalAreThoseOfTheType) {
  ExpectSame(*Parse(Head("[300, 2]") + Step("difference") +
                    Step("spectrum", "window = 100\nhop = 50\nbands = 16") +
                    Step("normalise", "mean = 0\ndeviation = 0.3081") + kDense),
             MakeModelInfo<Sequential<Input<300, 2>, nn::Difference, nn::Spectrum<100, 50, 16>,
                                      nn::Normalise<kZero, kDeviation>, Dense<128, 3>>>("mine"));
  ExpectSame(
      *Parse(
          Head("[400]") +
          Step("mel", "window = 256\nhop = 100\nbands = 20\nrate = 8000\nlow = 60\nhigh = 4000") +
          Step("dct", "bands = 20\ncoefficients = 13") + kDense),
      MakeModelInfo<Sequential<Input<400>, nn::Mel<256, 100, 20, 8000, 60, 4000>, nn::Dct<20, 13>,
                               Dense<26, 3>>>("mine"));
  ExpectSame(*Parse(Head("[9, 2]") + Step("stats") + kDense),
             MakeModelInfo<Sequential<Input<9, 2>, nn::Stats, Dense<10, 3>>>("mine"));
}

TEST(ModelPreparation, TablesAreCountedBeforeTheyAreMade) {
  ExpectRefused({{Head("[50000]") + Step("dct", "bands = 50000\ncoefficients = 50000") + kDense,
                  "up to here the steps have 2500000000 numbers; the most are 16777216"}});
}

TEST(ModelPreparation, ABandMayBeginAtZero) {
  ExpectSame(
      *Parse(Head("[512]") +
             Step("mel",
                  "window = 512\nhop = 320\nbands = 40\nrate = 16000\nlow = 0\n"
                  "high = 8000") +
             kDense),
      MakeModelInfo<Sequential<Input<512>, nn::Mel<512, 320, 40, 16000, 0, 8000>, Dense<40, 3>>>(
          "mine"));
}

TEST(ModelPreparation, RefusesFeaturesThatDoNotFitTheSignal) {
  const auto spectrum = [](const std::string& input, const std::string& keys) {
    return Head(input) + Step("spectrum", keys) + kDense;
  };
  const auto mel = [](const std::string& keys) {
    return Head("[1000]") + Step("mel", "window = 256\nhop = 128\nrate = 8000\n" + keys) + kDense;
  };
  ExpectRefused({
      {spectrum("[4, 100, 1]", "window = 64\nhop = 64\nbands = 8"),
       "it takes a signal, input = [length] or [length, axes], not 4 x 100 x 1"},
      {spectrum("[100, 2]", "window = 128\nhop = 64\nbands = 8"),
       "window = 128; expected 8 to 100 readings, of a signal of 100"},
      {spectrum("[5]", "window = 8\nhop = 8\nbands = 2"),
       "it takes a signal of at least 8 readings, not 5"},
      {spectrum("[100]", "window = 64\nhop = 64\nbands = 33"),
       "bands = 33, but a window of 64 has 32 frequencies"},
      {spectrum("[200]", "window = 64\nhop = 8\nbands = 16"),
       "bands = 16 are more than the 8 readings of a hop; take fewer bands or a longer hop"},
      {spectrum("[200]", "window = 64\nhop = 8"), "bands"},
      {spectrum("[200]", "window = 64\nhop = 8\nbands = 2000000"),
       "bands = 2000000; the most is 1048576"},
      {mel("bands = 20\nlow = 60\nhigh = 5000"),
       "low = 60 and high = 5000; expected low below high, and high at most half of the rate, 4000 "
       "Hz"},
      {mel("bands = 110\nlow = 60\nhigh = 4000"),
       "a band of 110 from 60 to 4000 Hz is narrower than the 31.25 Hz between two frequencies"},
      {Head("[1000]") + Step("stats") + Step("dct", "bands = 4\ncoefficients = 2") + kDense,
       "bands = 4, but"},
      {Head("[1000]") + Step("stats") + Step("dct", "bands = 5\ncoefficients = 6") + kDense,
       "coefficients = 6 are more than bands = 5"},
      {Head("[4]") + Step("stats") + kDense, "it takes a signal of at least 5 readings, not 4"},
  });
}

TEST(ModelPreparation, RefusesStepsWithLineAndReason) {
  const std::string two = Head("[8, 3]");
  ExpectRefused({
      {two + "[[prepare]]\n" + kDense, "my.toml:4: prepare 1: kind is missing"},
      {two + Step("normalize") + kDense,
       "my.toml:5: prepare 1: there is no kind \"normalize\"; did you mean normalise? The kinds: "
       "fill-missing, rescale, normalise,"},
      {two + Step("normalise", "mean = 1") + kDense,
       "my.toml:4: prepare 1 (normalise): deviation is missing; expected one number, 3, one a "
       "channel, or 24, one a feature, or \"FILE\""},
      {two + Step("normalise", "mean = [1, 2]\ndeviation = 1") + kDense,
       "my.toml:6: prepare 1 (normalise): mean has 2 numbers; samples are 8 x 3: expected one "
       "number, 3,"},
      {two + Step("normalise", "mean = 0\ndeviation = [1, 0, 2]") + kDense,
       "my.toml:7: prepare 1 (normalise): deviation: number 2 is 0; expected numbers above 0"},
      {two + Step("normalise", "mean = 0\ndeviation = -1") + kDense, "number 1 is -1"},
      {two + Step("normalise", "mean = nan\ndeviation = 1") + kDense, "mean: nan is no number"},
      {two + Step("normalise", "mean = 1e39\ndeviation = 1") + kDense, "mean: 1e39 is no number"},
      {two + Step("normalise", "mean = []\ndeviation = 1") + kDense, "no array of numbers"},
      {two + Step("normalise", "mean = [\"1\"]\ndeviation = 1") + kDense, "no array of numbers"},
      {two + Step("rescale", "factors = 2") + kDense,
       "prepare 1 (rescale) has no key factors; did you mean factor?"},
      {two + Step("unit-norm") + Step("random-flip") + kDense,
       "my.toml:7: prepare 2 (random-flip): it takes images"},
      {Head("[8, 3, 1]") + Step("random-crop", "padding = 3") + kDense,
       "my.toml:6: prepare 1 (random-crop): padding = 3 is not less than height and width of 8 x "
       "3 x 1"},
      {Head("[8, 8, 1]") + Step("random-crop", "padding = 0") + kDense, "padding: 0 is no whole"},
      {Head("[4]", "missing = \"none.bin\"") + kDense, "none.bin cannot be read, or is empty"},
      {Head("[4]", "missing = [1, 2]") + kDense,
       "my.toml:3: the model: missing has 2 numbers; samples are 4: expected one number or 4, one "
       "a "
       "feature"},
      {Head("[4]", "tokens = 9\nmissing = 1") + "[[layer]]\nkind = \"embedding\"\nwidth = 2\n",
       "tokens are ids"},
      {Head("[4]", "tokens = 9") + Step("unit-norm") +
           "[[layer]]\nkind = \"embedding\"\nwidth = 2\n",
       "my.toml:4: prepare 1: tokens are ids"},
      {Head("[4]") + "[prepare]\nkind = \"unit-norm\"\n",
       "prepare.kind is not part of a model file"},
  });
  std::string flips = Head("[8, 8, 1]");
  for (size_t i = 0; i < 9; ++i) flips += Step("random-flip");
  ExpectRefused({{flips + kDense, "prepare 9 (random-flip): a model has at most 8 random steps"}});
  std::string norms = Head("[4]");
  for (size_t i = 0; i < 65; ++i) norms += Step("unit-norm");
  ExpectRefused({{norms + kDense, "more than 64 steps"}});
}

TEST(ModelPreparation, RefusesNamesOfClasses) {
  const auto classes = [](const std::string& names) {
    return Head("[4]", "classes = " + names) + kDense;
  };
  ExpectRefused({
      {classes("[\"a\", \"b\"]"), "my.toml:3: the model: 2 names, but the model tells 3 classes"},
      {classes("[\"a\", \"b\", \"a\"]"), "\"a\" comes twice"},
      {classes("[\"a\", \"b\", \"\"]"), "a name has 1 to 64 bytes"},
      {classes("[\"a\", \"b\", \"c\\td\"]"), "no control character"},
      {classes("[\"a\", \"b\", \"" + std::string(65, 'c') + "\"]"), "a name has 1 to 64 bytes"},
      {classes("[\"a\", \"b\", \"\xc0\xaf\"]"), "my.toml:3:22: the file is no UTF-8"},
      {classes("[\"a\", \"b\", \"\xe2\x82\"]"), "my.toml:3:22: the file is no UTF-8"},
      {classes("[\"a\", \"b\", \"\xed\xa0\x80\"]"), "my.toml:3:22: the file is no UTF-8"},
      {classes("[\"a\", \"b\", \"\xf4\x90\x80\x80\"]"), "my.toml:3:22: the file is no UTF-8"},
      {classes("[\"a\", \"b\", \"\\ud800\"]"), "surrogates (U+D800 - U+DFFF) are"},
      {classes("[1, 2, 3]"), "classes is no array of texts in quotes"},
      {classes("[\"a\", 2, 3]"),
       "my.toml:3:17: classes: an array holds numbers, for example [28, 28, 1], or texts, not "
       "both"},
      {Head("[4]", "classes = [\"a\"]\nloss = \"mean-squared-error\"\ntarget = \"vector\"") +
           kDense,
       "the target is no class"},
  });
}

class NumbersFile : public testing::Test {
 protected:
  SharedModel Parse(const std::vector<float>& values, const std::string& tail = "") const {
    std::ofstream file(folder_.Path("mean.bin"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
    file << tail;
    file.close();
    return ParseModel(
        folder_.Path("my.toml"),
        Head("[4, 3]") + Step("normalise", "mean = \"mean.bin\"\ndeviation = 0.3081") + kDense);
  }

 private:
  TestFolder folder_;
};

TEST_F(NumbersFile, StandsForAnArray) {
  using Net = Sequential<Input<4, 3>, nn::Normalise<kMeans, kDeviation>, Dense<12, 3>>;
  ExpectSame(*Parse({kMeans, kMeans + 3}), MakeModelInfo<Net>("type"));
  EXPECT_EQ(MemoryOnDevice(*Parse(std::vector<float>(12)), 1).preparation, 4u * 13);
}

TEST_F(NumbersFile, IsRefusedIfItHasAnotherSizeOrIsNotFinite) {
  for (const std::vector<float>& values :
       {std::vector<float>(2), std::vector<float>(24), std::vector<float>(0)}) {
    EXPECT_THROW(Parse(values), std::invalid_argument) << values.size();
  }
  EXPECT_THROW(Parse(std::vector<float>(3), "x"), std::invalid_argument);
  EXPECT_THROW(Parse({0, 1, std::numeric_limits<float>::infinity()}), std::invalid_argument);
}

TEST(ModelPreparation, TheCppTextNamesStepsAndConstants) {
  const SharedModel model = Parse(EachStepText("classes = [\"a\\\\b\", 'c \"d\"', 'e']"));
  EXPECT_EQ(CppText(*model),
            R"(#include "sotto/nn.h"

namespace model_mine {

inline constexpr float kValue1[] = {0.0f};
inline constexpr float kFactor2[] = {0.003921569f};
inline constexpr float kOffset2[] = {0.0f};
inline constexpr float kMean3[] = {0.1307f, -1.0f, 0.0025f};
inline constexpr float kDeviation3[] = {0.3081f};
inline constexpr const char* kClassNames[] = {
    "a\\b",
    "c \"d\"",
    "e"};

using Net = sotto::nn::Sequential<
    sotto::nn::Input<4, 5, 3>,
    sotto::nn::FillMissing<kValue1>,
    sotto::nn::Rescale<kFactor2, kOffset2>,
    sotto::nn::Normalise<kMean3, kDeviation3>,
    sotto::nn::UnitNorm,
    sotto::nn::RandomCrop<2>,
    sotto::nn::RandomFlip,
    sotto::nn::Dense<60, 3>>;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("mine", kClassNames);

}  // namespace model_mine
)");
}

TEST(ModelPreparation, EachKindHasARow) {
  for (const PreparationKindRow& row : PreparationKinds()) {
    const std::vector<float> ones(1, 1.0f);
    nn::PreparationStep values;
    values.first = values.second = {ones.data(), 1};
    values.size = 1;
    EXPECT_EQ(&KindOf(row.make(values)), &row);
  }
  EXPECT_EQ(PreparationKinds().size(), 11u);
}

}  // namespace
}  // namespace sotto::posix
