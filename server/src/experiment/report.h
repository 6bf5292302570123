// What a report of an experiment says, before it is text, Markdown or a page. Part of
// sotto::server/experiment.
//
// Every row names the samples it was made from; a stand-in says so in each cell. Plain values and
// pure functions: safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "experiment/summary.h"
#include "experiment/table.h"

namespace sotto::server {

// A claim, and what was seen of it.
struct VerdictReport {
  std::string heading;  // "paper: CLAIM -- agrees"
  Table differences;    // a row for each pair of cells
  std::string within;   // what counts as equal, and why; may be empty
  std::string why;      // it may be another verdict than expected; empty if it is not
};

struct Report {
  std::string name;
  std::string title;
  std::vector<Row> head;  // what was run on what: a name and a text
  Table cells;            // a row for each
  std::vector<VerdictReport> verdicts;
  std::vector<std::string> cell_notes;  // what runs had to say
  std::vector<std::string> notes;       // what else to know
  Table settings;  // what the paper fixes, leaves open, and what is set here; or empty
};

Report ReportOf(const Summary& summary);

// Why a verdict may not be the expected one; empty if it is.
std::string Why(const ClaimVerdict& verdict);

// The label of the samples as every cell has it: "Fashion-MNIST (stand-in for MNIST)".
std::string DataLabel(const Summary& summary);

}  // namespace sotto::server
