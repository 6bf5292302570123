// What an experiment leaves in its folder: its report as text, Markdown and a page, its figures as
// CSV and JSON, its charts. Part of sotto::server/experiment.
//
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiment/charts.h"
#include "experiment/report.h"
#include "experiment/summary.h"

namespace sotto::server {

// For people: what was run on what, a line a cell, the verdicts, and what differs.
std::string ResultText(const Report& report);

// The same as a section of a page.
std::string ResultMarkdown(const Report& report);

// The same with the charts, drawn by uPlot; scripts and styles are in the file, which loads
// nothing.
std::string ResultHtml(const Report& report, const std::vector<ChartPanel>& panels);

// The charts, one below the other.
std::string ResultSvg(const std::vector<ChartPanel>& panels);

// A line a cell, with a header; RFC 4180.
std::string ResultCsv(const Summary& summary);

// All of it; server/EXPERIMENTS.md lists the fields.
nlohmann::ordered_json ResultJson(const Summary& summary);

// All experiments as the table of server/EXPERIMENTS.md.
std::string ExperimentsTable(const std::vector<Definition>& definitions);

}  // namespace sotto::server
