// The start of a job in a store that has a life: store/life.h. Part of sotto::server/jobs.
//
// Pure functions, safe from any thread.
#pragma once

#include <string>

#include "round/job_config.h"
#include "store/history.h"
#include "store/life.h"

namespace sotto::server {

// Refuses a plan that may not run in a recovered store (store/recovery.h), before its noise is
// calibrated to what may have been lost. Throws std::invalid_argument.
void RequireAskable(const std::string& store, const History& history, const privacy::Plan& plan);

// Gives a job the turns that its devices have had and the store's limit. Throws
// std::invalid_argument that says what to do in these cases; nothing is then written.
//   - The store has a life epsilon, and the job has no noise, or draws its cohorts secretly and
//     could exceed it, or is a new one for which too few devices have a turn left.
//   - The store has none, the job is a new one of passes, and its devices have had turns: who
//     begins it must see the sum of both first.
// Jobs of the other samplings compose in a store without a life epsilon as they always did: their
// budget counts the jobs before.
//   resumed  null: a new job
//   agrees   who begins it has seen the sum and agreed
void GoOnInLife(const std::string& store, const History& history, const JobEntry* resumed,
                bool agrees, JobConfig* config);

// What a job of passes may cost by itself and with the jobs before it, for people; empty: the store
// has no life epsilon.
std::string DescribeLife(const History& history, const JobConfig& config);

// That not all devices have room for all their turns in a job of passes, and what gives it to them;
// empty: they have.
std::string WarningOfLife(const std::string& store, const History& history,
                          const JobConfig& config);

// On a recovered copy: how many devices must show a receipt before they are asked, for people;
// empty: the store is none, or all have.
std::string DescribeSettling(const History& history);

}  // namespace sotto::server
