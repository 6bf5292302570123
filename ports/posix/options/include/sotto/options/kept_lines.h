// The body of a kept file (sotto/posix/kept_file.h) that is lines, "NAME VALUE" each, in a fixed
// order. Part of sotto::options. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/posix/kept_file.h"

namespace sotto::posix {

// Reads the lines one after the other. Each call throws the FileError of RefuseKept() if the next
// line is not the one that is asked for.
class KeptLines {
 public:
  //   format  outlives the object, as the body does
  KeptLines(const KeptFormat& format, std::string_view body) : format_(format), rest_(body) {}

  bool is_at_end() const { return rest_.empty(); }

  // The value of the next line.
  std::string_view Value(const std::string& name);
  // One that is a number in decimal, without zeros in front.
  uint32_t Number(const std::string& name);
  //   least, most  bytes, in hexadecimal digits
  std::vector<uint8_t> Bytes(const std::string& name, size_t least, size_t most);

  [[noreturn]] void Refuse(const std::string& name) const;

 private:
  const KeptFormat& format_;
  std::string_view rest_;
};

}  // namespace sotto::posix
