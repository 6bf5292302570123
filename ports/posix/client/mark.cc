#include "mark.h"

#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "sotto/messages.h"
#include "sotto/options/kept_lines.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/kept_file.h"

namespace sotto::posix {
namespace {

constexpr KeptFormat kMarkFormat = {
    "sotto-mark", 2, "mark",
    "this is not a mark, and the mark would replace it; name another file with --mark",
    "it holds the receipt by which the device finds out that its server works on an old copy of "
    "the store; restore it, or remove it to go on without that until the next round"};

constexpr std::string_view kNoRound = "no round\n";

std::vector<uint8_t> ReceiptIn(std::string_view body) {
  if (body == kNoRound) return {};
  KeptLines lines(kMarkFormat, body);
  lines.Bytes("job", kJobIdSize, kJobIdSize);
  lines.Number("round");
  lines.Number("attempt");
  if (lines.is_at_end()) return {};
  std::vector<uint8_t> receipt = lines.Bytes("receipt", 1, kMaxReceiptSize);
  if (!lines.is_at_end()) lines.Refuse("receipt");
  return receipt;
}

}  // namespace

std::string MarkBody(const TrainTask& task, ByteSpan receipt) {
  std::string body =
      fmt::format("job {}\nround {}\nattempt {}\n", Hex(task.job_id), task.round, task.attempt);
  if (!receipt.empty()) body += fmt::format("receipt {}\n", Hex(receipt));
  return body;
}

void WriteMark(const std::string& path, const std::string& body) {
  WriteKeptFile(kMarkFormat, path, body);
}

std::vector<uint8_t> PrepareMark(const std::string& path) {
  // What is not a mark, a key for example, is wiped.
  const std::optional<SecretText> file = ReadKeptText(kMarkFormat, path);
  std::string_view body = kNoRound;
  std::vector<uint8_t> receipt;
  try {
    if (file) body = KeptBody(kMarkFormat, file->text);
    receipt = ReceiptIn(body);
  } catch (const FileError& error) {
    throw FileError(path + ": " + error.what());
  }
  WriteKeptFile(kMarkFormat, path, body);
  return receipt;
}

}  // namespace sotto::posix
