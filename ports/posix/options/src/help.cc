#include "help.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace sotto::posix {
namespace {

constexpr size_t kIndent = 30;  // of descriptions

// The parts at which a word may be broken: behind commas, if it is too long for a line.
std::vector<std::string> PartsOf(const std::string& word, size_t longest) {
  if (word.size() <= longest) return {word};
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin < word.size()) {
    const size_t comma = word.find(',', begin);
    const size_t end = comma == std::string::npos ? word.size() : comma + 1;
    parts.push_back(word.substr(begin, end - begin));
    begin = end;
  }
  return parts;
}

// Breaks a text at spaces, and behind commas of a word that is too long for a line. The first line
// begins behind `used` characters, the others behind `indent` spaces. Line feeds of the text stay.
std::string Wrapped(const std::string& text, size_t used, size_t indent) {
  std::string out;
  std::istringstream lines(text);
  size_t column = used;
  for (std::string line; std::getline(lines, line);) {
    if (!out.empty()) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    bool is_first = true;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const char* space = is_first ? "" : " ";
      for (const std::string& part : PartsOf(word, kHelpColumns - indent)) {
        if (!is_first && column + std::strlen(space) + part.size() > kHelpColumns) {
          out += "\n" + std::string(indent, ' ');
          column = indent;
        } else {
          out += space;
          column += std::strlen(space);
        }
        out += part;
        column += part.size();
        space = "";
        is_first = false;
      }
    }
  }
  return out;
}

class NarrowFormatter : public CLI::Formatter {
 public:
  // An argument that may also come as an option has one entry, among the arguments.
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    if (!is_positional && option->get_positional()) return "";
    const bool has_both_names = is_positional && option->nonpositional();
    return Entry(make_option_name(option, is_positional) +
                     (has_both_names ? "," + make_option_name(option, false) : "") +
                     make_option_opts(option),
                 make_option_desc(option));
  }
  // CLI11 lists other options in the order of their addresses.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = CLI::Formatter::make_option_opts(option);
    return text.substr(0, std::min(text.find(" Needs:"), text.find(" Excludes:"))) +
           Names(" Needs:", option->get_needs()) + Names(" Excludes:", option->get_excludes());
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return Entry(command->get_display_name(true), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return Wrapped(CLI::Formatter::make_description(app), 0, 0) + "\n";
  }
  std::string make_footer(const CLI::App* app) const override {
    return Wrapped(CLI::Formatter::make_footer(app), 0, 0) + "\n";
  }

 private:
  static std::string Names(const char* label, const std::set<CLI::Option*>& options) {
    std::set<std::string> names;
    for (const CLI::Option* option : options) names.insert(" " + option->get_name());
    return std::accumulate(names.begin(), names.end(), std::string(names.empty() ? "" : label));
  }

  static std::string Entry(const std::string& name, const std::string& description) {
    std::string text = "  " + Wrapped(name, 2, kIndent);
    const bool fits = text.find('\n') == std::string::npos && text.size() < kIndent;
    if (!description.empty()) {
      text += fits ? std::string(kIndent - text.size(), ' ') : "\n" + std::string(kIndent, ' ');
      text += Wrapped(description, kIndent, kIndent);
    }
    return text + "\n";
  }
};

void Format(CLI::App& app, const std::shared_ptr<NarrowFormatter>& formatter) {
  app.formatter(formatter);
  const CLI::App* parent = app.get_parent();
  const bool is_leaf = app.get_subcommands({}).empty();
  if (parent != nullptr && is_leaf && app.get_footer() == parent->get_footer()) app.footer("");
  for (CLI::App* command : app.get_subcommands({})) Format(*command, formatter);
}

}  // namespace

void FormatHelp(CLI::App& app) { Format(app, std::make_shared<NarrowFormatter>()); }

}  // namespace sotto::posix
