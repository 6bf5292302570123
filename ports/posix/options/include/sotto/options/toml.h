// The part of TOML that configuration files of Sotto's programs need: sections, and keys with one
// value each. Part of sotto::options.
//
//   # a comment
//   key = 5                  a number, true, false, or a word
//   key = "text \" \\ \t"    these escapes and \n
//   key = 'text as it is'
//   section.key = 5          the same as key in [section]
//   [section]
//
// Everything else is refused with its line: a key that comes twice, a section that comes twice, an
// array, a table, a key without a value. Pure functions, safe in any thread.
#ifndef SOTTO_OPTIONS_TOML_H_
#define SOTTO_OPTIONS_TOML_H_

#include <string>
#include <string_view>
#include <vector>

namespace sotto::posix {

struct Setting {
  std::vector<std::string> section;  // names from the outside in; empty: none
  std::string key;
  std::string value;
  int line = 0;  // from 1
};

// All settings, in the file's order. Throws std::invalid_argument, "line 3: ...".
std::vector<Setting> ParseToml(std::string_view text);

// "section.key"
std::string FullName(const Setting& setting);

}  // namespace sotto::posix

#endif  // SOTTO_OPTIONS_TOML_H_
