// Own methods: what the tables refuse, and a codec of another program as the job has it. No test
// adds a row, which the others would see; policy.research runs a program that has some.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "codec/codecs.h"
#include "codec/own_codec.h"
#include "sotto/options/field.h"
#include "sotto/options/open_table.h"
#include "sotto/research/methods.h"

namespace sotto::server {
namespace {

template <class Call>
std::string RefusalOfOwn(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

bool ContainsPart(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(OwnMethods, ANameThatIsThereIsRefusedInEachTable) {
  EXPECT_TRUE(ContainsPart(RefusalOfOwn([] {
                             AddEstimator({"mean", nullptr});
                           }),
                           "'mean' is already there"));
  EXPECT_TRUE(ContainsPart(RefusalOfOwn([] {
                             AddOptimiser({"adam", nullptr});
                           }),
                           "'adam' is already there"));
  EXPECT_TRUE(ContainsPart(RefusalOfOwn([] {
                             AddCodec({"gau-lrq", "", std::nullopt, nullptr});
                           }),
                           "'gau-lrq' is already there"));
  EXPECT_TRUE(ContainsPart(RefusalOfOwn([] {
                             AddPartition({"iid", "", nullptr});
                           }),
                           "'iid' is already there"));
}

TEST(OwnMethods, ANameThatNoOptionCanTakeIsRefused) {
  for (const char* name :
       {"", "Lion", "a b", "9", "-a", "a:b", "name-that-is-far-too-long-for-this"}) {
    EXPECT_TRUE(ContainsPart(RefusalOfOwn([&] {
                               AddOptimiser({name, nullptr});
                             }),
                             "has no name"))
        << name;
  }
}

TEST(OwnMethods, ACodecWhoseNoiseIsBelowItsStretchIsRefused) {
  for (const GaussianNoise noise :
       {GaussianNoise{1, 0.999}, GaussianNoise{0, 1}, GaussianNoise{-1, 1}, GaussianNoise{2, 1}}) {
    EXPECT_TRUE(ContainsPart(RefusalOfOwn([&] {
                               AddCodec({"mine", "", noise, nullptr});
                             }),
                             "below its stretch"));
  }
}

struct ThingRow {
  const char* name;
};

TEST(OwnMethods, ATableKeepsItsRowsWhereTheyAreAndEndsSomewhere) {
  const ThingRow rows[] = {{"a"}, {"b"}};
  posix::OpenTable<ThingRow> table("thing", rows, [](const ThingRow& row) { return row.name; });
  const ThingRow* first = table.rows().data();
  std::vector<std::string> names;
  for (size_t i = 0; i < posix::kMostAddedRows; ++i) names.push_back("own-" + std::to_string(i));
  for (const std::string& name : names) table.Add({name.c_str()});
  EXPECT_EQ(table.rows().data(), first);
  EXPECT_EQ(table.rows().size(), 2 + posix::kMostAddedRows);
  EXPECT_THROW(table.Add({"own-3"}), std::invalid_argument);
  EXPECT_THROW(table.Add({"one-more"}), std::logic_error);
}

TEST(OwnMethods, AChoiceWithAValueTakesAnyTextBehindItsName) {
  const std::vector<std::string> choices = {"sgd", "lion[:BETA]", "top:K"};
  for (const std::string text : {"sgd", "lion", "lion:0.5", "lion:", "top:3"}) {
    EXPECT_NO_THROW(posix::RequireChoice(choices, text)) << text;
  }
  for (const std::string text : {"sgd:1", "lions", "lio", "top", "lion[:BETA", "lion[", ""}) {
    EXPECT_THROW(posix::RequireChoice(choices, text), std::invalid_argument) << text;
  }
}

TEST(OwnMethods, ANumberBehindANameIsReadStrictly) {
  EXPECT_EQ(OwnNumber("--x", "lion", 0.9, 0, 1), 0.9);
  EXPECT_EQ(OwnNumber("--x", "lion:0.25", 0.9, 0, 1), 0.25);
  for (const char* text : {"lion:", "lion:a", "lion:2", "lion:-1", "lion:nan", "lion:0.5x"}) {
    EXPECT_TRUE(ContainsPart(RefusalOfOwn([&] { OwnNumber("--x", text, 0.9, 0, 1); }), "--x lion:"))
        << text;
  }
}

// A coder that repeats what it gets, and what the test wants it to.
class RepeatingCoder : public UpdateCoder {
 public:
  explicit RepeatingCoder(const CodedRound& round) : round_(round) {}
  size_t MaxSize(uint32_t coordinates) const override { return coordinates; }
  std::vector<uint8_t> Encode(Span<const double> update, RandomValues&) const override {
    std::vector<uint8_t> bytes;
    for (const double u : update) bytes.push_back(u > round_.clip_l2 / 2 ? 1 : 0);
    return bytes;
  }
  bool Decode(ByteSpan encoded, Span<double> update) const override {
    if (encoded.size() != update.size()) return false;
    for (size_t j = 0; j < update.size(); ++j) update[j] = encoded[j] * round_.clip_l2;
    return true;
  }

 private:
  CodedRound round_;
};

TrainTask TaskOfOwn() {
  TrainTask task;
  task.quantizer_scale = 0.5F / 1024;
  task.training.clip_l2 = 0.5F;
  return task;
}

TEST(OwnMethods, AnOwnCodecDecodesToTheUnitOfTheSumAndRefusesWhatIsTooLarge) {
  const OwnCodec own = {"mine", "", std::nullopt, [](const CodedRound& round) {
                          EXPECT_EQ(round.noise_sigma, 0) << "no noise is stated";
                          return std::unique_ptr<const UpdateCoder>(new RepeatingCoder(round));
                        }};
  const baseline::OwnUpdateCodec codec(own, TaskOfOwn());
  const int32_t values[] = {1 << 30, 0, -(1 << 20)};  // C, 0, -C / 1024
  EXPECT_EQ(codec.Encode(Key(), values), (std::vector<uint8_t>{1, 0, 0}));
  Accumulator sum(3);
  const uint8_t bytes[] = {1, 0, 1};
  const UpdateOrigin origin = {{}, Key(), {}};
  EXPECT_EQ(codec.Add(origin, bytes, sum), Verdict::kAdded);
  EXPECT_EQ(sum.sums()[0], 1 << 30);
  EXPECT_EQ(static_cast<double>(sum.sums()[2]) * codec.SumUnit(), 0.5);
  const uint8_t two[] = {2, 0, 0};  // 2 C: beyond what a coordinate can be
  EXPECT_EQ(codec.Add(origin, two, sum), Verdict::kMalformed);
  EXPECT_EQ(codec.Add(origin, {two, 2}, sum), Verdict::kMalformed);
  EXPECT_EQ(sum.sums()[1], 0);
}

}  // namespace
}  // namespace sotto::server
