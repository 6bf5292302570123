#include "sotto/posix/text.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace sotto::posix {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr std::string_view kSeparatorLine = "sep=";

// The text in quotes, for messages: short, and without characters that would steer a terminal.
std::string QuotedLine(std::string_view line) {
  constexpr size_t kMost = 60;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : line.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      quoted += c;
    } else {
      quoted += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return quoted + (line.size() > kMost ? "\"..." : "\"");
}

}  // namespace

std::string TextFault::Describe() const {
  std::string text = "line " + std::to_string(line);
  if (column > 0) text += ", column " + std::to_string(column);
  return text + ": " + what + "; " + advice;
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  return text.substr(text.substr(0, kUtf8Mark.size()) == kUtf8Mark ? kUtf8Mark.size() : 0);
}

std::optional<TextFault> FaultOfLine(std::string_view line, size_t number, bool may_have_returns) {
  const std::string_view begin = line.substr(0, 2);
  if (number == 1 && (begin == "\xFF\xFE" || begin == "\xFE\xFF")) {
    return TextFault{number, 0, "the text is UTF-16", "save the file as UTF-8"};
  }
  if (number == 1 && begin == "\x1F\x8B") {
    return TextFault{number, 0, "the file is compressed by gzip", "unpack it: gunzip FILE"};
  }
  if (number == 1 && line.substr(0, 4) == "PK\x03\x04") {
    return TextFault{number, 0, "the file is a zip archive, as .xlsx, .npz and .pt are",
                     "name a text, or save it as one"};
  }
  const size_t zero = line.find('\0');
  if (zero != line.npos) {
    return TextFault{number, zero + 1, "the byte 0 is no text",
                     "if the file was cut off, write it once more, or take the bytes out: tr -d "
                     "'\\000' < OLD > NEW; if it is UTF-16, save it as UTF-8"};
  }
  const size_t end = line.find('\r');
  if (!may_have_returns && end != line.npos && end + 1 < line.size()) {
    return TextFault{number, 0, "lines end with a carriage return alone",
                     "end them with a line feed: tr '\\r' '\\n' < OLD > NEW"};
  }
  return std::nullopt;
}

void CleanText(const std::string& path, std::string* text) {
  size_t kept = 0;
  size_t number = 0;
  for (size_t at = text->size() - WithoutByteOrderMark(*text).size(); at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    std::string_view line(text->data() + at, end - at);
    if (const auto fault = FaultOfLine(line, ++number, false)) {
      throw FileError(path + ": " + fault->Describe());
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    std::copy(line.begin(), line.end(), text->begin() + static_cast<std::ptrdiff_t>(kept));
    kept += line.size();
    if (end < text->size()) (*text)[kept++] = '\n';
    at = end + 1;
  }
  // What is left behind the text may be part of a secret.
  std::fill(text->begin() + static_cast<std::ptrdiff_t>(kept), text->end(), '\0');
  text->resize(kept);
}

std::optional<std::string> ReadCleanText(const std::string& path) {
  std::optional<std::string> text = ReadTextFile(path);
  if (text) CleanText(path, &*text);
  return text;
}

TextLines::TextLines(const std::string& path) : path_(path) {
  RequireRegularFile(path);
  errno = 0;
  file_.open(path);
  if (file_) return;
  const int error = errno;
  ThrowFileError(path + ": cannot be opened: " + std::generic_category().message(error) +
                     "; check the path and its permissions",
                 error);
}

bool TextLines::Next(std::string* line) {
  while (std::getline(file_, *line)) {
    ++number_;
    if (number_ == 1) line->erase(0, line->size() - WithoutByteOrderMark(*line).size());
    if (const auto fault = FaultOfLine(*line, number_, false)) {
      throw FileError(path_ + ": " + fault->Describe());
    }
    if (!line->empty() && line->back() == '\r') line->pop_back();
    if (!line->empty() && line->front() == '#') continue;
    if (number_ == 1 && line->compare(0, kSeparatorLine.size(), kSeparatorLine) == 0) {
      if (*line == "sep=,") continue;
      throw Defect(*line, "another separator; expected commas: save the file with them");
    }
    ++found_;
    return true;
  }
  return false;
}

FileError TextLines::Defect(std::string_view line, const std::string& what) const {
  return FileError(path_ + ":" + std::to_string(number_) + ": " + QuotedLine(line) + ": " + what);
}

}  // namespace sotto::posix
