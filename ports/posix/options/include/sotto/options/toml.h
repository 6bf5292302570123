// The part of TOML that files of Sotto's programs need: sections, keys with one value each, and for
// model files arrays of both. Part of sotto::options.
//
//   # a comment
//   key = 5                  a number, true, false, or a word
//   key = "text \" \\ \t"    these escapes and \n
//   key = 'text as it is'
//   section.key = 5          the same as key in [section]
//   [section]
//
// With TomlArrays::kTaken also
//   key = [28, 28, 1]        words and numbers, on one line
//   key = ["a", "b"]         texts, on one line
//   [[section]]              one of many
//
// Everything else is refused with its line: a key that comes twice, a section that comes twice, an
// inline table, a key without a value. Pure functions, safe in any thread.
#ifndef SOTTO_OPTIONS_TOML_H_
#define SOTTO_OPTIONS_TOML_H_

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::posix {

enum class TomlArrays { kRefused, kTaken };

struct Setting {
  enum class Kind {
    kWord,   // without quotes: a number, true, false, a word
    kText,   // in quotes
    kArray,  // of words; also an empty one
    kTexts,  // an array of texts in quotes
    kEntry,  // no setting: where one of [[section]] begins
  };

  std::vector<std::string> section;  // names from the outside in; empty: none
  std::string key;
  std::string value;
  int line = 0;  // from 1
  Kind kind = Kind::kWord;
  std::vector<std::string> items;  // of an array or of texts
  size_t entry = 0;                // which of [[section]], from 1; 0: not in one
};

// A line that is refused. what() is "line 3: ...".
class TomlError : public std::invalid_argument {
 public:
  TomlError(int line, const std::string& why);
  int line() const { return line_; }
  const std::string& why() const { return why_; }

 private:
  int line_;
  std::string why_;
};

// All settings, in the file's order. Throws TomlError.
std::vector<Setting> ParseToml(std::string_view text, TomlArrays arrays = TomlArrays::kRefused);

// "section.key"
std::string FullName(const Setting& setting);

}  // namespace sotto::posix

#endif  // SOTTO_OPTIONS_TOML_H_
