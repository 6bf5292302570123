// Files that a program writes and reads back at a later start: one writer and one reader for all of
// them. Part of sotto/posix.
//
//   NAME VERSION          the format: "sotto-mark 2"
//   sha256 HEX            of all bytes that follow this line
//   BODY                  of the format's own
//
// The reader refuses a text whose body was damaged, cut short or extended. The digest needs no key,
// so it finds damage but does not stop an editor: each format also checks that the parts of its
// body agree.
//
// To change a format: raise its version. A program reads one version.
//
// Stateless; safe in any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/posix/files.h"

namespace sotto::posix {

struct KeptFormat {
  const char* name;             // the first word of each file
  int version;                  // that this program writes and reads
  const char* what;             // for messages: "mark"
  const char* no_such;          // what to say of a file of something else
  const char* remedy;           // what to do about one that is damaged or of another version
  size_t most = kMaxSmallFile;  // bytes of a file
  // A file that is replaced gets mode 0600, too; else it keeps its mode. A new file always has mode
  // 0600.
  bool is_secret = false;
  const char* former = nullptr;  // how files began before they named their format; null: always did
};

// The text of a file with this body.
SecretText KeptText(const KeptFormat& format, std::string_view body);

// The body in the text of a file, a part of it. Throws a FileError, without the file's name, that
// says what is wrong and what to do.
std::string_view KeptBody(const KeptFormat& format, std::string_view text);

// Throws the FileError of a body that is complete but makes no sense.
//   why  what does not fit
[[noreturn]] void RefuseKept(const KeptFormat& format, const std::string& why);

// The text of a file, or nothing if there is none; KeptBody() has not seen it. Removes what a
// killed program left of an earlier write (RemoveLeftovers()). Throws std::invalid_argument if it
// is no regular file, and where ReadTextFile() does.
std::optional<SecretText> ReadKeptText(const KeptFormat& format, const std::string& path);

// Writes the file or replaces it, as ReplaceTextFile() does. A link leads to the file that is
// replaced.
void WriteKeptFile(const KeptFormat& format, const std::string& path, std::string_view body);

}  // namespace sotto::posix
