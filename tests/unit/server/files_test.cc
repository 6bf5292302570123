// Tests of files that are written whole or not at all, and of key files. The format of key files is
// pinned here byte by byte.
#include "sotto/posix/files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "sotto/posix/held_file.h"
#include "sotto/posix/kept_file.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/lock_file.h"
#include "sotto/posix/terminal.h"
#include "unit/test_folder.h"

namespace sotto::posix {
namespace {

constexpr char kHex[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";

DeviceKey SampleKey() {
  DeviceKey key{"board-1", {}};
  for (size_t i = 0; i < kKeySize; ++i) key.secret.bytes[i] = static_cast<uint8_t>(i);
  key.secret.bytes[kKeySize - 1] = 0xff;
  return key;
}

// A separate folder for each test.
class FilesTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  std::string WriteRaw(const std::string& content, mode_t mode = 0600) const {
    const std::string path = Path("raw");
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  size_t FilesInFolder() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      count += entry.exists() ? 1 : 0;
    }
    return count;
  }

  TestFolder folder_;
};

mode_t Mode(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

// The message of the std::runtime_error that the action throws, which names the file.
template <typename Action>
std::string Refusal(const std::string& path, Action action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

bool Says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

TEST_F(FilesTest, ASecretFileIsReadBackAndOnlyItsOwnerMay) {
  const std::string path = Path("secret");
  WriteSecretFile(path, std::string("a\0b\n", 4));
  EXPECT_EQ(Mode(path), 0600u);
  EXPECT_EQ(ReadSecretFile(path).text, std::string("a\0b\n", 4));
  EXPECT_EQ(FilesInFolder(), 1u) << "no temporary file stays";
}

TEST_F(FilesTest, TheUmaskCannotMakeASecretFileUnreadable) {
  const mode_t before = umask(0777);
  WriteSecretFile(Path("secret"), "x");
  umask(before);
  EXPECT_EQ(Mode(Path("secret")), 0600u);
}

TEST_F(FilesTest, ASecretFileThatOthersMayReadIsRefused) {
  for (const mode_t mode : {0640, 0604, 0660, 0644, 0610, 0601}) {
    const std::string path = WriteRaw("secret words", mode);
    const std::string message = Refusal(path, [&] { ReadSecretFile(path); });
    EXPECT_TRUE(Says(message, "chmod 600 " + path)) << message;
    EXPECT_FALSE(Says(message, "secret words"));
    Refusal(path, [&] { RequirePrivateFile(path); });
  }
  for (const mode_t mode : {0600, 0400, 0700}) {
    const std::string path = WriteRaw("secret words", mode);
    EXPECT_EQ(ReadSecretFile(path).text, "secret words");
    RequirePrivateFile(path);
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
  }
}

TEST_F(FilesTest, ASecretFileIsNeverOverwritten) {
  const std::string path = Path("secret");
  WriteSecretFile(path, "first");
  EXPECT_TRUE(Says(Refusal(path, [&] { WriteSecretFile(path, "second"); }), "never overwritten"));
  EXPECT_EQ(ReadSecretFile(path).text, "first");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(FilesTest, WhatIsNoSmallRegularFileIsRefused) {
  Refusal(Path("absent"), [&] { ReadSecretFile(Path("absent")); });
  Refusal(folder_.path(), [&] { ReadSecretFile(folder_.path()); });
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(Says(Refusal(Path("pipe"), [&] { ReadSecretFile(Path("pipe")); }), "regular"));
  const std::string largest(kMaxSmallFile, 'x');
  EXPECT_EQ(ReadSecretFile(WriteRaw(largest)).text, largest);
  const std::string path = WriteRaw(largest + "x");
  EXPECT_TRUE(Says(Refusal(path, [&] { ReadSecretFile(path); }), "too long"));
}

TEST_F(FilesTest, AFolderThatIsNotThereIsNamed) {
  const std::string path = Path("no/such/file");
  Refusal(path, [&] { WriteSecretFile(path, "x"); });
  Refusal(path, [&] { ReplaceTextFile(path, "x"); });
  Refusal(path, [&] { CreatePrivateFile(path); });
}

TEST_F(FilesTest, APrivateFileIsCreatedOnceAndEmpty) {
  EXPECT_TRUE(CreatePrivateFile(Path("store")));
  EXPECT_EQ(Mode(Path("store")), 0600u);
  ReplaceTextFile(Path("store"), "content");
  EXPECT_FALSE(CreatePrivateFile(Path("store")));
  EXPECT_EQ(ReadTextFile(Path("store")), "content");
}

TEST_F(FilesTest, AReplacedFileHoldsTheNewContentsAndNothingElseIsLeft) {
  const std::string path = Path("mark");
  EXPECT_EQ(ReadTextFile(path), std::nullopt);
  for (const char* content : {"a long first line\n", "2\n", ""}) {
    ReplaceTextFile(path, content);
    EXPECT_EQ(ReadTextFile(path), content);
    EXPECT_EQ(FilesInFolder(), 1u);
  }
}

TEST_F(FilesTest, WhatAKilledWriterLeftIsRemovedAndNothingElse) {
  const std::string path = Path("mark");
  ReplaceTextFile(path, "content");
  for (const char* left : {"mark.aB3dE9.part", "mark.000000.part"})
    ReplaceTextFile(Path(left), "x");
  const std::vector<const char*> others = {"mark.part", "mark.backup", "mark.12345.part",
                                           "mark.aB3dE9.part2", "other.aB3dE9.part"};
  for (const char* other : others) ReplaceTextFile(Path(other), "x");
  RemoveLeftovers(path);
  EXPECT_EQ(FilesInFolder(), 1 + others.size());
  EXPECT_EQ(OtherLeftovers(path), std::vector<std::string>{Path("other.aB3dE9.part")});
  const LockFile writer(Path("other.aB3dE9.part"));
  EXPECT_TRUE(OtherLeftovers(path).empty()) << "it is being written";
  EXPECT_EQ(ReadTextFile(path), "content");
}

TEST_F(FilesTest, AWriterAtWorkKeepsItsTemporaryFile) {
  const std::string path = Path("mark.aB3dE9.part");
  ReplaceTextFile(path, "x");
  const LockFile writer(path);
  RemoveLeftovers(Path("mark"));
  EXPECT_EQ(FilesInFolder(), 1U);
}

TEST_F(FilesTest, AKeptFileIsReadAsItWasWrittenOrRefused) {
  const KeptFormat format = {"sotto-test", 3, "test", "no test", "write it again"};
  const std::string path = Path("kept");
  EXPECT_FALSE(ReadKeptText(format, path).has_value());
  WriteKeptFile(format, path, "body\n");
  EXPECT_EQ(Mode(path), 0600U);
  const std::string text = ReadKeptText(format, path)->text;
  EXPECT_EQ(KeptBody(format, text), "body\n");
  EXPECT_EQ(text.substr(0, text.find(' ', 13)), "sotto-test 3\nsha256");
  const auto refusal = [&](const std::string& bad) -> std::string {
    try {
      KeptBody(format, bad);
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("key"), "no test");
  EXPECT_EQ(refusal("sotto-test 4\n"),
            "a test of version 4, and this program reads version 3; write it again");
  for (size_t at = 0; at < text.size(); ++at) {
    std::string bad = text;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    EXPECT_NE(refusal(bad), "") << at;
    EXPECT_NE(refusal(text.substr(0, at)), "") << at;
  }
  EXPECT_NE(refusal(text + "x"), "");
  std::string joined = text;
  joined[text.find('\n')] = '\x8a';
  EXPECT_TRUE(Says(refusal(joined), "its first line names no version")) << "and no raw bytes";
  EXPECT_TRUE(Says(refusal("sotto-test 3\r\nsha256 00\r\n"), "CR LF"));
}

TEST_F(FilesTest, AKeptSecretIsItsOwnersAloneAndALinkLeadsToIt) {
  const KeptFormat format = {"sotto-test", 1, "test", "no test", "again", kMaxSmallFile, true};
  const std::string path = Path("kept");
  WriteKeptFile(format, path, "a");
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  ASSERT_EQ(symlink(path.c_str(), Path("link").c_str()), 0);
  WriteKeptFile(format, Path("link"), "b");
  EXPECT_EQ(KeptBody(format, ReadKeptText(format, path)->text), "b");
  EXPECT_EQ(Mode(path), 0600U);
}

TEST_F(FilesTest, APendingFileHasNoNameBeforeItIsPublished) {
  const std::string path = Path("key");
  ReplaceTextFile(Path("key.aB3dE9.part"), "left by a kill");
  {
    PendingFile file(path, "content");
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(FilesInFolder(), 1U) << "what a kill left is gone";
    RemoveLeftovers(path);
    file.Publish();
    EXPECT_EQ(Mode(path), 0600U);
  }
  EXPECT_EQ(ReadTextFile(path), "content");
  EXPECT_EQ(FilesInFolder(), 1U);
  EXPECT_TRUE(Says(Refusal(path, [&] { PendingFile(path, "x"); }), "never overwritten"));
  { const PendingFile given_up(Path("other"), "x"); }
  EXPECT_EQ(FilesInFolder(), 1U);
}

TEST_F(FilesTest, PendingFilesGetTheirNamesTogetherAndAKillLeavesNone) {
  const std::string folder = Path("keys");
  EXPECT_EQ(PendingFiles::RemoveLeftovers(folder), 0U) << "there is no folder";
  std::filesystem::create_directories(folder + "/sotto-part.aB3dE9");
  std::filesystem::create_directories(folder + "/sotto-part.other");
  ReplaceTextFile(folder + "/sotto-part.aB3dE9/a.key", "left by a kill");
  {
    PendingFiles files(folder);
    files.Add("a.key", "first");
    files.Add("b.key", "second");
    EXPECT_EQ(PendingFiles::RemoveLeftovers(folder), 1U) << "this process's files are locked";
    EXPECT_FALSE(std::filesystem::exists(folder + "/a.key"));
    files.Publish();
    EXPECT_EQ(Mode(folder + "/a.key"), 0600U);
  }
  EXPECT_EQ(ReadTextFile(folder + "/a.key"), "first");
  EXPECT_EQ(ReadTextFile(folder + "/b.key"), "second");
  {
    PendingFiles given_up(folder);
    given_up.Add("c.key", "third");
    EXPECT_TRUE(
        Says(Refusal(folder + "/b.key", [&] { given_up.Add("b.key", "x"); }), "never overwritten"));
  }
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, (std::set<std::string>{"a.key", "b.key", "sotto-part.other"}));
}

TEST_F(FilesTest, AHeldFileIsClaimedOnceWhateverItsName) {
  const std::string path = Path("store");
  ReplaceTextFile(path, "content");
  ASSERT_EQ(link(path.c_str(), Path("link").c_str()), 0);
  HeldFile first(path);
  HeldFile second(Path("link"));
  EXPECT_EQ(first.names(), 2U);
  EXPECT_FALSE(second.IsClaimedByAnother());
  ASSERT_TRUE(first.Claim());
  EXPECT_TRUE(first.Claim()) << "it has it";
  EXPECT_FALSE(first.IsClaimedByAnother());
  EXPECT_TRUE(second.IsClaimedByAnother());
  EXPECT_FALSE(second.Claim());
  // Another process, whose descriptor is another one.
  const pid_t child = fork();
  if (child == 0) {
    const int own = open(path.c_str(), O_RDWR);
    struct flock claim {};
    claim.l_type = F_WRLCK;
    _exit(fcntl(own, F_OFD_SETLK, &claim) != 0 ? 0 : 1);  // the whole file
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_FALSE(first.IsNamed());
  EXPECT_TRUE(second.IsNamed());
  ReplaceTextFile(path, "another");
  EXPECT_FALSE(first.IsNamed());
  EXPECT_TRUE(HeldFile(path).Claim()) << "another file";
}

TEST_F(FilesTest, AClaimEndsWithItsHolder) {
  const std::string path = Path("store");
  ReplaceTextFile(path, "content");
  HeldFile other(path);
  {
    HeldFile holder(path);
    ASSERT_TRUE(holder.Claim());
    EXPECT_FALSE(other.Claim());
  }
  EXPECT_TRUE(other.Claim());
}

TEST_F(FilesTest, AKeyFileIsThreeLinesOfText) {
  WriteKeyFile(Path("key"), SampleKey());
  EXPECT_EQ(Mode(Path("key")), 0600u);
  EXPECT_EQ(ReadTextFile(Path("key")),
            std::string("sotto-key 1\ndevice board-1\nsecret ") + kHex + "\n");
}

TEST_F(FilesTest, AKeyFileIsReadAsItWasWritten) {
  WriteKeyFile(Path("key"), SampleKey());
  const DeviceKey key = ReadKeyFile(Path("key"));
  EXPECT_EQ(key.device_id, "board-1");
  EXPECT_TRUE(std::equal(std::begin(key.secret.bytes), std::end(key.secret.bytes),
                         SampleKey().secret.bytes));
}

TEST_F(FilesTest, ANameThatNoDeviceCanHaveIsNotWritten) {
  for (const char* name : {"", "two words", "a\nb", "../x"}) {
    DeviceKey key = SampleKey();
    key.device_id = name;
    EXPECT_THROW(WriteKeyFile(Path("key"), key), std::invalid_argument);
  }
  EXPECT_EQ(FilesInFolder(), 0u);
}

TEST_F(FilesTest, ForeignAndOtherVersionsKeyFilesAreToldApart) {
  const std::string rest = std::string("device board-1\nsecret ") + kHex + "\n";
  const auto refusal = [&](const std::string& content) {
    const std::string path = WriteRaw(content);
    const std::string message = Refusal(path, [&] { ReadKeyFile(path); });
    EXPECT_FALSE(Says(message, kHex)) << "a message must not hold the secret";
    return message;
  };
  EXPECT_TRUE(Says(refusal(""), "not a key file"));
  EXPECT_TRUE(Says(refusal("-----BEGIN PRIVATE KEY-----\n"), "not a key file"));
  EXPECT_TRUE(Says(refusal(rest), "not a key file"));
  EXPECT_TRUE(Says(refusal("sotto-key 2\n" + rest), "version"));
  EXPECT_TRUE(Says(refusal("sotto-key 0\n" + rest), "version"));
}

TEST_F(FilesTest, AKeyFileThatPassedAnotherSystemIsRead) {
  const std::string text = std::string("sotto-key 1\r\ndevice board-1\r\nsecret ") + kHex + "\r\n";
  EXPECT_EQ(ReadKeyFile(WriteRaw(text)).device_id, "board-1");
  EXPECT_EQ(ReadKeyFile(WriteRaw("\xEF\xBB\xBF" + text)).secret.bytes[kKeySize - 1], 0xff);
}

TEST_F(FilesTest, AKeyFileThatLostOrGainedAByteIsRefused) {
  const std::string whole = std::string("sotto-key 1\ndevice board-1\nsecret ") + kHex + "\n";
  const size_t line_end = whole.size() - 1;  // which the last line may lack
  for (size_t size = 0; size < line_end; ++size) {
    const std::string path = WriteRaw(whole.substr(0, size));
    Refusal(path, [&] { ReadKeyFile(path); });
  }
  for (const std::string& changed :
       {whole + "\n", whole + "x", "\n" + whole,
        std::string("sotto-key 1\ndevice board 1\nsecret ") + kHex + "\n",
        std::string("sotto-key 1\ndevice board-1\nsecret 0x") + (kHex + 2) + "\n",
        std::string("sotto-key 1\ndevice board-1\nsecret +1") + (kHex + 2) + "\n",
        std::string("sotto-key 1\ndevice board-1\nsecret g0") + (kHex + 2) + "\n",
        std::string("sotto-key 1\ndevice board-1\nsecret 00") + kHex + "\n"}) {
    const std::string path = WriteRaw(changed);
    EXPECT_TRUE(Says(Refusal(path, [&] { ReadKeyFile(path); }), "key")) << changed;
  }
}

TEST_F(FilesTest, AKeyFileThatOthersMayReadIsRefused) {
  WriteKeyFile(Path("key"), SampleKey());
  ASSERT_EQ(chmod(Path("key").c_str(), 0644), 0);
  EXPECT_TRUE(Says(Refusal(Path("key"), [&] { ReadKeyFile(Path("key")); }), "chmod 600"));
}

TEST_F(FilesTest, AFullDiskIsNoMatterOfFolders) {
  const std::string otherwise = "check that its folder exists";
  EXPECT_NE(std::string(AdviceFor(ENOSPC, otherwise.c_str())).find("make room on this disk"),
            std::string::npos);
  EXPECT_NE(AdviceFor(EROFS, otherwise.c_str()), otherwise);
  EXPECT_EQ(AdviceFor(ENOENT, otherwise.c_str()), otherwise);
}

TEST(Printable, OnlyCharactersOfUtf8AreShown) {
  EXPECT_EQ(Printable("a \xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82 ~"),
            "a \xc3\xa4 \xe2\x82\xac \xf0\x9f\x99\x82 ~");
  EXPECT_EQ(Printable("\x1b[1m\n\x7f\xc2\x9b"), "\\x1b[1m\\x0a\\x7f\\xc2\\x9b");
  EXPECT_EQ(Printable("\x9bzz"), "\\x9bzz");
  EXPECT_EQ(Printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Printable("\xc3"), "\\xc3");
  EXPECT_EQ(Printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

}  // namespace
}  // namespace sotto::posix
