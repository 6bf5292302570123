// Reader of plain text by speaker.
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "byte_file.h"
#include "formats.h"
#include "sotto/posix/files.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxLength = 1U << 16;

// The 80 characters of LEAF's Shakespeare, in its order.
constexpr char kLeafAlphabet[] =
    "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";
constexpr uint32_t kLeafSize = sizeof(kLeafAlphabet) - 1;
// A line end and the printable characters of ASCII.
constexpr uint32_t kAsciiSize = 96;

std::string Ascii() {
  std::string all = "\n";
  for (char c = ' '; c <= '~'; ++c) all += c;
  return all;
}

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
    info.tokens = tokens_;
    info.classes = request_.classes() > 0 ? request_.classes() : tokens_;
    if (info.classes < known_) {
      throw std::invalid_argument(
          fmt::format("{}: the alphabet has {} characters, but the model {} classes; expected one "
                      "for each character",
                      request_.path(), known_, info.classes));
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
    tokens_ = request_.tokens();
    if (tokens_ == 0 && request_.model != nullptr) {
      throw std::invalid_argument(fmt::format(
          "{}: model {} takes no tokens; expected one that begins with an embedding; if the file "
          "is a table, say format=csv",
          request_.path(), request_.model->name));
    }
    const std::string alphabet =
        request_.Has("alphabet") ? request_.Text("alphabet") : UsualAlphabet();
    known_ = static_cast<uint32_t>(std::min<size_t>(alphabet.size(), 256));
    if (tokens_ == 0) tokens_ = known_;
    if (known_ > tokens_ || known_ > 255) {
      throw std::invalid_argument(
          fmt::format("{}: alphabet= has {} characters, expected at most {}", request_.path(),
                      alphabet.size(), std::min<uint32_t>(tokens_, 255)));
    }
    NumberCharacters(alphabet);
  }

  std::string UsualAlphabet() const {
    if (request_.model == nullptr) {
      const std::string own = OwnAlphabet();
      if (!own.empty()) return own;
      throw posix::FileError(request_.path() + ": it holds no text");
    }
    if (tokens_ >= kAsciiSize) return Ascii();
    if (tokens_ >= kLeafSize) return kLeafAlphabet;
    throw std::invalid_argument(
        fmt::format("{}: model {} has {} tokens; say which characters they are: alphabet=TEXT",
                    request_.path(), request_.model->name, tokens_));
  }

  // A character beyond the alphabet is the token behind it, if the model has one.
  void NumberCharacters(const std::string& alphabet) {
    const int other = known_ < tokens_ ? static_cast<int>(known_) : -1;
    ids_.assign(256, other);
    for (uint32_t i = 0; i < known_; ++i) {
      int& id = ids_[static_cast<uint8_t>(alphabet[i])];
      if (id != other) {
        throw std::invalid_argument(fmt::format(
            "{}: alphabet= has a character twice, the second time at {}", request_.path(), i + 1));
      }
      id = static_cast<int>(i);
    }
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
    const int id = ids_[static_cast<uint8_t>(speech.text[at])];
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
  uint32_t tokens_ = 0;
  uint32_t known_ = 0;  // characters of the alphabet
  std::vector<int> ids_;
  StoredSamples samples_;
  size_t seen_ = 0;
};

}  // namespace

SharedDataset ReadText(const ReadRequest& request) { return TextReader(request).Read(); }

}  // namespace sotto
