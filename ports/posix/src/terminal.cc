#include "sotto/posix/terminal.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sotto::posix {
namespace {

unsigned char ByteAt(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The bytes of the character at the front of the text, in UTF-8; 0: it begins with none.
size_t CharacterSize(std::string_view text) {
  const unsigned char first = ByteAt(text, 0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((ByteAt(text, i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = ByteAt(text, 1);  // too long a form, a surrogate, or beyond the last
  const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_wrong ? 0 : size;
}

// C0, DEL or C1.
bool BeginsWithControl(std::string_view text) {
  const unsigned char first = ByteAt(text, 0);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && ByteAt(text, 1) < 0xa0);
}

}  // namespace

bool StandardOutputIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

bool StandardInputIsTerminal() { return isatty(STDIN_FILENO) == 1; }

bool StandardErrorIsTerminal() { return isatty(STDERR_FILENO) == 1; }

// JOURNAL_STREAM is DEVICE:INODE of the stream that the manager made, which a shell may have
// replaced.
bool StandardErrorIsJournal() {
  const char* const journal = std::getenv("JOURNAL_STREAM");
  struct stat info {};
  if (journal == nullptr || fstat(STDERR_FILENO, &info) != 0) return false;
  return journal == std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

size_t TerminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string Printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const size_t taken = size == 0 ? 1 : size;
    if (size != 0 && !BeginsWithControl(text)) {
      shown += text.substr(0, taken);
    } else {
      for (size_t i = 0; i < taken; ++i) {
        char escape[8];
        std::snprintf(escape, sizeof(escape), "\\x%02x", ByteAt(text, i));
        shown += escape;
      }
    }
    text.remove_prefix(taken);
  }
  return shown;
}

}  // namespace sotto::posix
