#include "alphabet.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace sotto {
namespace {

// The 80 characters of LEAF's Shakespeare, in its order.
constexpr char kLeafAlphabet[] =
    "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}";
constexpr uint32_t kLeafSize = sizeof(kLeafAlphabet) - 1;
// A line end and the printable characters of ASCII.
constexpr uint32_t kAsciiSize = 96;

std::string Ascii() {
  std::string all = "\n";
  for (char c = ' '; c <= '~'; ++c) all += c;
  return all;
}

std::string CharactersFor(const ReadRequest& request, const std::string& usual) {
  if (request.Has("alphabet")) return request.Text("alphabet");
  if (request.model == nullptr) return usual.empty() ? kLeafAlphabet : usual;
  if (request.tokens() >= kAsciiSize) return Ascii();
  if (request.tokens() >= kLeafSize) return kLeafAlphabet;
  throw std::invalid_argument(
      fmt::format("{}: model {} has {} tokens; say which characters they are: alphabet=TEXT",
                  request.path(), request.model->name, request.tokens()));
}

}  // namespace

Alphabet::Alphabet(const ReadRequest& request, const std::string& usual)
    : tokens_(request.tokens()) {
  if (tokens_ == 0 && request.model != nullptr) {
    throw std::invalid_argument(fmt::format(
        "{}: model {} takes no tokens; expected a model that begins with an embedding; if the file "
        "is a table, say format=csv",
        request.path(), request.model->name));
  }
  const std::string characters = CharactersFor(request, usual);
  known_ = static_cast<uint32_t>(std::min<size_t>(characters.size(), 256));
  if (tokens_ == 0) tokens_ = known_;
  if (known_ > tokens_ || known_ > 255) {
    throw std::invalid_argument(fmt::format("{}: alphabet= has {} characters, expected at most {}",
                                            request.path(), characters.size(),
                                            std::min<uint32_t>(tokens_, 255)));
  }
  // A character beyond the alphabet is the token behind it, if the model has one.
  const int other = known_ < tokens_ ? static_cast<int>(known_) : -1;
  ids_.assign(256, other);
  for (uint32_t i = 0; i < known_; ++i) {
    int& id = ids_[static_cast<uint8_t>(characters[i])];
    if (id != other) {
      throw std::invalid_argument(fmt::format(
          "{}: alphabet= has a character twice, the second time at {}", request.path(), i + 1));
    }
    id = static_cast<int>(i);
  }
}

}  // namespace sotto
