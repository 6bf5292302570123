// Which build of this program runs. Part of sotto::server/base.
#pragma once

#include <string>

namespace sotto::server {

// The version and the beginning of the linker's build id: "0.2.0 1f0c9d2e77aa". Two programs of one
// text compute alike. A build without an id has its version alone. Safe from any thread.
std::string BuildText();

}  // namespace sotto::server
