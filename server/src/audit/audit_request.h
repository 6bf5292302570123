// The options of `sotto-lab audit`, in tables, as jobs and simulations have. Part of
// sotto::server/audit.
//
// Each request is a job, or a simulation, with other defaults, and a table of what comes on top. An
// audit takes all options of the job and the simulation but those that WithoutFor...() names.
//
// Plain values and pure functions: safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/epsilon_audit.h"
#include "audit/twins.h"
#include "sim/simulation_request.h"
#include "spec/job_field.h"
#include "spec/job_request.h"

namespace sotto::server {

// `sotto-lab audit epsilon`. By default a small model and fleet, and one round without colluders:
// then the claim is tight, and half the noise cannot be overlooked.
struct EpsilonAuditRequest : JobRequest {
  EpsilonAuditRequest();

  std::string samplings = "all";  // a name of AuditedSamplings(), or all of them
  uint32_t devices = 4;
  uint32_t repeats = 100000;
  double error = 1e-3;
  std::optional<uint64_t> seed;
  std::string json;
};

const std::vector<Field<EpsilonAuditRequest>>& EpsilonAuditFields();
const std::vector<std::string>&
WithoutForEpsilon();  // options of a job that this audit sets itself

// A way to draw a cohort.
struct AuditedSampling {
  const char* name;
  privacy::Sampling sampling;
  bool is_everybody;  // the cohort is the fleet
};

// The name of a plan's sampling in this table.
const char* AuditedName(privacy::Sampling sampling);

// All of them, or the one of that name. Throws std::invalid_argument for another name.
std::vector<AuditedSampling> SamplingsOf(const std::string& name);

// The job to audit. Throws as MakeJob() does, and std::invalid_argument for a codec without a
// claim.
JobConfig MakeAuditedJob(const EpsilonAuditRequest& request, const AuditedSampling& sampling);

// A job with the same private noise for the audit of one update: the claim against the server
// counts that noise alone, so the quantizer adds as little as devices take. The request has private
// noise.
JobConfig MakeUpdateJob(const EpsilonAuditRequest& request);

// `sotto-lab audit membership`.
struct MembershipRequest : SimulationRequest {
  uint32_t samples = 10000;
};

const std::vector<Field<MembershipRequest>>& MembershipFields();

// `sotto-lab audit sensitivity`. By default the noise is float32's, and all of a small fleet take
// part.
struct SensitivityRequest : SimulationRequest {
  SensitivityRequest();

  TwinOptions twins;
};

const std::vector<Field<SensitivityRequest>>& SensitivityFields();

// Options of a simulation that the audits of simulations do not take.
const std::vector<std::string>& WithoutForTraining();

}  // namespace sotto::server
