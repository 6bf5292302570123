// Tests of exported models: what is written is read back, and what is wrong is refused. That NumPy
// and ONNX read it as Sotto means it is tested by e2e/export_test.cc.
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "export/format.h"
#include "export/parameters.h"
#include "sotto/model/model_file.h"
#include "unit/server/exported_nets.h"

namespace sotto::server {
namespace {

posix::SharedModel Open(const ExportedNet& net) { return posix::ParseModel("net.toml", net.text); }

std::vector<float> ParametersOf(const ModelInfo& model) {
  return RandomNumbers(model.parameters, 0.3F, 3);
}

Metadata MetadataOf(const ModelInfo& model) {
  uint8_t digest[kSha256Size] = {};
  EXPECT_EQ(ModelDigest(model, digest), Status::kOk);
  std::string hex;
  for (const uint8_t byte : digest) hex += fmt::format("{:02x}", byte);
  return {{"model", model.name}, {"digest", hex}, {"epsilon", "3.5"}};
}

std::string Written(const char* format, const ModelInfo& model,
                    const std::vector<float>& parameters) {
  return FindFormat(format)->write(
      {model, {parameters.data(), parameters.size()}, MetadataOf(model)});
}

std::string Refusal(const std::string& bytes, const ModelInfo& model) {
  try {
    Metadata metadata;
    ParametersFromBytes(bytes, model, &metadata);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

void ExpectRefusal(const std::string& bytes, const ModelInfo& model,
                   const std::vector<std::string>& words) {
  const std::string refusal = Refusal(bytes, model);
  for (const std::string& word : words) {
    EXPECT_NE(refusal.find(word), std::string::npos) << word << " in: " << refusal;
  }
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Export, EveryFormatThatIsReadBackGivesTheParameters) {
  for (const ExportedNet& net : ExportedNets()) {
    const posix::SharedModel model = Open(net);
    const std::vector<float> parameters = ParametersOf(*model);
    for (const char* format : {"safetensors", "npz", "npy"}) {
      Metadata metadata;
      EXPECT_EQ(ParametersFromBytes(Written(format, *model, parameters), *model, &metadata),
                parameters)
          << model->name << " " << format;
      EXPECT_EQ(ValueOf(metadata, "epsilon"), std::string(format) == "npy" ? "" : "3.5");
    }
  }
}

TEST(Export, TheSameModelGivesTheSameBytes) {
  const posix::SharedModel model = Open(FindNet("windows"));
  const std::vector<float> parameters = ParametersOf(*model);
  for (const ExportFormat& format : ExportFormats()) {
    EXPECT_EQ(Written(format.name, *model, parameters), Written(format.name, *model, parameters))
        << format.name;
  }
}

TEST(Export, EveryKindOfLayerHasItsTensors) {
  for (const ExportedNet& net : ExportedNets()) {
    const posix::SharedModel model = Open(net);
    size_t count = 0;
    for (const TensorMap& map : MapTensors(*model)) {
      uint64_t size = 1;
      for (const uint64_t extent : map.shape) size *= extent;
      EXPECT_EQ(map.from.size(), size) << map.name;
      count += size;
    }
    EXPECT_EQ(count, model->parameters) << model->name;
  }
}

TEST(Export, TensorsHaveTheAxesOfPyTorch) {
  const posix::SharedModel model = Open(FindNet("windows"));
  std::vector<float> parameters(model->parameters);
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<float>(i);
  const std::vector<Tensor> tensors = ExportTensors(*model, {parameters.data(), parameters.size()});
  ASSERT_EQ(tensors.size(), 4U);
  // Sotto has [outputs][window][inputs].
  EXPECT_EQ(tensors[0].name, "0.weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<uint64_t>{4, 3, 3}));
  EXPECT_EQ(tensors[0].values[1], 3.0F);
  EXPECT_EQ(tensors[0].values[3], 1.0F);
  // Sotto's columns are [position][channel], a Linear's behind a Flatten the other way round.
  EXPECT_EQ(tensors[2].name, "5.weight");
  EXPECT_EQ(tensors[2].shape, (std::vector<uint64_t>{3, 8}));
  EXPECT_EQ(tensors[2].values[1] - tensors[2].values[0], 4.0F);
}

TEST(Export, FilesOfOtherModelsAreRefusedWithWhatIsExpected) {
  const posix::SharedModel model = Open(FindNet("perceptron"));
  const std::string file = Written("safetensors", *model, ParametersOf(*model));
  ExpectRefusal(file, *Open(FindNet("windows")), {"digest", "windows", "exported from"});
  const std::string nameless = Replaced(file, "\"digest\"", "\"dogest\"");
  ExpectRefusal(nameless, *Open(FindNet("windows")),
                {"is not in the model", "0.weight [4, 3, 3]", "5.bias [3]"});
  ExpectRefusal(Replaced(nameless, "\"shape\":[6,8]", "\"shape\":[8,6]"), *model,
                {"tensor 0.weight is [8, 6]", "[6, 8] (outputs, inputs)"});
  ExpectRefusal(Replaced(nameless, "\"0.weight\"", "\"a.weight\""), *model,
                {"a.weight", "is not in the model"});
  ExpectRefusal(Replaced(nameless, "F32", "F16"), *model, {"F16", "expected F32"});
  ExpectRefusal(Replaced(nameless, "[0,192]", "[0,196]"), *model, {"0.weight", "bytes"});
  ExpectRefusal(file.substr(0, file.size() - 1), *model, {"2.bias", "safetensors"});
}

TEST(Export, DamagedArraysAreRefused) {
  const posix::SharedModel model = Open(FindNet("perceptron"));
  const std::vector<float> parameters = ParametersOf(*model);
  const std::string array = Written("npy", *model, parameters);
  ExpectRefusal(Replaced(array, "'<f4'", "'<f8'"), *model, {"'<f8'", "astype('<f4')"});
  ExpectRefusal(Replaced(array, "False", "True "), *model, {"Fortran", "ascontiguousarray"});
  ExpectRefusal(array.substr(0, array.size() - 4), *model, {"shape (82,)", "does not fit"});
  ExpectRefusal(array.substr(0, 40), *model, {"header"});
  ExpectRefusal(array, *Open(FindNet("windows")), {"npz", "windows"});
  const std::string archive = Written("npz", *model, parameters);
  ExpectRefusal(archive.substr(0, archive.size() / 2), *model, {"zip"});
  ExpectRefusal(Replaced(archive, "'<f4'", "'<f8'"), *model, {"0.weight"});
}

// One changed byte still makes a model, which would predict something else.
TEST(Export, ParametersThatDoNotHaveTheirDigestAreRefused) {
  const posix::SharedModel opened = Open(FindNet("perceptron"));
  const ModelInfo& model = *opened;
  std::vector<float> parameters(model.parameters, 0.25F);
  const Span<const float> view = {parameters.data(), parameters.size()};
  const ExportFormat& format = *FindFormat("safetensors");
  std::string bytes = format.write({model, view, {{"parameters_sha256", ParametersDigest(view)}}});
  Metadata metadata;
  EXPECT_EQ(ParametersFromBytes(bytes, model, &metadata), parameters);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  try {
    ParametersFromBytes(bytes, model, &metadata);
    ADD_FAILURE() << "a changed parameter was read";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("others than its parameters_sha256"),
              std::string::npos);
  }
}

TEST(Export, NumbersThatAreNotFiniteAreRefused) {
  const posix::SharedModel model = Open(FindNet("perceptron"));
  std::vector<float> parameters = ParametersOf(*model);
  parameters[6] = std::nanf("");
  ExpectRefusal(Written("safetensors", *model, parameters), *model,
                {"parameter 7 of 82", "finite"});
}

TEST(Export, AMisfitOfAllFormatsIsRefusedWithBothSizes) {
  ExpectRefusal("0123", *Open(FindNet("perceptron")), {"4 bytes", "82 parameters", "328 bytes"});
  ExpectRefusal("", *Open(FindNet("perceptron")), {"0 bytes"});
}

}  // namespace
}  // namespace sotto::server
