// Kits: what is written is what is read; texts that are spoilt are refused with their line, and no
// message has a digit of the secret; and what sotto-client takes of a kit.
#include "sotto/options/kit_file.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "kit.h"
#include "sotto/data/source.h"
#include "sotto/posix/hex.h"
#include "unit/test_folder.h"

namespace sotto::posix {
namespace {

const std::string kSecret =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";  // NOLINT
const std::string kDigest(64, 'd');
const std::string kBegin = "version = 1\ndevice = \"pi-7\"\n";
const std::string kKey = "key = \"" + kSecret + "\"\n";

class KitFileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  std::string Write(const std::string& text) const {
    const std::string path = Path("pi-7.sotto");
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return path;
  }

  static std::string RefusalOf(const std::function<void()>& act) {
    try {
      act();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  // Reading the text fails with these words, and tells nothing of the secret.
  void Refuses(const std::string& text, const std::string& words) const {
    const std::string path = Write(text);
    const std::string says = RefusalOf([&] { ReadKit(path); });
    EXPECT_EQ(says.rfind(path + ": ", 0), 0u) << says;
    EXPECT_NE(says.find(words), std::string::npos) << text << "\n" << says;
    for (size_t i = 0; i + 8 <= kSecret.size(); i += 8) {
      EXPECT_EQ(says.find(kSecret.substr(i, 8)), std::string::npos) << says;
    }
  }

  TestFolder folder_;
};

Kit FullKit() {
  Kit kit;
  kit.key.device_id = "pi-7";
  EXPECT_TRUE(ParseHex(kSecret, kit.key.secret.bytes));
  kit.settings = {"[::1]:7177",
                  kDigest + "," + std::string(64, 'e'),
                  "a \"b\"\\=c\t.csv:label=x,y\xC3\xA9",
                  "labels",
                  "5:10",
                  "motion.samples",
                  "model",
                  128.0,
                  0.5,
                  {},
                  500u};
  return kit;
}

void ExpectSame(const Kit& a, const Kit& b) {
  EXPECT_EQ(a.key.device_id, b.key.device_id);
  EXPECT_EQ(Hex(a.key.secret.bytes), Hex(b.key.secret.bytes));
  for (const auto& row : KitFields()) {
    EXPECT_EQ(row.get(a.settings), row.get(b.settings)) << row.name;
  }
}

TEST_F(KitFileTest, WhatIsWrittenIsWhatIsRead) {
  Kit kit = FullKit();
  const std::string text = KitText(kit).text;
  ExpectSame(ReadKit(Write(text)), kit);
  EXPECT_NE(text.find("accept-model = [\"" + kDigest + "\", \""), std::string::npos) << text;
  const std::string settings = KitSettingsText(kit.settings);
  EXPECT_EQ(settings.find(kSecret), std::string::npos);
  ExpectSame({kit.key, ParseKitSettings("here", settings)}, kit);
  // With what editors of Windows make of it.
  std::string dos = "\xEF\xBB\xBF";
  for (const char c : text) dos += c == '\n' ? std::string("\r\n") : std::string(1, c);
  ExpectSame(ReadKit(Write(dos)), kit);
  kit.settings = {};
  kit.settings.accept_model = kEveryModel;
  ExpectSame(ReadKit(Write(KitText(kit).text)), kit);
}

TEST_F(KitFileTest, ASpoiltKitIsRefusedWithItsLineAndWithoutItsSecret) {
  const std::string good = kBegin + kKey + "server = \"a:1\"\n";
  EXPECT_EQ(ReadKit(Write(good)).settings.server, "a:1");
  const std::string several = kBegin + kKey + "server = \"a:1,[::1]:7177\"\n";
  EXPECT_EQ(ReadKit(Write(several)).settings.server, "a:1,[::1]:7177");
  Refuses("", "this is not a kit");
  Refuses(kBegin, "it has no key; write the kit again: `sotto keys export STORE NAME --kit FILE`");
  Refuses("sotto-key 1\ndevice a\nsecret " + kSecret + "\n", "key file; name it with --key");
  Refuses(good + kKey, "line 5: key comes twice");
  for (const std::string& key :
       {"key = " + kSecret, "key = \"" + kSecret, "key = \"" + kSecret.substr(1) + "\"",
        "key = \"" + kSecret + "0\"", "key = \"g" + kSecret.substr(1) + "\"", std::string("key ="),
        "key = [\"" + kSecret + "\"]"}) {
    Refuses(kBegin + key + "\nserver = \"a:1\"\n", "line 3: key: expected 64 digits in quotes");
  }
  Refuses(kBegin + "key = \"" + kSecret + "\" junk\n", "line 3");
  Refuses(kBegin + "\"key\" = \"" + kSecret + "\"\n", "it has no key");
  Refuses(kBegin + "data = \"\"\"\n" + kKey + "\"\"\"\n", "it names no device");
  Refuses("device = \"pi-7\"\n" + kKey, "expected version = 1");
  Refuses("version = 2\ndevice = \"pi-7\"\n" + kKey, "expected version = 1");
  Refuses("version = 1\n" + kKey, "it names no device");
  Refuses("version = 1\ndevice = \"p i\"\n" + kKey, "it names no device");
  Refuses(good + "sever = \"a:1\"\n", "line 5: sever is no key of a kit; did you mean server?");
  Refuses(good + "server = \"b:1\"\n", "line 5");
  Refuses(good + "[more]\ndata = \"x\"\n", "line 6: a kit has no sections");
  Refuses(good + "samples = 5\n", "line 5: samples: expected a text in quotes");
  Refuses(good + "samples = \"5\"\n", "line 5: samples 5: expected FIRST:COUNT");
  Refuses(good + "model-memory = \"5\"\n", "line 5: model-memory: expected a number");
  Refuses(good + "model-memory = 0\n", "line 5: model-memory 0: 0 is not in the range");
  Refuses(good + "data = \"\"\n", "line 5: data : it is empty");
  Refuses(good + "data = [\"a\"]\n", "line 5: data: expected a text in quotes");
  Refuses(good + "accept-model = [\"dd\"]\n", "line 5: accept-model dd: expected any or digests");
  Refuses(kBegin + kKey + "server = \"a\"\n", "line 4: server a: expected HOST:PORT");
  Refuses(kBegin + kKey + "server = \"a:1,b\"\n", "line 4: server a:1,b: expected HOST:PORT");
}

TEST_F(KitFileTest, AKitThatOthersMayReadIsRefused) {
  const std::string path = Write(KitText(FullKit()).text);
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_NE(RefusalOf([&] { ReadKit(path); }).find("chmod 600"), std::string::npos);
}

TEST_F(KitFileTest, WrongSettingsAreNotWritten) {
  Kit kit = FullKit();
  kit.settings.server = "nowhere";
  EXPECT_THROW(KitText(kit), std::invalid_argument);
  kit = FullKit();
  kit.key.device_id = "p i";
  EXPECT_THROW(KitText(kit), std::invalid_argument);
}

// ---- What sotto-client takes of it

TEST_F(KitFileTest, AKitGivesTheOptionsThatAreNotGiven) {
  ClientOptions typed;
  typed.kit = Write(kBegin + kKey +
                    "server = \"a:1\"\ndata = \"rows.csv:label=y,categories=all.csv\"\n"
                    "samples = \"5:10\"\nkeep-model = \"model\"\n");
  std::ofstream(Path("all.csv")) << "y\n";
  ClientOptions all = WithKit(typed);
  EXPECT_EQ(all.server, "a:1");
  EXPECT_EQ(all.samples, "5:10");
  EXPECT_EQ(all.keep_model, Path("model"));
  const DataSource source = ParseDataSource(all.data);
  EXPECT_EQ(source.path, Path("rows.csv"));
  EXPECT_EQ(source.options.at("categories"), Path("all.csv"));
  EXPECT_EQ(source.options.at("label"), "y") << "no file of this name is there";
  EXPECT_EQ(MarkPath(all), Path("pi-7.mark"));
  EXPECT_EQ(LedgerPath(all), Path("pi-7.updates"));
  EXPECT_EQ(KeyOf(all).device_id, "pi-7");
  EXPECT_EQ(Hex(KeyOf(all).secret.bytes), kSecret);

  typed.server = "b:2";
  typed.device = 0;
  typed.given = {"kit", "server", "device"};
  all = WithKit(typed);
  EXPECT_EQ(all.server, "b:2");
  EXPECT_EQ(all.samples, "") << "--device says which samples it holds";

  typed.data = "other.csv";
  typed.key = Path("device.key");
  WriteKeyFile(typed.key, {"other", {}});
  typed.given = {"data", "key"};
  all = WithKit(typed);
  EXPECT_EQ(all.data, "other.csv");
  EXPECT_EQ(all.samples, "") << "these were of the kit's data";
  EXPECT_EQ(KeyOf(all).device_id, "other");
  EXPECT_EQ(MarkPath(all), typed.key + ".mark");
}

TEST_F(KitFileTest, AKitNamesDataOrRecordedSamples) {
  ClientOptions typed;
  typed.kit = Write(kBegin + kKey + "sample-log = \"motion.samples\"\n");
  EXPECT_EQ(WithKit(typed).sample_log, Path("motion.samples"));
  EXPECT_NO_THROW(CheckOptions(WithKit(typed)));
  typed.data = "other.csv";
  typed.given = {"data"};
  EXPECT_EQ(WithKit(typed).sample_log, "");

  typed = {};
  typed.kit = Write(kBegin + kKey + "data = \"rows.csv\"\n");
  typed.sample_log = "motion.samples";
  typed.given = {"sample-log"};
  EXPECT_EQ(WithKit(typed).data, "");
  EXPECT_EQ(WithKit(typed).sample_log, "motion.samples");

  typed = {};
  typed.kit = Write(kBegin + kKey + "data = \"rows.csv\"\nsample-log = \"motion.samples\"\n");
  const ClientOptions both = WithKit(typed);
  EXPECT_EQ(RefusalOf([&] { CheckOptions(both); }),
            "--data and --sample-log: expected one of them; see the kit");
}

TEST_F(KitFileTest, ANodeTakesNoModelOfItsKit) {
  ClientOptions typed;
  typed.kit =
      Write(kBegin + kKey + "data = \"rows.csv\"\nkeep-model = \"model\"\naccept-model = [\"" +
            std::string(64, 'D') + "\"]\n");
  EXPECT_EQ(AcceptedDigests(WithKit(typed).accept_model), std::vector<std::string>({kDigest}));
  typed.peer.is_on = true;
  EXPECT_EQ(WithKit(typed).accept_model, "");
  EXPECT_EQ(WithKit(typed).keep_model, "") << "it has no server that releases one";
}

TEST_F(KitFileTest, WhatNeitherOptionsNorKitSayIsAskedFor) {
  ClientOptions typed;
  EXPECT_EQ(RefusalOf([&] { WithKit(typed); }).rfind("--key is required", 0), 0u);
  typed.key = "k";
  EXPECT_EQ(RefusalOf([&] { WithKit(typed); }).rfind("--data is required", 0), 0u);
  typed.kit = Write(kBegin + kKey);
  EXPECT_NE(RefusalOf([&] { WithKit(typed); }).find("name them with --data"), std::string::npos);
  typed.fetch_only = true;
  EXPECT_EQ(WithKit(typed).data, "") << "no samples are needed to fetch a model";
}

}  // namespace
}  // namespace sotto::posix
