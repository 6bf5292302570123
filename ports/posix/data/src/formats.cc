#include "formats.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <unistd.h>

#include "folders.h"
#include "sotto/model_info.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/files.h"
#include "values.h"

namespace sotto {
namespace {

using Reader = SharedDataset (*)(const ReadRequest&);

// What needs a library that was not there when this program was built has no reader.
#if defined(SOTTO_HAS_CSV)
constexpr Reader kReadCsv = ReadCsv;
#else
constexpr Reader kReadCsv = nullptr;
#endif
#if defined(SOTTO_HAS_NPZ)
constexpr Reader kReadNpz = ReadNpz;
#else
constexpr Reader kReadNpz = nullptr;
#endif
#if defined(SOTTO_HAS_CSV) && defined(SOTTO_HAS_JSON)
constexpr Reader kReadJsonl = ReadJsonl;
#else
constexpr Reader kReadJsonl = nullptr;
#endif
#if defined(SOTTO_HAS_JSON)
constexpr Reader kReadLeaf = ReadLeaf;
#else
constexpr Reader kReadLeaf = nullptr;
#endif
#if defined(SOTTO_HAS_CSV) && defined(SOTTO_HAS_SNDFILE)
constexpr Reader kReadSound = ReadSound;
#else
constexpr Reader kReadSound = nullptr;
#endif
// Programs that link it have it, see mat_files.h.
constexpr Reader kReadSvhn = nullptr;

#if defined(SOTTO_HAS_CSV)
constexpr char kJsonl[] = "nlohmann-json3";
constexpr char kSound[] = "libsndfile1";
#else
constexpr char kJsonl[] = "libcsv";  // its lines are a table's rows
constexpr char kSound[] = "libcsv";  // which also reads its list
#endif

constexpr FormatOption kClasses = {
    "classes", "the classes, in order, for example `walk,run`; or how many there are"};

std::vector<Format> AllFormats() {
  return {
      {"csv",
       {".csv", ".tsv"},
       "rows of numbers, a row a sample or a time step; RFC 4180",
       "har.csv:label=activity,group=user",
       {{"separator",
         "`comma`, `semicolon`, `tab`, `space`, `bar` or a character; else of .tsv `tab`, and the "
         "one of comma, semicolon, tab and bar that the first line has most often"},
        {"header",
         "`yes`, `no` or `auto`: the first row has names if none of its fields is a number or an "
         "option names one of them"},
        {"label", "the column of the label, `none` without; else `label`, `class` or the last one"},
        {"targets",
         "columns of a regression's target; else the last ones, as many as the model has "
         "outputs"},
        {"group", "the column that says whose sample it is: a user, a sensor"},
        {"features",
         "the columns to take; else all others. A column is a name, a number from 1, or a range "
         "3-10"},
        {"drop", "columns to leave out"},
        {"onehot",
         "columns of texts: a column becomes one feature for each of its texts, 1 for the row's "
         "text, 0 for the others"},
        {"categories",
         "the CSV file whose columns of the same names hold all texts of `onehot`; else FILE "
         "itself"},
        {"missing",
         "texts that stand for a missing value, besides an empty field, `?`, `NA`, `N/A`, `NaN`, "
         "`NaT`, `None` and `null`"},
        {"window",
         "rows of a window: a sample is this many rows, which never cross a change of label or "
         "group"},
        {"stride", "rows from one window to the next; else as many as `window`"},
        kClasses},
       kReadCsv,
       "libcsv"},
      {"jsonl",
       {".jsonl", ".ndjson"},
       "JSON lines: an object a line, a sample or a time step; below its keys numbers, texts, "
       "arrays of numbers",
       "har.jsonl:label=activity,group=user",
       {{"label", "the key of the label, `none` without; else `label` or `class`"},
        {"targets", "keys of a regression's target"},
        {"group", "the key that says whose sample it is: a user, a sensor"},
        {"features",
         "the keys to take; else all others. A key of an array stands for all its numbers, "
         "`KEY[0]` for one, `KEY.KEY` for a key of an object"},
        {"drop", "keys to leave out"},
        {"onehot",
         "keys of texts: a key becomes one feature for each of its texts, 1 for the line's text, 0 "
         "for the others"},
        {"categories",
         "the CSV file whose columns of the same names hold all texts of `onehot`; else FILE "
         "itself"},
        {"missing",
         "texts that stand for a missing value, besides `null`, a key that a line lacks, and "
         "CSV's"},
        {"window",
         "lines of a window: a sample is this many lines, which never cross a change of label or "
         "group"},
        {"stride", "lines from one window to the next; else as many as `window`"},
        kClasses},
       kReadJsonl,
       kJsonl},
      {"npz",
       {".npz"},
       "arrays of NumPy in one file: float16 to float64, integers, bool; texts as labels",
       "windows.npz:x=windows,y=activity",
       {{"x", "the array of the samples; else `x`, `X`, `data`, `features`, `x_train` or `arr_0`"},
        {"y",
         "the array of the labels or targets; else `y`, `Y`, `labels`, `label`, `targets`, "
         "`target`, `y_train` or `arr_1`"},
        {"group", "the array that says whose sample it is"},
        kClasses},
       kReadNpz,
       "libzip"},
      {"npy",
       {".npy"},
       "one array of NumPy",
       "x.npy:y=y.npy",
       {{"y", "the file of the labels or targets"},
        {"group", "the file that says whose sample it is"},
        kClasses},
       ReadNpy,
       nullptr},
      {"libsvm",
       {".libsvm", ".svm", ".svmlight"},
       "sparse rows, `LABEL INDEX:VALUE ...`; `qid:` is the group",
       "a9a.libsvm",
       {{"inputs", "features of a sample; else the model's, or the largest index of the file"},
        {"base", "the first feature's index, `0` or `1`; else `1`"},
        kClasses},
       ReadLibsvm,
       nullptr},
      {"idx",
       {"-ubyte", ".idx"},
       "images of MNIST and its successors, with a second file of labels",
       "train-images-idx3-ubyte.gz:labels=train-labels-idx1-ubyte.gz",
       {{"labels",
         "the file of the labels; else the one beside it that has `labels-idx1` for "
         "`images-idx3` in its name"},
        {"part", "of a folder: `train` or `test`; else `train`"},
        kClasses},
       ReadIdx,
       nullptr,
       {"train-images-idx3-ubyte"},
       {"t10k-images-idx3-ubyte"}},
      {"cifar10",
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
        "data_batch_5.bin", "test_batch.bin"},
       "the binary version of CIFAR-10: images of 32 x 32 x 3",
       "cifar-10-batches-bin",
       {{"part", "of a folder: `train` or `test`; else `train`"}, kClasses},
       ReadCifar10,
       nullptr,
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
        "data_batch_5.bin"},
       {"test_batch.bin"}},
      {"cifar100",
       {"train.bin", "test.bin"},
       "the binary version of CIFAR-100",
       "cifar-100-binary:labels=coarse",
       {{"labels", "`fine`, 100 classes, or `coarse`, 20; else `fine`"},
        {"part", "of a folder: `train` or `test`; else `train`"},
        kClasses},
       ReadCifar100,
       nullptr,
       {"train.bin"},
       {"test.bin"}},
      {"svhn",
       {".mat"},
       "the cropped digits of SVHN, MATLAB 5: images of 32 x 32 x 3; the label 10 is the digit 0",
       "train_32x32.mat",
       {{"x", "the variable of the images; else `X`"},
        {"y", "the variable of the labels; else `y`"},
        {"part", "of a folder: `train` or `test`; else `train`"}},
       kReadSvhn,
       "libmatio",
       {"train_32x32.mat"},
       {"test_32x32.mat"}},
      {"text",
       {".txt"},
       "plays: a line `NAME:` behind an empty line, then what NAME says. A sample is a window of "
       "characters, its label the next one, its group the speaker",
       "tinyshakespeare.txt:stride=20",
       {{"length", "characters of a window; else the model's inputs, or 80"},
        {"stride", "characters from one window to the next; else as many as `length`"},
        {"alphabet",
         "the characters of the tokens 0, 1, ...; else by the model's tokens: from 96 on line end "
         "and ASCII, from 80 on the alphabet of LEAF, and without a model the characters of the "
         "file"}},
       ReadText,
       nullptr},
      {"sound",
       SoundEndings(),
       "recordings, FOLDER/CLASS/FILE or FOLDER/CLASS/GROUP/FILE, or one file: WAV, FLAC and what "
       "else libsndfile reads. A sample is a window of values from -1 to 1",
       "commands:rate=16000,drop=noise",
       {{"rate", "values a second; else as many as the first recording has"},
        {"window", "values of a window; else the model's inputs, or a second's"},
        {"stride", "values from one window to the next; else as many as `window`"},
        {"folders",
         "meaning of the folders, from the outer to the inner: `label`, `group` or `-`; else "
         "`label,group`, and the inner folder is optional"},
        {"group",
         "`prefix`: the name of a file up to its first `_` says whose recording it is; else "
         "`folder`"},
        {"list",
         "a CSV file with the columns `file`, `label` and `group`, or without the latter; in place "
         "of "
         "the folders. `file` is a path in FOLDER"},
        {"label", "the class of all recordings, for example of one file"},
        {"drop", "folders and files to leave out, by their names"},
        kClasses},
       kReadSound,
       kSound,
       {},
       {},
       SoundFilesIn},
      {"leaf",
       {".json"},
       "LEAF's JSON, a file or a folder of such files: `x` and `y` of each user, numbers, arrays "
       "of numbers, or texts of characters; a user is a group",
       "femnist/data/train",
       {{"alphabet",
         "of texts, the characters of the tokens 0, 1, ...; else as for `text`, without a model "
         "LEAF's"},
        kClasses},
       kReadLeaf,
       "nlohmann-json3",
       {},
       {},
       JsonFilesIn},
  };
}

constexpr uint64_t kMaxFeatures = 1U << 24;

// At least 64 MB: a machine that does not say how much it has still reads small files.
uint64_t HalfOfMemory() {
  constexpr uint64_t kLeast = uint64_t{1} << 26;
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long size = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return uint64_t{1} << 30;
  return std::max(kLeast, static_cast<uint64_t>(pages) / 2 * static_cast<uint64_t>(size));
}

std::string ShapeText(const nn::Shape& shape) {
  if (shape.height == 1 && shape.width == 1) return std::to_string(shape.channels);
  if (shape.height == 1) return fmt::format("{} x {}", shape.width, shape.channels);
  return fmt::format("{} x {} x {}", shape.height, shape.width, shape.channels);
}

// Axes that are not 1.
std::vector<uint32_t> Essential(std::vector<uint32_t> axes) {
  axes.erase(std::remove(axes.begin(), axes.end(), 1U), axes.end());
  return axes;
}

// Numbers in another order of axes would be taken for each other: 3 x 128 for 128 x 3.
bool HaveOneOrder(const std::vector<uint32_t>& axes, const nn::Shape& shape) {
  const std::vector<uint32_t> ours = Essential(axes);
  const std::vector<uint32_t> theirs = Essential({shape.height, shape.width, shape.channels});
  return ours.size() <= 1 || theirs.size() <= 1 || ours == theirs;
}

void RequireTargets(const ReadRequest& request, const SampleInfo& info) {
  if (request.model == nullptr) return;
  const ModelInfo& model = *request.model;
  if (model.classes != 0 && info.classes != model.classes) {
    throw std::invalid_argument(
        fmt::format("{}: model {} tells {} classes apart, but the samples have {}", request.path(),
                    model.name, model.classes,
                    info.classes == 0 ? std::string("no labels; name them with y= or label=")
                                      : std::to_string(info.classes)));
  }
  if (request.targets() != 0 && info.targets != request.targets()) {
    throw std::invalid_argument(
        fmt::format("{}: model {} has {} outputs, expected a target of as many numbers, but the "
                    "samples have {}",
                    request.path(), model.name, request.targets(), info.targets));
  }
}

void RequireTokens(const ReadRequest& request, const SampleInfo& info,
                   const StoredSamples& samples) {
  if (info.tokens == 0) return;
  const auto foreign = [&](uint8_t byte) { return byte >= info.tokens; };
  const auto at = std::find_if(samples.bytes.begin(), samples.bytes.end(), foreign);
  if (at == samples.bytes.end()) return;
  throw posix::FileError(fmt::format("{}: it has the token {}, expected 0 to {}", request.path(),
                                     *at, info.tokens - 1));
}

// Code that counts by class relies on it.
void RequireLabels(const ReadRequest& request, const SampleInfo& info,
                   const StoredSamples& samples) {
  for (size_t i = 0; i < samples.labels.size(); ++i) {
    if (samples.labels[i] < info.classes) continue;
    throw posix::FileError(fmt::format("{}: sample {} has the label {}, expected 0 to {}",
                                       request.path(), i, samples.labels[i], info.classes - 1));
  }
}

// classes= may say how a file writes the classes of the model, but not give its names another
// order.
void RequireModelsOrder(const ReadRequest& request, const std::vector<std::string>& names) {
  const Span<const char* const> ours = request.model->class_names;
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t k = 0; k < ours.size(); ++k) {
      if (i == k || Trimmed(names[i]) != ours[k]) continue;
      throw std::invalid_argument(fmt::format(
          "{}: classes=: {} is class {} here and class {} of model {}; leave the option "
          "out, the model names its classes",
          request.path(), ours[k], i, k, request.model->name));
    }
  }
}

// Whatever words the file has for them, classes have the model's names.
void NameClasses(const ReadRequest& request, SampleInfo* info) {
  if (request.model == nullptr || !request.Has("classes")) return;
  const Span<const char* const> names = request.model->class_names;
  if (names.empty() || names.size() != info->classes) return;
  info->classes_option = request.source.options.at("classes");
  info->class_names.assign(names.begin(), names.end());
}

std::vector<Format>& Table() {
  static std::vector<Format> table = AllFormats();
  return table;
}

}  // namespace

const std::vector<Format>& Formats() { return Table(); }

void SetReader(const char* name, SharedDataset (*read)(const ReadRequest& request)) {
  for (Format& format : Table()) {
    if (std::string(format.name) == name) format.read = read;
  }
}

std::string ReadRequest::Text(const char* key, const std::string& fallback) const {
  // A text is a list of one: a comma in it may have a backslash or not.
  return Has(key) ? fmt::format("{}", fmt::join(SplitList(source.options.at(key)), ",")) : fallback;
}

std::vector<std::string> ReadRequest::List(const char* key) const {
  return Has(key) ? SplitList(source.options.at(key)) : std::vector<std::string>();
}

uint32_t ReadRequest::Count(const char* key, uint32_t fallback, uint32_t least,
                            uint32_t most) const {
  if (!Has(key)) return fallback;
  const std::string text = Text(key);
  const std::optional<uint64_t> number = posix::ParseCount(text);
  if (number && *number >= least && *number <= most) return static_cast<uint32_t>(*number);
  throw std::invalid_argument(fmt::format("{}: {}={}: expected a whole number from {} to {}",
                                          source.path, key, text, least, most));
}

uint32_t ReadRequest::targets() const {
  const bool is_vector = model != nullptr && model->loss.target == nn::TargetKind::kVector;
  return is_vector ? model->outputs : 0;
}

std::string ReadRequest::ClassesOption() const {
  if (Has("classes")) {
    if (model != nullptr) RequireModelsOrder(*this, List("classes"));
    return source.options.at("classes");
  }
  if (model == nullptr) return "";
  return JoinList({model->class_names.begin(), model->class_names.end()});
}

Labels ReadRequest::MakeLabels() const {
  Labels labels(ClassesOption(), classes(), !source.are_classes_sorted);
  labels.CountFrom0(source.counts_from_0);
  if (source.is_of_all_devices) labels.AllowSorted();
  if (source.ignores_labels) labels.Ignore();
  return labels;
}

nn::Shape ShapeOfAxes(const std::vector<uint32_t>& axes) {
  if (axes.size() == 1) return nn::ShapeOf(axes[0]);
  if (axes.size() == 2) return nn::ShapeOf(axes[0], axes[1]);
  return nn::ShapeOf(axes[0], axes[1], axes[2]);
}

SampleInfo InfoFor(const ReadRequest& request, const std::vector<uint32_t>& axes) {
  uint64_t size = 1;
  for (const uint32_t axis : axes) size = std::min<uint64_t>(size * axis, kMaxFeatures + 1);
  const std::string text = fmt::format("{}", fmt::join(axes, " x "));
  if (axes.size() > 3 || size > kMaxFeatures) {
    throw std::invalid_argument(
        fmt::format("{}: a sample is {} numbers, expected at most three axes and {} numbers",
                    request.path(), text, kMaxFeatures));
  }
  SampleInfo info;
  info.shape = ShapeOfAxes(axes);
  if (request.model == nullptr) return info;
  const ModelInfo& model = *request.model;
  const nn::Shape wanted = model.SampleShape();
  if (size != model.inputs) {
    throw std::invalid_argument(
        fmt::format("model {} takes {} inputs ({}), but {} has {} ({}); name a model that takes as "
                    "many: --model FILE.toml, input = [{}]",
                    model.name, model.inputs, ShapeText(wanted), request.path(), size, text,
                    fmt::join(axes, ", ")));
  }
  if (!HaveOneOrder(axes, wanted)) {
    throw std::invalid_argument(
        fmt::format("model {} takes samples of {}, but the samples of {} are {}: write them with "
                    "the axes in the model's order",
                    model.name, ShapeText(wanted), request.path(), text));
  }
  info.shape = wanted;
  info.tokens = request.tokens();
  return info;
}

void RequireRoom(const ReadRequest& request, const StoredSamples& samples, size_t more) {
  static const uint64_t machine = HalfOfMemory();
  const uint64_t limit = request.source.memory_limit > 0 ? request.source.memory_limit : machine;
  const uint64_t taken =
      uint64_t{more} + samples.bytes.capacity() + samples.numbers.capacity() * sizeof(float) +
      samples.starts.capacity() * sizeof(size_t) + samples.labels.capacity() * sizeof(uint32_t) +
      samples.groups.capacity() * sizeof(uint32_t) + samples.targets.capacity() * sizeof(float);
  if (taken <= limit) return;
  throw posix::FileError(fmt::format(
      "{}: its samples take more than {} of memory, {}; keep some of them "
      "(sotto-client: --samples FIRST:COUNT), or fewer features of each",
      request.path(),
      limit >> 20 > 0 ? fmt::format("{} MB", limit >> 20) : fmt::format("{} bytes", limit),
      request.source.memory_limit > 0 ? "the limit" : "half of what this machine has"));
}

SharedDataset Build(const ReadRequest& request, SampleInfo info, StoredSamples samples,
                    size_t seen) {
  if (seen == 0) {
    throw posix::FileError(
        fmt::format("{}: it holds no samples; expected one or more", request.path()));
  }
  RequireTargets(request, info);
  RequireTokens(request, info, samples);
  if (info.classes > 0) RequireLabels(request, info, samples);
  NameClasses(request, &info);
  if (request.model != nullptr && !request.model->feature_names.empty() &&
      info.columns.all.empty()) {
    info.notes.push_back(
        fmt::format("{}: its features have no names, and count in the order of model {}",
                    request.path(), request.model->name));
  }
  samples.bytes.shrink_to_fit();
  samples.numbers.shrink_to_fit();
  const DataSource& source = request.source;
  return std::make_shared<StoredDataset>(source.name.empty() ? source.path : source.name,
                                         std::move(info), std::move(samples));
}

std::string FormatsTable() {
  std::string text = "| format | FILE ends in | what it is | example |\n|---|---|---|---|\n";
  for (const Format& format : Formats()) {
    std::string endings;
    for (const std::string& ending : format.endings) {
      endings += fmt::format("{}`{}`", endings.empty() ? "" : ", ", ending);
    }
    text += fmt::format("| `{}` | {} | {}{} | `{}` |\n", format.name, endings, format.what,
                        format.library == nullptr ? "" : fmt::format("; needs {}", format.library),
                        format.example);
  }
  text += "\n| format | option | what it says |\n|---|---|---|\n";
  for (const Format& format : Formats()) {
    for (const FormatOption& option : format.options) {
      text += fmt::format("| `{}` | `{}=` | {} |\n", format.name, option.key, option.help);
    }
  }
  return text;
}

}  // namespace sotto
