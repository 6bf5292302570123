// The parts of the table of a job's fields, and what their rows share. Private to
// sotto::server/spec; others use job_spec.h.
//
// Pure functions, safe from any thread.
#pragma once

#include <limits>
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
Fields Threshold();  // the last round measures prediction errors
Fields ServerOptimiser();
Fields Estimation();

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kCount = {1, 1000000};
constexpr Range kCountOrNone = {0, 1000000};
constexpr Range kShort = {1, 65535};
constexpr Range kFactor = {1e-6, 1e6};
constexpr Range kFactorOrNone = {0, 1e6};
constexpr Range kBelowOne = {0, 0.999999};

using Row = JobField;

// A field that is no option: its value follows from other fields.
template <class Part, class T>
JobField Derived(const char* name, T Part::*member, Learns who = Learns::kNothing) {
  return JobField(name, who).RunsWith(member);
}

}  // namespace sotto::server::job_fields
