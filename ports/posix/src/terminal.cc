#include "sotto/posix/terminal.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sotto::posix {
namespace {

// The control character at the front of the text: its bytes, or 0.
size_t ControlSize(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < 0x20 || at(0) == 0x7f) return 1;
  return text.size() > 1 && at(0) == 0xc2 && at(1) >= 0x80 && at(1) < 0xa0 ? 2 : 0;
}

}  // namespace

bool StandardOutputIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

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
    const size_t control = ControlSize(text);
    for (size_t i = 0; i < control; ++i) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", static_cast<unsigned char>(text[i]));
      shown += escape;
    }
    if (control == 0) shown += text.front();
    text.remove_prefix(control == 0 ? 1 : control);
  }
  return shown;
}

}  // namespace sotto::posix
