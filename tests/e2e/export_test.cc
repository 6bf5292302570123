// A trained model leaves and is used elsewhere: `sotto model export`, `predict` and `evaluate` as a
// user runs them. NumPy and ONNX then find the same predictions (export/recompute.py).
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "e2e/program.h"
#include "export/format.h"
#include "export/predictor.h"
#include "sotto/model/model_file.h"
#include "sotto/predict.h"
#include "unit/server/exported_nets.h"
#include "unit/server/store_fixture.h"
#include "unit/test_folder.h"
#include "unit/trials.h"

namespace sotto {
namespace {

using server::Predictor;

constexpr size_t kSamples = 40;

void WriteFloats(const std::string& path, const std::vector<float>& values) {
  std::string bytes;
  server::AppendFloats(values, &bytes);
  WriteFile(path, bytes);
}

// A net's files in a folder: net.toml, model.bin with random parameters, and random samples.
class Trained {
 public:
  explicit Trained(const ExportedNet& net) : net_(net) {
    WriteFile(Path("net.toml"), net.text);
    model_ = posix::OpenModel(Path("net.toml"));
    parameters_ = RandomNumbers(model_->parameters, 0.3F, 3);
    WriteFloats(Path("model.bin"), parameters_);
  }

  std::string Path(const std::string& name) const { return folder_.Path(name); }
  const ModelInfo& model() const { return *model_; }
  const std::string& folder() const { return folder_.path(); }
  const std::vector<float>& parameters() const { return parameters_; }

  void Export(const std::string& name) const {
    const Outcome run = Sotto("model export " + Path("model.bin") + " --model " + Path("net.toml") +
                              " --out " + Path(name));
    EXPECT_EQ(run.exit_code, 0) << net_.name << ": " << run.output;
  }

  std::vector<float> Features() const {
    std::vector<float> features = RandomNumbers(kSamples * model_->inputs, 1.0F, 5);
    const auto tokens = static_cast<float>(model_->layers[0].tokens);
    for (float& value : features) {
      if (tokens > 0) value = std::floor((value + 1) / 2 * tokens);
    }
    // A missing number, where the model fills it.
    if (net_.text.find("missing = ") != std::string::npos) features[3] = std::nanf("");
    return features;
  }

  // A sample a line.
  void WriteCsv(const std::string& name, const std::vector<float>& features) const {
    std::string text;
    for (size_t i = 0; i < features.size(); ++i) {
      if (!std::isnan(features[i])) text += fmt::format("{:.9g}", features[i]);
      text += (i + 1) % model_->inputs == 0 ? "\n" : ",";
    }
    WriteFile(Path(name), text);
  }

 private:
  ExportedNet net_;
  TestFolder folder_;
  posix::SharedModel model_;
  std::vector<float> parameters_;
};

bool HasNumPy() { return RunCommand("/usr/bin/python3 -c 'import numpy' 2>&1").exit_code == 0; }

TEST(Export, NumPyAndOnnxFindThePredictions) {
  if (!HasNumPy()) GTEST_SKIP() << "no python3-numpy";
  int number = 0;
  for (const ExportedNet& net : ExportedNets()) {
    if (!IsTried(number++)) continue;
    const Trained trained(net);
    for (const char* file : {"model.safetensors", "model.npz", "model.onnx"}) trained.Export(file);
    const std::vector<float> features = trained.Features();
    WriteFloats(trained.Path("features.f32"), features);
    trained.WriteCsv("features.csv", features);
    const Outcome predict =
        Sotto("model predict " + trained.Path("model.safetensors") + " --model " +
              trained.Path("net.toml") + " --data " + trained.Path("features.csv") +
              ":header=no --out " + trained.Path("predictions.csv"));
    EXPECT_EQ(predict.exit_code, 0) << predict.output;
    const Outcome show =
        Sotto("model show " + trained.Path("net.toml") + " --json " + trained.Path("net.json"));
    EXPECT_EQ(show.exit_code, 0) << show.output;
    const Outcome run =
        RunCommand("/usr/bin/python3 -B " SOTTO_SOURCE_DIR "/tests/e2e/export/recompute.py " +
                   trained.folder() + " 2>&1");
    EXPECT_EQ(run.exit_code, 0) << net.name << ":\n" << run.output;
    std::cout << net.name << "\n" << run.output;  // says what was not tested
  }
}

TEST(Export, AFileGoesFromFormatToFormat) {
  const Trained trained(FindNet("windows"));
  trained.Export("a.safetensors");
  const std::string model = " --model " + trained.Path("net.toml");
  for (const auto& [from, to] : {std::pair("a.safetensors", "b.npz"), std::pair("b.npz", "c.npy"),
                                 std::pair("c.npy", "d.safetensors")}) {
    const Outcome run =
        Sotto("model export " + trained.Path(from) + model + " --out " + trained.Path(to));
    EXPECT_EQ(run.exit_code, 0) << run.output;
  }
  EXPECT_EQ(ReadFile(trained.Path("a.safetensors")), ReadFile(trained.Path("d.safetensors")));
}

TEST(Export, AHeaderCompilesInCAndInCppAndPredictsTheSame) {
  for (const char* name :
       {"windows", "image", "text", "prepared", "residual", "vibration", "speech"}) {
    const Trained trained(FindNet(name));
    trained.Export("model.h");
    const std::vector<float> features = trained.Features();
    WriteFloats(trained.Path("features.f32"), features);
    WriteFile(trained.Path("only_numbers.c"),
              "#include \"model.h\"\nfloat First(void) { return kParameters[0]; }\n");
    WriteFile(trained.Path("main.cc"),
              std::string("#include \"model.h\"\n#include <cstdio>\nusing namespace model_") +
                  name +
                  ";\nint main() {\n"
                  "  static float x[Net::kInputs], scratch[sotto::PredictFloats<Net>()];\n"
                  "  float y[Net::kOutputs];\n"
                  "  while (std::fread(x, 4, Net::kInputs, stdin) == Net::kInputs) {\n"
                  "    if (sotto::Predict(kModel, kParameters, x, scratch, y) != "
                  "sotto::Status::kOk) return 1;\n"
                  "    std::fwrite(y, 4, Net::kOutputs, stdout);\n  }\n}\n");
    const std::string flags = " -Wall -Wextra -Werror -I " + trained.folder();
    Outcome run = RunCommand("cc" + flags + " -c " + trained.Path("only_numbers.c") + " -o " +
                             trained.Path("numbers.o") + " 2>&1");
    EXPECT_EQ(run.exit_code, 0) << run.output;
    run = RunCommand(std::string(SOTTO_CXX_COMPILER) + " -std=c++17" + flags +
                     " -I " SOTTO_SOURCE_DIR "/sdk/include " + trained.Path("main.cc") +
                     " " SOTTO_SDK_LIBRARIES " -o " + trained.Path("main") + " 2>&1");
    ASSERT_EQ(run.exit_code, 0) << run.output;
    run = RunCommand(trained.Path("main") + " < " + trained.Path("features.f32") + " > " +
                     trained.Path("outputs.f32"));
    EXPECT_EQ(run.exit_code, 0);
    // The outputs, whose probabilities the predictions are.
    const std::vector<float> outputs =
        server::FloatsOf(server::BytesOf(ReadFile(trained.Path("outputs.f32"))));
    ASSERT_EQ(outputs.size(), kSamples * trained.model().outputs);
    const Predictor predictor(trained.model(),
                              {trained.parameters().data(), trained.parameters().size()});
    std::vector<float> scratch;
    std::vector<float> expected(outputs.size());
    for (size_t i = 0; i < kSamples; ++i) {
      const size_t inputs = trained.model().inputs;
      const size_t width = trained.model().outputs;
      EXPECT_EQ(predictor.Run({features.data() + i * inputs, inputs}, &scratch,
                              {expected.data() + i * width, width}),
                Status::kOk);
    }
    EXPECT_EQ(outputs, expected) << name;
  }
}

// The block of server/EXPORT.md.
TEST(Export, TheLoaderOfThePageReadsAModel) {
  if (!HasNumPy()) GTEST_SKIP() << "no python3-numpy";
  const Trained trained(FindNet("windows"));
  for (const char* file : {"model.safetensors", "model.npz"}) trained.Export(file);
  const std::string page = ReadFile(SOTTO_SOURCE_DIR "/server/EXPORT.md");
  const size_t begin = page.find("```python\n") + 10;
  const std::string loader = page.substr(begin, page.find("```", begin) - begin);
  EXPECT_LE(std::count(loader.begin(), loader.end(), '\n'), 12);
  WriteFile(trained.Path("load.py"),
            loader +
                "archive = np.load('model.npz')\n"
                "assert sorted(archive) == sorted(tensors), archive\n"
                "assert all((archive[name] == tensors[name]).all() for name in tensors)\n"
                "assert metadata['model'] == 'windows', metadata\n");
  const Outcome run = RunCommand("cd " + trained.folder() + " && /usr/bin/python3 load.py 2>&1");
  EXPECT_EQ(run.exit_code, 0) << run.output;
}

// What a person has: a table with names, text labels, and no labels.
TEST(Export, ATableWithNamedClassesIsPredictedAndEvaluated) {
  const Trained trained(FindNet("perceptron"));
  std::string labelled = "a,b,c,d,e,f,g,h,label\n";
  std::string bare = "a,b,c,d,e,f,g,h\n";
  const std::vector<float> features = trained.Features();
  const char* const names[] = {"idle", "run", "\"sit, still\"", "walk"};
  for (size_t i = 0; i < kSamples; ++i) {
    std::string line;
    for (size_t j = 0; j < 8; ++j)
      line += fmt::format("{}{:.9g}", j == 0 ? "" : ",", features[8 * i + j]);
    labelled += line + "," + names[i % 4] + "\n";
    bare += line + "\n";
  }
  WriteFile(trained.Path("labelled.csv"), labelled);
  WriteFile(trained.Path("bare.csv"), bare);
  const std::string of =
      trained.Path("model.bin") + " --model " + trained.Path("net.toml") + " --data ";
  // Undeclared, a name with a comma may be two labels.
  ExpectFailure(1, "model evaluate " + of + trained.Path("labelled.csv"), "classes=sit\\, still,");
  const std::string named =
      "'" + trained.Path("labelled.csv") + ":classes=idle,run,sit\\, still,walk'";
  const Json json = SottoJson("model evaluate " + of + named);
  const std::string note =
      "note: the features are a, b, c, d, e, f, g, h, in this order; --trained-on";
  EXPECT_NE(Sotto("model evaluate " + of + named).output.find(note), std::string::npos);
  EXPECT_EQ(json["samples"], kSamples);
  EXPECT_EQ(json["classes"][2]["class"], "sit, still");
  const Outcome with_names = Sotto("model predict " + of + named, "2>/dev/null");
  EXPECT_EQ(with_names.output.rfind("class,class_name,probability idle,probability run,"
                                    "\"probability sit, still\",probability walk\n",
                                    0),
            0U)
      << with_names.output.substr(0, 200);
  const Outcome without = Sotto("model predict " + of + trained.Path("bare.csv"), "2>/dev/null");
  EXPECT_EQ(without.output.rfind("class,probability_0,", 0), 0U) << without.output.substr(0, 200);
  ExpectFailure(2, "model evaluate " + of + trained.Path("bare.csv"), "model perceptron");
}

TEST(Export, RefusesWhatItCannotWrite) {
  const Trained trained(FindNet("perceptron"));
  const std::string source =
      "model export " + trained.Path("model.bin") + " --model " + trained.Path("net.toml");
  ExpectUsageError(source + " --out " + trained.Path("x.pt"),
                   "safetensors, npz, npy, header, onnx");
  ExpectUsageError(source + " --out -", "standard output");
  ExpectUsageError(source + " --round 1 --out " + trained.Path("x.npz"), "--round");
  ExpectUsageError("model export " + trained.Path("model.bin") + " --out " + trained.Path("x.npz"),
                   "--model FILE.toml");
  ExpectUsageError(
      "model export " + trained.Path("model.bin") + " --model lenet --out " + trained.Path("x.npz"),
      "61706 parameters");
  ExpectFailure(1, "model export " + trained.Path("nothing") + " --out " + trained.Path("x.npz"),
                "nothing");
}

// A simulated model begins the next one, by any format.
TEST(Export, AModelThatWasExportedBeginsAnotherJob) {
  const TestFolder folder;
  const std::string job =
      "simulate --data synthetic --devices 40 --cohort 10 --rounds 1 --seed 3 --local-epochs 1 ";
  const std::string small = job + "--model softmax-784-10 ";
  const std::string bin = folder.Path("model.bin");
  EXPECT_EQ(Sotto(small + "--model-out " + bin).exit_code, 0);
  std::string digest;
  for (const char* format : {"bin", "safetensors", "npz", "npy"}) {
    const std::string file = folder.Path(std::string("model.") + format);
    if (file != bin) {
      const Outcome run = Sotto("model export " + bin + " --model softmax-784-10 --out " + file);
      EXPECT_EQ(run.exit_code, 0) << run.output;
    }
    const Json json = SottoJson(small + "--initial-model " + file);
    const std::string found = json["parameters_sha256"].get<std::string>();
    EXPECT_TRUE(digest.empty() || digest == found) << format;
    digest = found;
  }
  ExpectUsageError(job + "--model lenet --initial-model " + folder.Path("model.npz"),
                   "it is of another net");
}

// Of a store with one release.
std::string ExportOf(double epsilon, const std::string& format) {
  const TestFolder folder;
  {
    using namespace server;
    SqlStore store(folder.Path("store"), kCreate);
    store.AddDevices(SomeDevices(), false);
    const JobConfig config = SmallConfig();
    uint8_t digest[kSha256Size];
    EXPECT_EQ(ModelDigest(*config.model, digest), Status::kOk);
    JobRecord record = RecordOf(config);
    record.model_digest = digest;
    store.BeginJob(record);
    store.CommitAttempt({0, 0, {}});
    server::Release(store, 0, 0, 650, epsilon);
  }
  const Outcome run = Sotto("model export " + folder.Path("store") + " --format " + format +
                            " --out " + folder.Path("file"));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  return run.output + ReadFile(folder.Path("file"));
}

TEST(Export, AHeaderStatesTheClaimOrThatThereIsNone) {
  const std::string with = ExportOf(2, "header");
  EXPECT_NE(with.find("//   epsilon: 2\n"), std::string::npos) << with.substr(0, 600);
  const std::string without = ExportOf(std::numeric_limits<double>::infinity(), "header");
  EXPECT_NE(without.find("//   privacy: none: no epsilon bounds"), std::string::npos)
      << without.substr(0, 600);
  EXPECT_NE(without.find(", no privacy"), std::string::npos) << without.substr(0, 600);
  for (const char* word : {"inf", "//   epsilon", "//   delta"}) {
    EXPECT_EQ(without.find(word), std::string::npos) << word;
  }
}

TEST(Export, PredictionsAndTheirEvaluationAgree) {
  const TestFolder folder;
  const std::string file = folder.Path("model.bin");
  EXPECT_EQ(Sotto("simulate --data synthetic --model softmax-784-10 --devices 40 --cohort 10 "
                  "--rounds 3 --seed 3 --mechanism none --model-out " +
                  file)
                .exit_code,
            0);
  const std::string of = file + " --model softmax-784-10 --data synthetic ";
  const Json json = SottoJson("model evaluate " + of);
  EXPECT_GT(json["accuracy"].get<double>(), 0.3);
  EXPECT_EQ(json["classes"].size(), 10U);
  const Outcome run = Sotto("model predict " + of + "--out " + folder.Path("y.csv"));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  const std::string csv = ReadFile(folder.Path("y.csv"));
  EXPECT_EQ(csv.rfind("class,probability_0,probability_1,", 0), 0U) << csv.substr(0, 100);
  EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')),
            json["samples"].get<size_t>() + 1);
}

}  // namespace
}  // namespace sotto
