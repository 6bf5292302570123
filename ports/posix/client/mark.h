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
#ifndef SOTTO_POSIX_CLIENT_MARK_H_
#define SOTTO_POSIX_CLIENT_MARK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/train_task.h"

namespace sotto::posix {

// The contents of a mark file.
std::string MarkText(const TrainTask& task, ByteSpan receipt);

// The receipt in a mark file. Empty if there is no file, none in the file, or if the file is not
// one that MarkText() has made: the device then goes on without. Throws std::runtime_error where
// ReadTextFile() does.
std::vector<uint8_t> ReadReceipt(const std::string& path);

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_CLIENT_MARK_H_
