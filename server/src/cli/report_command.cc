#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "base/json_text.h"
#include "cli/commands.h"
#include "overview/overview.h"
#include "overview/page_files.h"
#include "sotto/posix/files.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

struct ReportOptions {
  std::string source;
  std::string out = "report.html";
  bool is_operators = false;
  bool without_test = false;

  Audience audience() const { return is_operators ? Audience::kOperator : Audience::kPublic; }
  TestFigures test() const { return without_test ? TestFigures::kLeftOut : TestFigures::kShown; }
};

using ReportRow = posix::Field<ReportOptions>;

// Results begin with a brace, stores of SQLite with its name.
bool HoldsJson(const std::string& path) {
  posix::RequireRegularFile(path);
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  while (file.get(first) && std::isspace(static_cast<unsigned char>(first)) != 0) {
  }
  return first == '{';
}

Json ParseResults(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    return ParseJson(text);
  } catch (const std::exception& error) {
    throw std::invalid_argument(fmt::format(
        "{}: it is not whole JSON ({}); was its writer interrupted?", path, error.what()));
  }
}

Json OverviewOf(const ReportOptions& o) {
  if (HoldsJson(o.source)) {
    return OverviewOfResults(o.source, ParseResults(o.source), o.audience(), o.test());
  }
  return OverviewOfStore(*OpenStore(o.source, StoreMode::kRead), o.audience(), o.test());
}

void RunReport(const ReportOptions& o) {
  const Output output = {"--out", o.out, o.is_operators ? Readers::kOwner : Readers::kAll};
  RequireOutputs({output}, o.source, {o.source});
  const bool is_replaced = std::filesystem::is_regular_file(o.out);
  OutputFile file(output);
  file.stream() << ReportHtml(OverviewOf(o));
  file.Finish();
  fmt::print("{}: {}\n", o.out,
             o.is_operators
                 ? "the operator's view: counts and times tell who took part; not for publication"
                 : "the published view, without what tells who took part");
  if (is_replaced) fmt::print("{}: it takes the place of the file that was there\n", o.out);
  if (o.is_operators || o.without_test) return;
  fmt::print(
      "Figures on test data are in it, if there are any: no epsilon covers what they tell "
      "about these samples (--without-test).\n");
}

}  // namespace

posix::Command ReportCommand() {
  return posix::CommandFor<ReportOptions>(
             "report",
             "write charts and the privacy statement of a store or of results into one file")
      .Takes({
          ReportRow(
              "", &ReportOptions::source,
              "a store, also while its server runs, or the file of --json of `sotto simulate` or "
              "`sotto serve`")
              .Argument("SOURCE")
              .Required(),
          ReportRow("out", &ReportOptions::out, "the HTML file"),
          ReportRow("operator", &ReportOptions::is_operators,
                    "include counts of reports, bytes and times, which tell who took part: do not "
                    "publish such a report"),
          ReportRow("without-test", &ReportOptions::without_test,
                    "leave out the figures on the test data: no epsilon covers what they tell "
                    "about these "
                    "samples"),
      })
      .Runs(RunReport);
}

}  // namespace sotto::server
