// In the place of formats.cc, for a program without files of parameters. Part of
// sotto::server/export.
#include <stdexcept>

#include "export/parameters.h"

namespace sotto::server {

std::vector<float> ParametersFromBytes(const std::string&, const ModelInfo&, Metadata*) {
  throw std::invalid_argument("this program reads no parameters; use the program `sotto`");
}

}  // namespace sotto::server
