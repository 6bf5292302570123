#include "web/page_access.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "base/bytes.h"
#include "sotto/bytes.h"
#include "sotto/crypto.h"
#include "sotto/posix/check.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/port.h"
#include "sotto/posix/text.h"

namespace sotto::server {
namespace {

constexpr size_t kTokenBytes = 32;
constexpr char kCookieLabel[] = "sotto page cookie";

bool IsToken(const std::string& text) {
  return text.size() == 2 * kTokenBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// The value of a name among "a=1; b=2"; empty: it is not there.
std::string_view CookieOf(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    const std::string_view one = cookies.substr(0, end);
    if (one.size() > name.size() && one.substr(0, name.size()) == name && one[name.size()] == '=') {
      return one.substr(name.size() + 1);
    }
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (!cookies.empty() && cookies.front() == ' ') cookies.remove_prefix(1);
  }
  return {};
}

std::string_view WithoutPrefix(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix ? text.substr(prefix.size()) : std::string_view();
}

bool IsOneOf(std::string_view text, const std::vector<std::string>& all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

}  // namespace

void RequireLoopback(const std::string& host) {
  if (host.rfind("127.", 0) == 0 || host == "::1") return;
  throw std::invalid_argument(fmt::format(
      "--http {}: the page listens on a loopback address only, 127.0.0.1 or [::1], because it is "
      "the operator's and has no TLS. From elsewhere reach it through `ssh -L "
      "8080:127.0.0.1:8080 HOST`, or put a proxy with TLS in front (HOSTING.md)",
      host));
}

posix::SecretText ReadOrMakeToken(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    uint8_t random[kTokenBytes] = {};
    WipeOnExit wipe(random);
    posix::Check(posix::Entropy(random), "the system's entropy");
    posix::SecretText digits;
    digits.text = posix::Hex(random);
    posix::WriteSecretFile(path, digits.text);
  }
  posix::SecretText token = posix::ReadSecretFile(path);
  posix::CleanText(path, &token.text);
  if (!token.text.empty() && token.text.back() == '\n') token.text.pop_back();
  if (IsToken(token.text)) return token;
  throw posix::FileError(fmt::format(
      "{}: expected the token of the page, 64 hexadecimal digits; remove the file, and the next "
      "start makes a new one",
      path));
}

PageAccess::PageAccess(posix::SecretText token, const std::string& host, uint16_t port,
                       const std::string& name)
    : token_(token), cookie_name_(fmt::format("sotto_{}", port)), name_(name) {
  for (const std::string& own :
       {host, std::string("127.0.0.1"), std::string("localhost"), std::string("[::1]")}) {
    hosts_.push_back(fmt::format("{}:{}", own, port));
    if (port == 80) hosts_.push_back(own);
  }
  posix::SecretText labelled;
  labelled.text.reserve(sizeof(kCookieLabel) + token_.text.size());
  labelled.text = kCookieLabel;
  labelled.text += token_.text;
  uint8_t digest[kSha256Size] = {};
  WipeOnExit wipe(digest);
  posix::Check(Sha256Digest(BytesOf(labelled.text), digest), "SHA-256");
  cookie_.text = posix::Hex(digest);
}

bool PageAccess::IsProxied(const HttpRequest& request) const {
  return !name_.empty() && request.Header("Host") == name_;
}

bool PageAccess::IsOwnHost(const HttpRequest& request) const {
  return IsProxied(request) || IsOneOf(request.Header("Host"), hosts_);
}

bool PageAccess::IsOwnOrigin(const HttpRequest& request) const {
  const std::string_view site = request.Header("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") return false;
  const std::string_view origin = request.Header("Origin");
  if (origin.empty()) return true;
  const std::string scheme = IsProxied(request) ? "https://" : "http://";
  return origin == scheme + std::string(request.Header("Host"));
}

bool PageAccess::IsOperator(const HttpRequest& request) const {
  const std::string_view cookie = CookieOf(request.Header("Cookie"), cookie_name_);
  if (ConstantTimeEqual(BytesOf(cookie), BytesOf(cookie_.text))) return true;
  const std::string_view bearer = WithoutPrefix(request.Header("Authorization"), "Bearer ");
  return ConstantTimeEqual(BytesOf(bearer), BytesOf(token_.text));
}

bool PageAccess::HoldsToken(const HttpRequest& login) const {
  const std::string_view token = WithoutPrefix(login.body, "token=");
  return ConstantTimeEqual(BytesOf(token), BytesOf(token_.text));
}

std::string PageAccess::Cookie(const HttpRequest& login) const {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}", cookie_name_, cookie_.text,
                     IsProxied(login) ? "; Secure" : "");
}

}  // namespace sotto::server
