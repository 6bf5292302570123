// The turns of a job of passes as text and as JSON. They are the operator's: they tell who took
// part. Part of sotto::server/views.
//
// They are counts. The limit has an epsilon, and what a device used so far has none (plans/turns.h,
// lemma 3).
//
// Pure functions, safe from any thread. Empty, or null, for a job that is not of passes.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/records.h"

namespace sotto::server {

// How many devices have used how many turns, and who can be asked: "0 for 4 devices, 1 for 8
// devices; at most 2 for each; 12 of 12 devices have a turn left, and a round needs 4".
std::string DescribeTurns(const JobTurns& job);

// FirstNames() of the devices that were never asked; empty: there are none. Revoked devices do not
// count.
std::string DescribeNeverAsked(const JobTurns& job);

// The same of the devices that must show a receipt before they are asked: a recovered copy's.
std::string DescribeMustSettle(const JobTurns& job);

// "a, b, c and 23 more" behind ten names.
std::string FirstNames(const std::vector<std::string>& names);

// A line for each device, with a heading: turns used and left, round of the last one.
std::string DescribeTurnsOfDevices(const JobTurns& job);

// {"participations", "cohort", "with_a_turn_left", "by_turns": [{"turns", "devices"}],
//  "never_asked": [name], "devices": [{"id", "is_revoked", "used", "left", "last_round"}]},
// and of a recovered copy "must_settle": [name].
// Rounds count from 1; "last_round" is null before the first turn.
nlohmann::ordered_json TurnsToJson(const JobTurns& job);

// {"used", "left", "last_round"}
nlohmann::ordered_json TurnsToJson(const DeviceTurns& device);

}  // namespace sotto::server
