#include "overview/plain_report.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <vector>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "base/json_text.h"
#include "base/markup.h"
#include "overview/overview.h"
#include "views/claims_output.h"
#include "views/device_states.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLastRounds = 10;

// A bound, rounded up.
std::string PlainEpsilon(const Json& value) {
  if (value.is_null()) return "";
  const double epsilon =
      value.is_number() ? value.get<double>() : std::numeric_limits<double>::infinity();
  return privacy::EpsilonText(epsilon, privacy::kDecimals);
}

std::string PlainFigure(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (value.is_object() && value.contains("accuracy")) return PlainFigure(value["accuracy"]);
  return value.is_string() ? value.get<std::string>() : JsonText(value);
}

std::string Paragraph(const std::string& text) {
  return text.empty() ? "" : fmt::format("<p>{}</p>\n", EscapeMarkup(text));
}

std::string PlainRow(const char* cell, const std::vector<std::string>& texts) {
  std::string row;
  for (const std::string& text : texts) {
    row += fmt::format("<{0}>{1}</{0}>", cell, EscapeMarkup(text));
  }
  return fmt::format("<tr>{}</tr>\n", row);
}

std::string PlainClaims(const Json& job) {
  std::string text;
  for (const Json& claim : job.at("claims")) {
    text += fmt::format("<h4>epsilon {} at delta {}</h4>\n", PlainEpsilon(claim.at("epsilon")),
                        privacy::DeltaText(claim.at("delta").get<double>()));
    const Json right = claim.value("attacker_right", Json());
    text += Paragraph(claim.at("against").get<std::string>() +
                      (right.is_number() ? "; the best attacker is right at most " +
                                               RightText(right.get<double>()) + " of the time"
                                         : ""));
    text += "<ul>\n";
    for (const Json& assumption : claim.at("assumptions")) {
      text += fmt::format("<li>{}</li>\n", EscapeMarkup(assumption.get<std::string>()));
    }
    text += "</ul>\n";
  }
  if (!text.empty()) return text;
  return Paragraph(job.at("private").get<bool>() ? "Nothing is released, so nothing is spent."
                                                 : "This job states no epsilon.");
}

// Of a round's model: its accuracy, or else its error; empty if it was not evaluated.
std::string PlainTestOf(const Json& job, const Json& round) {
  for (const Json& each : job.at("evaluations")) {
    if (each.at("round") != round) continue;
    for (const char* figure : {"accuracy", "mean_squared_error", "loss"}) {
      const Json value = each.value(figure, Json());
      if (!value.is_null()) return fmt::format("{} {}", InWords(figure), PlainFigure(value));
    }
  }
  return "";
}

std::string PlainRounds(const Json& job) {
  const Json& rounds = job.at("rounds");
  if (rounds.empty()) return "";
  std::vector<std::string> fields;
  for (const Json& claim : job.at("claims")) fields.push_back(claim.at("field"));
  std::vector<std::string> head = {"round", "test"};
  for (const std::string& field : fields) head.push_back(InWords(field));
  for (const Json& column : job.at("columns")) head.push_back(column.at("heading"));
  std::string text = "<h3>Last rounds</h3>\n<table>\n" + PlainRow("th", head);
  for (size_t i = rounds.size(); i-- > rounds.size() - std::min(rounds.size(), kLastRounds);) {
    const Json& round = rounds[i];
    std::vector<std::string> row = {PlainFigure(round.at("round")),
                                    PlainTestOf(job, round.at("round"))};
    for (const std::string& field : fields) {
      row.push_back(PlainEpsilon(round.at("epsilon").value(field, Json())));
    }
    for (const Json& column : job.at("columns")) {
      const Json value = round.value(column.at("field").get<std::string>(), Json());
      const bool is_time = column.at("unit") == "seconds since 1970" && value.is_number();
      row.push_back(is_time ? UtcText(value.get<double>()) : PlainFigure(value));
    }
    text += PlainRow("td", row);
  }
  return text + "</table>\n";
}

std::string PlainSettings(const Json& job) {
  std::string text = "<h3>Settings of the job</h3>\n<table>\n";
  for (const Json& pair : job.at("settings")) text += PlainRow("td", {pair[0], pair[1]});
  return text + "</table>\n";
}

std::string PlainJob(const Json& job) {
  const std::string reason = job.value("reason", "");
  std::string text = fmt::format("<h2>Job {}: {}</h2>\n", PlainFigure(job.at("job")),
                                 EscapeMarkup(job.at("model").get<std::string>()));
  text += Paragraph(fmt::format(
      "{}{}; {} of {} rounds released", job.at("state").get<std::string>(),
      reason.empty() ? "" : ": " + reason, PlainFigure(job.at("rounds_released")),
      job.at("rounds_planned").is_null() ? "?" : PlainFigure(job.at("rounds_planned"))));
  if (!job.at("private").get<bool>()) {
    text += Paragraph("NO PRIVACY: the mechanism of this job protects nothing.");
  } else if (job.at("seeded").get<bool>()) {
    text += Paragraph("SEEDED: not private. No epsilon holds against a person who knows the seed.");
  }
  if (!job.at("evaluations").empty()) {
    const Json& last = job["evaluations"].back();
    text += Paragraph(fmt::format("{} after round {}, on {}", PlainTestOf(job, last.at("round")),
                                  PlainFigure(last.at("round")),
                                  PlainFigure(last.value("data", Json()))));
  }
  return text + "<h3>Privacy statement</h3>\n" + PlainClaims(job) + PlainRounds(job) +
         PlainSettings(job);
}

}  // namespace

std::string PlainReport(const Json& overview) {
  const bool is_operators = overview.at("audience") == Name(Audience::kOperator);
  std::string text =
      fmt::format("<h1>{}</h1>\n", EscapeMarkup(overview.at("source").get<std::string>()));
  text += Paragraph(is_operators
                        ? "Operator's view: counts and times tell who took part; do not publish "
                          "them."
                        : "Published view: without what tells who took part.");
  text += Paragraph("The charts need JavaScript.");
  const Json& jobs = overview.at("jobs");
  if (jobs.empty()) text += Paragraph("No job has begun.");
  for (size_t i = jobs.size(); i-- > 0;) text += PlainJob(jobs[i]);
  return text;
}

}  // namespace sotto::server
