// Reader of plain text by speaker.
#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>

#include "alphabet.h"
#include "byte_file.h"
#include "formats.h"
#include "sotto/posix/files.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxLength = 1U << 16;

// What a speaker says: all lines, one behind the other, and where they stand in the file.
struct Speech {
  std::string text;
  struct Line {
    size_t begin;   // in text
    size_t number;  // in the file
  };
  std::vector<Line> lines;
};

class TextReader {
 public:
  explicit TextReader(const ReadRequest& request)
      : request_(request),
        length_(LengthOf(request)),
        stride_(request.Count("stride", length_, 1, kMaxLength)) {}

  SharedDataset Read() {
    ReadSpeeches();
    ChooseAlphabet();
    SampleInfo info = InfoFor(request_, {length_});
    info.tokens = alphabet_->tokens();
    info.classes = request_.classes() > 0 ? request_.classes() : info.tokens;
    if (info.classes < alphabet_->known()) {
      throw std::invalid_argument(
          fmt::format("{}: the alphabet has {} characters, but the model {} classes; expected one "
                      "for each character",
                      request_.path(), alphabet_->known(), info.classes));
    }
    for (uint32_t speaker = 0; speaker < speeches_.size(); ++speaker) Cut(speaker);
    samples_.group_names = speakers_.all();
    return Build(request_, info, std::move(samples_), seen_);
  }

 private:
  static uint32_t LengthOf(const ReadRequest& request) {
    const uint32_t usual = request.model != nullptr ? request.model->inputs : 80;
    return request.Count("length", usual, 1, kMaxLength);
  }

  // A line NAME: behind an empty one, or at the beginning, says who speaks.
  static bool IsSpeaker(const std::string& line, bool is_behind_blank) {
    return is_behind_blank && line.size() > 1 && line.size() <= 64 && line.back() == ':';
  }

  void ReadSpeeches() {
    LineFile file(request_.path());
    bool is_behind_blank = true;
    Speech* speech = nullptr;
    for (std::string line; file.Next(&line);) {
      if (IsSpeaker(line, is_behind_blank)) {
        speech = Of(line.substr(0, line.size() - 1));
        is_behind_blank = false;
        continue;
      }
      is_behind_blank = line.empty();
      if (line.empty()) continue;
      if (speech == nullptr) speech = Of("(nobody)");
      speech->lines.push_back({speech->text.size(), file.number()});
      speech->text += line + '\n';
      // Each line may be as short as its number.
      held_ += line.size() + sizeof(Speech::Line);
      RequireRoom(request_, samples_, 2 * held_ + speakers_.bytes());
    }
  }

  Speech* Of(const std::string& speaker) {
    const uint32_t id = speakers_.Id(speaker);
    if (id == speeches_.size()) speeches_.emplace_back();
    return &speeches_[id];
  }

  void ChooseAlphabet() {
    const std::string own = request_.model == nullptr ? OwnAlphabet() : "";
    if (request_.model == nullptr && own.empty() && !request_.Has("alphabet")) {
      throw posix::FileError(request_.path() + ": it holds no text");
    }
    alphabet_.emplace(request_, own);
  }

  std::string OwnAlphabet() const {
    std::vector<bool> is_there(256, false);
    for (const Speech& speech : speeches_) {
      for (const char c : speech.text) is_there[static_cast<uint8_t>(c)] = true;
    }
    std::string alphabet;
    for (size_t c = 0; c < is_there.size(); ++c) {
      if (is_there[c]) alphabet += static_cast<char>(c);
    }
    return alphabet;
  }

  uint8_t TokenOf(const Speech& speech, size_t at) const {
    const int id = alphabet_->TokenOf(speech.text[at]);
    if (id >= 0) return static_cast<uint8_t>(id);
    const auto behind =
        std::upper_bound(speech.lines.begin(), speech.lines.end(), at,
                         [](size_t place, const Speech::Line& line) { return place < line.begin; });
    const Speech::Line& line = *(behind - 1);
    throw posix::FileError(fmt::format(
        "{}: line {}, column {}: the character {:#04x} is not in the alphabet; add it to "
        "alphabet=, or take a model with one token more, for all others",
        request_.path(), line.number, at - line.begin + 1, static_cast<uint8_t>(speech.text[at])));
  }

  // Cuts what a speaker says into windows; the character behind a window is its label.
  void Cut(uint32_t speaker) {
    const Speech& speech = speeches_[speaker];
    size_t stored = 0;  // characters of the speech up to the end of the last window
    for (size_t begin = 0; begin + length_ < speech.text.size(); begin += stride_) {
      const size_t end = begin + length_;
      const uint8_t label = TokenOf(speech, end);
      const size_t index = seen_++;
      RequireRoom(request_, samples_, 2 * held_ + speakers_.bytes());
      if (request_.keep && !request_.keep(index)) continue;
      const size_t first = std::max(begin, stored);
      samples_.starts.push_back(samples_.bytes.size() - (first - begin));
      for (size_t at = first; at < end; ++at) samples_.bytes.push_back(TokenOf(speech, at));
      stored = end;
      samples_.labels.push_back(label);
      samples_.groups.push_back(speaker);
    }
  }

  const ReadRequest& request_;
  uint32_t length_;
  uint32_t stride_;
  Names speakers_;
  std::vector<Speech> speeches_;
  size_t held_ = 0;  // bytes of them
  std::optional<Alphabet> alphabet_;
  StoredSamples samples_;
  size_t seen_ = 0;
};

}  // namespace

SharedDataset ReadText(const ReadRequest& request) { return TextReader(request).Read(); }

}  // namespace sotto
