// The mark file: the last round that a device trained for, for people, and the server's last
// receipt, for the next start. Part of ports/posix/client.
//
//   sotto-mark 1
//   job HEX
//   round N           from 0
//   attempt N         from 0
//   receipt HEX       Client::receipt(); absent if the server gives none
//
// Stateless; safe in any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/train_task.h"

namespace sotto::posix {

// The contents of a mark file.
std::string MarkText(const TrainTask& task, ByteSpan receipt);

// Returns the receipt in a mark file, after it has written the file once as it is: a mark that
// cannot be written is found before the device is drawn, not after. The receipt is empty if there
// is no file (an empty one is made), none in the file, or if the mark is damaged or of another
// version: the device then goes on without. Throws a FileError for any other file, which a mark
// would destroy, std::invalid_argument where RequireRegularFile() does, and where ReadTextFile()
// and ReplaceTextFile() do.
std::vector<uint8_t> PrepareMark(const std::string& path);

}  // namespace sotto::posix
