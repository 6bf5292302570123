// Until all commands are rows: adds one to CLI11's app. Part of sotto::options.
#ifndef SOTTO_OPTIONS_ATTACH_H_
#define SOTTO_OPTIONS_ATTACH_H_

#include "sotto/options/command.h"

namespace CLI {
class App;
}

namespace sotto::posix {

void Attach(CLI::App& app, Command command);

}  // namespace sotto::posix

#endif  // SOTTO_OPTIONS_ATTACH_H_
