// What a command asks before it changes what is promised.
#include "cli/consent.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>

namespace sotto::server {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A person who answers with this text, and what that person has read.
struct Answering {
  explicit Answering(const std::string& text) {
    std::fputs(text.c_str(), answers.get());
    std::rewind(answers.get());
  }

  bool GoesOn(const Consent& consent) {
    return GoOn(consent, "begin it?", {answers.get(), reads.get()});
  }

  std::string Read() {
    std::rewind(reads.get());
    std::string text(1000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), reads.get()));
    return text;
  }

  File answers{std::tmpfile(), std::fclose};
  File reads{std::tmpfile(), std::fclose};
};

TEST(ConsentTest, APersonSaysYesWithALineAlone) {
  for (const char* yes : {"y\n", "Y\n", "yes\n"}) EXPECT_TRUE(Answering(yes).GoesOn({})) << yes;
  for (const char* no : {"\n", "n\n", "no\n", "yesterday\n", " y\n", "", "y", "\ny\n"}) {
    EXPECT_FALSE(Answering(no).GoesOn({})) << no;
  }
}

TEST(ConsentTest, TheQuestionAndARefusalAreRead) {
  Answering person("n\n");
  EXPECT_FALSE(person.GoesOn({}));
  EXPECT_EQ(person.Read(), "begin it? [y/N] nothing was changed\n");
}

TEST(ConsentTest, YesAsksNobody) {
  Answering person("n\n");
  EXPECT_TRUE(person.GoesOn({true, false}));
  EXPECT_EQ(person.Read(), "");
  EXPECT_TRUE(GoOn({true, false}, "begin it?", {}));
}

TEST(ConsentTest, ADryRunChangesNothingEvenWithYes) {
  for (const bool yes : {false, true}) {
    Answering person("y\n");
    EXPECT_FALSE(person.GoesOn({yes, true}));
    EXPECT_EQ(person.Read(), "");
    EXPECT_FALSE(GoOn({yes, true}, "begin it?", {}));
    EXPECT_FALSE(MayAct({yes, true}));
    EXPECT_TRUE(MayAct({yes, false}));
  }
}

TEST(ConsentTest, WithoutATerminalAScriptMustSayYes) {
  try {
    GoOn({}, "begin it?", {});
    FAIL() << "it went on";
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    for (const char* words : {"begin it?", "no terminal", "nothing was changed", "--yes"}) {
      EXPECT_NE(text.find(words), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace sotto::server
