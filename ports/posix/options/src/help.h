// The layout of --help. Part of sotto::options.
#pragma once

#include <cstddef>

namespace CLI {
class App;
}

namespace sotto::posix {

constexpr size_t kHelpColumns = 100;

// Breaks the lines of the help of an app and of its commands so that each has at most kHelpColumns
// characters. A command without subcommands loses the footer that it has from its parent.
void FormatHelp(CLI::App& app);

}  // namespace sotto::posix
