// What one run gave. Part of sotto::server/experiment.
//
// A plain value: any thread may read it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sotto::server {

struct Outcome {
  std::map<std::string, double> figures;              // finite ones
  std::map<std::string, std::vector<double>> series;  // "round", "accuracy"; NaN: not finite
  std::string note;         // what to know about it: training diverged; may be empty
  bool is_refused = false;  // there is no such run: the note says why
};

}  // namespace sotto::server
