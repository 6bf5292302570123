#include "sotto/log/failures.h"

#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "sotto/log/json_text.h"
#include "sotto/options/exit_status.h"
#include "sotto/posix/terminal.h"

namespace sotto::posix {
namespace {

constexpr char kAsText[] = "text";
constexpr char kAsJson[] = "json";

struct ErrorsRequest {
  std::string errors = kAsText;
};

// "--rounds" of "--rounds: 'x' is not a whole number"; empty if no option is named.
std::string OptionIn(const std::string& text) {
  const size_t begin = text.find("--");
  if (begin == std::string::npos) return "";
  const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", begin);
  const std::string option = text.substr(begin, end - begin);
  return option.size() > 2 ? option : "";
}

std::string TextOrNull(const std::string& text) {
  return text.empty() ? kJsonNull : JsonText(text);
}

}  // namespace

bool AreErrorsJson(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--errors=json") return true;
    if (argument == "--errors" && i + 1 < argc && argv[i + 1] == std::string_view(kAsJson)) {
      return true;
    }
  }
  return false;
}

void TellFailureAsJson(const std::string& program, const std::string& reason, int status,
                       const std::string& help) {
  const std::string text = Printable(reason);
  const size_t end = text.find("; ");
  JsonObject failure;
  failure.Add("program", JsonText(program))
      .Add("status", JsonText(static_cast<uint64_t>(status)))
      .Add("error", JsonText(text))
      .Add("option", TextOrNull(OptionIn(text.substr(0, end))))
      .Add("advice", TextOrNull(end == std::string::npos ? help : text.substr(end + 2)));
  const std::string line = failure.Text() + "\n";
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

void AddErrorsOption(int argc, char** argv, Command* program) {
  Command own = CommandFor<ErrorsRequest>("", "")
                    .Takes({Field<ErrorsRequest>("errors", &ErrorsRequest::errors,
                                                 "format of a failure on standard error; json: "
                                                 "an object on the last line")
                                .OneOfNames({kAsText, kAsJson})})
                    .Runs([](const ErrorsRequest&) {});
  std::move(own.options.begin(), own.options.end(), std::back_inserter(program->options));
  if (!AreErrorsJson(argc, argv)) return;
  program->on_refusal = [name = program->name](const std::string& why, const std::string& help) {
    TellFailureAsJson(name, why, kExitUsage, help);
  };
}

}  // namespace sotto::posix
