// Tests of the reader of recordings.
#include <cstdint>
#include <filesystem>
#include <gtest/gtest.h>
#include <sndfile.h>
#include <string>
#include <vector>

#include "sotto/data/source.h"
#include "sotto/model/model_file.h"
#include "unit/data_files.h"
#include "unit/recordings.h"
#include "unit/stored_bytes.h"

namespace sotto {
namespace {

using Floats = std::vector<float>;
using Numbers = std::vector<uint32_t>;
using Names = std::vector<std::string>;
using Values = std::vector<int16_t>;

constexpr int kFlac = SF_FORMAT_FLAC | SF_FORMAT_PCM_16;
constexpr int kFloat = SF_FORMAT_WAV | SF_FORMAT_FLOAT;

class Recordings : public DataFiles {
 protected:
  void Record(const std::string& name, const Values& values, int rate = 8000, int channels = 1,
              int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    WriteRecording(Path(name), values, rate, channels, format);
  }

  // A net of two classes of 4 values.
  static posix::SharedModel Model(const std::string& more = "") {
    return posix::ParseModel("two.toml", "name = \"two\"\ninput = [4]\n" + more +
                                             "[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  }
};

TEST_F(Recordings, AFolderIsAClassAndAFolderInItAGroup) {
  Record("set/yes/ann/1.wav", {0, 16384, -32768, 32767});
  Record("set/no/bob/1.wav", {1, 2, 3, 4});
  Record("set/yes/bob/2.WAV", {5, 6, 7, 8});
  Write("set/README.txt", "no sound");
  const SharedDataset data = Read(Path("set") + ":window=4");
  ASSERT_EQ(data->size(), 3u);
  EXPECT_EQ(data->info().class_names, (Names{"no", "yes"}));
  EXPECT_EQ(LabelsOf(*data), (Numbers{0, 1, 1}));
  EXPECT_EQ(GroupsOf(*data), (Numbers{0, 1, 0}));
  EXPECT_EQ(data->GroupName(0), "bob");
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{0, 0.5F, -1, 32767 / 32768.0F}));
  EXPECT_FALSE(IsDataFolder(Path("set"))) << "it has no test part";
  EXPECT_EQ(FilesIn({Path("set")}), (Names{Path("set/no/bob/1.wav"), Path("set/yes/ann/1.wav"),
                                           Path("set/yes/bob/2.WAV")}));
}

TEST_F(Recordings, FlacHoldsTheValuesOfWav) {
  Values values;
  for (int i = 0; i < 10000; ++i) values.push_back(static_cast<int16_t>(i * 7919 % 65536 - 32768));
  Record("wav/a/1.wav", values);
  Record("flac/a/1.flac", values, 8000, 1, kFlac);
  const SharedDataset wav = Read(Path("wav") + ":window=100");
  const SharedDataset flac = Read(Path("flac") + ":window=100");
  ASSERT_EQ(wav->size(), 100u);
  ASSERT_EQ(flac->size(), 100u);
  for (size_t i = 0; i < wav->size(); ++i) EXPECT_EQ(FeaturesOf(*wav, i), FeaturesOf(*flac, i));
}

TEST_F(Recordings, AWindowIsWhatTheModelTakesAndMayOverlap) {
  Record("set/a/1.wav", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  Record("set/b/1.wav", {20, 21, 22, 23, 24});
  const posix::SharedModel model = Model("classes = [\"b\", \"a\"]\n");
  EXPECT_EQ(LabelsOf(*Read(Path("set"), model.get())), (Numbers{1, 1, 0}));
  const SharedDataset data = Read(Path("set") + ":stride=2", model.get());
  ASSERT_EQ(data->size(), 5u);
  EXPECT_EQ(FeaturesOf(*data, 3)[3] * 32768, 9);
  EXPECT_EQ(FeaturesOf(*data, 4)[0] * 32768, 20);
  EXPECT_TRUE(data->has_windows());
  EXPECT_EQ(data->Place(1) - data->Place(0), 2u) << "windows share their values";
  const SharedDataset gaps = Read(Path("set") + ":window=2,stride=3");
  ASSERT_EQ(gaps->size(), 5u);
  EXPECT_EQ(FeaturesOf(*gaps, 2)[0] * 32768, 6);
  EXPECT_SAYS(Complaint(Path("set") + ":window=5", model.get()), "model two takes 4 inputs");
}

TEST_F(Recordings, ASelectionKeepsItsWindowsOnly) {
  Values values(100);
  for (int i = 0; i < 100; ++i) values[static_cast<size_t>(i)] = static_cast<int16_t>(i);
  Record("set/a/1.flac", values, 8000, 1, kFlac);
  Record("set/b/1.wav", values);
  const std::string text = Path("set") + ":window=10,stride=5";
  const SharedDataset all = Read(text);
  const SharedDataset some = Read(text, nullptr, [](size_t i) { return i % 7 == 3; });
  ASSERT_EQ(some->size(), (all->size() - 3 + 6) / 7);
  for (size_t i = 0; i < some->size(); ++i) {
    EXPECT_EQ(FeaturesOf(*some, i), FeaturesOf(*all, 7 * i + 3));
    EXPECT_EQ(some->Label(i), all->Label(7 * i + 3));
  }
  EXPECT_EQ(CountSamples(ParseDataSource(text), nullptr), all->size());
}

TEST_F(Recordings, ZerosFollowAShortOneAndSeveralChannelsAreAMean) {
  Record("set/a/1.wav", {8, 16});
  Record("set/b/1.wav", {100, 300, -100, 100, 2, 3, 0, 0}, 8000, 2);
  const SharedDataset data = Read(Path("set") + ":window=4");
  EXPECT_EQ(FeaturesOf(*data, 0), (Floats{8 / 32768.0F, 16 / 32768.0F, 0, 0}));
  EXPECT_EQ(FeaturesOf(*data, 1), (Floats{200 / 32768.0F, 0, 2.5F / 32768.0F, 0}));
  std::string notes;
  for (const std::string& note : data->info().notes) notes += note + "\n";
  EXPECT_SAYS(notes,
              "set: zeros follow 1 of 2 recordings: they have fewer values than a window, 4");
  EXPECT_SAYS(notes, "set: 1 of 2 recordings have several channels: a value is their mean");
}

TEST_F(Recordings, AWindowWithoutAModelIsASecond) {
  Record("set/a/1.wav", Values(150), 50);
  const SharedDataset data = Read(Path("set"));
  EXPECT_EQ(data->size(), 3u);
  EXPECT_EQ(data->input_size(), 50u);
}

TEST_F(Recordings, TheOwnerSaysWhatFoldersAre) {
  Record("set/ann/monday/yes/1.wav", {1, 2, 3, 4});
  Record("set/ann/noise/yes/2.wav", {1, 2, 3, 4});
  Record("set/bob/monday/no/1.wav", {5, 6, 7, 8});
  const std::string path = Path("set") + ":window=4,drop=noise";
  const SharedDataset data = Read(path + ",folders=group,-,label");
  EXPECT_EQ(LabelsOf(*data), (Numbers{1, 0}));
  EXPECT_EQ(GroupsOf(*data), (Numbers{0, 1}));
  EXPECT_SAYS(Complaint(path), "it lies 3 folders deep, and 2 have a meaning: label, group");
  EXPECT_SAYS(Complaint(path + ",folders=label,who"), "expected label, group or - for each folder");
  EXPECT_SAYS(Complaint(path + ",folders=label,-,label"), "label comes twice");
}

// As in Speech Commands.
TEST_F(Recordings, TheNameOfAFileMaySayTheGroup) {
  Record("set/yes/ann_nohash_0.wav", {1, 2});
  Record("set/no/ann_nohash_1.wav", {1, 2});
  Record("set/no/bob_nohash_0.wav", {1, 2});
  const std::string path = Path("set") + ":window=2,group=prefix";
  EXPECT_EQ(GroupsOf(*Read(path)), (Numbers{0, 1, 0}));
  Record("set/no/carl.wav", {1, 2});
  EXPECT_SAYS(Complaint(path), "set/no/carl.wav: its name has no _ behind the group");
}

TEST_F(Recordings, AListSaysClassAndDevice) {
  Record("set/1.wav", {1, 2});
  Record("set/old/2.flac", {3, 4}, 8000, 1, kFlac);
  const std::string rows = "1.wav,no,pi-1\nold/2.flac,yes,pi-2\n";
  const std::string path = Path("set") + ":window=2,list=";
  const SharedDataset data = Read(path + Write("list.csv", "file,class,device\n" + rows));
  EXPECT_EQ(LabelsOf(*data), (Numbers{0, 1}));
  EXPECT_EQ(GroupsOf(*data), (Numbers{0, 1}));
  EXPECT_EQ(data->GroupName(1), "pi-2");
  EXPECT_SAYS(Complaint(path + Write("list.csv", rows)), "no column is named file");
  EXPECT_SAYS(Complaint(path + Write("list.csv", "file,label\n1.wav,no\n3.wav,no\n")),
              "list.csv: line 3: \"3.wav\" is no file; names are relative to the folder of --data");
  EXPECT_SAYS(Complaint(path + Path("none.csv")), "none.csv: cannot be opened");
}

TEST_F(Recordings, OneFileIsOfTheClassThatIsSaid) {
  Record("a.wav", {1, 2, 3, 4});
  const posix::SharedModel model = Model("classes = [\"off\", \"on\"]\n");
  EXPECT_EQ(LabelsOf(*Read(Path("a.wav") + ":label=on", model.get())), (Numbers{1}));
  EXPECT_SAYS(Complaint(Path("a.wav"), model.get()), "a.wav: nothing says its class");
  EXPECT_EQ(Read(Path("a.wav"))->info().classes, 0u) << "without a model nobody asks";
  DataSource source = ParseDataSource(Path("a.wav"));
  source.ignores_labels = true;
  EXPECT_EQ(ReadDataset(source, model.get())->size(), 1u) << "for predictions";
}

TEST_F(Recordings, AnotherRateIsRefusedWithTheFile) {
  Record("set/a/1.wav", {1, 2}, 16000);
  Record("set/b/1.wav", {1, 2}, 44100);
  const std::string complaint = Complaint(Path("set") + ":window=2");
  EXPECT_SAYS(complaint, "set/b/1.wav: its rate is 44100 Hz, expected 16000, as ");
  EXPECT_SAYS(complaint, "sox " + Path("set/b/1.wav") + " -r 16000 NEW.wav");
  EXPECT_SAYS(Complaint(Path("set") + ":window=2,rate=8000"),
              "set/a/1.wav: its rate is 16000 Hz, expected 8000, as rate= says");
}

TEST_F(Recordings, WrongOnesAreRefusedWithTheFile) {
  Record("set/a/1.wav", {1, 2});
  EXPECT_SAYS(Complaint(Path("set") + ":window=0"), "window=0");
  EXPECT_SAYS(Complaint(Path("set") + ":hop=2"), "sound has no option hop");
  Write("set/a/2.wav", "RIFF, says a text");
  EXPECT_SAYS(Complaint(Path("set") + ":window=2"),
              "set/a/2.wav: it cannot be read as a recording: ");
  Write("set/a/2.wav", "");
  EXPECT_SAYS(Complaint(Path("set") + ":window=2"), "set/a/2.wav: it cannot be read");
  Record("set/a/2.wav", {});
  EXPECT_SAYS(Complaint(Path("set") + ":window=2"), "set/a/2.wav: it holds no sound");
  std::filesystem::remove(Path("set/a/2.wav"));
  Record("set/a/bob/2.wav", {1, 2});
  EXPECT_SAYS(Complaint(Path("set") + ":window=2"), "set/a/1.wav: nothing says whose it is");
  EXPECT_SAYS(Complaint(Path("set") + ":window=2,folders=label,group"),
              "set/a/1.wav: it lies 1 folders deep; expected 2: label, group");
}

TEST_F(Recordings, ATruncatedFlacIsRefused) {
  Record("a.flac", Values(20000, 77), 8000, 1, kFlac);
  std::filesystem::resize_file(Path("a.flac"), std::filesystem::file_size(Path("a.flac")) / 2);
  EXPECT_SAYS(Complaint(Path("a.flac")), "a.flac: ");
}

TEST_F(Recordings, ValuesBeyondOneAreRefused) {
  SF_INFO info{};
  info.samplerate = 8000;
  info.channels = 1;
  info.format = kFloat;
  SNDFILE* const file = sf_open(Path("a.wav").c_str(), SFM_WRITE, &info);
  const Floats values = {0.5F, 1200};
  EXPECT_EQ(sf_write_float(file, values.data(), 2), 2);
  sf_close(file);
  EXPECT_SAYS(Complaint(Path("a.wav") + ":window=2"),
              "a.wav: value 1 is 1200; expected -1 to 1; scale it: sox --norm ");
}

TEST_F(Recordings, WithoutClassesTheModelTakesAnyFolders) {
  const posix::SharedModel model = posix::ParseModel(
      "auto.toml",
      "name = \"auto\"\ninput = [2]\nloss = \"mean-squared-error\"\ntarget = \"input\"\n"
      "[[layer]]\nkind = \"dense\"\noutputs = 2\n");
  Record("set/pump-1/1.wav", {1, 2});
  Record("set/pump-2/1.wav", {1, 2});
  const SharedDataset data = Read(Path("set") + ":folders=group", model.get());
  EXPECT_EQ(data->info().classes, 0u);
  EXPECT_EQ(GroupsOf(*data), (Numbers{0, 1}));
}

}  // namespace
}  // namespace sotto
