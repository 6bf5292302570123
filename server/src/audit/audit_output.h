// The results of audits as text for people, as JSON and as CSV. Part of sotto::server/audit.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "audit/epsilon_audit.h"
#include "audit/guards.h"
#include "audit/membership.h"
#include "audit/twins.h"

namespace sotto::server {

// All that `sotto-lab audit epsilon` measured.
struct EpsilonReport {
  uint32_t repeats = 0;
  double error = 0;                  // of all audits together
  std::vector<EpsilonAudit> audits;  // one for each sampling
  TaskGuard tasks;                   // of all samplings together
  ServerGuard server;
  std::vector<TrainerGuard> trainers;

  std::vector<std::string> Violations() const;
};

std::string DescribeEpsilon(const EpsilonReport& report);
nlohmann::ordered_json EpsilonToJson(const EpsilonReport& report);

// One line, for the progress.
std::string DescribeRound(const MembershipRound& round);
std::string DescribeMembership(const MembershipAudit& audit);
nlohmann::ordered_json MembershipToJson(const MembershipAudit& audit);
std::string MembershipCsv(const MembershipAudit& audit);

std::string DescribeRound(const TwinRound& round);
std::string DescribeTwins(const TwinAudit& audit, TwinUnit unit);
nlohmann::ordered_json TwinsToJson(const TwinAudit& audit, TwinUnit unit);
std::string TwinsCsv(const TwinAudit& audit);

// Throws std::runtime_error if an audit found violations.
void RequireSound(const std::vector<std::string>& violations);

}  // namespace sotto::server
