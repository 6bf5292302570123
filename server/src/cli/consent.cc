#include "cli/consent.h"

#include <fmt/format.h>
#include <stdexcept>

#include "sotto/posix/terminal.h"

namespace sotto::server {
namespace {

constexpr char kNothingChanged[] = "nothing was changed";

// The line without its end; what ends without a line feed is no answer.
std::string ReadLine(std::FILE* file) {
  std::string line;
  for (int c = std::fgetc(file); c != '\n'; c = std::fgetc(file)) {
    if (c == EOF) return "";
    line += static_cast<char>(c);
  }
  return line;
}

}  // namespace

std::vector<posix::Field<Consent>> ConsentRows() {
  using Row = posix::Field<Consent>;
  return {Row("yes", &Consent::yes, "do it without asking, as a script must"),
          Row("dry-run", &Consent::dry_run, "print the change without making it")};
}

Person AtTerminal() {
  if (!posix::StandardInputIsTerminal() || !posix::StandardErrorIsTerminal()) return {};
  return {stdin, stderr};
}

bool MayAct(const Consent& consent) {
  if (consent.dry_run) fmt::print("--dry-run: {}\n", kNothingChanged);
  return !consent.dry_run;
}

bool GoOn(const Consent& consent, const std::string& question, const Person& person) {
  if (!MayAct(consent)) return false;
  if (consent.yes) return true;
  if (person.answers == nullptr) {
    throw std::invalid_argument(fmt::format(
        "\"{}\" needs an answer, and there is no terminal; {}. Read the text above, then give "
        "--yes",
        question, kNothingChanged));
  }
  fmt::print(person.reads, "{} [y/N] ", question);
  std::fflush(person.reads);
  const std::string answer = ReadLine(person.answers);
  const bool is_yes = answer == "y" || answer == "Y" || answer == "yes";
  if (!is_yes) fmt::print(person.reads, "{}\n", kNothingChanged);
  return is_yes;
}

}  // namespace sotto::server
