// `sotto keys` as a user runs it: its output, its files and its refusals.
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>

#include "backends/sql_store.h"
#include "backends/sqlite.h"
#include "e2e/program.h"
#include "sotto/key_labels.h"
#include "sotto/model/model_file.h"
#include "sotto/model/model_text.h"
#include "sotto/options/kit_file.h"
#include "sotto/posix/files.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/run_key.h"
#include "unit/sdk/hex.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

mode_t Mode(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

bool Same(const Key& a, const Key& b) { return ToHex(a.bytes) == ToHex(b.bytes); }

// Each test has its own folder with a store.
class KeysTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // `sotto keys COMMAND STORE ARGUMENTS`
  Outcome Keys(const std::string& command, const std::string& arguments = "",
               const char* standard_error = "2>&1") const {
    return Sotto("keys " + command + " " + Path("store") + " " + arguments, standard_error);
  }

  void Succeeds(const std::string& command, const std::string& arguments) const {
    const Outcome run = Keys(command, arguments);
    EXPECT_EQ(run.exit_code, 0) << command << " " << arguments << "\n" << run.output;
  }

  void Fails(int exit_code, const std::string& command, const std::string& arguments,
             const std::string& message) const {
    const Outcome run = Keys(command, arguments);
    EXPECT_EQ(run.exit_code, exit_code) << command << " " << arguments << "\n" << run.output;
    EXPECT_NE(run.output.find(message), std::string::npos) << run.output;
  }

  Json List() const {
    const Outcome run = Keys("list", "--json -", "2>/dev/null");
    EXPECT_EQ(run.exit_code, 0);
    return Json::parse(run.output, nullptr, false)["devices"];
  }

  TestFolder folder_;
};

TEST_F(KeysTest, OneDeviceGetsASecretAndAKeyFile) {
  Succeeds("new", "--id board-1 --out " + Path("keys"));
  EXPECT_EQ(Mode(Path("store")), 0600u);
  EXPECT_EQ(Mode(Path("keys/board-1.key")), 0600u);
  const posix::DeviceKey key = posix::ReadKeyFile(Path("keys/board-1.key"));
  EXPECT_EQ(key.device_id, "board-1");
  EXPECT_TRUE(Same(key.secret, SqlStore(Path("store")).FindDevice("board-1").secret));
  EXPECT_FALSE(Same(key.secret, Key()));
}

TEST_F(KeysTest, TheFolderOfTheKeyFilesIsTheOwnersAlone) {
  Succeeds("new", "--id board-1 --out " + Path("deep/keys/"));
  EXPECT_EQ(Mode(Path("deep/keys")), 0700u);
  std::filesystem::create_directory(Path("shared"));
  std::filesystem::permissions(Path("shared"), std::filesystem::perms(0775));
  Fails(1, "new", "--id board-2 --out " + Path("shared"), "chmod 700 " + Path("shared"));
  EXPECT_EQ(List().size(), 1u) << "nothing was registered";
  std::filesystem::permissions(Path("shared"), std::filesystem::perms(0755));
  Succeeds("new", "--id board-2 --out " + Path("shared"));
}

TEST_F(KeysTest, AListThatCannotBeWrittenIsRefusedBeforeTheStoreIsRead) {
  Fails(1, "list", "--json " + Path("none/list.json"), "cannot write");
}

TEST_F(KeysTest, ManyDevicesGetDifferentSecrets) {
  Succeeds("new", "--count 20 --prefix board- --out " + Path("keys"));
  const DeviceRegistry registry = SqlStore(Path("store")).LoadDevices();
  ASSERT_EQ(registry.size(), 20u) << "the registry refuses equal secrets";
  EXPECT_EQ(registry[0].id, "board-000000");
  EXPECT_EQ(registry[19].id, "board-000019");
  for (uint32_t i = 0; i < registry.size(); ++i) {
    const posix::DeviceKey key = posix::ReadKeyFile(Path("keys/" + registry[i].id + ".key"));
    EXPECT_EQ(key.device_id, registry[i].id);
    EXPECT_TRUE(Same(key.secret, registry[i].secret));
  }
}

TEST_F(KeysTest, WithoutAFolderNoKeyFileIsWritten) {
  Succeeds("new", "--count 2");
  EXPECT_EQ(SqlStore(Path("store")).LoadDevices()[1].id, "device-000001");
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(entry.path(), Path("store"));
  }
}

// The same names and secrets as `sotto simulate` with this seed gives its devices.
TEST_F(KeysTest, SeededDevicesAreTheSimulators) {
  const Outcome run = Keys("new", "--count 3 --seed 7 --insecure-seed --out " + Path("keys"));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("seeded: not private"), std::string::npos) << run.output;
  const DeviceRegistry registry = SqlStore(Path("store")).LoadDevices();
  ASSERT_EQ(registry.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(registry[i].id, "sim-00000" + std::to_string(i));
    EXPECT_TRUE(
        Same(registry[i].secret, posix::DeriveKey(posix::RunKey(7), key_label::kDevice, i)));
  }
  EXPECT_NE(Keys("list").output.find("seeded: not private"), std::string::npos);
  EXPECT_EQ(List()[0]["seeded"], true);
}

TEST_F(KeysTest, ASeedTakesTheWordThatItIsInsecure) {
  Fails(2, "new", "--count 3 --seed 7", "--insecure-seed");
  Fails(2, "new", "--count 3 --insecure-seed", "--seed");
  Fails(2, "new", "--id board-1 --seed 7 --insecure-seed", "--id");
  EXPECT_FALSE(std::filesystem::exists(Path("store")));
}

TEST_F(KeysTest, DuplicatesAreRefusedAndNothingChanges) {
  Succeeds("new", "--id board-000001");
  Fails(1, "new", "--id board-000001 --out " + Path("keys"),
        "board-000001 is in the store already");
  Fails(1, "new", "--count 3 --prefix board- --out " + Path("keys"), "board-000001");
  EXPECT_FALSE(std::filesystem::exists(Path("keys")));
  EXPECT_EQ(List().size(), 1u);
  Succeeds("new", "--count 1 --seed 7 --insecure-seed");
  Fails(1, "new", "--count 1 --prefix other- --seed 7 --insecure-seed", "same secret");
}

// A key file already exists. The device is not registered and the files written before are removed.
TEST_F(KeysTest, AKeyFileIsNeverOverwritten) {
  ASSERT_TRUE(std::filesystem::create_directory(Path("keys")));
  std::ofstream(Path("keys/board-000001.key")) << "precious";
  Fails(1, "new", "--count 3 --prefix board- --out " + Path("keys"), "never overwritten");
  EXPECT_EQ(ReadFile(Path("keys/board-000001.key")), "precious");
  EXPECT_FALSE(std::filesystem::exists(Path("keys/board-000000.key")));
  EXPECT_FALSE(std::filesystem::exists(Path("store")));
}

// Another process holds the store, so the command waits with all files written, and is killed
// there.
TEST_F(KeysTest, AKilledRegistrationLeavesNoKeyAndTheNextOneRemovesWhatItLeft) {
  Succeeds("new", "--id board-1");
  SqliteDatabase store(Path("store"));
  store.Run("BEGIN IMMEDIATE");
  const std::string part = "$(ls -d " + Path("keys") + "/sotto-part.*/ 2>/dev/null | head -1)";
  const Outcome killed =
      RunCommand(std::string(SOTTO_PROGRAM) + " keys new " + Path("store") + " --count 3 --out " +
                 Path("keys") + " & for i in $(seq 600); do [ -e \"" + part +
                 "device-000002.key\" ] && break; sleep 0.05; done; ls " + Path("keys") +
                 "; kill -KILL $!; wait $! 2>/dev/null");
  EXPECT_NE(killed.output.find("sotto-part."), std::string::npos) << killed.output;
  EXPECT_EQ(killed.output.find(".key"), std::string::npos) << "a key has a name before it opens";
  store.Run("ROLLBACK");
  const Outcome next = Keys("new", "--id board-2 --out " + Path("keys"));
  EXPECT_EQ(next.exit_code, 0) << next.output;
  EXPECT_NE(next.output.find("removed 3 key files of a `keys new` that was interrupted"),
            std::string::npos)
      << next.output;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Path("keys"))) {
    EXPECT_EQ(entry.path().filename(), "board-2.key");
    ++files;
  }
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(List().size(), 2u);
}

TEST_F(KeysTest, ARevokedDeviceIsListedAndNotEligible) {
  Succeeds("new", "--count 3 --prefix board-");
  Succeeds("revoke", "board-000001");
  EXPECT_EQ(SqlStore(Path("store")).LoadDevices().size(), 2u);
  const Json list = List();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_TRUE(list[0]["revoked"].is_null());
  EXPECT_TRUE(list[1]["revoked"].is_string());
  EXPECT_EQ(list[1]["id"], "board-000001");
  EXPECT_NE(Keys("list").output.find("3 devices, 2 eligible"), std::string::npos);
  Fails(1, "revoke", "board-000001", "revoked");
  Fails(1, "revoke", "stranger", "no device stranger");
  Fails(1, "export", "board-000001 --key " + Path("key"), "revoked");
}

TEST_F(KeysTest, AnOwnerIsNamedWithNewDevicesOrLater) {
  Succeeds("new", "--count 2 --prefix tv- --owner household-7");
  Succeeds("new", "--id phone");
  EXPECT_TRUE(List()[2]["owner"].is_null());
  Succeeds("owner", "phone household-7");
  for (const Json& device : List()) EXPECT_EQ(device["owner"], "household-7");
  Succeeds("owner", "phone guest");
  EXPECT_EQ(List()[2]["owner"], "guest");
  EXPECT_NE(Keys("list").output.find("eligible  owner guest"), std::string::npos);
  Fails(2, "owner", "phone 'two words'", "owner 'two words': use 1 to 64 characters");
  Fails(2, "owner", "phone", "OWNER is required");
  Fails(1, "owner", "stranger guest", "no device stranger");
  Fails(2, "new", "--id pad --owner a/b", "owner 'a/b'");
  EXPECT_EQ(List().size(), 3u) << "nothing was registered";
}

TEST_F(KeysTest, AHeaderCompilesAsCAndAsCppAndHoldsTheSecret) {
  Succeeds("new", "--id board-1");
  Succeeds("export", "board-1 --header " + Path("key.h"));
  EXPECT_EQ(Mode(Path("key.h")), 0600u);
  const std::string header = ReadFile(Path("key.h"));
  EXPECT_EQ(header.rfind("// SECRET", 0), 0u);
  EXPECT_NE(header.find("kSottoDeviceId[] = \"board-1\""), std::string::npos);
  std::ofstream(Path("print.c")) << "#include \"key.h\"\n#include <stdio.h>\nint main(void) {\n"
                                    "  for (unsigned i = 0; i < sizeof(kSottoDeviceSecret); ++i)\n"
                                    "    printf(\"%02x\", kSottoDeviceSecret[i]);\n"
                                    "  return sizeof(kSottoDeviceId) != 8;\n}\n";
  for (const char* language : {"c", "c++"}) {
    const Outcome run =
        RunCommand(std::string(SOTTO_CXX_COMPILER) + " -Wall -Wextra -Werror -x " + language + " " +
                   Path("print.c") + " -o " + Path("print") + " 2>&1 && " + Path("print"));
    EXPECT_EQ(run.exit_code, 0) << run.output;
    EXPECT_EQ(run.output, ToHex(SqlStore(Path("store")).FindDevice("board-1").secret.bytes));
  }
  Fails(1, "export", "board-1 --header " + Path("key.h"), "never overwritten");
}

TEST_F(KeysTest, AKeyFileCanBeWrittenLater) {
  Succeeds("new", "--id board-1");
  Succeeds("export", "board-1 --key " + Path("key"));
  EXPECT_TRUE(Same(posix::ReadKeyFile(Path("key")).secret,
                   SqlStore(Path("store")).FindDevice("board-1").secret));
}

// On a full disk the key file was announced and left, and opened nothing.
TEST_F(KeysTest, ARotationThatFailsAnnouncesNothingAndLeavesNothing) {
  Succeeds("new", "--id board-1");
  Succeeds("export", "board-1 --key " + Path("before.key"));
  const Outcome run =
      RunCommand("trap '' XFSZ; ulimit -f 1; " + std::string(SOTTO_PROGRAM) + " keys rotate " +
                 Path("store") + " board-1 --key " + Path("new.key") + " 2>&1");
  EXPECT_NE(run.exit_code, 0);
  EXPECT_EQ(run.output.find("the key file of"), std::string::npos) << run.output;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_NE(entry.path().filename().string().rfind("new.key", 0), 0U) << entry.path();
  }
  Succeeds("export", "board-1 --key " + Path("after.key"));
  EXPECT_TRUE(Same(posix::ReadKeyFile(Path("before.key")).secret,
                   posix::ReadKeyFile(Path("after.key")).secret));
  posix::WriteSecretFile(Path("new.key.aB3dE9.part"), "left by a kill");
  Succeeds("rotate", "board-1 --key " + Path("new.key"));
  EXPECT_FALSE(std::filesystem::exists(Path("new.key.aB3dE9.part")));
  posix::WriteSecretFile(Path("other.key.aB3dE9.part"), "left by a kill");
  const Outcome told = Keys("export", "board-1 --key " + Path("third.key"));
  EXPECT_NE(told.output.find(Path("other.key.aB3dE9.part") + ": a command that was interrupted"),
            std::string::npos)
      << told.output;
  Succeeds("export", "board-1 --key " + Path("now.key"));
  EXPECT_TRUE(
      Same(posix::ReadKeyFile(Path("new.key")).secret, posix::ReadKeyFile(Path("now.key")).secret));
}

// ---- Kits

TEST_F(KeysTest, SeveralNamesGetAKitEach) {
  const std::string digest = posix::ModelDigestHex(*posix::OpenModel("softmax-784-10"));
  Succeeds("new", "pi-1 board.2 --kits " + Path("kits") +
                      " --server '[::1]:7177' --model "
                      "softmax-784-10 --data 'rows.csv:label=y' --samples 0:50");
  ASSERT_EQ(List().size(), 2u);
  for (const char* name : {"pi-1", "board.2"}) {
    const std::string path = Path("kits/") + name + ".sotto";
    EXPECT_EQ(Mode(path), 0600u);
    const posix::Kit kit = posix::ReadKit(path);
    EXPECT_EQ(kit.key.device_id, name);
    EXPECT_TRUE(Same(kit.key.secret, SqlStore(Path("store")).FindDevice(name).secret));
    EXPECT_EQ(kit.settings.server, "[::1]:7177");
    EXPECT_EQ(kit.settings.accept_model, digest);
    EXPECT_EQ(kit.settings.data, "rows.csv:label=y");
    EXPECT_EQ(kit.settings.samples, "0:50");
  }
  EXPECT_EQ(Mode(Path("kits")), 0700u);
  Succeeds("export", "pi-1 --kit " + Path("again"));
  EXPECT_EQ(ReadFile(Path("again")), ReadFile(Path("kits/pi-1.sotto")));
}

TEST_F(KeysTest, AFileNamesDevicesAndTheirOwners) {
  std::ofstream(Path("names")) << "\xEF\xBB\xBFname,owner\r\n# the kitchen\r\npi-1\r\n"
                                  "pi-2,household-7\r\n\r\n";
  const Outcome run = Keys("new", "--owner guest --names " + Path("names"));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(run.output.find("keeps its name"), std::string::npos) << "the first devices";
  ASSERT_EQ(List().size(), 2u);
  EXPECT_EQ(List()[0]["owner"], "guest");
  EXPECT_EQ(List()[1]["owner"], "household-7");
  const std::string file = Path("more");
  for (const auto& [text, words] : {std::pair("pi-3\npi 4\n", ":2: \"pi 4\": expected NAME"),
                                    {"pi-3,\n", ":1: \"pi-3,\": expected NAME or NAME,OWNER"},
                                    {"pi-3,a,b\n", ":1: \"pi-3,a,b\": expected"},
                                    {"a\nb\na,c\n", ":3: \"a,c\": a comes twice, in line 1"},
                                    {"\n", ": it names no device"}}) {
    std::ofstream(file) << text;
    Fails(1, "new", "--names " + file, file + words);
  }
  const Outcome more = Keys("new", "pi-3");
  EXPECT_NE(more.output.find("keeps its name, and gets a new key from `sotto keys rotate`"),
            std::string::npos)
      << more.output;
  EXPECT_EQ(List().size(), 3u);
}

TEST_F(KeysTest, AKitIsWrittenAgainAsItWas) {
  Succeeds("new", "pi-1 --kits " + Path("kits") + " --server a:1 --accept-model any --data x.csv");
  Succeeds("export", "pi-1 --kit " + Path("again"));
  EXPECT_EQ(ReadFile(Path("again")), ReadFile(Path("kits/pi-1.sotto")));
  Succeeds("rotate", "pi-1 --server b:2 --kit " + Path("moved"));
  Succeeds("export", "pi-1 --kit " + Path("last"));
  const posix::Kit last = posix::ReadKit(Path("last"));
  EXPECT_EQ(last.settings.server, "b:2");
  EXPECT_EQ(last.settings.data, "x.csv");
  EXPECT_EQ(ReadFile(Path("last")), ReadFile(Path("moved")));
  EXPECT_FALSE(Same(last.key.secret, posix::ReadKit(Path("again")).key.secret));
  Succeeds("new", "other");
  Succeeds("export", "other --server c:3 --accept-model any --kit " + Path("other"));
  Succeeds("export", "other --kit " + Path("other.again"));
}

TEST_F(KeysTest, ALaterKitSaysWhatTheLastOneOfTheStoreSaid) {
  Succeeds("new", "a --kits " + Path("kits") +
                      " --server a:1 --accept-model any --data x.csv --samples 0:9");
  Succeeds("new", "b --data y.csv --kits " + Path("kits"));
  const posix::KitSettings settings = posix::ReadKit(Path("kits/b.sotto")).settings;
  EXPECT_EQ(settings.server, "a:1");
  EXPECT_EQ(settings.accept_model, "any");
  EXPECT_EQ(settings.data, "y.csv");
  EXPECT_EQ(settings.samples, "") << "they are the other device's";
  Succeeds("new", "c");
  Succeeds("export", "c --kit " + Path("c"));
  EXPECT_EQ(posix::ReadKit(Path("c")).settings.data, "y.csv");
}

TEST_F(KeysTest, ARotationReplacesTheFilesOfTheOldKeyAndNoOthers) {
  Succeeds("new", "a b --out " + Path("keys") + " --kits " + Path("kits") +
                      " --server a:1 --accept-model any --data x.csv");
  posix::WriteSecretFile(Path("edited"), ReadFile(Path("kits/a.sotto")) + "labels = \"y.csv\"\n");
  Fails(1, "rotate", "a --kit " + Path("kits/b.sotto"), "never overwritten");
  Succeeds("rotate", "a --kit " + Path("edited") + " --key " + Path("keys/a.key"));
  const posix::Kit kit = posix::ReadKit(Path("edited"));
  EXPECT_EQ(kit.settings.labels, "y.csv") << "its other lines stay";
  EXPECT_EQ(Mode(Path("edited")), 0600u);
  EXPECT_TRUE(Same(kit.key.secret, posix::ReadKeyFile(Path("keys/a.key")).secret));
  EXPECT_TRUE(Same(kit.key.secret, SqlStore(Path("store")).FindDevice("a").secret));
  // As after a rotation that was killed before its files had their names.
  Succeeds("export", "a --kit " + Path("kits/a.sotto"));
  EXPECT_TRUE(Same(kit.key.secret, posix::ReadKit(Path("kits/a.sotto")).key.secret));
  Fails(1, "export", "a --kit " + Path("kits/a.sotto"), "never overwritten");
}

TEST_F(KeysTest, ACommandThatFailsLeavesNoStore) {
  for (const char* arguments : {"'a b'", "a --owner 'x y'", "a --kits none"}) {
    EXPECT_NE(Keys("new", arguments).exit_code, 0) << arguments;
    EXPECT_FALSE(std::filesystem::exists(Path("store"))) << arguments;
  }
}

TEST_F(KeysTest, AKitThatCannotBeWrittenRegistersNothing) {
  const std::string kits = "--kits " + Path("kits") + " ";
  Fails(2, "new", "a " + kits, "add --server HOST:PORT");
  Fails(2, "new", "a --server a:1 " + kits, "has no job yet: add --model MODEL, or --accept-model");
  Fails(2, "new", "a --server a --accept-model any " + kits, "expected HOST:PORT");
  Fails(2, "new", "a --server a:1 --accept-model d00d " + kits, "hexadecimal digits");
  Fails(2, "new", "a --server a:1", "--kits");
  ASSERT_TRUE(std::filesystem::create_directory(Path("kits")));
  std::ofstream(Path("kits/b.sotto")) << "precious";
  Fails(1, "new", "a b --server a:1 --accept-model any " + kits, "never overwritten");
  EXPECT_FALSE(std::filesystem::exists(Path("kits/a.sotto")));
  EXPECT_FALSE(std::filesystem::exists(Path("store")));
  Succeeds("new", "a");
  Fails(2, "export", "a --server a:1 --key " + Path("key"), "are for --kit and --header");
}

TEST_F(KeysTest, AHeaderHasTheServerAndTheModelIfTheyAreKnown) {
  Succeeds("new", "board-1");
  Succeeds("export", "board-1 --header " + Path("key.h"));
  EXPECT_EQ(ReadFile(Path("key.h")).find("Server"), std::string::npos);
  Succeeds("export",
           "board-1 --server '[fd00::1]:7177' --model softmax-784-10 --header " + Path("all.h"));
  std::ofstream(Path("print.c")) << "#include \"all.h\"\n#include <stdio.h>\nint main(void) {\n"
                                    "  for (unsigned i = 0; i < sizeof(kSottoModelDigest); ++i)\n"
                                    "    printf(\"%02x\", kSottoModelDigest[i]);\n"
                                    "  printf(\"%s %d\", kSottoServerHost, kSottoServerPort);\n"
                                    "  return sizeof(kSottoDeviceSecret) != 32;\n}\n";
  const Outcome run =
      RunCommand(std::string(SOTTO_CXX_COMPILER) + " -Wall -Wextra -Werror -x c " +
                 Path("print.c") + " -o " + Path("print") + " 2>&1 && " + Path("print"));
  EXPECT_EQ(run.output,
            posix::ModelDigestHex(*posix::OpenModel("softmax-784-10")) + "fd00::1 7177");
}

TEST_F(KeysTest, NothingPrintedHoldsASecret) {
  std::string output = Keys("new", "board-1 --out " + Path("keys") +
                                       " --server a:1 --accept-model any --kits " + Path("keys"))
                           .output;
  output += Keys("export", "board-1 --header " + Path("key.h")).output;
  output += Keys("export", "board-1 --kit " + Path("kit")).output;
  output += Keys("list", "--json " + Path("list.json")).output + ReadFile(Path("list.json"));
  output += Keys("list", "--json -").output;
  output += Keys("new", "--id board-1").output;
  output += Keys("revoke", "board-1").output;
  const std::string hex = ToHex(posix::ReadKeyFile(Path("keys/board-1.key")).secret.bytes);
  EXPECT_NE(output.find("board-1"), std::string::npos);
  for (size_t i = 0; i + 8 <= hex.size(); i += 8) {
    EXPECT_EQ(output.find(hex.substr(i, 8)), std::string::npos);
  }
}

TEST_F(KeysTest, TheStoreMayAlsoBeNamedAsAnOption) {
  Succeeds("new", "--id a");
  const Outcome revoked = Sotto("keys revoke --store " + Path("store") + " a");
  EXPECT_EQ(revoked.exit_code, 0) << revoked.output;
  const Outcome list = Sotto("keys list --store " + Path("store"));
  EXPECT_EQ(list.exit_code, 0) << list.output;
  EXPECT_NE(list.output.find("1 device, 0 eligible"), std::string::npos) << list.output;
}

TEST_F(KeysTest, OptionsMayStandInATomlFile) {
  const std::string config = Path("keys.toml");
  std::ofstream(config) << "store = \"" << Path("store") << "\"\ncount = 2\nprefix = \"toml-\"\n";
  const Outcome run =
      RunCommand(std::string(SOTTO_PROGRAM) + " keys new --config " + config + " 2>&1");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(List()[1]["id"], "toml-000001");
}

TEST_F(KeysTest, ImpossibleOptionsAreUsageErrors) {
  Fails(2, "new", "", "name the devices: NAME [NAME...], or --names FILE");
  Fails(2, "new", "a --id b", "name the devices");
  Fails(2, "new", "a b a", "a is named twice");
  Fails(2, "new", "a --count 2", "name the devices");
  Fails(2, "new", "--id a --count 2", "--count");
  Fails(2, "new", "--id a --prefix b", "--prefix");
  Fails(2, "new", "--count 0", "--count");
  Fails(2, "new", "--count 1000001", "--count");
  Fails(2, "new", "--id 'two words'", "two words");
  Fails(2, "new", "--count 1 --prefix " + std::string(59, 'x'), "1 to 64");
  Fails(2, "revoke", "", "ID");
  Fails(2, "whatever", "", "no command of `sotto keys`");
  EXPECT_EQ(RunCommand(std::string(SOTTO_PROGRAM) + " keys list 2>&1").exit_code, 2);
  EXPECT_EQ(RunCommand(std::string(SOTTO_PROGRAM) + " keys 2>&1").exit_code, 2);
  Succeeds("new", "--id a");
  Fails(2, "export", "a", "--header");
}

TEST_F(KeysTest, AStoreThatIsNotThereOrNotPrivateIsRefused) {
  Fails(1, "list", "", Path("store"));
  Fails(1, "revoke", "x", Path("store"));
  Fails(1, "export", "x --key y", Path("store"));
  Succeeds("new", "--id a");
  ASSERT_EQ(chmod(Path("store").c_str(), 0644), 0);
  Fails(1, "list", "", "chmod 600");
  Fails(1, "new", "--id b", "chmod 600");
}

}  // namespace
}  // namespace sotto::server
