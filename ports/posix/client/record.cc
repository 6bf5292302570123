#include "record.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "ending.h"
#include "events.h"
#include "sample_file.h"
#include "sotto/model/model_file.h"
#include "sotto/options/numbers.h"
#include "sotto/posix/check.h"
#include "sotto/posix/files.h"
#include "sotto/sample_log.h"

namespace sotto::posix {
namespace {

constexpr size_t kMostLine = 65536;
constexpr uint32_t kDefaultCapacity = 1000;
constexpr uint64_t kMostWindows = 1'000'000;

SampleFileInfo InfoOf(const RecordOptions& options) {
  if (!options.axes || !options.window) {
    throw std::invalid_argument(
        "--record: a new file needs --axes, the numbers of a reading, and --window, the readings "
        "of "
        "a sample");
  }
  SampleFileInfo info;
  info.axes = *options.axes;
  info.window = *options.window;
  info.hop = options.hop.value_or((info.window + 1) / 2);
  info.element = SampleElementOf(options.element.value_or(NameOf(info.element)));
  info.scale = options.scale.value_or(info.scale);
  SetCapacity(options.capacity.value_or(kDefaultCapacity), &info);
  return info;
}

// What was given must be what the file has.
void RequireSame(const std::string& path, const RecordOptions& o, const SampleFileInfo& info) {
  const auto require = [&](bool is_same, const char* option, const auto& value) {
    if (is_same) return;
    throw std::invalid_argument(
        fmt::format("--{}: {} was begun with {}; leave the option out, or name another file with "
                    "--sample-log",
                    option, path, value));
  };
  require(!o.axes || *o.axes == info.axes, "axes", info.axes);
  require(!o.window || *o.window == info.window, "window", info.window);
  require(!o.hop || *o.hop == info.hop, "hop", info.hop);
  require(!o.element || *o.element == NameOf(info.element), "element", NameOf(info.element));
  require(!o.scale || *o.scale == info.scale, "scale", info.scale);
  if (!o.capacity) return;
  SampleFileInfo other = info;
  SetCapacity(*o.capacity, &other);
  require(other.page_size == info.page_size && other.pages == info.pages, "capacity",
          (info.pages - 1) * info.LogConfig().SlotsOf(info.page_size));
}

void RequireFile(const ClientOptions& options) {
  if (access(options.sample_log.c_str(), F_OK) == 0) return;
  MakeSampleFile(options.sample_log, InfoOf(options.record));
}

// Where there is nothing on one side of a comma, the word is empty.
std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  bool is_due = true;  // before the first word, and behind a comma
  for (size_t at = line.find_first_not_of(" \t\r"); at < line.size();
       at = line.find_first_not_of(" \t\r", at)) {
    const size_t end = std::min(line.find_first_of(" \t\r,", at), line.size());
    const bool is_comma = end == at;
    if (!is_comma || is_due) words.push_back(line.substr(at, end - at));
    is_due = is_comma;
    at = is_comma ? end + 1 : end;
  }
  if (is_due && !words.empty()) words.push_back({});
  return words;
}

// Reads a line without its end. False at the end of the input. What is beyond kMostLine is dropped,
// and the line is then too long.
bool ReadLine(std::istream& in, std::string* line) {
  line->clear();
  int next = in.get();
  if (next == std::istream::traits_type::eof()) return false;
  for (; next != '\n' && next != std::istream::traits_type::eof(); next = in.get()) {
    if (line->size() <= kMostLine) line->push_back(static_cast<char>(next));
  }
  return true;
}

class Recorder {
 public:
  Recorder(const ClientOptions& options, std::ostream& windows, EventLog& log)
      : file_(options.sample_log),
        log_(file_.memory(), file_.info().LogConfig()),
        window_(log_.config().SampleBytes()),
        windower_(&log_, file_.info().axes, file_.info().hop, {window_.data(), window_.size()}),
        model_(options.model.empty() ? nullptr : OpenModel(options.model)),
        out_(windows),
        events_(log) {
    RequireSame(options.sample_log, options.record, file_.info());
    const uint32_t numbers = file_.info().window * file_.info().axes;
    if (model_ != nullptr && model_->inputs != numbers) {
      throw std::invalid_argument(
          fmt::format("--model {}: it takes {} numbers, and a window has {}", model_->name,
                      model_->inputs, numbers));
    }
    const Status status = log_.Open();
    if (status == Status::kStoreFailed) file_.Fail();
    if (status != Status::kOk) {
      throw FileError(options.sample_log +
                      ": it is damaged: its pages are of another log; remove it and record anew");
    }
    events_.Write(event::kRecording, {{"window", uint64_t{file_.info().window}},
                                      {"axes", uint64_t{file_.info().axes}},
                                      {"file", options.sample_log},
                                      {"next", uint64_t{log_.end()}}});
  }

  int Run(std::istream& in) {
    std::string line;
    uint64_t number = 0;
    uint64_t bad = 0;
    while (ReadLine(in, &line)) {
      ++number;
      try {
        Take(line);
      } catch (const std::invalid_argument& error) {
        ++bad;
        events_.Write(event::kBadLine, {{"line", number}, {"reason", error.what()}});
      }
    }
    events_.Write(event::kRecorded, {{"windows", windows_}, {"bad_lines", bad}});
    return number > 0 && bad == number ? kExitUsage : 0;
  }

 private:
  void Take(const std::string& line) {
    if (line.size() > kMostLine) DropWindow("it is longer than 64 KB");
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty() || words[0].substr(0, 1) == "#") return;
    if (words[0] == "label") return TakeLabel(words);
    if (words[0] == "label-window") return TakeLateLabel(words);
    if (words[0] == "pause" && words.size() == 1) return windower_.Restart();
    try {
      TakeReading(words);
    } catch (const std::invalid_argument& error) {
      DropWindow(error.what());
    }
  }

  [[noreturn]] void DropWindow(std::string_view why) {
    windower_.Restart();
    throw std::invalid_argument(fmt::format("{}; the window under way goes with it", why));
  }

  void TakeReading(const std::vector<std::string_view>& words) {
    const uint32_t axes = file_.info().axes;
    if (words.size() != axes) {
      throw std::invalid_argument(fmt::format(
          "it has {} words; expected a reading of {} numbers, `label CLASS COUNT`, "
          "`label-window N CLASS` or `pause`{}",
          words.size(), axes, words.size() == 2 * axes ? "; decimals begin with a point" : ""));
    }
    std::vector<float> reading;
    for (size_t i = 0; i < words.size(); ++i) reading.push_back(NumberOf(words[i], i));
    const uint32_t before = log_.end();
    const Status status = windower_.Push({reading.data(), reading.size()});
    if (status == Status::kStoreFailed) file_.Fail();
    if (status == Status::kNotFinite) {
      throw std::invalid_argument("its numbers must be finite; nan only in a file of float32");
    }
    Check(status, "a window");
    if (log_.end() != before) TellWindow(log_.end() - 1);
  }

  // The log must not contain readings, so the message names the word by its place.
  static float NumberOf(std::string_view word, size_t index) {
    if (word == "nan" || word == "NaN") return std::numeric_limits<float>::quiet_NaN();
    const std::optional<double> number = ParseReal(word);
    if (!number) {
      throw std::invalid_argument(
          fmt::format("word {} is {}", index + 1, word.empty() ? "empty" : "no number"));
    }
    return static_cast<float>(*number);
  }

  void TellWindow(uint32_t sequence) {
    file_.Sync();
    ++windows_;
    uint32_t label = kUnlabelled;
    Check(log_.Read(sequence, {window_read_.data(), window_read_.size()}, &label), "a window");
    out_ << "window " << sequence;
    if (label != kUnlabelled) out_ << " class " << label;
    out_ << std::endl;  // the reader of a pipe gets it now
  }

  void TakeLabel(const std::vector<std::string_view>& words) {
    const std::optional<uint64_t> count =
        words.size() == 3 ? ParseCount(words[2]) : std::optional<uint64_t>();
    if (!count || *count > kMostWindows) {
      throw std::invalid_argument(
          "expected `label CLASS COUNT`, COUNT windows, a whole number up to 1000000");
    }
    log_.LabelNext(ClassOf(words[1]), static_cast<uint32_t>(*count));
    windower_.Restart();
  }

  void TakeLateLabel(const std::vector<std::string_view>& words) {
    const std::optional<uint64_t> window =
        words.size() == 3 ? ParseCount(words[1]) : std::optional<uint64_t>();
    if (!window || *window > UINT32_MAX) {
      throw std::invalid_argument("expected `label-window N CLASS`, N as in the line `window N`");
    }
    const uint32_t label = ClassOf(words[2]);
    switch (log_.Label(static_cast<uint32_t>(*window), label)) {
      case Status::kOk:
        file_.Sync();
        out_ << "window " << *window << " class " << label << std::endl;
        return;
      case Status::kWrongState:
        throw std::invalid_argument(fmt::format("window {} has a label already", *window));
      case Status::kOutOfRange:
        throw std::invalid_argument(
            fmt::format("there is no window {}: it is overwritten, or not there yet", *window));
      default:
        file_.Fail();
    }
  }

  // A number below the model's classes, or below kUnlabelled without a model; or a name.
  uint32_t ClassOf(std::string_view word) const {
    const uint32_t classes = model_ == nullptr ? kUnlabelled : model_->classes;
    const std::optional<uint64_t> number = ParseCount(word);
    if (number && *number < classes) return static_cast<uint32_t>(*number);
    for (uint32_t i = 0; model_ != nullptr && i < model_->class_names.size(); ++i) {
      if (word == model_->class_names[i]) return i;
    }
    throw std::invalid_argument(
        model_ == nullptr
            ? fmt::format("`{}` is no number of a class; names need the model, --model FILE", word)
            : fmt::format("`{}` is no class of model {}, which has {}", word, model_->name,
                          model_->classes));
  }

  SampleFile file_;
  SampleLog log_;
  std::vector<uint8_t> window_;
  std::vector<uint8_t> window_read_ = std::vector<uint8_t>(window_.size());
  Windower windower_;
  const SharedModel model_;  // null: classes are numbers
  std::ostream& out_;
  EventLog& events_;
  uint64_t windows_ = 0;
};

}  // namespace

int RecordSamples(const ClientOptions& options, std::istream& lines, std::ostream& windows,
                  EventLog& log) {
  RequireFile(options);
  return Recorder(options, windows, log).Run(lines);
}

}  // namespace sotto::posix
