// The parts of the table of a job's fields, and what their rows share. Private to
// sotto::server/spec; others use job_spec.h.
//
// Pure functions, safe from any thread.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "spec/job_spec.h"

namespace sotto::server::job_fields {

using Fields = std::vector<JobField>;

// In the order of the table; job_spec.cc has the parts before, between and behind.
Fields Noise();         // how much, and against whom
Fields AdaptiveClip();  // one more coordinate, the clip bit
Fields Evaluation();    // one more coordinate, the accuracy
Fields LocalTraining();
Fields BoundFromSteps();
Fields ServerOptimiser();
Fields Estimation();

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kCount = {1, 1000000};
constexpr Range kCountOrNone = {0, 1000000};
constexpr Range kShort = {1, 65535};
constexpr Range kFactor = {1e-6, 1e6};
constexpr Range kFactorOrNone = {0, 1e6};
constexpr Range kBelowOne = {0, 0.999999};

// A row with nothing but its name and its help.
inline JobField Row(const char* name, std::string help) {
  JobField field;
  field.name = name;
  field.help = std::move(help);
  return field;
}

// A field that is no option: its value follows from other fields.
inline JobField Derived(const char* name, Learns who = Learns::kNothing) {
  JobField field = Row(name, "");
  field.group = nullptr;
  field.device = who;
  return field;
}

}  // namespace sotto::server::job_fields
