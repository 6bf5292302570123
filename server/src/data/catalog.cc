#include "data/catalog.h"

#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <stdexcept>

#include "data/parts.h"
#include "data/synthetic.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/terminal.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

constexpr char kSynthetic[] = "synthetic";
constexpr char kFashionMnist[] = "fashion-mnist";
constexpr char kFashionMnistAdvice[] =
    "install the package dataset-fashion-mnist, or use --data synthetic, which needs no files";

// What a text of --data or --test names.
struct Opener {
  const ModelInfo* model;
  std::string fashion_mnist_folder;

  // The source of a name that is no file, and of any other text.
  DataSource Source(const std::string& text) const {
    if (text != kFashionMnist) return Known(text);
    if (!IsDataFolder(fashion_mnist_folder)) {
      throw std::runtime_error(fmt::format("{}: fashion-mnist is not there; {}",
                                           fashion_mnist_folder, kFashionMnistAdvice));
    }
    return {fashion_mnist_folder};
  }

  static DataSource Known(const std::string& text) {
    DataSource source = ParseDataSource(text);
    std::error_code error;
    if (fs::exists(source.path, error)) return source;
    if (error) {
      throw std::runtime_error(
          fmt::format("{}: cannot be opened: {}; check the path and its permissions", source.path,
                      error.message()));
    }
    std::error_code ignored;
    RequireWholeName(source);
    const std::string file = text.substr(0, text.find(':'));
    if (file.size() < text.size() && fs::exists(file, ignored)) {
      throw std::runtime_error(
          fmt::format("\"{0}\": {1} is there, but what follows is no :KEY=VALUE; a KEY is of small "
                      "letters, for example {1}:label=activity",
                      text, file));
    }
    throw std::runtime_error(fmt::format(
        "\"{}\" is not a data set: there is no such file; use synthetic, fashion-mnist, or "
        "FILE[:KEY=VALUE,...]; `sotto data formats` lists the formats",
        source.path));
  }

  SharedDataset Part(const std::string& name, DataSource source, const char* part) const {
    if (IsDataFolder(source.path)) source.options.emplace("part", part);
    if (name == kFashionMnist) source.name = name;
    return ReadDataset(source, model);
  }
};

std::string Describe(const SampleInfo& info) {
  std::string text =
      fmt::format("{} x {} x {}", info.shape.height, info.shape.width, info.shape.channels);
  if (info.tokens > 0) text += fmt::format(", {} tokens", info.tokens);
  if (info.classes > 0) text += fmt::format(", {} classes", info.classes);
  if (info.targets > 0) text += fmt::format(", {} targets", info.targets);
  return text;
}

void RequireSame(const TrainTest& data) {
  const SampleInfo& train = data.train->info();
  const SampleInfo& test = data.test->info();
  if (train.shape == test.shape && train.tokens == test.tokens && train.classes == test.classes &&
      train.targets == test.targets) {
    return;
  }
  throw std::runtime_error(
      fmt::format("training samples of {} are {}, but test samples of {} are {}; expected the "
                  "same: take both from the same release, with the same options",
                  data.train->name(), Describe(train), data.test->name(), Describe(test)));
}

// A figure of accuracy would not tell labels from 1 from labels of which the first is not there.
void RequireZero(const std::string& test, const Dataset& data, const ModelInfo* model) {
  if (model == nullptr || !data.info().may_count_from_1) return;
  std::vector<std::string> labels;
  for (uint32_t i = 1; i <= data.info().classes; ++i) labels.push_back(std::to_string(i));
  throw std::invalid_argument(
      fmt::format("{}: no label is 0, so they may count from 1; if they count from 0, say "
                  "classes={} behind the "
                  "file's name, and if from 1 classes={}; or name the classes in the model file",
                  test, data.info().classes, JoinList(labels)));
}

}  // namespace

TrainTest OpenTrainTest(const std::string& data, const std::string& test, const ModelInfo* model,
                        const std::string& fashion_mnist_folder) {
  const Opener opener = {model, fashion_mnist_folder};
  const std::optional<double> share = posix::ParseReal(test);
  if (share && !(*share > 0 && *share < 1)) {
    throw std::invalid_argument(
        fmt::format("--test {}: expected a share between 0 and 1, or a data set", test));
  }
  TrainTest opened;
  bool has_parts = data == kSynthetic;
  if (data == kSynthetic) {
    opened = SyntheticFor(model, 0);
  } else {
    DataSource source = opener.Source(data);
    source.is_of_all_devices = true;
    has_parts = IsDataFolder(source.path);
    opened.train = opener.Part(data, source, "train");
    if (has_parts && test.empty()) opened.test = opener.Part(data, source, "test");
  }
  if (share || (test.empty() && !has_parts)) {
    return SplitOff(opened.train, share.value_or(kTestShare));
  }
  if (test == kSynthetic) {
    opened.test = SyntheticFor(model, 0).test;
  } else if (!test.empty()) {
    DataSource source = opener.Source(test);
    FollowTraining(opened.train->info(), &source);
    opened.test = opener.Part(test, source, "test");
  }
  RequireSame(opened);
  return opened;
}

SharedDataset OpenTest(const std::string& test, const ModelInfo* model, const SampleInfo* train,
                       LabelUse labels) {
  if (test == kSynthetic) return SyntheticFor(model, 0).test;
  const Opener opener = {model, kFashionMnistFolder};
  DataSource source = opener.Source(test);
  source.is_of_all_devices = labels == LabelUse::kTraining;
  source.ignores_labels = labels == LabelUse::kNobody;
  if (train != nullptr) FollowTraining(*train, &source);
  SharedDataset data = opener.Part(test, source, "test");
  if (labels == LabelUse::kTest && train == nullptr) RequireZero(test, *data, model);
  return data;
}

void FollowTraining(const SampleInfo& train, DataSource* source) {
  source->like = train.columns;
  if (train.class_names.empty()) return;
  const std::string classes =
      train.classes_option.empty() ? JoinList(train.class_names) : train.classes_option;
  const bool is_new = source->options.emplace("classes", classes).second;
  source->are_classes_sorted = is_new && train.are_classes_sorted;
  source->counts_from_0 = is_new && train.counts_from_0;
}

TrainTest OpenForFleet(const std::string& data, const std::string& test, const ModelInfo* model,
                       uint64_t samples) {
  const bool is_made = data == kSynthetic && (test.empty() || test == kSynthetic);
  return is_made ? SyntheticFor(model, samples) : OpenTrainTest(data, test, model);
}

std::string NotesText(const std::vector<SharedDataset>& data) {
  std::string text;
  std::set<std::string> told;
  for (const SharedDataset& set : data) {
    if (set == nullptr) continue;
    for (const std::string& note : set->info().notes) {
      if (told.insert(note).second) text += fmt::format("note: {}\n", posix::Printable(note));
    }
  }
  return text;
}

}  // namespace sotto::server
