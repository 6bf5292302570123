// `sotto model` as a user runs it, and models from files in a simulation.
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "e2e/program.h"
#include "sotto/model/model_text.h"
#include "sotto/models.h"
#include "unit/test_folder.h"

namespace sotto {
namespace {

std::string WriteModel(const std::string& name, const std::string& text) {
  WriteFile(TestFile(name + ".toml"), "name = \"" + name + "\"\n" + text);
  return TestFile(name + ".toml");
}

std::string Layer(const std::string& kind, const std::string& keys = "") {
  return "[[layer]]\nkind = \"" + kind + "\"\n" + keys + "\n";
}

std::string Prepare(const std::string& kind, const std::string& keys = "") {
  return "[[prepare]]\nkind = \"" + kind + "\"\n" + keys + "\n";
}

// "0.1, 1.1, ..."
std::string Numbers(int count) {
  std::string text = "0.1";
  for (int i = 1; i < count; ++i) text += fmt::format(", {}.1", i);
  return text;
}

// Kinds, losses, steps, and frozen layers that no named model has.
std::vector<std::string> Files() {
  WriteFile(TestFile("weights.bin"), std::string(4 * 44, '\0'));
  return {
      WriteModel("prepared", "input = [5, 6, 2]\nmissing = -1\nclasses = [\"a \\\"b\\\"\", 'c']\n" +
                                 Prepare("rescale", "factor = [0.1, 2e-30]\noffset = 16777217") +
                                 Prepare("normalise", "mean = 0.1307\ndeviation = 0.3081") +
                                 Prepare("unit-norm") + Prepare("random-crop", "padding = 3") +
                                 Prepare("random-flip") +
                                 Layer("conv2d", "outputs = 4\nkernel = 3") +
                                 Layer("dense", "outputs = 2")),
      WriteModel("prepared-alone", "input = [30]\narithmetic = \"fixed-point\"\n" +
                                       Prepare("fill-missing", "value = [" + Numbers(30) + "]") +
                                       Layer("dense", "outputs = 3")),
      WriteModel("named", "input = [4]\nclasses = ['x', 'y']\n" + Layer("dense", "outputs = 2")),
      WriteModel("image",
                 "input = [8, 9, 4]\nloss = \"mean-squared-error\"\ntarget = \"vector\"\n" +
                     Layer("depthwise-conv2d", "kernel = 3\nstride = 2\nmultiplier = 2") +
                     Layer("tanh") + Layer("average-pool2d", "size = 2\nstride = 1") +
                     Layer("group-norm", "groups = 4") + Layer("local-response-norm", "size = 3") +
                     Layer("sigmoid") + Layer("dense", "outputs = 5")),
      WriteModel("frozen",
                 "input = [12, 2]\nfrozen = 2\nfrozen-weights = \"weights.bin\"\n"
                 "loss = \"mean-squared-error\"\ntarget = \"input\"\n" +
                     Layer("conv1d", "outputs = 4\nkernel = 5\npadding = 2") + Layer("relu") +
                     Layer("max-pool1d", "size = 2") +
                     Layer("average-pool1d", "size = 3\nstride = 1\npadding = 1") +
                     Layer("dense", "outputs = 24")),
      WriteModel("residual",
                 "input = [6, 6, 2]\n" + Layer("fork", "branch = 3") +
                     Layer("conv2d", "outputs = 4\nkernel = 3\nstride = 2\npadding = 1") +
                     Layer("relu") + Layer("swap", "branch = 3") +
                     Layer("conv2d", "outputs = 4\nkernel = 1\nstride = 2") +
                     Layer("add", "branch = 3") + Layer("dense", "outputs = 3")),
      WriteModel("fixed", "input = [8, 2]\narithmetic = \"fixed-point\"\n" +
                              Layer("conv1d", "outputs = 4\nkernel = 3") + Layer("relu") +
                              Layer("dense", "outputs = 3")),
  };
}

// With a branch from the shared layers to the personal ones.
std::string PersonalFile() {
  return WriteModel("personal",
                    "input = [6]\nclasses = ['x', 'y']\nsamples = \"six\"\n"
                    "loss = \"one-vs-all\"\npersonal = 3\n" +
                        Layer("dense", "outputs = 4") + Layer("fork", "branch = 1") +
                        Layer("dense", "outputs = 4") + Layer("add", "branch = 1") + Layer("tanh") +
                        Layer("dense", "outputs = 2"));
}

std::string NameOf(const std::string& model) {
  return std::filesystem::path(model).stem().string();
}

// A program that prints the digest of each header's model, one a line.
//   expressions  in C++, of type ModelInfo
std::string ProgramOf(const std::vector<std::string>& headers,
                      const std::vector<std::string>& expressions) {
  std::string text = "#include <cstdio>\n#include \"sotto/nn.h\"\n#define SOTTO_DEFINE_MODELS\n";
  for (const std::string& header : headers) text += "#include \"" + header + "\"\n";
  text +=
      "const float model_frozen::kFrozenWeights[44] = {};\n"
      "static void Print(const sotto::ModelInfo& model) {\n"
      "  uint8_t digest[sotto::kSha256Size];\n"
      "  if (sotto::ModelDigest(model, digest) != sotto::Status::kOk) return;\n"
      "  for (uint8_t byte : digest) std::printf(\"%02x\", byte);\n"
      "  std::printf(\"\\n\");\n}\nint main() {\n";
  for (const std::string& expression : expressions) text += "  Print(" + expression + ");\n";
  return text + "}\n";
}

// Writes `sotto model show --FORM` of each model; the files' names.
std::vector<std::string> WriteHeaders(const std::vector<std::string>& models,
                                      const std::string& form) {
  std::vector<std::string> headers;
  for (const std::string& model : models) {
    headers.push_back(TestFile(std::to_string(headers.size()) + "." + form + ".h"));
    EXPECT_EQ(Sotto("model show --" + form + " " + model + " > " + headers.back(), "").exit_code, 0)
        << model;
  }
  return headers;
}

std::string DigestsOf(const std::vector<std::string>& models) {
  std::string digests;
  for (const std::string& model : models) {
    digests += SottoJson("model show " + model)["digest"].get<std::string>() + "\n";
  }
  return digests;
}

// What a program of these sources prints.
std::string RunProgram(const std::string& sources) {
  const Outcome build = RunCommand(fmt::format(
      "{} -std=c++17 -Wall -Wextra -Werror -I {} {} {} -o {} 2>&1", SOTTO_CXX_COMPILER,
      SOTTO_SOURCE_DIR "/sdk/include", sources, SOTTO_SDK_LIBRARIES, TestFile("print")));
  EXPECT_EQ(build.exit_code, 0) << build.output;
  return RunCommand(TestFile("print")).output;
}

TEST(Model, TheCppTypesCompileTogetherAndHaveTheModelsDigests) {
  std::vector<std::string> models = Files();
  models.push_back(PersonalFile());
  for (const ModelInfo& model : Models()) models.insert(models.begin(), model.name);
  std::vector<std::string> expressions;
  for (const std::string& model : models) {
    expressions.push_back(posix::ModelNamespace(NameOf(model)) + "::kModel");
  }
  WriteFile(TestFile("print.cc"), ProgramOf(WriteHeaders(models, "cpp"), expressions));
  EXPECT_EQ(RunProgram(TestFile("print.cc")), DigestsOf(models));
}

// The function is called from C, and is what the C++ part of the same headers defines.
TEST(Model, TheHeadersForCCompileAsC99AndNameTheModels) {
  std::vector<std::string> models = Files();
  models.push_back("lenet");
  const std::vector<std::string> headers = WriteHeaders(models, "c");
  std::string c_file;
  std::vector<std::string> expressions;
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string name = posix::ModelNamespace(NameOf(models[i]));
    c_file += fmt::format("#include \"{}\"\n", headers[i]);
    expressions.push_back(fmt::format("*sotto_{}()", name));
  }
  c_file +=
      "const sotto_model* Lenet(void);\n"
      "float scratch[MODEL_PREPARED_ALONE_PREDICT_FLOATS];\n"
      "uint8_t workspace[MODEL_FROZEN_WORKSPACE];\n"
      "float vectors[2 * MODEL_IMAGE_PARAMETERS + MODEL_IMAGE_INPUTS + MODEL_FIXED_OUTPUTS];\n"
      "const sotto_model* Lenet(void) { return sotto_model_lenet(); }\n";
  WriteFile(TestFile("models.c"), c_file);
  const Outcome c = RunCommand(fmt::format(
      "{} -x c -std=c99 -pedantic -Wall -Wextra -Werror -I {} -c {} -o {} 2>&1", SOTTO_CXX_COMPILER,
      SOTTO_SOURCE_DIR "/sdk/include", TestFile("models.c"), TestFile("models.o")));
  ASSERT_EQ(c.exit_code, 0) << c.output;
  expressions.push_back("*Lenet()");
  WriteFile(TestFile("print.cc"),
            "#include \"sotto_c.h\"\nextern \"C\" const sotto_model* Lenet();\n" +
                ProgramOf(headers, expressions));
  models.push_back("lenet");
  EXPECT_EQ(RunProgram(TestFile("print.cc") + " " + TestFile("models.o")), DigestsOf(models));
}

TEST(Model, ShowTellsWhatStaysOnTheDevice) {
  const std::string file = PersonalFile();
  const Json json = SottoJson("model show " + file);
  EXPECT_EQ(json["parameters"], 28 + 20);
  EXPECT_EQ(json["personal"], 10);
  EXPECT_EQ(json["layers"][5]["personal"], true);
  EXPECT_EQ(json["layers"][4]["personal"], false);
  EXPECT_EQ(json["float32"]["vectors_bytes"], 4 * (2 * 48 + 10));
  EXPECT_EQ(json["float32"]["record_bytes"], 60 + 40);
  EXPECT_TRUE(json["fixed_point"].is_null());
  const std::string text = Sotto("model show " + file).output;
  EXPECT_NE(text.find("48, a download of 192 bytes; 10 personal ones stay on the device"),
            std::string::npos)
      << text;
  const Outcome c = Sotto("model show --c " + file);
  EXPECT_NE(c.exit_code, 0);
  EXPECT_NE(c.output.find("sotto_c.h takes no store"), std::string::npos) << c.output;
  WriteFile(TestFile("again.toml"), Sotto("model show --toml " + file).output);
  EXPECT_EQ(SottoJson("model show " + TestFile("again.toml"))["digest"], json["digest"]);
}

TEST(Model, ShowTellsLayersParametersDigestAndMemory) {
  const Json lenet = SottoJson("model show lenet --batch-size 10");
  EXPECT_EQ(lenet["parameters"], 61706);
  EXPECT_EQ(lenet["layers"].size(), 12u);
  EXPECT_EQ(lenet["layers"][0]["output"], Json::parse("[28, 28, 6]"));
  EXPECT_EQ(lenet["multiply_accumulates_training"], 1131960);
  EXPECT_EQ(lenet["float32"]["vectors_bytes"], 493648);
  const Json fixed = SottoJson("model show softmax-64-10-q");
  EXPECT_TRUE(fixed["float32"].is_null());
  EXPECT_EQ(fixed["fixed_point"]["velocity_bytes"], 0);
  EXPECT_GT(SottoJson("model show lenet --batch-size 20")["float32"]["workspace_bytes"],
            lenet["float32"]["workspace_bytes"]);
  const Outcome text = Sotto("model show lenet");
  EXPECT_NE(text.output.find("Conv2d<6, 5, 1, 2>"), std::string::npos) << text.output;
  EXPECT_NE(text.output.find(lenet["digest"].get<std::string>()), std::string::npos);
}

TEST(Model, AloneItListsTheNamedModels) {
  const Outcome run = Sotto("model");
  EXPECT_EQ(run.exit_code, 0);
  for (const ModelInfo& model : Models()) {
    EXPECT_NE(run.output.find(std::string("\n") + model.name + " "), std::string::npos)
        << run.output;
  }
}

TEST(Model, TheTextOfAModelIsAFileOfTheSameModel) {
  for (const std::string& model : Files()) {
    const std::string copy = TestFile("copy.toml");
    const Outcome run = Sotto("model show " + model + " --toml --numbers " +
                                  copy.substr(0, copy.rfind('/')) + " > " + copy,
                              "");
    EXPECT_EQ(run.exit_code, 0) << model;
    EXPECT_EQ(SottoJson("model show " + copy)["digest"], SottoJson("model show " + model)["digest"])
        << model;
  }
}

TEST(Model, AMalformedFileIsAUsageErrorWithFileAndLine) {
  const std::string path = WriteModel("bad", "input = [4]\n[[layer]]\nkind = \"dens\"\n");
  ExpectUsageError("model show " + path,
                   path + ":4: layer 1: there is no kind \"dens\"; did you mean");
  ExpectUsageError("simulate --data synthetic --model " + path, "--model " + path + ":4: ");
  ExpectUsageError("simulate --model none.toml", "--model none.toml: there is no such file");
  ExpectUsageError("simulate --model lent", "did you mean lenet? The names: ");
  ExpectUsageError("model show", "name a model, or --store STORE");
}

TEST(Model, ASimulationTakesAFileAndTheNameOfTheSameNetGivesTheSameBits) {
  const std::string path = WriteModel("my-mlp", "input = [784]\n" + Layer("dense", "outputs = 64") +
                                                    Layer("relu") + Layer("dense", "outputs = 10"));
  const std::string run =
      "simulate --data synthetic --devices 20 --cohort 4 --rounds 1 --local-epochs 1 --seed 1 "
      "--model ";
  const Json file = SottoJson(run + path);
  const Json named = SottoJson(run + "mlp");
  EXPECT_EQ(file["model"], "my-mlp");
  EXPECT_EQ(file["job"]["model"], "my-mlp");
  EXPECT_EQ(file["model_digest"], named["model_digest"]);
  EXPECT_EQ(file["parameters_sha256"], named["parameters_sha256"]);
}

TEST(Model, SyntheticDataFitEveryModel) {
  const std::string tiny = WriteModel("tiny", "input = [4]\n" + Layer("dense", "outputs = 3"));
  const std::string coder =
      WriteModel("coder", "input = [20]\nloss = \"mean-squared-error\"\ntarget = \"input\"\n" +
                              Layer("dense", "outputs = 20"));
  const std::string text =
      WriteModel("text", "input = [8]\ntokens = 30\n" + Layer("embedding", "width = 2") +
                             Layer("flatten") + Layer("dense", "outputs = 30"));
  for (const std::string& model : {tiny, coder, text}) {
    const Json json = SottoJson(
        "simulate --data synthetic --devices 20 --samples-per-device 4 --cohort 2 --rounds 1 "
        "--local-epochs 1 --seed 1 --model " +
        model);
    EXPECT_EQ(json["rounds"].size(), 1U) << model;
  }
}

TEST(Model, ThePageHasTheTablesOfKinds) {
  const Outcome tables = Sotto("model kinds");
  EXPECT_EQ(tables.exit_code, 0);
  const std::string page = ReadFile(SOTTO_SOURCE_DIR "/server/MODELS.md");
  const size_t middle = tables.output.find("\n\n") + 1;
  for (const std::string& table :
       {tables.output.substr(0, middle), tables.output.substr(middle + 1)}) {
    EXPECT_NE(page.find("\n\n" + table + "\n"), std::string::npos) << "the table should be:\n"
                                                                   << table;
  }
}

// "28,000"
std::string Grouped(uint64_t number) {
  return number < 1000 ? std::to_string(number)
                       : fmt::format("{},{:03}", Grouped(number / 1000), number % 1000);
}

TEST(Model, ThePagesFiguresOfBoardsAreThoseOfTheProgram) {
  const std::string page = ReadFile(SOTTO_SOURCE_DIR "/server/MODELS.md");
  int rows = 0;
  for (const ModelInfo& model : Models()) {
    if (page.find(fmt::format("| `{}` | ", model.name)) == std::string::npos) continue;
    ++rows;
    const posix::DeviceMemory memory = posix::MemoryOnDevice(model, 10);
    const std::string row =
        fmt::format("| `{}` | {} | {} | {} |", model.name, Grouped(model.parameters),
                    Grouped(memory.vectors), Grouped(memory.workspace));
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
  EXPECT_GE(rows, 7);
}

}  // namespace
}  // namespace sotto
