// Makes a program's command line and configuration file strict. Part of sotto::options.
//
// CLI11 takes -1 for a count as 2^64 - 1, 010 as 8, NaN as a number, the first of two equal keys,
// an empty text as an option left out, and a configuration that it cannot read as an empty one; and
// it waits for the writer of a named pipe. After MakeStrict() all of these are refused, with the
// name of the option and exit status 2, in every option that a program has.
#ifndef SOTTO_OPTIONS_STRICT_H_
#define SOTTO_OPTIONS_STRICT_H_

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sotto::posix {

// The section of settings that stand in no section of the file: names of commands, the outermost
// first.
using DefaultSection = std::function<std::vector<std::string>()>;

// Call it once all options and commands of the app are declared, before App::parse().
//   - Numbers are those of numbers.h. A real number may be infinite only if its option has a check
//     of its own, which then decides.
//   - An option, a command or a key that does not exist is refused with the name that is nearest to
//     it, all of the command line in its order.
//   - The help has lines of at most 100 characters.
//   - No text is empty. Each option is given at most once, which is CLI11's default.
//   - The file of App::set_config() is a regular file of at most kMaxSmallFile bytes. It is the
//     TOML of toml.h, and each of its keys names another option of the app or of the command that
//     its section names.
//
//   app              outlives the parse
//   default_section  null: the app itself
// Throws std::logic_error for an option of a type that it does not know.
void MakeStrict(CLI::App& app, const DefaultSection& default_section = nullptr);

}  // namespace sotto::posix

#endif  // SOTTO_OPTIONS_STRICT_H_
