// JSON for programs that need no more than flat objects. Part of sotto::log.
//
// A text may hold any bytes: what JSON must escape is escaped, and so are DEL, the C1 control
// characters, and U+2028 and U+2029, which some readers take for line ends. Bytes that are not
// UTF-8 become U+FFFD. So an object is one line of valid UTF-8, and shows no control character to a
// terminal. Values: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sotto::posix {

// The values of JSON. A double that is not finite is null; the others are written with as many
// digits as it takes to read the same number back.
std::string JsonText(std::string_view text);
std::string JsonText(uint64_t number);
std::string JsonText(double number);
inline constexpr char kJsonNull[] = "null";

class JsonObject {
 public:
  // Adds a member behind those before it.
  //   name   unescaped; not in the object yet
  //   value  JSON: what JsonText() returns, or kJsonNull
  JsonObject& Add(std::string_view name, std::string_view value);

  // {"name": ...}, without a line end.
  std::string Text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace sotto::posix
