// A model as bytes: each model has a bundle, whose model is the same and has the same bundle; and
// no other bytes are a model.
#include "sotto/model/model_bundle.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_text.h"
#include "sotto/model/preparation_kinds.h"
#include "sotto/models.h"
#include "sotto/nn.h"
#include "unit/test_folder.h"

namespace sotto::posix {
namespace {

namespace fs = std::filesystem;

ByteSpan View(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

// All that a bundle must keep: the digest, and what it does not cover.
void ExpectKept(const ModelInfo& model) {
  SCOPED_TRACE(model.name);
  const std::vector<uint8_t> bundle = BundleOf(model);
  const SharedModel again = ParseBundle(View(bundle));
  EXPECT_EQ(ModelDigestHex(*again), ModelDigestHex(model));
  EXPECT_STREQ(again->name, model.name);
  EXPECT_EQ(IsFixedPoint(*again), IsFixedPoint(model));
  EXPECT_EQ(NetText(*again), NetText(model));
  EXPECT_EQ(BundleOf(*again), bundle);
  EXPECT_EQ(again->parameters, model.parameters);
  EXPECT_EQ(again->classes, model.classes);
}

SharedModel Parse(const std::string& text) { return ParseModel("mine.toml", text); }

// A model of one layer on this input; then a dense one, so that something is trained.
SharedModel Of(const std::string& input, const std::string& layer, const std::string& top = "") {
  return Parse("name = \"mine\"\ninput = " + input + "\n" + top + "\n[[layer]]\n" + layer +
               "\n[[layer]]\nkind = \"dense\"\noutputs = 2\n");
}

TEST(ModelBundle, KeepsEachNamedModel) {
  for (const ModelInfo& model : Models()) ExpectKept(model);
}

TEST(ModelBundle, KeepsEachKindOfLayerWithAllItsKeys) {
  std::vector<std::string> seen;
  for (const auto& [input, layer] : std::vector<std::pair<const char*, const char*>>{
           {"[6]", "kind = \"dense\"\noutputs = 4"},
           {"[9, 2]", "kind = \"conv1d\"\noutputs = 3\nkernel = 4\nstride = 2\npadding = 3"},
           {"[9, 2]", "kind = \"conv2d\"\noutputs = 3\nkernel = 1\nstride = 2"},
           {"[9, 2]", "kind = \"max-pool2d\"\nsize = 1\nstride = 3"},
           {"[8, 9, 2]", "kind = \"conv2d\"\noutputs = 3\nkernel = 3\nstride = 2\npadding = 1"},
           {"[8, 9, 2]", "kind = \"depthwise-conv2d\"\nkernel = 3\nstride = 2\nmultiplier = 3"},
           {"[9, 2]", "kind = \"max-pool1d\"\nsize = 3\nstride = 2\npadding = 1"},
           {"[8, 9, 2]", "kind = \"max-pool2d\"\nsize = 3\nstride = 1\npadding = 2"},
           {"[8, 9, 2]", "kind = \"global-average\""},
           {"[9, 2]", "kind = \"average-pool1d\"\nsize = 3\nstride = 2"},
           {"[8, 9, 2]", "kind = \"average-pool2d\"\nsize = 2"},
           {"[9, 2]", "kind = \"lstm\"\nunits = 3\noutput = \"sequence\""},
           {"[9, 2]", "kind = \"lstm\"\nunits = 3\noutput = \"last\""},
           {"[1, 2]", "kind = \"lstm\"\nunits = 3\noutput = \"sequence\""},
           {"[9, 6]", "kind = \"group-norm\"\ngroups = 3"},
           {"[9, 6]", "kind = \"local-response-norm\"\nsize = 5"},
           {"[9, 6]", "kind = \"relu\""},
           {"[9, 6]", "kind = \"tanh\""},
           {"[9, 6]", "kind = \"sigmoid\""},
           {"[9, 6]", "kind = \"flatten\""}}) {
    const SharedModel model = Of(input, layer);
    ExpectKept(*model);
    seen.emplace_back(KindOf(model->layers[0]).name);
  }
  const SharedModel tokens = Of("[7]", "kind = \"embedding\"\nwidth = 3", "tokens = 11");
  ExpectKept(*tokens);
  seen.emplace_back("embedding");
  const SharedModel branches =
      Of("[6, 6, 2]",
         "kind = \"fork\"\nbranch = 16777216\n[[layer]]\nkind = \"conv2d\"\noutputs = 3\n"
         "kernel = 3\nstride = 2\npadding = 1\n[[layer]]\nkind = \"swap\"\nbranch = 16777216\n"
         "[[layer]]\nkind = \"conv2d\"\noutputs = 3\nkernel = 1\nstride = 2\n[[layer]]\n"
         "kind = \"add\"\nbranch = 16777216");
  ExpectKept(*branches);
  seen.insert(seen.end(), {"fork", "swap", "add"});
  for (const LayerKindRow& row : LayerKinds()) {
    EXPECT_NE(std::find(seen.begin(), seen.end(), row.name), seen.end()) << row.name;
  }
}

TEST(ModelBundle, KeepsEachKindOfStepToTheLastBit) {
  std::string steps;
  for (const PreparationKindRow& row : PreparationKinds()) {
    if (nn::ChangesShape(row.kind)) continue;
    steps += std::string("[[prepare]]\nkind = \"") + row.name + "\"\n";
    for (const PreparationKey& key : row.keys) {
      steps +=
          std::string(key.name) +
          (key.holds == PreparationKey::Holds::kSize ? " = 1\n" : " = [0.1, 16777216, 1e-44]\n");
    }
  }
  ExpectKept(*Parse("name = \"mine\"\ninput = [5, 6, 3]\nmissing = -0.0\n" + steps +
                    "[[layer]]\nkind = \"dense\"\noutputs = 2\n"));
}

TEST(ModelBundle, KeepsFeaturesOfASignal) {
  for (const char* const steps :
       {"kind = \"difference\"\n[[prepare]]\nkind = \"stats\"",
        "kind = \"spectrum\"\nwindow = 100\nhop = 50\nbands = 16",
        "kind = \"mel\"\nwindow = 256\nhop = 100\nbands = 20\nrate = 8000\nlow = 60\nhigh = 4000\n"
        "[[prepare]]\nkind = \"dct\"\nbands = 20\ncoefficients = 13"}) {
    ExpectKept(*Parse(std::string("name = \"mine\"\ninput = [300, 2]\n[[prepare]]\n") + steps +
                      "\n[[layer]]\nkind = \"dense\"\noutputs = 2\n"));
  }
}

TEST(ModelBundle, KeepsNumbersThatAreTooManyForTheText) {
  const TestFolder folder;
  const auto write = [&folder](const std::string& name, size_t count) {
    std::vector<uint8_t> bytes(4 * count);
    for (size_t i = 0; i < count; ++i) {
      StoreU32Le(FloatBits(0.37F + static_cast<float>(i) / 7), bytes.data() + 4 * i);
    }
    std::ofstream(folder.Path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  write("mean.f32", 100);
  write("deviation.f32", 100);
  write("frozen.f32", 5 * 100 + 5);
  const SharedModel model = ParseModel(
      folder.Path("net.toml"),
      "name = \"mine\"\ninput = [100]\nfrozen = 2\nfrozen-weights = \"frozen.f32\"\n"
      "[[prepare]]\nkind = \"normalise\"\nmean = \"mean.f32\"\ndeviation = \"deviation.f32\"\n"
      "[[layer]]\nkind = \"dense\"\noutputs = 5\n[[layer]]\nkind = \"relu\"\n"
      "[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  ExpectKept(*model);
  const ModelFileText file = FileTextOf(*model, "net");
  ASSERT_EQ(file.files.size(), 3u);
  EXPECT_EQ(file.files[0].name, "net-1.f32");
  EXPECT_EQ(file.files[0].numbers.size(), 505u);
}

TEST(ModelBundle, KeepsLossesArithmeticAndNamesOfClasses) {
  ExpectKept(*Of("[4]", "kind = \"relu\"", "loss = \"one-vs-all\""));
  ExpectKept(*Of("[4]", "kind = \"relu\"", "loss = \"mean-squared-error\"\ntarget = \"vector\""));
  ExpectKept(
      *Parse("name = \"mine\"\ninput = [4]\nloss = \"mean-squared-error\"\n"
             "target = \"input\"\n[[layer]]\nkind = \"dense\"\noutputs = 4\n"));
  ExpectKept(*Of("[4]", "kind = \"flatten\"", "arithmetic = \"fixed-point\""));
  const SharedModel named =
      Of("[4]", "kind = \"relu\"", "classes = ['a \"b\" \\ #]', \"gr\\u00fc\\u00dfe\"]");
  ExpectKept(*named);
  const std::vector<uint8_t> bundle = BundleOf(*named);
  const SharedModel again = ParseBundle(View(bundle));
  EXPECT_STREQ(again->class_names[0], "a \"b\" \\ #]");
}

TEST(ModelBundle, KeepsWhatSamplesAreInWords) {
  const SharedModel model = Of("[9, 3]", "kind = \"relu\"",
                               "features = [\"x\", \"y \\\"up\\\"\", 'z']\nunits = [\"m/s2\"]\n"
                               "samples = \"acceleration of a wrist, 2.56 s\"");
  ExpectKept(*model);
  const std::vector<uint8_t> bundle = BundleOf(*model);
  const SharedModel again = ParseBundle(View(bundle));
  ASSERT_EQ(again->feature_names.size(), 3u);
  EXPECT_STREQ(again->feature_names[1], "y \"up\"");
  EXPECT_STREQ(again->feature_units[0], "m/s2");
  EXPECT_STREQ(again->sample_kind, "acceleration of a wrist, 2.56 s");
}

// Model files of the project, and the blocks of its pages that begin as one does.
TEST(ModelBundle, KeepsTheModelsOfFilesAndPages) {
  const fs::path root = SOTTO_SOURCE_DIR;
  size_t files = 0;
  size_t blocks = 0;
  for (const char* const folder : {"examples", "server", "tests/vectors", "ports"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().string();
      const std::string ending = entry.path().extension().string();
      if (ending != ".toml" && ending != ".md") continue;
      std::ifstream stream(path);
      const std::string text(std::istreambuf_iterator<char>(stream), {});
      if (ending == ".toml" && text.find("\n[[layer]]") != std::string::npos) {
        ExpectKept(*ReadModelFile(path));
        ++files;
      }
      const std::string begin = "```toml\n";
      size_t at = ending == ".md" ? text.find(begin) : std::string::npos;
      for (; at != std::string::npos; at = text.find(begin, at)) {
        at += begin.size();
        const std::string block = text.substr(at, text.find("```", at) - at);
        if (block.find("\n[[layer]]") == std::string::npos ||
            block.find("input = ") == std::string::npos ||
            block.find(".f32") != std::string::npos) {
          continue;
        }
        SCOPED_TRACE(path);
        ExpectKept(*Parse(block));
        ++blocks;
      }
    }
  }
  EXPECT_GE(files, 5u);
  EXPECT_GE(blocks, 3u);
}

TEST(ModelBundle, RefusesEachBundleThatWasCutOrHasMoreBytes) {
  const std::vector<uint8_t> bundle = BundleOf(Models()[0]);
  for (size_t size = 0; size < bundle.size(); ++size) {
    EXPECT_THROW((void)ParseBundle(View(bundle).first(size)), std::invalid_argument) << size;
  }
  std::vector<uint8_t> longer = bundle;
  longer.push_back('\n');
  EXPECT_THROW((void)ParseBundle(View(longer)), std::invalid_argument);
}

// What is wrong with a bundle of this text, without files.
std::string Refusal(const std::string& text, uint32_t files = 0, uint32_t numbers = 0) {
  std::vector<uint8_t> bundle = BundleOf(Models()[0]);
  bundle.resize(24);
  StoreU32Le(static_cast<uint32_t>(text.size()), bundle.data() + 16);
  StoreU32Le(files, bundle.data() + 20);
  for (uint32_t i = 0; i < files; ++i) {
    bundle.resize(bundle.size() + 4);
    StoreU32Le(numbers, bundle.data() + bundle.size() - 4);
  }
  bundle.insert(bundle.end(), text.begin(), text.end());
  bundle.resize(bundle.size() + size_t{4} * files * numbers);
  try {
    (void)ParseBundle(View(bundle));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ModelBundle, NeverReadsAFileOfTheMachine) {
  const TestFolder folder;
  const std::string path = folder.Path("mean.f32");
  std::ofstream(path, std::ios::binary).write("\0\0\200\77", 4);
  const std::string text = "name = \"a\"\ninput = [4]\nmissing = \"" + path +
                           "\"\n[[layer]]\nkind = \"dense\"\noutputs = 2\n";
  EXPECT_NO_THROW((void)ParseModel(folder.Path("net.toml"), text));
  EXPECT_NE(Refusal(text).find("cannot be read"), std::string::npos);
}

TEST(ModelBundle, SaysWhatIsWrong) {
  const std::string plain = "name = \"a\"\ninput = [4]\n[[layer]]\nkind = \"dense\"\noutputs = 2\n";
  EXPECT_EQ(Refusal(plain), "");
  EXPECT_EQ(Refusal(plain + "outputs = 3\n").substr(0, 14), "description:6:");
  EXPECT_NE(Refusal(plain, 1, 4).find("names no numbers-1.f32"), std::string::npos);
  EXPECT_NE(Refusal(plain + std::string(1, '\0')).find("null byte"), std::string::npos);
  EXPECT_NE(Refusal(std::string(kMaxBundleText + 1, '#')).find("too many"), std::string::npos);
  EXPECT_NE(Refusal(plain, 200, 0).find("too many"), std::string::npos);
  std::vector<uint8_t> later = BundleOf(Models()[0]);
  later[12] = '2';
  EXPECT_THROW((void)ParseBundle(View(later)), std::invalid_argument);
}

constexpr float kInfinite[] = {std::numeric_limits<float>::infinity()};

TEST(ModelBundle, SaysWhichTypeNoFileDescribes) {
  using Net = nn::Sequential<nn::Input<4>, nn::FillMissing<kInfinite>, nn::Dense<4, 2>>;
  const ModelInfo model = MakeModelInfo<Net>("mine");
  EXPECT_THROW((void)BundleOf(model), std::logic_error);
}

}  // namespace
}  // namespace sotto::posix
