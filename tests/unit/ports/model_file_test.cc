// Models from files: the same nets as the types of nn.h, or refused with the line and the reason.
#include "sotto/model/model_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/client.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_bundle.h"
#include "sotto/model/model_text.h"
#include "sotto/models.h"
#include "sotto/personal.h"
#include "unit/sdk/hex.h"
#include "unit/test_folder.h"

namespace sotto::posix {
namespace {

std::string Layer(const std::string& kind, const std::string& keys = "") {
  return "[[layer]]\nkind = \"" + kind + "\"\n" + keys + "\n";
}

std::string Head(const std::string& input, const std::string& more = "") {
  return "name = \"mine\"\ninput = " + input + "\n" + more + "\n";
}

SharedModel Parse(const std::string& text) { return ParseModel("my.toml", text); }

std::string DigestOf(const ModelInfo& model) {
  uint8_t digest[kSha256Size];
  EXPECT_EQ(ModelDigest(model, digest), Status::kOk);
  return ToHex(digest);
}

void ExpectSamePlan(const nn::LayerPlan& a, const nn::LayerPlan& b) {
  EXPECT_EQ(a.functions.forward, b.functions.forward);
  EXPECT_EQ(a.functions.add_gradient, b.functions.add_gradient);
  EXPECT_EQ(a.functions.input_delta, b.functions.input_delta);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.biases, b.biases);
  EXPECT_EQ(a.fan_in, b.fan_in);
  EXPECT_EQ(a.split, b.split);
  EXPECT_EQ(a.start.first, b.start.first);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.kept, b.kept);
  EXPECT_EQ(a.scratch, b.scratch);
  EXPECT_EQ(a.is_in_place, b.is_in_place);
  EXPECT_EQ(a.is_outer_product, b.is_outer_product);
  EXPECT_EQ(a.prepared_in, b.prepared_in);
  EXPECT_EQ(a.output_at, b.output_at);
  EXPECT_EQ(a.branch_at, b.branch_at);
  EXPECT_EQ(a.is_personal, b.is_personal);
}

// A file's model equals a type's model: all but the name.
void ExpectSame(const ModelInfo& file, const ModelInfo& type) {
  SCOPED_TRACE(type.name);
  EXPECT_EQ(DigestOf(file), DigestOf(type));
  EXPECT_EQ(file.inputs, type.inputs);
  EXPECT_EQ(file.outputs, type.outputs);
  EXPECT_EQ(file.classes, type.classes);
  EXPECT_EQ(file.parameters, type.parameters);
  EXPECT_EQ(file.personal, type.personal);
  EXPECT_EQ(file.personal_functions, type.personal_functions);
  EXPECT_EQ(file.has_momentum, type.has_momentum);
  EXPECT_EQ(file.train_batch, type.train_batch);
  EXPECT_EQ(file.predict, type.predict);
  EXPECT_EQ(file.loss.errors, type.loss.errors);
  EXPECT_EQ(file.training_floats(file, 7), type.training_floats(type, 7));
  ASSERT_EQ(file.layers.size(), type.layers.size());
  for (size_t i = 0; i < file.layers.size(); ++i) ExpectSamePlan(file.layers[i], type.layers[i]);
}

TEST(ModelFile, GivesTheNetThatATypeGives) {
  const std::string dense_relu = Layer("relu");
  ExpectSame(*Parse(Head("[784]") + Layer("dense", "outputs = 10")), *FindModel("softmax-784-10"));
  ExpectSame(*Parse(Head("[784]", "arithmetic = \"fixed-point\"") + Layer("dense", "outputs = 10")),
             *FindModel("softmax-784-10-q"));
  ExpectSame(*Parse(Head("[784]") + Layer("dense", "outputs = 64\ninputs = 784") + dense_relu +
                    Layer("dense", "outputs = 10")),
             *FindModel("mlp"));
  ExpectSame(*Parse(Head("[784]", "arithmetic = \"fixed-point\"") + Layer("dense", "outputs = 64") +
                    dense_relu + Layer("dense", "outputs = 10")),
             *FindModel("mlp-q"));
  ExpectSame(
      *Parse(Head("[28, 28, 1]") + Layer("conv2d", "outputs = 6\nkernel = 5\npadding = 2") +
             Layer("relu") + Layer("max-pool2d", "size = 2") +
             Layer("conv2d", "outputs = 16\nkernel = 5") + Layer("relu") +
             Layer("max-pool2d", "size = 2") + Layer("flatten") + Layer("dense", "outputs = 120") +
             Layer("relu") + Layer("dense", "outputs = 84") + Layer("relu") +
             Layer("dense", "outputs = 10")),
      *FindModel("lenet"));
  ExpectSame(*Parse(Head("[50]", "loss = \"one-vs-all\"") + Layer("dense", "outputs = 10")),
             *FindModel("ova-logistic"));
  ExpectSame(
      *Parse(Head("[80]", "tokens = 82") + Layer("embedding", "width = 8") +
             Layer("lstm", "units = 256\noutput = \"sequence\"") +
             Layer("lstm", "units = 256\noutput = \"last\"") + Layer("dense", "outputs = 82")),
      *FindModel("char-lstm"));
  ExpectSame(*Parse(Head("[128, 3]") + Layer("conv1d", "outputs = 16\nkernel = 5\nstride = 2") +
                    Layer("relu") + Layer("conv1d", "outputs = 32\nkernel = 5\nstride = 2") +
                    Layer("relu") + Layer("global-average") + Layer("dense", "outputs = 6")),
             *FindModel("motion"));
}

TEST(ModelFile, FixedPointOfANamedModelIsItsNamedFixedPoint) {
  ExpectSame(*WithFixedPoint(*FindModel("lenet")), *FindModel("lenet-q"));
  ExpectSame(*WithFixedPoint(*FindModel("lenet-q")), *FindModel("lenet-q"));
  ExpectSame(*WithFixedPoint(*FindModel("softmax-64-10")), *FindModel("softmax-64-10-q"));
  EXPECT_TRUE(IsFixedPoint(*FindModel("lenet-q")) && !IsFixedPoint(*FindModel("lenet")));
  EXPECT_EQ(WithFixedPoint(*FindModel("char-lstm")), nullptr);
}

TEST(ModelFile, HasTheKindsThatNoNamedModelHas) {
  using Net = nn::Sequential<nn::Input<8, 9, 4>, nn::DepthwiseConv2d<3, 2, 1, 2>, nn::Tanh,
                             nn::AveragePool2d<2, 1>, nn::GroupNorm<4>, nn::LocalResponseNorm<3>,
                             nn::MaxPool2d<3, 2, 1>, nn::Dense<32, 12>, nn::Sigmoid,
                             nn::Dense<12, 5>, nn::MeanSquaredError<>>;
  constexpr ModelInfo kModel = MakeModelInfo<Net>("image");
  ExpectSame(
      *Parse(Head("[8, 9, 4]", "loss = \"mean-squared-error\"\ntarget = \"vector\"") +
             Layer("depthwise-conv2d", "kernel = 3\nstride = 2\npadding = 1\nmultiplier = 2") +
             Layer("tanh") + Layer("average-pool2d", "size = 2\nstride = 1") +
             Layer("group-norm", "groups = 4") + Layer("local-response-norm", "size = 3") +
             Layer("max-pool2d", "size = 3\nstride = 2\npadding = 1") +
             Layer("dense", "outputs = 12") + Layer("sigmoid") + Layer("dense", "outputs = 5")),
      kModel);
  using Sequence = nn::Sequential<nn::Input<12, 2>, nn::MaxPool1d<2>, nn::AveragePool1d<3, 1, 1>,
                                  nn::Dense<12, 24>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
  constexpr ModelInfo kSequence = MakeModelInfo<Sequence>("sequence");
  ExpectSame(*Parse(Head("[12, 2]", "loss = \"mean-squared-error\"\ntarget = \"input\"") +
                    Layer("max-pool1d", "size = 2") +
                    Layer("average-pool1d", "size = 3\nstride = 1\npadding = 1") +
                    Layer("dense", "outputs = 24")),
             kSequence);
}

TEST(ModelFile, HasBranches) {
  using Net = nn::Sequential<nn::Input<6, 6, 2>, nn::Fork<1>, nn::Conv2d<4, 3, 2, 1>, nn::Relu,
                             nn::Fork<9>, nn::Conv2d<4, 1>, nn::Add<9>, nn::Swap<1>,
                             nn::Conv2d<4, 1, 2>, nn::Add<1>, nn::Dense<36, 3>>;
  const auto text = [](const std::string& arithmetic) {
    return Head("[6, 6, 2]", "arithmetic = \"" + arithmetic + "\"") + Layer("fork", "branch = 1") +
           Layer("conv2d", "outputs = 4\nkernel = 3\nstride = 2\npadding = 1") + Layer("relu") +
           Layer("fork", "branch = 9") + Layer("conv2d", "outputs = 4\nkernel = 1") +
           Layer("add", "branch = 9") + Layer("swap", "branch = 1") +
           Layer("conv2d", "outputs = 4\nkernel = 1\nstride = 2") + Layer("add", "branch = 1") +
           Layer("dense", "outputs = 3");
  };
  ExpectSame(*Parse(text("float32")), MakeModelInfo<Net>("mine"));
  ExpectSame(*Parse(text("fixed-point")), MakeModelInfo<nn::FixedPoint<Net>>("mine"));
}

struct Refusal {
  std::string text;
  std::string message;
};

void ExpectRefused(const std::vector<Refusal>& rows) {
  for (const Refusal& row : rows) {
    try {
      Parse(row.text);
      ADD_FAILURE() << "taken: " << row.text;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find("my.toml:"), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find(row.message), std::string::npos)
          << row.text << "\nsays: " << error.what() << "\nnot:  " << row.message;
    }
  }
}

TEST(ModelFile, RefusesKeysWithLineAndReason) {
  const std::string dense = Layer("dense", "outputs = 3");
  ExpectRefused({
      {"", "my.toml:1: the model: name is missing; expected name = \"my-net\""},
      {"name = 5\n", "my.toml:1: the model: name is no text in quotes"},
      {"name = mine\n",
       "my.toml:1:8: name = mine: could not determine value type; put a text in quotes: \"mine\""},
      {"name = \"a\"\ninput = [4]\nname = \"b\"\n",
       "my.toml:3:1: name comes twice, in line 1 and here; take one out"},
      {"name = \"a b\"\ninput = [4]\n", "my.toml:1: the model: a name has 1 to 64 characters"},
      {"name = \"lenet\"\ninput = [4]\n" + dense, "my.toml:1: the model: lenet is the name of"},
      {"name = \"a\"\n", "the model: input is missing; expected [features]"},
      {"name = \"a\"\ninput = 4\n", "my.toml:2: the model: input is no array"},
      {Head("[]") + dense, "my.toml:2: the model: 0 axes"},
      {Head("[1, 2, 3, 4]") + dense, "4 axes"},
      {Head("[4, 0]") + dense, "input: 0 is no whole number from 1 to 16777216"},
      {Head("[4.5]") + dense, "input: 4.5 is no whole number"},
      {Head("[5000, 5000]") + dense, "5000 x 5000 is more than 16777216 numbers"},
      {Head("[4]", "los = \"softmax\"") + dense,
       "my.toml:3: the model has no key los; did you mean"
       " loss?"},
      {Head("[4]", "loss = \"hinge\"") + dense, "loss = \"hinge\"; expected \"softmax\" or"},
      {Head("[4]", "loss = \"mean-squared-error\"") + dense, "target is missing; expected"},
      {Head("[4]", "target = \"vector\"") + dense, "my.toml:3: the model: the target of softmax"},
      {Head("[4]", "loss = \"mean-squared-error\"\ntarget = \"input\"") + dense,
       "my.toml:4: the model: the target is the input, 4 numbers, but the last layer gives 3"},
      {Head("[4]", "loss = \"mean-squared-error\"\ntarget = \"input\"") + Layer("relu") +
           Layer("dense", "outputs = 4"),
       "layer 1 (relu) overwrites the sample"},
      {Head("[4]"), "there is no layer; expected [[layer]]"},
      {Head("[4]") + "[layer]\nkind = \"dense\"\n", "layer.kind is not part of a model file"},
      {Head("[4]") + "[[layers]]\nkind = \"dense\"\n", "[[layers]] is not part of a model file"},
      {Head("[4]") + dense + dense + "x",
       "my.toml:10:2: key-value pair: encountered end-of-file, in: x"},
      {Head("[4]") + "[[layer]]\noutputs = 3\n", "my.toml:4: layer 1: kind is missing"},
      {Head("[4]") + Layer("dens", "outputs = 3"),
       "there is no kind \"dens\"; did you mean dense?"},
      {Head("[4]") + Layer("dense"), "my.toml:4: layer 1 (dense): outputs is missing"},
      {Head("[4]") + Layer("dense", "output = 3"),
       "layer 1 (dense) has no key output; did you mean"
       " outputs?"},
      {Head("[4]") + Layer("dense", "outputs = 0"), "outputs: 0 is no whole number from 1"},
      {Head("[4]") + Layer("dense", "outputs = \"3\""), "outputs is no number"},
      {Head("[4]") + Layer("dense", "outputs = true"), "outputs is no number"},
      {Head("[4]") + Layer("dense", "outputs = 3.0"), "outputs: 3.0 is no whole number from 1"},
      {Head("[4]") + Layer("dense", "outputs = 1979-05-27"), "outputs has a date or a time"},
      {Head("[4]") + Layer("dense", "outputs.x = 3"),
       "layer.outputs.x is not part of a model file"},
      {Head("[4]") + Layer("relu"), "nothing is trained"},
      {Head("[4]", "arithmetic = \"fixed-point\"") + dense + Layer("tanh") + dense,
       "my.toml:3: the model: fixed point has no tanh"},
      {Head("[9000]", "arithmetic = \"fixed-point\"") + dense, "takes at most 8192 inputs"},
  });
}

TEST(ModelFile, TakesAllOfToml) {
  const SharedModel plain = Parse(
      "name = \"a\"\ninput = [8, 2]\nmissing = [0.5, 1.0]\nclasses = [\"rest\", \"run\"]\n" +
      Layer("conv1d", "outputs = 16\nkernel = 3") + Layer("relu") + Layer("dense", "outputs = 2"));
  const SharedModel other = Parse(
      "\xEF\xBB\xBF\"name\" = '''a'''\r\ninput = [ # length, channels\r\n  8,\r\n  2,\r\n]\r\n"
      "missing = [0.5, 1]\r\nclasses = [\"r\\u0065st\",\r\n  'run']\r\n"
      "layer = [{kind = \"conv1d\", outputs = 0x10, \"kernel\" = 3}, {kind = 'relu'},\r\n"
      "  {kind = 'dense', outputs = 2}]");
  uint8_t digests[2][kSha256Size];
  ASSERT_EQ(ModelDigest(*plain, digests[0]), Status::kOk);
  ASSERT_EQ(ModelDigest(*other, digests[1]), Status::kOk);
  EXPECT_TRUE(std::equal(digests[0], digests[0] + kSha256Size, digests[1]));
}

TEST(ModelFile, RefusesShapesThatDoNotFitAndNamesBoth) {
  const std::string dense = Layer("dense", "outputs = 3");
  ExpectRefused({
      {Head("[8, 8, 1]") + Layer("conv2d", "outputs = 6\nkernel = 5") +
           Layer("max-pool2d", "size = 5") + dense,
       "my.toml:8: layer 2 (max-pool2d): does not fit layer 1 (conv2d), which gives 4 x 4 x 6: its "
       "window of 5 with padding 0 is larger than 4 x 4 x 6"},
      {Head("[4]") + Layer("dense", "outputs = 3\ninputs = 5"),
       "does not fit the input, 4: inputs = 5, but 4 numbers reach it"},
      {Head("[8, 8, 1]") + Layer("conv1d", "outputs = 6\nkernel = 5"), "not an image of 8 rows"},
      {Head("[8, 1]") + Layer("max-pool1d", "size = 2\npadding = 2"), "padding = 2 is not less"},
      {Head("[8, 6]") + Layer("group-norm", "groups = 4"), "groups = 4 does not divide 6"},
      {Head("[8, 6]") + Layer("local-response-norm", "size = 4"), "size = 4 is even"},
      {Head("[8]") + Layer("embedding", "width = 4"), "add tokens = N"},
      {Head("[8, 2]", "tokens = 5") + Layer("embedding", "width = 4"), "input = [length]"},
      {Head("[8]", "tokens = 5") + dense, "the first layer of a model of tokens is embedding"},
      {Head("[8]", "tokens = 5") + Layer("embedding", "width = 1") +
           Layer("embedding", "width = 4"),
       "my.toml:7: layer 2 (embedding): embedding is the first layer"},
      {Head("[8, 2]") + Layer("lstm", "units = 3\noutput = \"all\""),
       "output = \"all\"; expected \"sequence\" or \"last\""},
  });
}

TEST(ModelFile, RefusesBranchesThatDoNotWaitOrDoNotEnd) {
  const std::string dense = Layer("dense", "outputs = 4");
  const std::string fork = Layer("fork", "branch = 1");
  const std::string add = Layer("add", "branch = 1");
  const std::string swap = Layer("swap", "branch = 1");
  std::string many = Head("[4]") + dense;
  for (int i = 1; i <= 1000; ++i) many += Layer("fork", "branch = " + std::to_string(i));
  ExpectRefused({
      {Head("[4]") + dense + add + fork,
       "my.toml:7: layer 2 (add): does not fit layer 1 (dense), which gives 4: no branch 1 waits: "
       "no fork before it begins one, or an add has ended it; begin it by kind = \"fork\""},
      {Head("[4]") + dense + swap,
       "layer 2 (swap): does not fit layer 1 (dense), which gives 4: no"},
      {Head("[4]") + fork + dense + Layer("add", "branch = 2"), "no branch 2 waits"},
      {Head("[4]") + fork + dense + add + add, "layer 4 (add): does not fit layer 3 (add)"},
      {Head("[4]") + fork + dense + fork, "branch 1 waits already; end it by an add first"},
      {Head("[4]") + fork + dense,
       "my.toml:7: layer 2: branch 1 still waits behind the last layer; end it by kind = "
       "\"add\" and branch = 1"},
      {Head("[4]") + fork + dense + swap + add + swap, "no branch 1 waits"},
      {Head("[4]") + fork + Layer("dense", "outputs = 3") + add,
       "layer 3 (add): does not fit layer 2 (dense), which gives 3: branch 1 has the shape 4, and "
       "3 reaches it; an add takes two tensors of one shape"},
      {Head("[2, 2, 1]") + fork + dense + add,
       "branch 1 has the shape 2 x 2 x 1, and 4 reaches it"},
      {Head("[4]") + Layer("fork"), "branch is missing"},
      {Head("[4]") + Layer("fork", "branch = 0"), "branch: 0 is no whole number from 1"},
      {Head("[4]") + Layer("fork", "branch = \"a\""), "branch is no number"},
      {Head("[4]") + Layer("relu", "branch = 1"), "has no key branch"},
      {many, "more than 256 layers"},
      {Head("[8]", "tokens = 5") + fork + Layer("embedding", "width = 1") + add,
       "embedding is the first layer"},
      {Head("[4]", "loss = \"mean-squared-error\"\ntarget = \"input\"") + fork + dense + swap + add,
       "layer 4 (add) overwrites the sample"},
  });
}

TEST(ModelFile, RefusesWhatOverflows) {
  const std::string most = "16777216";
  ExpectRefused({
      {Head("[4096, 4096, 1]") + Layer("conv2d", "kernel = 1\noutputs = " + most), "outputs are"},
      {Head("[" + most + "]") + Layer("dense", "outputs = " + most), "weights are"},
      {Head("[8, 8, 4]") + Layer("depthwise-conv2d", "kernel = 1\nmultiplier = " + most),
       "weights are"},
      {Head("[" + most + ", 1]") + Layer("lstm", "units = 2000\noutput = \"last\""), "kept gates"},
      {Head("[" + most + "]", "tokens = 2") + Layer("embedding", "width = " + most), "outputs are"},
      {Head("[8, 8, 1]") +
           Layer("conv2d", "outputs = 1\nkernel = " + most + "\npadding = 16777215"),
       "outputs are"},
      {Head("[4]") + Layer("dense", "outputs = 16777217"), "is no whole number from 1 to 16777216"},
      {Head("[4000]") + Layer("dense", "outputs = 4000") + Layer("dense", "outputs = 4000"),
       "layer 2: up to here the model has 32008000 parameters; the most are 16777216"},
  });
  std::string deep = Head("[4]");
  for (size_t i = 0; i < kMaxLayers + 1; ++i) deep += Layer("relu");
  ExpectRefused({{deep, "more than 256 layers"}});
}

class FrozenFile : public testing::Test {
 protected:
  void WriteWeights(const std::vector<float>& values) const {
    std::ofstream file(folder_.Path("frozen_test.bin"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  SharedModel Parse(const std::string& more) const {
    return ParseModel(folder_.Path("frozen.toml"),
                      Head("[2]", more) + Layer("dense", "outputs = 3") + Layer("relu") +
                          Layer("dense", "outputs = 2"));
  }
  void ExpectRefused(const std::string& more, const std::string& why) const {
    try {
      Parse(more);
      ADD_FAILURE() << more;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

 private:
  TestFolder folder_;
};

constexpr float kWeights[] = {1, 2, 3, 4, 5, 6, 0.5F, -1, 0};

TEST_F(FrozenFile, GivesTheNetThatFrozenGives) {
  using Net = nn::Sequential<nn::Input<2>, nn::Frozen<kWeights, nn::Dense<2, 3>, nn::Relu>,
                             nn::Dense<3, 2>>;
  constexpr ModelInfo kModel = MakeModelInfo<Net>("frozen");
  WriteWeights({kWeights, kWeights + 9});
  for (const char* count : {"1", "2"}) {
    const SharedModel model =
        Parse(std::string("frozen = ") + count + "\nfrozen-weights = \"frozen_test.bin\"");
    ExpectSame(*model, kModel);
    EXPECT_EQ(model->parameters, 8u);
    EXPECT_EQ(MemoryOnDevice(*model, 4).constants, 36u);
  }
}

TEST_F(FrozenFile, RefusesWeightsOfAnotherSizeOrNotFinite) {
  const std::string frozen = "frozen = 1\nfrozen-weights = \"frozen_test.bin\"";
  WriteWeights({kWeights, kWeights + 8});
  ExpectRefused(frozen, "has 32 bytes; the frozen layers have 9 parameters of 4 bytes, 36 bytes");
  std::vector<float> values(kWeights, kWeights + 9);
  values[8] = std::numeric_limits<float>::quiet_NaN();
  WriteWeights(values);
  ExpectRefused(frozen, "frozen.toml:4: the model: ");
  ExpectRefused(frozen, "number 9 is not finite");
  ExpectRefused("frozen = 1\nfrozen-weights = \"none.bin\"", "none.bin cannot be read");
  ExpectRefused("frozen = 1", "go together");
  ExpectRefused("frozen = 4\nfrozen-weights = \"frozen_test.bin\"", "but there are 3 layers");
  WriteWeights(std::vector<float>(17, 1.0F));
  ExpectRefused("frozen = 3\nfrozen-weights = \"frozen_test.bin\"", "nothing is trained");
}

class PersonalFile : public FrozenFile {};

TEST_F(PersonalFile, GivesTheNetThatPersonalGives) {
  using Net = nn::Sequential<nn::Dense<2, 3>, nn::Personal<nn::Relu, nn::Dense<3, 2>>>;
  constexpr ModelInfo kModel = MakeModelInfo<Net>("personal");
  for (const char* count : {"1", "2"}) {
    const SharedModel model = Parse(std::string("personal = ") + count);
    ExpectSame(*model, kModel);
    EXPECT_EQ(model->parameters, 9u);
    EXPECT_EQ(model->personal, 8u);
    EXPECT_EQ(MemoryOnDevice(*model, 4).vectors, 4u * (2 * 9 + 8));
    EXPECT_EQ(MemoryOnDevice(*model, 4).record, PersonalRecordBytes(8));
    const std::string text = FileTextOf(*model, "personal").text;
    EXPECT_NE(text.find("\npersonal = 1\n"), std::string::npos) << text;
    const std::string cpp = CppText(*model);
    EXPECT_NE(cpp.find("sotto::nn::Personal<\n        sotto::nn::Dense<3, 2>>"), std::string::npos)
        << cpp;
  }
}

TEST_F(PersonalFile, RefusesLayersThatCannotStayOnTheirDevice) {
  WriteWeights({kWeights, kWeights + 9});
  const std::string frozen = "\nfrozen = 1\nfrozen-weights = \"frozen_test.bin\"";
  ExpectRefused("personal = 4", "personal = 4, but there are 3 layers");
  ExpectRefused("personal = 0", "personal");
  ExpectRefused("personal = 3", "no layer is left that is trained and sent");
  ExpectRefused("personal = 2" + frozen, "no layer is left that is trained and sent");
  ExpectRefused("personal = 3" + frozen, "layer 1 is frozen");
  ExpectRefused("personal = 1\narithmetic = \"fixed-point\"", "has no personal layers");
  try {
    ParseModel("personal.toml",
               Head("[2]", "personal = 1") + Layer("dense", "outputs = 3") + Layer("relu"));
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("the last 1 layers have no parameters"),
              std::string::npos)
        << error.what();
  }
}

TEST(ModelText, CountsTheWorkOfASample) {
  // NET: conv 117,600 and 240,000, dense 48,000, 10,080 and 840; twice more but for the first.
  const Work work = MultiplyAccumulates(*FindModel("lenet"));
  EXPECT_EQ(work.forward, 416520u);
  EXPECT_EQ(work.training, 3 * 416520u - 117600u);
}

TEST(ModelText, MemoryIsWhatTheTypePromises) {
  const DeviceMemory lenet = MemoryOnDevice(*FindModel("lenet"), 10);
  EXPECT_EQ(lenet.vectors, 8u * 61706);
  EXPECT_EQ(lenet.velocity, 4u * 61706);
  EXPECT_EQ(lenet.workspace, (ClientWorkspaceBytes<LeNet, 10>()));
  EXPECT_EQ(MemoryOnDevice(*FindModel("ova-logistic"), 16).workspace,
            (ClientWorkspaceBytes<OvaLogistic, 16>()));
  EXPECT_EQ(MemoryOnDevice(*FindModel("softmax-64-10-q"), 1).velocity, 0u);
}

TEST(OpenModel, TakesNamesAndFiles) {
  EXPECT_EQ(OpenModel("lenet").get(), FindModel("lenet"));
  EXPECT_TRUE(IsModelFile("a.toml") && IsModelFile("./a") && !IsModelFile("mlp"));
  try {
    OpenModel("lnet");
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find("lnet: no such model; did you mean lenet? The names: softmax-784-10,"), 0u)
        << what;
    EXPECT_NE(what.find("NAME.toml"), std::string::npos) << what;
  }
  EXPECT_THROW(OpenModel(testing::TempDir() + "none.toml"), std::invalid_argument);
  EXPECT_THROW(OpenModel(testing::TempDir()), std::exception);  // a folder
  const std::string name = "open-model-test.txt";  // here: with a folder it would be a model file
  std::ofstream(name) << "name = \"m\"\n";
  try {
    OpenModel(name);
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find(name + ": a file that describes a model has a name that ends in .toml"), 0u)
        << what;
  }
  std::filesystem::remove(name);
}

}  // namespace
}  // namespace sotto::posix
