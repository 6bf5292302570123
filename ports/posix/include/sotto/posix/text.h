// The front end of all readers of text: settings, model files, key files, data, partitions,
// schedules. Part of sotto/posix.
//
// What editors and other systems do to a text is undone or refused here, once:
//   - A byte-order mark of UTF-8 is skipped.
//   - Lines end in LF or CR LF.
//   - UTF-16, lines that end in CR alone, and bytes 0 are refused with what to do.
// Stateless but for the class; one thread at a time.
#pragma once

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/posix/files.h"

namespace sotto::posix {

// What is wrong with a text. Column and line are from 1; 0: the whole line.
struct TextFault {
  size_t line = 0;
  size_t column = 0;
  const char* what = "";
  const char* advice = "";
  // "line 3, column 5: WHAT; ADVICE"
  std::string Describe() const;
};

// The text without the mark.
std::string_view WithoutByteOrderMark(std::string_view text);

// What is wrong with a line, which has no LF at its end.
//   number    of the line, from 1
//   may_have_returns  a CR may stand within it, as in a quoted field of CSV
std::optional<TextFault> FaultOfLine(std::string_view line, size_t number, bool may_have_returns);

// A whole text as its reader wants it: without the mark, and lines end in LF. Throws a FileError
// "PATH: line 3, column 5: WHAT; ADVICE". The text stays where it is, so a secret is not copied.
void CleanText(const std::string& path, std::string* text);

// ReadTextFile() and CleanText().
std::optional<std::string> ReadCleanText(const std::string& path);

// A table in a file of lines without quotes: a partition, a schedule. Lines that begin with # are
// skipped, and so is a first line "sep=,"; one with another separator is refused.
class TextLines {
 public:
  // Throws std::invalid_argument or a FileError if the file cannot be opened.
  explicit TextLines(const std::string& path);

  // The next line, without its end; false at the end.
  bool Next(std::string* line);

  size_t number() const { return number_; }      // of the last line, from 1
  bool is_first() const { return found_ == 1; }  // the last line is the first one of the table

  // "PATH:7: "LINE": WHAT"
  FileError Defect(std::string_view line, const std::string& what) const;

 private:
  std::string path_;
  std::ifstream file_;
  size_t number_ = 0;
  size_t found_ = 0;
};

}  // namespace sotto::posix
