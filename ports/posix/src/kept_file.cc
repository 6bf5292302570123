#include "sotto/posix/kept_file.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "sotto/crypto.h"
#include "sotto/posix/check.h"
#include "sotto/posix/hex.h"

namespace sotto::posix {
namespace {

constexpr std::string_view kDigest = "sha256 ";

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

std::string DigestOf(std::string_view body) {
  uint8_t digest[kSha256Size] = {};
  const ByteSpan bytes(reinterpret_cast<const uint8_t*>(body.data()), body.size());
  posix::Check(Sha256Digest(bytes, digest), "SHA-256");
  return Hex(digest);
}

// Takes a line off the front of the text. Without a line end it is the whole text.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

[[noreturn]] void RefuseVersion(const KeptFormat& format, std::string_view version) {
  throw FileError(std::string("a ") + format.what + " of version " + std::string(version) +
                  ", and this program reads version " + std::to_string(format.version) + "; " +
                  format.remedy);
}

}  // namespace

void RefuseKept(const KeptFormat& format, const std::string& why) {
  throw FileError("it is damaged (" + why + "); " + format.remedy);
}

SecretText KeptText(const KeptFormat& format, std::string_view body) {
  SecretText text;
  text.text.reserve(body.size() + 256);
  text.text.append(format.name).append(" ").append(std::to_string(format.version)).append("\n");
  text.text.append(kDigest).append(DigestOf(body)).append("\n").append(body);
  return text;
}

std::string_view KeptBody(const KeptFormat& format, std::string_view text) {
  if (text.empty()) RefuseKept(format, "it is empty");
  if (format.former != nullptr && StartsWith(text, format.former)) RefuseVersion(format, "1");
  const std::string name = std::string(format.name) + " ";
  if (!StartsWith(text, name)) throw FileError(format.no_such);
  std::string_view version = TakeLine(text);
  version.remove_prefix(name.size());
  if (!version.empty() && version.back() == '\r') {
    RefuseKept(format, "its lines end in CR LF: a program or a transfer took it for a text");
  }
  const bool is_number = !version.empty() && version.size() < 10 &&
                         version.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) RefuseKept(format, "its first line names no version");
  if (version != std::to_string(format.version)) RefuseVersion(format, version);
  std::string_view digest = TakeLine(text);
  if (!StartsWith(digest, kDigest)) RefuseKept(format, "its second line names no SHA-256");
  digest.remove_prefix(kDigest.size());
  if (digest != DigestOf(text)) RefuseKept(format, "its body has another SHA-256 than it names");
  return text;
}

std::optional<SecretText> ReadKeptText(const KeptFormat& format, const std::string& path) {
  RequireRegularFile(path);
  RemoveLeftovers(path);
  std::optional<std::string> content = ReadTextFile(path, format.most);
  if (!content) return std::nullopt;
  std::optional<SecretText> text(std::in_place);
  text->text = std::move(*content);
  return text;
}

void WriteKeptFile(const KeptFormat& format, const std::string& path, std::string_view body) {
  std::error_code failed;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, failed);
  const std::string target = failed ? path : resolved.string();
  const SecretText text = KeptText(format, body);
  if (format.is_secret) {
    ReplacePrivateFile(target, text.text);
  } else {
    ReplaceTextFile(target, text.text);
  }
}

}  // namespace sotto::posix
