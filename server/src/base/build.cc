#include "base/build.h"

#include "sotto/posix/process.h"
#include "sotto/version.h"

namespace sotto::server {

std::string BuildText() {
  constexpr size_t kDigits = 12;
  static const std::string kId = posix::BuildId().substr(0, kDigits);
  return kId.empty() ? std::string(kVersion) : std::string(kVersion) + " " + kId;
}

}  // namespace sotto::server
