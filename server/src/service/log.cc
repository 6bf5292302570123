#include "service/log.h"

#include <cstdio>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace sotto::server {

void ServeLog::Write(const std::string& line) const {
  const std::time_t now = std::time(nullptr);
  const std::string stamped = fmt::format("{:%F %T}Z {}", fmt::gmtime(now), line);
  const std::string text = stamped + "\n";
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  if (listener_) listener_(stamped);
}

}  // namespace sotto::server
