// The ledger's table: one entry for each release, written in the release's own transaction. Part of
// sotto::server/store.
#ifndef SOTTO_STORE_LEDGER_H_
#define SOTTO_STORE_LEDGER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "round/store.h"
#include "store/sqlite.h"

namespace sotto::server {

// One release and what it cost, all over the job and those before it so far; the words are those of
// privacy/types.h.
struct LedgerEntry {
  int64_t job = 0;
  uint32_t round = 0;
  std::string mechanism;
  double noise_sigma = 0.0;  // of one encoding, model units
  double clip_l2 = 0.0;      // bound on an update's norm in this round, model units
  int64_t devices = 0;       // N
  int64_t cohort = 0;        // B: drawn, or expected to be
  int64_t planned_reports = 0;
  int64_t reported = 0;
  int64_t dimension = 0;
  privacy::CertificateBounds certificate;
  double noise_multiplier = 0.0;
  double accounted_noise_multiplier = 0.0;
  int64_t colluders = 0;
  int64_t attempts = 0;        // of the job so far, released or not
  int64_t charged_rounds = 0;  // of the job so far
  int64_t earlier_rounds = 0;  // of the jobs before it
  std::string adjacency;
  std::string sampling;
  std::string unit;
  std::string trust_mode;
  std::string accountant;
  double numeric_error = 0.0;  // how much of `epsilon` may be error of arithmetic
  double delta = 0.0;
  double epsilon = 0.0;          // +infinity without privacy, and where no bound can be stated
  double epsilon_network = 0.0;  // the same
  // Trust mode private-noise: z, and against the server. Otherwise 0 and +infinity.
  double private_noise_multiplier = 0.0;
  double epsilon_server = 0.0;         // for a device in every attempt so far
  double epsilon_server_update = 0.0;  // for one update
  bool seeded = false;                 // noise that counts in it derived from a seed: not private
};

//   job     number of the job that releases
//   seeded  noise that counts in the figure derived from a seed
// Throws std::runtime_error if the entry cannot be written.
void AddToLedger(Database& database, int64_t job, const ReleaseRecord& record, bool seeded);

// All entries, by job and round.
std::vector<LedgerEntry> ReadLedger(Database& database);

}  // namespace sotto::server

#endif  // SOTTO_STORE_LEDGER_H_
