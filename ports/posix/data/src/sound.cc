// Reader of recordings: WAV, FLAC and what else libsndfile reads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <sndfile.h>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "csv_rows.h"
#include "folders.h"
#include "formats.h"
#include "named.h"
#include "sotto/posix/files.h"
#include "values.h"

namespace sotto {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMaxWindow = 1U << 24;
constexpr uint32_t kMaxRate = 10'000'000;
// The most values that a header may announce for each byte of its file: silence is small in FLAC.
constexpr uint64_t kMostForAByte = 4096;
constexpr sf_count_t kAtOnce = 4096;

// A file, and what its folders or the list say of it.
struct Recording {
  std::string path;
  std::optional<std::string> label;
  std::optional<std::string> group;
  std::string list = {};  // "LIST: line 3", or empty: the folders say it
};

posix::FileError Defect(const std::string& path, const std::string& what,
                        const std::string& advice) {
  return posix::FileError(fmt::format("{}: {}; {}", path, what, advice));
}

// ---- Which recordings

// What the folders around a recording say, from the outermost: folders=label,group.
class FolderRule {
 public:
  explicit FolderRule(const ReadRequest& request) : root_(request.source.path) {
    levels_ = request.Has("folders") ? request.List("folders")
                                     : std::vector<std::string>{"label", "group"};
    for (const std::string& level : levels_) {
      if (level == "label" || level == "group" || level == "-") continue;
      throw std::invalid_argument(
          fmt::format("{}: folders={}: expected label, group or - for each folder, from the outer "
                      "to the inner",
                      root_, fmt::join(levels_, ",")));
    }
    for (const char* level : {"label", "group"}) {
      if (std::count(levels_.begin(), levels_.end(), level) <= 1) continue;
      throw std::invalid_argument(
          fmt::format("{}: folders=: {} comes twice, expected once", root_, level));
    }
    is_default_ = !request.Has("folders");
  }

  Recording Of(const std::string& path) const {
    Recording recording = {path, std::nullopt, std::nullopt};
    std::vector<std::string> folders;
    for (const fs::path& part : fs::path(path).lexically_relative(root_).parent_path()) {
      folders.push_back(part.string());
    }
    if (folders.size() > levels_.size()) {
      throw Defect(path,
                   fmt::format("it lies {} folders deep, and {} have a meaning: {}", folders.size(),
                               levels_.size(), fmt::join(levels_, ", ")),
                   "say what each folder is, from the outer to the inner, for example "
                   "folders=label,group,-");
    }
    for (size_t i = 0; i < folders.size(); ++i) {
      if (levels_[i] == "label") recording.label = folders[i];
      if (levels_[i] == "group") recording.group = folders[i];
    }
    // Without a word of the owner a folder may not be there.
    if (folders.size() < levels_.size() && !is_default_) {
      throw Defect(path, fmt::format("it lies {} folders deep", folders.size()),
                   fmt::format("expected {}: {}", levels_.size(), fmt::join(levels_, ", ")));
    }
    return recording;
  }

 private:
  std::string root_;
  std::vector<std::string> levels_;
  bool is_default_ = true;
};

bool IsDropped(const std::string& path, const std::string& root,
               const std::vector<std::string>& dropped) {
  const fs::path inner = fs::path(path).lexically_relative(root);
  return std::any_of(inner.begin(), inner.end(), [&](const fs::path& part) {
    return std::find(dropped.begin(), dropped.end(), part.string()) != dropped.end();
  });
}

// The rows of list=: a CSV file with the columns file, label and group.
class ListFile {
 public:
  explicit ListFile(const ReadRequest& request)
      : request_(request), path_(request.Text("list")), rows_(path_, SeparatorOf(request, path_)) {}

  std::vector<Recording> Read() {
    CsvRow row;
    if (!rows_.Next(&row)) throw Refusal("it has no rows");
    std::vector<std::string> names;
    for (size_t i = 0; i < row.size(); ++i) names.emplace_back(Trimmed(row[i]));
    const Named header(std::move(names), "column");
    const std::optional<size_t> file = Find(header, {"file", "path"});
    const std::optional<size_t> label = Find(header, {"label", "class"});
    const std::optional<size_t> group = Find(header, {"group", "device", "speaker"});
    if (!file) throw Refusal("no column is named file; " + header.List());
    std::vector<Recording> all;
    while (rows_.Next(&row)) {
      if (row.size() != header.names().size()) {
        throw rows_.Defect("", fmt::format("{} columns", row.size()),
                           fmt::format("expected {}, as in the first row", header.names().size()));
      }
      all.push_back({(fs::path(request_.source.path) / row[*file]).string(), Value(row, label),
                     Value(row, group), fmt::format("{}: line {}", path_, rows_.line())});
      std::error_code ignored;
      if (fs::is_regular_file(all.back().path, ignored)) continue;
      throw rows_.Defect("", fmt::format("{} is no file", Quoted(row[*file])),
                         "names are relative to the folder of --data; correct the name, or delete "
                         "the row");
    }
    return all;
  }

 private:
  static std::optional<size_t> Find(const Named& header, const std::vector<const char*>& names) {
    for (const char* name : names) {
      if (const std::optional<size_t> place = header.Find(name)) return place;
    }
    return std::nullopt;
  }
  static std::optional<std::string> Value(const CsvRow& row, std::optional<size_t> column) {
    return column ? std::optional<std::string>(row[*column]) : std::nullopt;
  }
  std::invalid_argument Refusal(const std::string& why) const {
    return std::invalid_argument(fmt::format(
        "{}: list=: {}; expected a CSV file whose first row is file,label,group", path_, why));
  }

  const ReadRequest& request_;
  std::string path_;
  RowFile rows_;
};

// What the name of a file has before its first _.
std::string PrefixOf(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const size_t end = name.find('_');
  if (end != name.npos && end > 0) return name.substr(0, end);
  throw Defect(path, "its name has no _ behind the group, as group=prefix says",
               "expected GROUP_REST.wav; rename it, or name the groups with list=");
}

std::vector<Recording> RecordingsOf(const ReadRequest& request) {
  const std::string& root = request.source.path;
  const std::vector<std::string> dropped = request.List("drop");
  std::vector<Recording> all;
  std::error_code ignored;
  if (request.Has("list")) {
    if (request.Has("folders")) {
      throw std::invalid_argument(root + ": list= says what folders= would; leave one out");
    }
    all = ListFile(request).Read();
  } else if (fs::is_directory(root, ignored)) {
    const FolderRule rule(request);
    for (const std::string& path : request.files) {
      if (!IsDropped(path, root, dropped)) all.push_back(rule.Of(path));
    }
  } else {
    all.push_back({root, std::nullopt, std::nullopt});
  }
  if (all.empty()) {
    throw Defect(request.Text("list", root), "it names no recordings",
                 "expected one or more, which drop= leaves in");
  }
  if (request.Has("label")) {
    for (Recording& recording : all) recording.label = request.Text("label");
  }
  const std::string rule = request.Text("group", "folder");
  if (rule != "folder" && rule != "prefix") {
    throw std::invalid_argument(fmt::format("{}: group={}: expected prefix or folder", root, rule));
  }
  for (Recording& recording : all) {
    if (rule == "prefix") recording.group = PrefixOf(recording.path);
  }
  return all;
}

// ---- One recording

struct CloseSound {
  void operator()(SNDFILE* file) const { sf_close(file); }
};

// The values of a recording, one behind the other, the mean of its channels.
class Sound {
 public:
  explicit Sound(const std::string& path) : path_(path) {
    posix::RequireRegularFile(path);
    file_.reset(sf_open(path.c_str(), SFM_READ, &info_));
    if (file_ == nullptr) {
      throw Defect(path, fmt::format("it cannot be read as a recording: {}", sf_strerror(nullptr)),
                   "expected WAV, FLAC or what else libsndfile reads; if it is damaged, fetch it "
                   "again");
    }
    if (info_.frames <= 0) {
      throw Defect(path, "it holds no sound", "record it again, or take it out");
    }
    std::error_code ignored;
    const uint64_t bytes = fs::file_size(path, ignored);
    if (static_cast<uint64_t>(info_.frames) / kMostForAByte > bytes + kMostForAByte) {
      throw Defect(
          path, fmt::format("its header announces {} values, more than it can hold", info_.frames),
          "fetch it again");
    }
    block_.resize(static_cast<size_t>(kAtOnce) * channels());
  }

  uint32_t rate() const { return static_cast<uint32_t>(info_.samplerate); }
  uint64_t values() const { return static_cast<uint64_t>(info_.frames); }
  size_t channels() const { return static_cast<size_t>(info_.channels); }
  uint64_t position() const { return position_; }

  // Reads on; null: passes over the values.
  void Read(uint64_t count, std::vector<float>* out) {
    while (count > 0) {
      const auto wanted = static_cast<sf_count_t>(std::min<uint64_t>(count, kAtOnce));
      const sf_count_t got = sf_readf_float(file_.get(), block_.data(), wanted);
      if (got <= 0) {
        throw Defect(path_, fmt::format("it ends behind {} of {} values", position_, values()),
                     "if it is incomplete, fetch it again");
      }
      for (sf_count_t i = 0; i < got && out != nullptr; ++i) {
        out->push_back(Mean(block_.data() + static_cast<size_t>(i) * channels(),
                            position_ + static_cast<uint64_t>(i)));
      }
      position_ += static_cast<uint64_t>(got);
      count -= static_cast<uint64_t>(got);
    }
  }

 private:
  // Integers are below 1 already. What is lossy may go a little beyond, as before it was stored.
  float Mean(const float* frame, uint64_t at) const {
    double sum = 0;
    for (size_t channel = 0; channel < channels(); ++channel) sum += double{frame[channel]};
    const double mean = sum / static_cast<double>(channels());
    const int kind = info_.format & SF_FORMAT_SUBMASK;
    const bool is_float = kind == SF_FORMAT_FLOAT || kind == SF_FORMAT_DOUBLE;
    if (!std::isfinite(mean) || (is_float && std::fabs(mean) > 1)) {
      throw Defect(path_, fmt::format("value {} is {}", at, mean),
                   fmt::format("expected -1 to 1; scale it: sox --norm {} NEW.wav", path_));
    }
    return static_cast<float>(std::clamp(mean, -1.0, 1.0));
  }

  std::string path_;
  SF_INFO info_{};
  std::unique_ptr<SNDFILE, CloseSound> file_;
  std::vector<float> block_;
  uint64_t position_ = 0;
};

// ---- All of them

class SoundReader {
 public:
  explicit SoundReader(const ReadRequest& request)
      : request_(request),
        labels_(request.MakeLabels()),
        rate_(request.Count("rate", 0, 1, kMaxRate)) {}

  SharedDataset Read() {
    const std::vector<Recording> recordings = RecordingsOf(request_);
    RequireOneKind(recordings);
    for (const Recording& recording : recordings) Take(recording);
    if (has_labels_) labels_.Finish(request_.source.path, &samples_.labels, &*info_);
    samples_.group_names = groups_.names();
    if (info_) AddNotes(recordings.size());
    return Build(request_, info_.value_or(SampleInfo{}), std::move(samples_), seen_);
  }

 private:
  // Labels, and groups, have all recordings or none.
  void RequireOneKind(const std::vector<Recording>& recordings) {
    const bool is_ignored = request_.source.ignores_labels;
    has_labels_ = request_.wants_labels() &&
                  (is_ignored || request_.model != nullptr || recordings[0].label.has_value());
    has_groups_ = recordings[0].group.has_value();
    for (const Recording& recording : recordings) {
      if (has_labels_ && !recording.label && !is_ignored) {
        throw Defect(recording.path, "nothing says its class",
                     "expected FOLDER/CLASS/FILE, and FOLDER named; or say folders=, list= or "
                     "label=");
      }
      if (has_groups_ == recording.group.has_value()) continue;
      throw Defect(
          has_groups_ ? recording.path : recordings[0].path,
          fmt::format("nothing says whose it is, but {} lies in a folder of a group",
                      has_groups_ ? recordings[0].path : recording.path),
          "put all recordings of a class into folders of groups, or none; or say folders=");
    }
  }

  void Take(const Recording& recording) {
    Sound sound(recording.path);
    RequireRate(sound, recording.path);
    if (!info_) Begin();
    uint32_t label = 0;
    uint32_t group = 0;
    try {
      // Every label counts, wanted or not: the set of classes follows from all labels.
      if (has_labels_) label = labels_.Take(recording.label.value_or("0"));
      if (has_groups_) group = groups_.Take(*recording.group);
    } catch (const std::invalid_argument& error) {
      throw Defect(recording.list.empty() ? recording.path : recording.list,
                   fmt::format("label {}, group {}", Quoted(recording.label.value_or("none")),
                               Quoted(recording.group.value_or("none"))),
                   error.what());
    }
    several_ += sound.channels() > 1 ? 1 : 0;
    Cut(&sound, label, group);
  }

  void RequireRate(const Sound& sound, const std::string& path) {
    if (rate_ == 0) {
      rate_ = sound.rate();
      first_ = path;
    }
    if (sound.rate() == rate_) return;
    throw Defect(path,
                 fmt::format("its rate is {} Hz, expected {}{}", sound.rate(), rate_,
                             first_.empty() ? ", as rate= says" : ", as " + first_ + " has"),
                 fmt::format("nothing is resampled here: sox {} -r {} NEW.wav", path, rate_));
  }

  void Begin() {
    const uint32_t usual = request_.model != nullptr ? request_.model->inputs : rate_;
    window_ = request_.Count("window", usual, 1, kMaxWindow);
    stride_ = request_.Count("stride", window_, 1, kMaxWindow);
    info_ = InfoFor(request_, {window_});
  }

  // A recording of less than a window is one window, with zeros behind it.
  void Cut(Sound* sound, uint32_t label, uint32_t group) {
    if (sound->values() < window_) {
      ++short_;
      if (!IsKept()) return;
      Store(label, group, samples_.numbers.size());
      sound->Read(sound->values(), &samples_.numbers);
      samples_.numbers.resize(samples_.numbers.size() + window_ - sound->values());
      return;
    }
    uint64_t stored = 0;  // values up to the end of the last window that is kept
    for (uint64_t begin = 0; begin + window_ <= sound->values(); begin += stride_) {
      if (!IsKept()) continue;
      const uint64_t shared = stored > begin ? stored - begin : 0;
      if (begin > sound->position()) sound->Read(begin - sound->position(), nullptr);
      Store(label, group, samples_.numbers.size() - shared);
      sound->Read(window_ - shared, &samples_.numbers);
      stored = begin + window_;
    }
  }

  bool IsKept() {
    const size_t index = seen_++;
    RequireRoom(request_, samples_, groups_.bytes() + window_ * sizeof(float));
    return !request_.keep || request_.keep(index);
  }

  void Store(uint32_t label, uint32_t group, size_t start) {
    if (stride_ < window_) samples_.starts.push_back(start);
    if (has_labels_) samples_.labels.push_back(label);
    if (has_groups_) samples_.groups.push_back(group);
  }

  void AddNotes(size_t recordings) {
    const std::string& path = request_.source.path;
    if (short_ > 0) {
      info_->notes.push_back(fmt::format(
          "{}: zeros follow {} of {} recordings: they have fewer values than a window, {}", path,
          short_, recordings, window_));
    }
    if (several_ > 0) {
      info_->notes.push_back(
          fmt::format("{}: {} of {} recordings have several channels: a value is their mean", path,
                      several_, recordings));
    }
  }

  const ReadRequest& request_;
  Labels labels_;
  Groups groups_;
  uint32_t rate_;      // 0: unknown yet
  std::string first_;  // the recording that has said it
  std::optional<SampleInfo> info_;
  uint32_t window_ = 0;
  uint32_t stride_ = 0;
  bool has_labels_ = false;
  bool has_groups_ = false;
  StoredSamples samples_;
  size_t seen_ = 0;
  size_t short_ = 0;
  size_t several_ = 0;
};

}  // namespace

SharedDataset ReadSound(const ReadRequest& request) { return SoundReader(request).Read(); }

}  // namespace sotto
