#include "mark.h"

#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>

#include "sotto/messages.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"

namespace sotto::posix {
namespace {

constexpr std::string_view kFormat = "sotto-mark 1\n";
constexpr std::string_view kAnyFormat = "sotto-mark ";
constexpr std::string_view kReceipt = "\nreceipt ";

bool BeginsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// A mark's text, or an empty one. What is not a mark, a key for example, is refused, and wiped.
SecretText ReadMark(const std::string& path) {
  RequireRegularFile(path);
  SecretText file;
  if (std::optional<std::string> text = ReadTextFile(path)) file.text = std::move(*text);
  if (file.text.empty() || BeginsWith(file.text, kAnyFormat)) return file;
  throw FileError(path +
                  ": this is not a mark, and the mark would replace it; name another file with "
                  "--mark");
}

std::vector<uint8_t> ReceiptIn(std::string_view text) {
  if (!BeginsWith(text, kFormat)) return {};
  const size_t line = text.find(kReceipt);
  if (line == std::string_view::npos) return {};
  const size_t begin = line + kReceipt.size();
  const size_t end = text.find('\n', begin);
  const bool is_whole = end != std::string_view::npos && end - begin <= 2 * kMaxReceiptSize;
  if (!is_whole) return {};
  std::vector<uint8_t> receipt((end - begin) / 2);
  const bool is_hex = ParseHex(text.substr(begin, end - begin), {receipt.data(), receipt.size()});
  return is_hex ? receipt : std::vector<uint8_t>();
}

}  // namespace

std::string MarkText(const TrainTask& task, ByteSpan receipt) {
  std::string text = fmt::format("{}job {}\nround {}\nattempt {}\n", kFormat, Hex(task.job_id),
                                 task.round, task.attempt);
  if (!receipt.empty()) text += fmt::format("receipt {}\n", Hex(receipt));
  return text;
}

std::vector<uint8_t> PrepareMark(const std::string& path) {
  const SecretText file = ReadMark(path);
  ReplaceTextFile(path, file.text);
  return ReceiptIn(file.text);
}

}  // namespace sotto::posix
