// A small character model learns more of English than a table of pairs of letters knows.
//
// The text does not come with the project: name a folder with tinyshakespeare.txt by
// SOTTO_TEST_DATA. Takes a quarter of a minute.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "sotto/initial_weights.h"
#include "sotto/train.h"

namespace sotto {
namespace {

constexpr uint32_t kWindow = 40;
constexpr uint32_t kSymbols = 82;
using Net = nn::Sequential<nn::Tokens<kWindow>, nn::Embedding<kSymbols, 8>,
                           nn::Lstm<32, nn::LstmOutput::kLast>, nn::Dense<32, kSymbols>>;
constexpr ModelInfo kModel = MakeModelInfo<Net>("char-lstm");

// Windows of tokens, each with the token that follows it.
struct Text {
  std::vector<uint8_t> tokens;
  size_t stride = 1;

  static Status Read(void* context, uint32_t index, Span<float> window, uint32_t* next) {
    const auto* self = static_cast<const Text*>(context);
    const uint8_t* first = self->tokens.data() + index * self->stride;
    for (size_t t = 0; t < window.size(); ++t) window[t] = first[t];
    *next = first[window.size()];
    return Status::kOk;
  }
  uint32_t windows() const { return static_cast<uint32_t>((tokens.size() - kWindow) / stride); }
};

// The letters in the order of their first use.
std::vector<uint8_t> Tokenise(const std::string& text) {
  std::vector<int> ids(256, -1);
  int count = 0;
  std::vector<uint8_t> tokens;
  for (const char letter : text) {
    int& id = ids[static_cast<unsigned char>(letter)];
    if (id < 0) id = count++;
    tokens.push_back(static_cast<uint8_t>(id));
  }
  return tokens;
}

std::vector<float> Train(Text* text) {
  std::vector<float> base(kModel.parameters);
  EXPECT_EQ(InitialWeights(kModel, Key(), {base.data(), base.size()}), Status::kOk);
  std::vector<float> trained(kModel.parameters);
  TrainingOptions options;
  options.local_epochs = 1;
  options.learning_rate = 0.5f;
  options.clip_l2 = 1e6f;
  std::vector<float> scratch(kModel.training_floats(kModel, options.batch_size));
  std::vector<uint32_t> indices(options.batch_size);
  LocalTrainer trainer;
  EXPECT_EQ(trainer.Begin(kModel, options, {text->windows(), Text::Read, text}, Key(),
                          {base.data(), base.size()}, {{trained.data(), trained.size()}},
                          {scratch.data(), scratch.size()}, {indices.data(), indices.size()}),
            Status::kOk);
  Status status = Status::kOk;
  for (bool done = false; !done && status == Status::kOk;) status = trainer.Step(&done);
  EXPECT_EQ(status, Status::kOk);
  return trained;
}

double MeanLoss(const std::vector<float>& parameters, Text* text) {
  std::vector<float> scratch(kModel.predict_floats(kModel));
  std::vector<float> window(kWindow);
  std::vector<float> scores(kSymbols);
  double sum = 0;
  for (uint32_t i = 0; i < text->windows(); ++i) {
    uint32_t next = 0;
    EXPECT_EQ(Text::Read(text, i, {window.data(), window.size()}, &next), Status::kOk);
    kModel.predict(kModel, {parameters.data(), parameters.size()}, {window.data(), window.size()},
                   {scratch.data(), scratch.size()}, {scores.data(), scores.size()});
    double total = 0;
    for (const float score : scores) total += std::exp(double{score});
    sum += std::log(total) - scores[next];
  }
  return sum / text->windows();
}

TEST(CharLstm, LearnsMoreThanPairsOfLetters) {
#ifdef SOTTO_SANITIZED
  GTEST_SKIP() << "minutes under a sanitizer; the tests above run the same code";
#endif
  const char* folder = std::getenv("SOTTO_TEST_DATA");
  if (folder == nullptr) GTEST_SKIP() << "SOTTO_TEST_DATA is not set";
  std::ifstream file(std::string(folder) + "/tinyshakespeare.txt", std::ios::binary);
  if (!file) GTEST_SKIP() << folder << " has no tinyshakespeare.txt";
  const std::vector<uint8_t> tokens = Tokenise({std::istreambuf_iterator<char>(file), {}});
  const auto split = tokens.begin() + static_cast<std::ptrdiff_t>(tokens.size() / 10 * 9);
  Text training = {{tokens.begin(), split}, 17};
  Text test = {{split, tokens.end()}, 23};
  EXPECT_LT(MeanLoss(Train(&training), &test), 2.45) << "nats a letter, of a table of pairs";
}

}  // namespace
}  // namespace sotto
