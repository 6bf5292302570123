// Version 6 of a SQLite store's tables, frozen as text: see sqlite_versions.h. Part of
// sotto::server/store.
#include "store/sqlite_version6.h"

namespace sotto::server {

const char kPutAside5[] = R"sql(
ALTER TABLE store RENAME TO former_store;
ALTER TABLE devices RENAME TO former_devices;
ALTER TABLE revocations RENAME TO former_revocations;
ALTER TABLE jobs RENAME TO former_jobs;
ALTER TABLE job_devices RENAME TO former_job_devices;
ALTER TABLE attempts RENAME TO former_attempts;
ALTER TABLE releases RENAME TO former_releases;
ALTER TABLE models RENAME TO former_models;
ALTER TABLE facts RENAME TO former_facts;
ALTER TABLE claims RENAME TO former_claims;
ALTER TABLE chain RENAME TO former_chain;
)sql";

const char kTables6[] = R"sql(
CREATE TABLE store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  receipt_key BLOB NOT NULL CHECK (length(receipt_key) = 32),
  created INTEGER NOT NULL,
  former_version INTEGER NOT NULL  -- from which the store was converted; 0: it began as this one
) STRICT;
CREATE TABLE devices (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  secret BLOB NOT NULL UNIQUE CHECK (length(secret) = 32),
  created INTEGER NOT NULL,
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1))
) STRICT;
CREATE TABLE revocations (
  device INTEGER PRIMARY KEY REFERENCES devices (position),
  revoked INTEGER NOT NULL
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
  start INTEGER NOT NULL,  -- of the job, from 1: which start of a process added the device
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
  released INTEGER NOT NULL,
  PRIMARY KEY (job, round),
  FOREIGN KEY (job, round, attempt) REFERENCES attempts (job, round, attempt)
) STRICT;
CREATE TABLE models (
  job INTEGER NOT NULL REFERENCES jobs (number),
  round INTEGER NOT NULL,  -- that released it; -1: the job began with it
  parameters BLOB NOT NULL,
  optimiser_state BLOB NOT NULL,
  next_clip_l2 REAL NOT NULL,  -- of the next round
  PRIMARY KEY (job, round)
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
  participants_known INTEGER NOT NULL CHECK (participants_known IN (0, 1)),
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
CREATE TABLE evaluations (
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,  -- whose model was evaluated
  data TEXT NOT NULL,      -- the test set's name
  samples INTEGER NOT NULL,
  loss REAL,  -- mean over the samples; NULL: not finite
  evaluated INTEGER NOT NULL,
  PRIMARY KEY (job, round),
  FOREIGN KEY (job, round) REFERENCES releases (job, round)
) STRICT;
CREATE TABLE evaluated_classes (
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,
  class INTEGER NOT NULL,  -- from 0; no rows: the model predicts no class
  correct INTEGER NOT NULL,
  total INTEGER NOT NULL,
  PRIMARY KEY (job, round, class),
  FOREIGN KEY (job, round) REFERENCES evaluations (job, round)
) STRICT;
CREATE TABLE chain (
  sequence INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  first_key INTEGER NOT NULL,
  second_key INTEGER NOT NULL,
  third_key INTEGER NOT NULL,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  UNIQUE (kind, first_key, second_key, third_key)
) STRICT;
)sql";

const char kCopy5To6[] = R"sql(
INSERT INTO store (one, receipt_key, created, former_version)
  SELECT one, receipt_key, created, former_version
  FROM former_store;
INSERT INTO devices (position, id, secret, created, seeded)
  SELECT position, id, secret, created, seeded
  FROM former_devices ORDER BY position;
INSERT INTO revocations (device, revoked)
  SELECT device, revoked
  FROM former_revocations;
INSERT INTO jobs (number, job_id, model, model_digest, configuration, begun, surcharge)
  SELECT number, job_id, model, model_digest, configuration, begun, surcharge
  FROM former_jobs ORDER BY number;
INSERT INTO job_devices (job, device, start)
  SELECT job, device, start
  FROM former_job_devices;
INSERT INTO attempts (job, round, attempt, cohort, opened)
  SELECT job, round, attempt, cohort, opened
  FROM former_attempts ORDER BY rowid;
INSERT INTO releases (job, round, attempt, reported, released)
  SELECT job, round, attempt, reported, released
  FROM former_releases ORDER BY rowid;
INSERT INTO models (job, round, parameters, optimiser_state, next_clip_l2)
  SELECT job, round, parameters, optimiser_state, next_clip_l2
  FROM former_models ORDER BY rowid;
INSERT INTO facts (
    job, round, mechanism, sampling, devices, cohort, planned, rounds, dimension, clip_l2,
    clip_bit_scale, sigma, colluders, delta, private_noise_multiplier, participants_known,
    certificate_eta, certificate_tau, certificate_range, noise_multiplier,
    accounted_noise_multiplier, attempts, charged_rounds, earlier_rounds, numeric_error,
    seeded)
  SELECT
    job, round, mechanism, sampling, devices, cohort, planned, rounds, dimension, clip_l2,
    clip_bit_scale, sigma, colluders, delta, private_noise_multiplier, participants_known,
    certificate_eta, certificate_tau, certificate_range, noise_multiplier,
    accounted_noise_multiplier, attempts, charged_rounds, earlier_rounds, numeric_error,
    seeded
  FROM former_facts ORDER BY rowid;
INSERT INTO claims (
    job, round, position, adversary, view, unit, adjacency, sensitivity, colluders,
    trust_mode, epsilon, delta, accountant, assumptions)
  SELECT
    job, round, position, adversary, view, unit, adjacency, sensitivity, colluders,
    trust_mode, epsilon, delta, accountant, assumptions
  FROM former_claims ORDER BY rowid;
INSERT INTO chain (sequence, kind, first_key, second_key, third_key, hash)
  SELECT sequence, kind, first_key, second_key, third_key, hash
  FROM former_chain ORDER BY sequence;
DROP TABLE former_chain;
DROP TABLE former_claims;
DROP TABLE former_facts;
DROP TABLE former_models;
DROP TABLE former_releases;
DROP TABLE former_attempts;
DROP TABLE former_job_devices;
DROP TABLE former_jobs;
DROP TABLE former_revocations;
DROP TABLE former_devices;
DROP TABLE former_store;
)sql";

const char kEvaluationsOfVersion5[] = R"sql(
CREATE TEMP VIEW evaluations AS
  SELECT 0 AS job, 0 AS round, '' AS data, 0 AS samples, 0.0 AS loss, 0 AS evaluated WHERE 0;
CREATE TEMP VIEW evaluated_classes AS
  SELECT 0 AS job, 0 AS round, 0 AS class, 0 AS correct, 0 AS total WHERE 0
)sql";

}  // namespace sotto::server
