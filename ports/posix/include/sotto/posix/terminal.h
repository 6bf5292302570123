// Output for people: whether it goes to a terminal, and text that a terminal only shows. Part of
// sotto/posix. Safe in any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sotto::posix {

// True if standard error is a terminal.
bool StandardErrorIsTerminal();

// The same of standard output and of standard input.
bool StandardOutputIsTerminal();
bool StandardInputIsTerminal();

// True if standard error goes to systemd's journal, which adds the time itself and takes a level in
// front of a line, as sd-daemon(3) has it. Without a service manager it is false.
bool StandardErrorIsJournal();

// The columns of the terminal on standard error; 0: there is none, or it does not say.
size_t TerminalColumns();

// The text with its control characters (C0, DEL and C1 in UTF-8) as \xHH, line feeds included, and
// with all bytes that are no UTF-8: names of files and options can hold any byte, and neither
// change a terminal, nor add a line to a log, nor make it unreadable for a program.
std::string Printable(std::string_view text);

}  // namespace sotto::posix
