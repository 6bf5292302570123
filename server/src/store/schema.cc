#include "store/schema.h"

#include <fmt/format.h>
#include <stdexcept>

namespace sotto::server {
namespace {

constexpr int64_t kApplicationId = 0x536f7474;  // "Sott"
constexpr int64_t kVersion = 2;

// Times are seconds since 1970.
constexpr char kDevices[] = R"sql(
CREATE TABLE devices (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  secret BLOB NOT NULL UNIQUE CHECK (length(secret) = 32),
  created INTEGER NOT NULL,
  revoked INTEGER,
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1))
) STRICT;
)sql";

// Jobs come one after the other, numbered from 1; only the last one goes on. A job's devices are
// all that were eligible when a process of it began. A cohort is a list of u32le: indices into the
// devices that were eligible at `opened`, in the order of `position`. Parameters are float32,
// little-endian.
constexpr char kJobs[] = R"sql(
CREATE TABLE jobs (
  number INTEGER PRIMARY KEY,
  job_id BLOB NOT NULL UNIQUE CHECK (length(job_id) = 16),
  model TEXT NOT NULL,
  model_digest BLOB NOT NULL CHECK (length(model_digest) = 32),
  configuration TEXT NOT NULL,
  begun INTEGER NOT NULL,
  surcharge INTEGER NOT NULL  -- attempts that are charged though they released nothing
) STRICT;
CREATE TABLE job_devices (
  job INTEGER NOT NULL REFERENCES jobs (number),
  device INTEGER NOT NULL REFERENCES devices (position),
  PRIMARY KEY (job, device)
) STRICT, WITHOUT ROWID;
CREATE TABLE attempts (
  job INTEGER NOT NULL REFERENCES jobs (number),
  round INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  cohort BLOB NOT NULL,
  opened INTEGER NOT NULL,
  PRIMARY KEY (job, round, attempt)
) STRICT;
CREATE TABLE releases (
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  reported INTEGER NOT NULL,
  parameters BLOB NOT NULL,
  released INTEGER NOT NULL,
  next_clip_l2 REAL NOT NULL,  -- of the next round
  PRIMARY KEY (job, round),
  FOREIGN KEY (job, round, attempt) REFERENCES attempts (job, round, attempt)
) STRICT;
CREATE TABLE ledger (
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,
  mechanism TEXT NOT NULL,
  sigma REAL NOT NULL,
  clip_l2 REAL NOT NULL,
  devices INTEGER NOT NULL,
  cohort INTEGER NOT NULL,
  planned INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  certificate_eta REAL NOT NULL,
  certificate_tau REAL NOT NULL,
  certificate_range REAL NOT NULL,
  noise_multiplier REAL NOT NULL,
  accounted_noise_multiplier REAL NOT NULL,
  colluders INTEGER NOT NULL,
  attempts INTEGER NOT NULL,        -- of the job so far, released or not
  charged_rounds INTEGER NOT NULL,  -- of the job so far
  earlier_rounds INTEGER NOT NULL,  -- of earlier jobs, composed with those
  adjacency TEXT NOT NULL,
  sampling TEXT NOT NULL,
  unit TEXT NOT NULL,
  trust_mode TEXT NOT NULL,
  accountant TEXT NOT NULL,
  numeric_error REAL,    -- how much of epsilon may be error of arithmetic; NULL: infinite
  delta REAL NOT NULL,
  epsilon REAL,          -- NULL: infinite
  epsilon_network REAL,  -- NULL: infinite
  private_noise_multiplier REAL NOT NULL,  -- 0: the server is trusted
  epsilon_server REAL,         -- NULL: infinite, or the server is trusted
  epsilon_server_update REAL,  -- the same, for one update
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1)),
  PRIMARY KEY (job, round),
  FOREIGN KEY (job, round) REFERENCES releases (job, round)
) STRICT;
)sql";

// Version 1 held one job. Who was eligible when it ran is not known: all devices count as its own.
// Its attempts were given up for what the drawn devices did, and charged; so they stay.
constexpr char kFormerTables[] = R"sql(
ALTER TABLE job RENAME TO former_job;
ALTER TABLE attempts RENAME TO former_attempts;
ALTER TABLE releases RENAME TO former_releases;
ALTER TABLE ledger RENAME TO former_ledger;
)sql";
constexpr char kFromVersion1[] = R"sql(
INSERT INTO jobs SELECT 1, job_id, model, model_digest,
    json_remove(json_set(configuration, '$.min_devices',
                         json_extract(configuration, '$.min_reports')), '$.min_reports'),
    begun,
    (SELECT count(*) FROM former_attempts) - (SELECT count(*) FROM former_releases)
  FROM former_job;
INSERT INTO job_devices SELECT 1, position FROM devices, former_job;
INSERT INTO attempts SELECT 1, round, attempt, cohort, opened FROM former_attempts ORDER BY rowid;
INSERT INTO releases SELECT 1, round, attempt, reported, parameters, released,
    json_extract(configuration, '$.clip_l2')
  FROM former_releases, former_job;
INSERT INTO ledger SELECT 1, l.round, mechanism, sigma,
    json_extract(configuration, '$.clip_l2'), json_extract(configuration, '$.devices'),
    json_extract(configuration, '$.cohort'), planned, json_extract(configuration, '$.dimension'),
    json_extract(configuration, '$.certificate_eta'),
    json_extract(configuration, '$.certificate_tau'),
    json_extract(configuration, '$.certificate_range'),
    noise_multiplier, accounted_noise_multiplier, colluders,
    (SELECT count(*) FROM former_attempts a WHERE (a.round, a.attempt) <= (r.round, r.attempt)),
    (SELECT count(*) FROM former_attempts a WHERE (a.round, a.attempt) <= (r.round, r.attempt)),
    0, adjacency, sampling, unit, trust_mode, accountant, 1e-11 * epsilon, delta, epsilon, epsilon_network,
    0, NULL, NULL, seeded
  FROM former_ledger l JOIN former_releases r ON l.round = r.round, former_job;
DROP TABLE former_ledger;
DROP TABLE former_releases;
DROP TABLE former_attempts;
DROP TABLE former_job;
)sql";

[[noreturn]] void Refuse(const Database& database, const std::string& why) {
  throw std::runtime_error(database.path() + ": " + why);
}

void SetVersion(Database& database) {
  database.Run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion)
          .c_str());
}

void Create(Database& database) {
  Transaction transaction(database);
  database.Run(kDevices);
  database.Run(kJobs);
  SetVersion(database);
  transaction.Commit();
}

void Migrate(Database& database) {
  Transaction transaction(database);
  database.Run(kFormerTables);
  database.Run(kJobs);
  database.Run(kFromVersion1);
  if (database.Integer("SELECT count(*) FROM pragma_foreign_key_check") != 0) {
    Refuse(database, "its tables contradict each other; begin a new job in a new store");
  }
  SetVersion(database);
  transaction.Commit();
}

void RequireKnownVersion(const Database& database, int64_t application, int64_t version) {
  if (application != kApplicationId) {
    Refuse(database, "a database of another program, not a store; name another file");
  }
  if (version < 1 || version > kVersion) {
    Refuse(database, fmt::format("a store of version {}, and this program knows versions 1 to {}; "
                                 "use the {} program that wrote it",
                                 version, kVersion, version > kVersion ? "newer" : "older"));
  }
}

}  // namespace

void OpenSchema(Database& database, bool may_create) {
  const int64_t application = database.Integer("PRAGMA application_id");
  const int64_t version = database.Integer("PRAGMA user_version");
  const bool is_empty = application == 0 && version == 0 &&
                        database.Integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (!is_empty) {
    RequireKnownVersion(database, application, version);
  } else if (!may_create) {
    // It may once have held a job: only who asked for a new store gets one.
    Refuse(database, "empty, not a store; `sotto keys new` creates one");
  }
  if (database.Text("PRAGMA integrity_check(1)") != "ok") {
    Refuse(database, "the file is damaged; begin a new job in a new store");
  }
  if (database.Text("PRAGMA journal_mode = WAL") != "wal") database.Fail("keep a log beside it");
  database.Run("PRAGMA synchronous = FULL");
  if (is_empty) {
    Create(database);
  } else if (version < kVersion) {
    Migrate(database);
  }
  database.Run("PRAGMA foreign_keys = ON");
}

}  // namespace sotto::server
