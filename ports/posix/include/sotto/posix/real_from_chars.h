// std::from_chars() for a double, also where the C++ library lacks it (libc++ before 20). Part of
// ports/posix.
//
// Reentrant: safe from any thread. The program has the locale "C", as every program
// of Sotto has.
#pragma once

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sotto::posix {

// Reads a decimal number at the beginning of the text, exactly rounded.
//   text   digits, signs, points, e and E alone; no sign + before the number
//   value  unchanged unless the result has no error
// Returns what std::from_chars() returns.
inline std::from_chars_result RealFromChars(std::string_view text, double* value) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(text.data(), text.data() + text.size(), *value);
#else
  const std::string copy(text);
  if (copy.empty() || copy[0] == '+') return {text.data(), std::errc::invalid_argument};
  char* stop = nullptr;
  errno = 0;
  const double parsed = std::strtod(copy.c_str(), &stop);
  const char* const ptr = text.data() + (stop - copy.c_str());
  if (ptr == text.data()) return {ptr, std::errc::invalid_argument};
  // As glibc and musl do, for a subnormal number as well, which is in range.
  const bool is_out = errno == ERANGE && (parsed == 0 || parsed - parsed != 0);
  if (is_out) return {ptr, std::errc::result_out_of_range};
  *value = parsed;
  return {ptr, std::errc()};
#endif
}

}  // namespace sotto::posix
