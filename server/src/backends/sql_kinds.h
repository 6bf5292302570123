// The kinds of records in the chain of a store: sql_chain.h. Part of
// sotto::server/store, for sql_chain.cc alone.
//
// To add a kind: its table in sql_tables.h, its row here.
//
// Constants: safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>

#include "store/records.h"

namespace sotto::server {

inline constexpr size_t kMaxParts = 3;

// Rows that belong to a record.
struct RecordPart {
  const char* table = nullptr;  // null: there is no such part
  const char* select = nullptr;
};

struct RecordKind {
  const char* name;
  int keys;
  RecordPart parts[kMaxParts];  // the first part has at least one row
  std::string (*describe)(const int64_t* keys);
  // Counts what the commit of this record wrote after it; null: nothing, so the chain may end here.
  const char* rest = nullptr;
  // 1 if the rows of such a record may be deleted, given its keys; null: never.
  const char* may_be_deleted = nullptr;
  // If they may: how many rows its records have now.
  const char* covered = nullptr;
};

// A job's model: of a round, or the one with which it began.
inline std::string DescribeModel(const int64_t* keys) {
  if (keys[1] == kFirstModel) return fmt::format("the first model of job {}", keys[0]);
  return fmt::format("the model of round {} of job {}", keys[1] + 1, keys[0]);
}

inline constexpr RecordKind kRecordKinds[] = {
    {"store",
     1,
     {{"store", "SELECT one, receipt_key, created, former_version FROM store WHERE one = ?"}},
     [](const int64_t*) { return std::string("the store's beginning"); }},
    {"device",
     1,
     {{"devices", "SELECT position, id, secret, created, seeded FROM devices WHERE position = ?"}},
     [](const int64_t* keys) { return fmt::format("device number {}", keys[0]); }},
    {"revocation",
     1,
     {{"revocations", "SELECT device, revoked FROM revocations WHERE device = ?"}},
     [](const int64_t* keys) {
       return fmt::format("the revocation of device number {}", keys[0]);
     }},
    {"rotation",
     2,
     {{"rotations",
       "SELECT device, number, secret, rotated FROM rotations WHERE device = ? AND number = ?"}},
     [](const int64_t* keys) {
       return fmt::format("rotation {} of device number {}", keys[1], keys[0]);
     }},
    {"owner",
     2,
     {{"owners",
       "SELECT device, number, owner, registered FROM owners WHERE device = ? AND number = ?"}},
     [](const int64_t* keys) {
       return fmt::format("owner {} of device number {}", keys[1], keys[0]);
     }},
    {"kit",
     2,
     {{"kits",
       "SELECT device, number, settings, written FROM kits WHERE device = ? AND number = ?"}},
     [](const int64_t* keys) {
       return fmt::format("kit {} of device number {}", keys[1], keys[0]);
     }},
    {"pause",
     1,
     {{"pauses", "SELECT number, paused, since FROM pauses WHERE number = ?"}},
     [](const int64_t* keys) { return fmt::format("pause number {}", keys[0]); }},
    {"request",
     1,
     {{"job_requests",
       "SELECT number, act, job, settings, agreed, bundle, asked FROM job_requests "
       "WHERE number = ?"}},
     [](const int64_t* keys) { return fmt::format("request number {}", keys[0]); }},
    {"answer",
     1,
     {{"job_answers",
       "SELECT request, outcome, job, reason, answered FROM job_answers WHERE request = ?"}},
     [](const int64_t* keys) { return fmt::format("the answer to request {}", keys[0]); }},
    {"life",
     1,
     {{"life_epsilons",
       "SELECT number, former_epsilon, epsilon, delta, since FROM life_epsilons WHERE number = ?"}},
     [](const int64_t* keys) { return fmt::format("life epsilon number {}", keys[0]); }},
    {"recovery",
     1,
     {{"recoveries",
       "SELECT number, last_device, job, first_job, life, since FROM recoveries WHERE number = ?"}},
     [](const int64_t* keys) { return fmt::format("recovery number {}", keys[0]); }},
    {"settling",
     2,
     {{"settled",
       "SELECT recovery, device, job, receipt, turns, mu_squared, coordinates, too_long, settled "
       "FROM settled WHERE recovery = ? AND device = ?"}},
     [](const int64_t* keys) {
       return fmt::format("what device number {} showed after recovery {}", keys[1], keys[0]);
     }},
    {"job",
     1,
     {{"jobs",
       "SELECT number, job_id, model, model_digest, configuration, begun, surcharge FROM jobs "
       "WHERE number = ?"},
      {"descriptions", "SELECT job, bundle FROM descriptions WHERE job = ?"}},
     [](const int64_t* keys) { return fmt::format("the beginning of job {}", keys[0]); },
     // The list of its devices, if there were any.
     "SELECT count(*) FROM devices WHERE position NOT IN (SELECT device FROM revocations)"},
    {"start",
     2,
     {{"job_devices",
       "SELECT job, start, device FROM job_devices WHERE job = ? AND start = ? ORDER BY device"}},
     [](const int64_t* keys) {
       return fmt::format("list {} of the devices of job {}", keys[1], keys[0]);
     }},
    {"fleet",
     2,
     {{"fleets",
       "SELECT job, number, round, attempt, devices FROM fleets WHERE job = ? AND number = ?"}},
     [](const int64_t* keys) {
       return fmt::format("change {} of the fleet of job {}", keys[1], keys[0]);
     },
     "SELECT 1"},  // its attempt
    {"extension",
     2,
     {{"extensions",
       "SELECT job, number, rounds, epsilon_budget, extended FROM extensions "
       "WHERE job = ? AND number = ?"}},
     [](const int64_t* keys) { return fmt::format("extension {} of job {}", keys[1], keys[0]); }},
    {"attempt",
     3,
     {{"attempts",
       "SELECT job, round, attempt, cohort, opened FROM attempts "
       "WHERE job = ? AND round = ? AND attempt = ?"}},
     [](const int64_t* keys) {
       return fmt::format("attempt {} at round {} of job {}", keys[2] + 1, keys[1] + 1, keys[0]);
     }},
    {"seal",
     3,
     {{"turns",
       "SELECT job, round, attempt, device FROM turns "
       "WHERE job = ? AND round = ? AND attempt = ? ORDER BY device"}},
     [](const int64_t* keys) {
       return fmt::format("the seal of attempt {} at round {} of job {}", keys[2] + 1, keys[1] + 1,
                          keys[0]);
     }},
    {"halt",
     2,
     {{"halts",
       "SELECT job, number, attempts, rounds, kind, reason, since FROM halts "
       "WHERE job = ? AND number = ?"}},
     [](const int64_t* keys) { return fmt::format("halt {} of job {}", keys[1], keys[0]); }},
    {"release",
     2,
     {{"releases",
       "SELECT job, round, attempt, reported, released FROM releases WHERE job = ? AND round = ?"},
      {"facts", "SELECT * FROM facts WHERE job = ? AND round = ?"},
      {"claims", "SELECT * FROM claims WHERE job = ? AND round = ? ORDER BY position"}},
     [](const int64_t* keys) {
       return fmt::format("the release of round {} of job {}", keys[1] + 1, keys[0]);
     },
     "SELECT 1"},  // its model
    {"model",
     2,
     {{"models",
       "SELECT job, round, parameters, optimiser_state, next_clip_l2 FROM models "
       "WHERE job = ? AND round = ?"}},
     DescribeModel,
     // Of a first model: the list of the job's devices.
     "SELECT count(*) FROM devices WHERE position NOT IN (SELECT device FROM revocations) "
     "AND (SELECT second_key FROM chain ORDER BY sequence DESC LIMIT 1) < 0",
     "SELECT count(*) > 0 FROM models WHERE job = ? AND round > ?",
     "SELECT count(*) FROM models JOIN chain ON kind = 'model' AND first_key = job "
     "AND second_key = round AND third_key = 0"},
    {"threshold",
     3,
     {{"thresholds",
       "SELECT job, round, number, threshold, attached FROM thresholds "
       "WHERE job = ? AND round = ? AND number = ?"}},
     [](const int64_t* keys) {
       return fmt::format("threshold {} of the model of round {} of job {}", keys[2], keys[1] + 1,
                          keys[0]);
     }},
    {"figures",
     3,
     {{"round_records",
       "SELECT job, round, attempt, released, figures FROM round_records "
       "WHERE job = ? AND round = ? AND attempt = ?"}},
     [](const int64_t* keys) {
       return fmt::format("the figures of attempt {} at round {} of job {}", keys[2] + 1,
                          keys[1] + 1, keys[0]);
     }},
    {"evaluation",
     2,
     {{"evaluations",
       "SELECT job, round, data, data_sha256, samples, loss, evaluated FROM evaluations "
       "WHERE job = ? AND round = ?"},
      {"evaluated_classes",
       "SELECT job, round, class, name, correct, total FROM evaluated_classes "
       "WHERE job = ? AND round = ? ORDER BY class"}},
     [](const int64_t* keys) {
       return fmt::format("the evaluation of round {} of job {}", keys[1] + 1, keys[0]);
     }},
};

}  // namespace sotto::server
