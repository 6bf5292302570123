// sotto-client --record: readings from standard input become samples in the file of --sample-log.
// Part of ports/posix/client.
//
// A line is one of these; blanks, tabs and commas separate its words:
//
//   X Y Z                  a reading: a number for each of --axes; nan for a missing one, in a file
//                          of float32
//   label CLASS COUNT      the next COUNT windows are of this class: its number, or its name in the
//                          model of --model. The window under way is dropped, so the first of them
//                          has no reading from before
//   label-window N CLASS   window N, which has no label yet, is of this class; the window under way
//                          goes on
//   pause                  readings are missing here: the window under way is dropped
//   # TEXT                 nothing, as an empty line
//
// The program reports any other line with its number, and leaves it out. If it does not begin with
// `label` or `label-window`, the window under way is dropped: a sensor may begin in the midst of a
// line. Each window that is written, and each that gets its label later, is a line on standard
// output, "window N" or "window N class C", once it survives a power failure.
#pragma once

#include <istream>
#include <ostream>

#include "options.h"
#include "sotto/log/event_log.h"

namespace sotto::posix {

// Records until the input ends. Makes the file if there is none. Returns the exit status: 0, or
// kExitUsage if there were lines and none of them could be read. Throws std::invalid_argument for
// options that do not go together or with the file, a FileError, or std::runtime_error if the
// machine fails.
int RecordSamples(const ClientOptions& options, std::istream& lines, std::ostream& windows,
                  EventLog& log);

}  // namespace sotto::posix
