#include "overview/page_files.h"

#include <fmt/format.h>
#include <iterator>
#include <sodium.h>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/built_in.h"
#include "base/bytes.h"
#include "base/json_text.h"
#include "base/markup.h"
#include "overview/plain_report.h"

namespace sotto::server {
namespace {

constexpr char kScript[] = "text/javascript; charset=utf-8";
constexpr char kStyle[] = "text/css; charset=utf-8";

constexpr PageFile kPageFiles[] = {
    {"/", "page.html", "text/html; charset=utf-8"},
    {"/uplot.css", "uplot/uPlot.min.css", kStyle},
    {"/page.css", "page.css", kStyle},
    {"/uplot.js", "uplot/uPlot.iife.min.js", kScript},
    {"/texts.js", "texts.js", kScript},
    {"/chart.js", "chart.js", kScript},
    {"/charts.js", "charts.js", kScript},
    {"/first.js", "first.js", kScript},
    {"/details.js", "details.js", kScript},
    {"/page.js", "page.js", kScript},
};

// The line of page.html that loads the file.
std::string LineOf(const PageFile& file) {
  return fmt::format(fmt::runtime(file.is_script() ? R"(<script src="{}" defer></script>)"
                                                   : R"(<link rel="stylesheet" href="{}">)"),
                     file.path);
}

void ReplaceOnce(const std::string& from, const std::string& to, std::string* text) {
  const size_t at = text->find(from);
  if (at == std::string::npos) throw std::logic_error("page.html has no " + from);
  text->replace(at, from.size(), to);
}

// 'sha256-...', as a content security policy names an inline script or style.
std::string HashOf(const std::string& text) {
  const auto digest = Sha256Of(BytesOf(text));
  std::vector<char> base64(
      sodium_base64_ENCODED_LEN(digest.size(), sodium_base64_VARIANT_ORIGINAL));
  sodium_bin2base64(base64.data(), base64.size(), digest.data(), digest.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  return fmt::format("'sha256-{}'", base64.data());
}

}  // namespace

bool PageFile::is_script() const { return std::string_view(type) == kScript; }

Span<const PageFile> PageFiles() { return {kPageFiles, std::size(kPageFiles)}; }

std::string ReportHtml(const nlohmann::ordered_json& overview) {
  std::string html = BuiltInText("page.html");
  std::string scripts =
      fmt::format("<script type=\"application/json\" id=\"overview\">{}</script>\n",
                  EscapeForScript(ForgivingJsonText(overview)));
  std::string script_hashes;
  std::string style_hashes;
  for (const PageFile& file : kPageFiles) {
    if (&file == kPageFiles) continue;  // the page itself
    const BuiltInFile* built_in = FindBuiltIn(file.built_in);
    const std::string text = built_in == nullptr ? "" : built_in->text;
    (file.is_script() ? script_hashes : style_hashes) += " " + HashOf(text);
    if (file.is_script()) scripts += fmt::format("<script>{}</script>\n", text);
    ReplaceOnce(LineOf(file), file.is_script() ? "" : fmt::format("<style>{}</style>", text),
                &html);
  }
  ReplaceOnce("<meta charset=\"utf-8\">",
              fmt::format("<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
                          "content=\"default-src 'none'; script-src{}; style-src{}; img-src blob: "
                          "data:; base-uri 'none'; form-action 'none'\">",
                          script_hashes, style_hashes),
              &html);
  ReplaceOnce("<body>", "<body>\n<noscript>\n" + PlainReport(overview) + "</noscript>", &html);
  if (HasCharts()) scripts += fmt::format("<!--\nuPlot:\n{}-->\n", BuiltInText("uplot/LICENSE"));
  ReplaceOnce("</body>", scripts + "</body>", &html);
  return html;
}

}  // namespace sotto::server
