#include "mark.h"

#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <string_view>

#include "sotto/messages.h"
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

// The lines of a mark, one after the other.
class MarkLines {
 public:
  explicit MarkLines(std::string_view body) : rest_(body) {}

  bool is_at_end() const { return rest_.empty(); }

  // The value of the next line, "NAME VALUE".
  std::string_view Value(const std::string& name) {
    const size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    const std::string start = name + " ";
    if (end == std::string_view::npos || line.substr(0, start.size()) != start) Refuse(name);
    rest_.remove_prefix(end + 1);
    return line.substr(start.size());
  }

  void Number(const std::string& name) {
    const std::string_view text = Value(name);
    uint32_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    if (!is_whole || fmt::format("{}", number) != text) Refuse(name);
  }

  //   least, most  bytes
  std::vector<uint8_t> Bytes(const std::string& name, size_t least, size_t most) {
    const std::string_view text = Value(name);
    std::vector<uint8_t> bytes(text.size() / 2);
    const bool fits = bytes.size() >= least && bytes.size() <= most;
    if (!fits || !ParseHex(text, {bytes.data(), bytes.size()})) Refuse(name);
    return bytes;
  }

  [[noreturn]] static void Refuse(const std::string& name) {
    RefuseKept(kMarkFormat, fmt::format("its line \"{}\" is missing or no such line", name));
  }

 private:
  std::string_view rest_;
};

std::vector<uint8_t> ReceiptIn(std::string_view body) {
  if (body == kNoRound) return {};
  MarkLines lines(body);
  lines.Bytes("job", kJobIdSize, kJobIdSize);
  lines.Number("round");
  lines.Number("attempt");
  if (lines.is_at_end()) return {};
  std::vector<uint8_t> receipt = lines.Bytes("receipt", 1, kMaxReceiptSize);
  if (!lines.is_at_end()) MarkLines::Refuse("receipt");
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
