#include "store/sqlite_versions.h"

#include "store/sqlite_version4.h"
#include "store/sqlite_version5.h"
#include "store/sqlite_version6.h"
#include "store/sqlite_version7.h"

namespace sotto::server {
namespace {

// Times are seconds since 1970. Cohorts are u32le: indices into the devices that were eligible at
// `opened`, in the order of `position`. Parameters are float32, little-endian.

// Version 1: one job. Its attempts were given up depending on the drawn devices, and charged.

constexpr char kTables1[] = R"sql(
CREATE TABLE devices (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  secret BLOB NOT NULL UNIQUE CHECK (length(secret) = 32),
  created INTEGER NOT NULL,
  revoked INTEGER,
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1))
) STRICT;
CREATE TABLE job (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  job_id BLOB NOT NULL CHECK (length(job_id) = 16),
  model TEXT NOT NULL,
  model_digest BLOB NOT NULL CHECK (length(model_digest) = 32),
  configuration TEXT NOT NULL,
  begun INTEGER NOT NULL
) STRICT;
CREATE TABLE attempts (
  round INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  cohort BLOB NOT NULL,
  opened INTEGER NOT NULL,
  PRIMARY KEY (round, attempt)
) STRICT;
CREATE TABLE releases (
  round INTEGER PRIMARY KEY,
  attempt INTEGER NOT NULL,
  reported INTEGER NOT NULL,
  parameters BLOB NOT NULL,
  released INTEGER NOT NULL,
  FOREIGN KEY (round, attempt) REFERENCES attempts (round, attempt)
) STRICT;
CREATE TABLE ledger (
  round INTEGER PRIMARY KEY REFERENCES releases (round),
  mechanism TEXT NOT NULL,
  sigma REAL NOT NULL,
  planned INTEGER NOT NULL,
  noise_multiplier REAL NOT NULL,
  accounted_noise_multiplier REAL NOT NULL,
  colluders INTEGER NOT NULL,
  adjacency TEXT NOT NULL,
  sampling TEXT NOT NULL,
  unit TEXT NOT NULL,
  trust_mode TEXT NOT NULL,
  accountant TEXT NOT NULL,
  delta REAL NOT NULL,
  epsilon REAL,          -- NULL: infinite
  epsilon_network REAL,  -- NULL: infinite
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1))
) STRICT;
)sql";

// Version 2: a sequence of jobs, numbered from 1. Only the last job can continue. A job's devices
// are all that were eligible when one of its processes began.

constexpr char kPutAside1[] = R"sql(
ALTER TABLE devices RENAME TO former_devices;
ALTER TABLE job RENAME TO former_job;
ALTER TABLE attempts RENAME TO former_attempts;
ALTER TABLE releases RENAME TO former_releases;
ALTER TABLE ledger RENAME TO former_ledger;
)sql";

constexpr char kTables2[] = R"sql(
CREATE TABLE devices (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  secret BLOB NOT NULL UNIQUE CHECK (length(secret) = 32),
  created INTEGER NOT NULL,
  revoked INTEGER,
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1))
) STRICT;
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

// Version 1 does not say which devices were eligible while its job ran: all count as the job's own.
constexpr char kCopy1To2[] = R"sql(
INSERT INTO devices (position, id, secret, created, revoked, seeded)
  SELECT position, id, secret, created, revoked, seeded FROM former_devices ORDER BY position;
INSERT INTO jobs (number, job_id, model, model_digest, configuration, begun, surcharge)
  SELECT 1, job_id, model, model_digest,
    json_remove(json_set(configuration, '$.min_devices',
                         json_extract(configuration, '$.min_reports')), '$.min_reports'),
    begun,
    (SELECT count(*) FROM former_attempts) - (SELECT count(*) FROM former_releases)
  FROM former_job;
INSERT INTO job_devices (job, device) SELECT 1, position FROM former_devices, former_job;
INSERT INTO attempts (job, round, attempt, cohort, opened)
  SELECT 1, round, attempt, cohort, opened FROM former_attempts ORDER BY rowid;
INSERT INTO releases (job, round, attempt, reported, parameters, released, next_clip_l2)
  SELECT 1, round, attempt, reported, parameters, released,
    json_extract(configuration, '$.clip_l2')
  FROM former_releases, former_job;
INSERT INTO ledger (
    job, round, mechanism, sigma,
    clip_l2, devices, cohort, planned, dimension,
    certificate_eta, certificate_tau, certificate_range,
    noise_multiplier, accounted_noise_multiplier, colluders, attempts, charged_rounds,
    earlier_rounds, adjacency, sampling, unit, trust_mode, accountant, numeric_error, delta,
    epsilon, epsilon_network, private_noise_multiplier, epsilon_server, epsilon_server_update,
    seeded)
  SELECT 1, l.round, mechanism, sigma,
    json_extract(configuration, '$.clip_l2'), json_extract(configuration, '$.devices'),
    json_extract(configuration, '$.cohort'), planned, json_extract(configuration, '$.dimension'),
    json_extract(configuration, '$.certificate_eta'),
    json_extract(configuration, '$.certificate_tau'),
    json_extract(configuration, '$.certificate_range'),
    noise_multiplier, accounted_noise_multiplier, colluders,
    (SELECT count(*) FROM former_attempts a WHERE (a.round, a.attempt) <= (r.round, r.attempt)),
    (SELECT count(*) FROM former_attempts a WHERE (a.round, a.attempt) <= (r.round, r.attempt)),
    0, adjacency, sampling, unit, trust_mode, accountant, 1e-11 * epsilon, delta,
    epsilon, epsilon_network, 0, NULL, NULL,
    seeded
  FROM former_ledger l JOIN former_releases r ON l.round = r.round, former_job;
DROP TABLE former_ledger;
DROP TABLE former_releases;
DROP TABLE former_attempts;
DROP TABLE former_job;
DROP TABLE former_devices;
)sql";

// Version 3: the privacy figures of a release are rows of `claims`. `facts` holds the values from
// which they are computed, of the release's own round. `optimiser_state` is the opaque state of the
// job's optimiser.

constexpr char kPutAside2[] = R"sql(
ALTER TABLE devices RENAME TO former_devices;
ALTER TABLE jobs RENAME TO former_jobs;
ALTER TABLE job_devices RENAME TO former_job_devices;
ALTER TABLE attempts RENAME TO former_attempts;
ALTER TABLE releases RENAME TO former_releases;
ALTER TABLE ledger RENAME TO former_ledger;
)sql";

constexpr char kTables3[] = R"sql(
CREATE TABLE devices (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  secret BLOB NOT NULL UNIQUE CHECK (length(secret) = 32),
  created INTEGER NOT NULL,
  revoked INTEGER,
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1))
) STRICT;
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
  optimiser_state BLOB NOT NULL,
  released INTEGER NOT NULL,
  next_clip_l2 REAL NOT NULL,  -- of the next round
  PRIMARY KEY (job, round),
  FOREIGN KEY (job, round, attempt) REFERENCES attempts (job, round, attempt)
) STRICT;
CREATE TABLE facts (
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,
  mechanism TEXT NOT NULL,
  sampling TEXT NOT NULL,
  devices INTEGER NOT NULL,
  cohort INTEGER NOT NULL,
  planned INTEGER NOT NULL,  -- reports
  rounds INTEGER NOT NULL,   -- planned, of the job
  dimension INTEGER NOT NULL,
  clip_l2 REAL NOT NULL,
  clip_bit_scale REAL NOT NULL,  -- 0: the clipping bound is fixed
  sigma REAL NOT NULL,           -- of one encoding; 0 without privacy
  colluders INTEGER NOT NULL,
  delta REAL NOT NULL,
  private_noise_multiplier REAL NOT NULL,  -- 0: the server is trusted
  certificate_eta REAL NOT NULL,
  certificate_tau REAL NOT NULL,
  certificate_range REAL NOT NULL,
  noise_multiplier REAL NOT NULL,
  accounted_noise_multiplier REAL NOT NULL,
  attempts INTEGER NOT NULL,        -- of the job so far, released or not
  charged_rounds INTEGER NOT NULL,  -- of the job so far
  earlier_rounds INTEGER NOT NULL,  -- of earlier jobs, composed with those
  numeric_error REAL,  -- how much of the public epsilon may be error of arithmetic; NULL: infinite
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1)),
  PRIMARY KEY (job, round),
  FOREIGN KEY (job, round) REFERENCES releases (job, round)
) STRICT;
CREATE TABLE claims (
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,
  position INTEGER NOT NULL,  -- in the release's list of claims, from 0
  adversary TEXT NOT NULL,
  view TEXT NOT NULL,
  unit TEXT NOT NULL,
  adjacency TEXT NOT NULL,
  sensitivity REAL NOT NULL,  -- L2, in clipping bounds
  colluders INTEGER NOT NULL,
  trust_mode TEXT NOT NULL,
  epsilon REAL,  -- NULL: infinite
  delta REAL NOT NULL,
  accountant TEXT NOT NULL,
  assumptions TEXT NOT NULL,  -- names with commas between
  PRIMARY KEY (job, round, position),
  FOREIGN KEY (job, round) REFERENCES releases (job, round)
) STRICT;
)sql";

// A ledger of version 2 has up to four figures: one against the public, one against the network
// and, where devices add private noise, two against the server. It names only the accountant of the
// first figure; the last two always had "rdp".
constexpr char kCopy2To3[] = R"sql(
INSERT INTO devices (position, id, secret, created, revoked, seeded)
  SELECT position, id, secret, created, revoked, seeded FROM former_devices ORDER BY position;
INSERT INTO jobs (number, job_id, model, model_digest, configuration, begun, surcharge)
  SELECT number, job_id, model, model_digest, configuration, begun, surcharge
  FROM former_jobs ORDER BY number;
INSERT INTO job_devices (job, device) SELECT job, device FROM former_job_devices;
INSERT INTO attempts (job, round, attempt, cohort, opened)
  SELECT job, round, attempt, cohort, opened FROM former_attempts ORDER BY rowid;
INSERT INTO releases (
    job, round, attempt, reported, parameters, optimiser_state, released, next_clip_l2)
  SELECT job, round, attempt, reported, parameters, x'', released, next_clip_l2
  FROM former_releases ORDER BY rowid;
INSERT INTO facts (
    job, round, mechanism, sampling, devices, cohort, planned,
    rounds, dimension, clip_l2,
    clip_bit_scale,
    sigma, colluders,
    delta, private_noise_multiplier, certificate_eta, certificate_tau,
    certificate_range, noise_multiplier, accounted_noise_multiplier, attempts, charged_rounds,
    earlier_rounds, numeric_error, seeded)
  SELECT job, round, mechanism, sampling, devices, cohort, planned,
    json_extract(configuration, '$.rounds'), dimension, clip_l2,
    coalesce(json_extract(configuration, '$.clip_bit_scale') * clip_l2 /
             json_extract(configuration, '$.clip_l2'), 0.0),
    sigma, json_extract(configuration, '$.colluders'),
    json_extract(configuration, '$.delta'), private_noise_multiplier, certificate_eta,
    certificate_tau, certificate_range, noise_multiplier, accounted_noise_multiplier, attempts,
    charged_rounds, earlier_rounds, numeric_error, seeded
  FROM former_ledger JOIN former_jobs ON job = number;
INSERT INTO claims (
    job, round, position, adversary, view, unit, adjacency, sensitivity,
    colluders, trust_mode, epsilon, delta, accountant, assumptions)
  SELECT job, round, 0, 'public', 'releases', unit, adjacency, iif(adjacency = 'add-remove', 1, 2),
    colluders, trust_mode, epsilon, delta, accountant,
    'server-follows-protocol,participation-is-secret,reporting-independent-of-data,'
    || 'random-bits-are-uniform'
  FROM former_ledger;
INSERT INTO claims (
    job, round, position, adversary, view, unit, adjacency,
    sensitivity, colluders, trust_mode, epsilon, delta, accountant,
    assumptions)
  SELECT job, round, 1, 'network', 'releases-and-participants', unit, adjacency,
    iif(adjacency = 'add-remove', 1, 2), colluders, trust_mode, epsilon_network, delta, 'unknown',
    'server-follows-protocol,reporting-independent-of-data,lengths-and-times-tell-nothing,'
    || 'random-bits-are-uniform'
  FROM former_ledger;
INSERT INTO claims (
    job, round, position, adversary, view, unit, adjacency,
    sensitivity, colluders, trust_mode, epsilon, delta, accountant,
    assumptions)
  SELECT job, round, 2, 'server', 'every-update', unit, 'replace-one',
    2, colluders, trust_mode, epsilon_server, delta, 'rdp',
    'reporting-independent-of-data,times-tell-nothing,updates-as-recorded,'
    || 'private-noise-is-secret,random-bits-are-uniform'
  FROM former_ledger WHERE trust_mode = 'private-noise';
INSERT INTO claims (
    job, round, position, adversary, view, unit, adjacency,
    sensitivity, colluders, trust_mode, epsilon, delta, accountant,
    assumptions)
  SELECT job, round, 3, 'server', 'one-update', unit, 'replace-one',
    2, colluders, trust_mode, epsilon_server_update, delta, 'rdp',
    'reporting-independent-of-data,times-tell-nothing,private-noise-is-secret,'
    || 'random-bits-are-uniform'
  FROM former_ledger WHERE trust_mode = 'private-noise';
UPDATE claims SET assumptions = '' WHERE (job, round) IN
  (SELECT job, round FROM former_ledger WHERE mechanism <> 'gau-lrq');
DROP TABLE former_ledger;
DROP TABLE former_releases;
DROP TABLE former_attempts;
DROP TABLE former_job_devices;
DROP TABLE former_jobs;
DROP TABLE former_devices;
)sql";

}  // namespace

const SchemaVersion kSchemaVersions[kSchemaVersion] = {
    {1, "", kTables1, ""},
    {2, kPutAside1, kTables2, kCopy1To2},
    {3, kPutAside2, kTables3, kCopy2To3},
    {4, kPutAside3, kTables4, kCopy3To4},
    {5, kPutAside4, kTables5, kCopy4To5},
    {6, kPutAside5, kTables6, kCopy5To6},
    {7, "", kTablesSince6, "", BeginNewChain, true},
};

std::string TablesOf(int64_t version) {
  const SchemaVersion& schema = kSchemaVersions[version - 1];
  return (schema.adds ? TablesOf(version - 1) : std::string()) + schema.tables;
}

}  // namespace sotto::server
