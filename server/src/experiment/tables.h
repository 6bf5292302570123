// The results of an experiment as tables: for people, Markdown, CSV and JSON. Part of
// sotto::server/experiment.
//
// Every row names the samples it was made from; a stand-in says so in each cell. Pure functions,
// safe from any thread.
#ifndef SOTTO_EXPERIMENT_TABLES_H_
#define SOTTO_EXPERIMENT_TABLES_H_

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "experiment/summary.h"

namespace sotto::server {

// For people: what was run on what, a line a cell, the verdicts, and what differs.
std::string ResultText(const Summary& summary);

// The same as a section of a page.
std::string ResultMarkdown(const Summary& summary);

// A line a cell, with a header; RFC 4180.
std::string ResultCsv(const Summary& summary);

// All of it; server/EXPERIMENTS.md lists the fields.
nlohmann::ordered_json ResultJson(const Summary& summary);

// All experiments as the table of server/EXPERIMENTS.md.
std::string ExperimentsTable(const std::vector<Definition>& definitions);

// The label of the samples as every cell has it: "Fashion-MNIST (stand-in for MNIST)".
std::string DataLabel(const Summary& summary);

}  // namespace sotto::server

#endif  // SOTTO_EXPERIMENT_TABLES_H_
