// Tests of files of parameters with which a job can begin.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes.h"
#include "export/parameters.h"
#include "sotto/models.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

class ParametersFileTest : public testing::Test {
 protected:
  ParametersFileTest() : model_(*FindModel("softmax-64-10")), values_(model_.parameters) {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = 0.01F * static_cast<float>(i) - 3;
  }

  void Write(size_t extra_bytes = 0) const {
    std::ofstream file(path_, std::ios::binary);
    const std::vector<uint8_t> bytes = BytesOf({values_.data(), values_.size()});
    file << std::string(bytes.begin(), bytes.end()) << std::string(extra_bytes, 'x');
  }

  std::string Refusal(const ModelInfo& model) const {
    try {
      ReadParameters(path_, model);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  void ExpectRefusal(const ModelInfo& model, const std::vector<std::string>& words) const {
    const std::string refusal = Refusal(model);
    EXPECT_NE(refusal.find(path_), std::string::npos) << refusal;
    for (const std::string& word : words) {
      EXPECT_NE(refusal.find(word), std::string::npos) << word << " in: " << refusal;
    }
  }

  const ModelInfo& model_;
  std::vector<float> values_;
  TestFolder folder_;
  std::string path_ = folder_.Path("model");
};

TEST_F(ParametersFileTest, WhatIsWrittenIsReadBack) {
  Write();
  EXPECT_EQ(ReadParameters(path_, model_), values_);
}

TEST_F(ParametersFileTest, AnotherSizeIsRefusedWithBothSizes) {
  Write(1);
  ExpectRefusal(model_, {"2601 bytes", "650 parameters", "2600 bytes", "softmax-64-10"});
  Write();
  ExpectRefusal(*FindModel("lenet"), {"2600 bytes", "61706 parameters", "246824 bytes"});
}

TEST_F(ParametersFileTest, AFileThatIsNotThereOrIsAFolderIsRefused) {
  ExpectRefusal(model_, {"No such file"});
  std::filesystem::create_directory(path_);
  ExpectRefusal(model_, {});
}

TEST_F(ParametersFileTest, ANumberThatIsNotFiniteIsRefused) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    values_[7] = bad;
    Write();
    ExpectRefusal(model_, {"parameter 8 of 650", "finite"});
  }
}

TEST_F(ParametersFileTest, ANumberBeyondAFixedPointFormatIsRefused) {
  const ModelInfo& fixed = *FindModel("softmax-64-10-q");
  Write();
  EXPECT_EQ(ReadParameters(path_, fixed), values_);
  values_[7] = -1e6F;
  Write();
  EXPECT_EQ(ReadParameters(path_, model_), values_);
  ExpectRefusal(fixed, {"parameter 8", "-1000000", "fixed-point", "softmax-64-10-q"});
}

TEST_F(ParametersFileTest, TheDigestIsThatOfTheBytes) {
  // sha256sum of 4 zero bytes, by coreutils
  const std::vector<float> zero(1);
  EXPECT_EQ(ParametersDigest({zero.data(), 1}),
            "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119");
}

TEST_F(ParametersFileTest, AFileOfAnotherProgramIsNamedWithWhatToDo) {
  for (const auto& [name, begin, says] :
       {std::tuple("net.pt", "PK\x03\x04",
                   "it is a file of PyTorch; write its tensors as safetensors"),
        std::tuple("net.h5", "\x89HDF\r\n", "it is an HDF5 file; write its weights"),
        std::tuple("net", "\x80\x04pickle", "it is a pickle of Python"),
        std::tuple("net.onnx", "x", "it is an ONNX model; a model is a file that")}) {
    const std::string path = folder_.Path(name);
    std::ofstream(path, std::ios::binary) << begin;
    Metadata ignored;
    try {
      ReadModelParameters(path, model_, &ignored);
      ADD_FAILURE() << name;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace sotto::server
