// The mark file: the last round that a device trained for, for people, and the server's last
// receipt, for the next start. Part of ports/posix/client.
//
//   sotto-mark 2
//   sha256 HEX        of all that follows: sotto/posix/kept_file.h
//   job HEX
//   round N           from 0
//   attempt N         from 0
//   receipt HEX       Client::receipt(); absent if the server gives none
//
// A mark of no round has the line "no round" alone, so an empty file is a damaged one.
//
// Stateless; safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/train_task.h"

namespace sotto::posix {

// What a mark says of a task.
std::string MarkBody(const TrainTask& task, ByteSpan receipt);

// Replaces the mark. Throws where WriteKeptFile() does.
void WriteMark(const std::string& path, const std::string& body);

// Returns the receipt in a mark file, after it has written the file once as it is: a mark that
// cannot be written is found before the device is drawn, not after. The receipt is empty if there
// is no file (one is made), or none in the file. Throws a FileError for a mark that is damaged or
// of another version, and for any other file, which a mark would destroy; std::invalid_argument
// where RequireRegularFile() does, and where ReadTextFile() and ReplaceTextFile() do.
std::vector<uint8_t> PrepareMark(const std::string& path);

}  // namespace sotto::posix
