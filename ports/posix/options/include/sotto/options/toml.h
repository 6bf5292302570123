// TOML files as lists of settings. Part of sotto::options.
//
//   # a comment
//   key = 5                    a number, true or false
//   key = "text"               a text, in any of TOML's quotes
//   section.key = 5            the same as key = 5 in [section], and as section = {key = 5}
//
// With TomlArrays::kTaken also
//   key = [28, 28, 1]          numbers
//   key = ["a", "b"]           texts
//   [[section]]                one of many, the same as section = [{...}, ...]
//
// The reader is toml++, so a file is TOML 1.0 or is refused. Refused are also dates and times,
// arrays within arrays, arrays of numbers and texts, empty names, and texts with the character
// U+0000.
//
// A number keeps the text of the file, without + and _, so that an option reads it as if it stood
// on the command line: 0.1 and 4e-5 stay what they are, 1.0 is no count. An integer is printed in
// decimal digits: 0x10 is "16". TOML's integers end at 2^63 - 1; a larger count is a text:
// seed = "18446744073709551615".
//
// Pure functions, safe in any thread.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::posix {

enum class TomlArrays { kRefused, kTaken };

struct Setting {
  enum class Kind {
    kText,     // in quotes
    kInteger,  // "-5"
    kReal,     // "0.1", "inf", "nan"
    kBoolean,  // "true" or "false"
    kArray,    // of numbers, true and false; also an empty one
    kTexts,    // an array of texts in quotes
    kEntry,    // no setting: where one of [[section]] begins
  };

  // Whether `value` holds the setting: it is no array.
  bool is_one() const { return kind <= Kind::kBoolean; }
  bool is_number() const { return kind == Kind::kInteger || kind == Kind::kReal; }

  std::vector<std::string> section;  // names from the outside in; empty: none
  std::string key;
  std::string value;
  int line = 0;  // from 1
  Kind kind = Kind::kText;
  std::vector<std::string> items;  // of an array or of texts
  size_t entry = 0;                // which of [[section]], from 1; 0: not in one
};

// A file that is refused. what() is "line 3, column 5: ...".
class TomlError : public std::invalid_argument {
 public:
  TomlError(int line, int column, const std::string& why);
  // "PATH:3:5: ...", as compilers write it.
  std::string In(const std::string& path) const;

 private:
  int line_;    // from 1
  int column_;  // in characters, from 1
  std::string why_;
};

// All settings, in the file's order. Throws TomlError.
//   text  UTF-8; it may begin with a byte-order mark, and lines may end in CR LF
std::vector<Setting> ParseToml(std::string_view text, TomlArrays arrays = TomlArrays::kRefused);

// "section.key"
std::string FullName(const Setting& setting);

}  // namespace sotto::posix
