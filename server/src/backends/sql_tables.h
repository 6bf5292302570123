// The tables of a store: its schema, as SQLite has it; PostgreSQL has the same tables
// (postgres_place.cc). Part of sotto::server/backends.
//
// To change the schema, change the text and raise kSchemaVersion. A store of another schema is then
// refused (sqlite_schema.h). Release 0.2.0 writes stores of version 9 (tests/vectors/frozen). A
// later version also needs a conversion from the schemas of all releases, and its test.
//
// Constants: safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sotto::server {

inline constexpr int64_t kSchemaVersion = 9;

// SQLite keeps this text, its comments included, and a store is refused if its text differs. Two
// columns are 0 in every store: store.former_version and jobs.surcharge.
inline constexpr char kTables[] = R"sql(
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
CREATE TABLE turns (  -- of an attempt that was released, or sealed: it is charged
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  device INTEGER NOT NULL REFERENCES devices (position),
  PRIMARY KEY (job, round, attempt, device),
  FOREIGN KEY (job, round, attempt) REFERENCES attempts (job, round, attempt)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE thresholds (  -- of prediction errors, each of a released model
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,
  number INTEGER NOT NULL,  -- of the model's thresholds, from 1; the last one holds
  threshold REAL NOT NULL,
  attached INTEGER NOT NULL,
  PRIMARY KEY (job, round, number),
  FOREIGN KEY (job, round) REFERENCES releases (job, round)
) STRICT;
CREATE TABLE descriptions (
  job INTEGER PRIMARY KEY REFERENCES jobs (number),
  bundle BLOB NOT NULL  -- the model that the job trains: sotto/model/model_bundle.h
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
  too_long REAL NOT NULL,  -- largest probability that an update is; 0: it may have any length
  participants_known INTEGER NOT NULL CHECK (participants_known IN (0, 1)),
  participations INTEGER NOT NULL,  -- the most rounds of a device; 0: not of passes
  limit_rounds INTEGER NOT NULL,    -- from which a device's limit follows; 0: all
  turn_order TEXT NOT NULL,         -- of passes
  timed_reports INTEGER NOT NULL CHECK (timed_reports IN (0, 1)),
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
  mu REAL,                    -- NULL: there is none, or it is infinite
  attacker_right REAL,        -- NULL: not computed
  participations INTEGER NOT NULL,  -- 0: not of passes
  epsilon_zero_out REAL,            -- NULL: there is none, or it is infinite
  PRIMARY KEY (job, round, position),
  FOREIGN KEY (job, round) REFERENCES releases (job, round)
) STRICT;
CREATE TABLE evaluations (
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,  -- whose model was evaluated
  data TEXT NOT NULL,      -- the test set's name
  data_sha256 TEXT NOT NULL,  -- of its files; empty: it is read from none
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
  name TEXT NOT NULL,      -- empty: it has none
  correct INTEGER NOT NULL,
  total INTEGER NOT NULL,
  PRIMARY KEY (job, round, class),
  FOREIGN KEY (job, round) REFERENCES evaluations (job, round)
) STRICT;
CREATE TABLE round_records (  -- what the operator saw of an attempt when its result was published
  job INTEGER NOT NULL,
  round INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  released INTEGER NOT NULL CHECK (released IN (0, 1)),
  figures TEXT NOT NULL,  -- JSON, by name
  PRIMARY KEY (job, round, attempt),
  FOREIGN KEY (job, round, attempt) REFERENCES attempts (job, round, attempt)
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
CREATE TABLE rotations (
  device INTEGER NOT NULL REFERENCES devices (position),
  number INTEGER NOT NULL,  -- of the device's rotations, from 1; the last one's secret is in use
  secret BLOB NOT NULL UNIQUE CHECK (length(secret) = 32),
  rotated INTEGER NOT NULL,
  PRIMARY KEY (device, number)
) STRICT;
CREATE TABLE owners (
  device INTEGER NOT NULL REFERENCES devices (position),
  number INTEGER NOT NULL,  -- of the device's owners, from 1; the last one holds
  owner TEXT NOT NULL,
  registered INTEGER NOT NULL,
  PRIMARY KEY (device, number)
) STRICT;
CREATE TABLE kits (  -- of sotto-client on the device; without its secret
  device INTEGER NOT NULL REFERENCES devices (position),
  number INTEGER NOT NULL,  -- of the device's kits, from 1; the last one holds
  settings TEXT NOT NULL,   -- text of posix::KitSettingsText()
  written INTEGER NOT NULL,
  PRIMARY KEY (device, number)
) STRICT;
CREATE TABLE fleets (
  job INTEGER NOT NULL REFERENCES jobs (number),
  number INTEGER NOT NULL,  -- of the job's changes, from 1
  round INTEGER NOT NULL,   -- it holds from this attempt on
  attempt INTEGER NOT NULL,
  devices INTEGER NOT NULL,  -- eligible; before the first change as many as the job began with
  PRIMARY KEY (job, number)
) STRICT;
CREATE TABLE extensions (
  job INTEGER NOT NULL REFERENCES jobs (number),
  number INTEGER NOT NULL,  -- of the job's extensions, from 1
  rounds INTEGER NOT NULL,  -- of the whole job from now on
  epsilon_budget REAL,      -- from now on; NULL: none
  extended INTEGER NOT NULL,
  PRIMARY KEY (job, number)
) STRICT;
CREATE TABLE halts (  -- why a job opened no attempt
  job INTEGER NOT NULL REFERENCES jobs (number),
  number INTEGER NOT NULL,    -- of the job's halts, from 1
  attempts INTEGER NOT NULL,  -- of the job by then; it holds while there is no other one
  rounds INTEGER NOT NULL,    -- planned then
  kind TEXT NOT NULL,         -- of kHalts (round/halt.h)
  reason TEXT NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (job, number)
) STRICT;
CREATE TABLE pauses (
  number INTEGER PRIMARY KEY,  -- from 1; the last one holds
  paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
  since INTEGER NOT NULL
) STRICT;
CREATE TABLE job_requests (  -- what somebody asked of the jobs
  number INTEGER PRIMARY KEY,  -- from 1; jobs begin in this order
  act TEXT NOT NULL,           -- start, stop, resume
  job INTEGER NOT NULL,        -- stop, resume: which; start: that it replaces, 0: none
  settings TEXT NOT NULL,      -- start: the job's options, as a file of --config
  agreed INTEGER NOT NULL CHECK (agreed IN (0, 1)),  -- to what it adds to earlier jobs
  bundle BLOB NOT NULL,        -- start with a model file: that model; else empty
  asked INTEGER NOT NULL
) STRICT;
CREATE TABLE job_answers (  -- what became of them
  request INTEGER PRIMARY KEY REFERENCES job_requests (number),
  outcome TEXT NOT NULL,  -- begun, done, refused, withdrawn
  job INTEGER NOT NULL,   -- begun: which; 0: none
  reason TEXT NOT NULL,
  answered INTEGER NOT NULL
) STRICT;
CREATE TABLE life_epsilons (
  number INTEGER PRIMARY KEY,    -- from 1; the last one holds
  former_epsilon REAL NOT NULL,  -- of the one before; 0: there was none
  epsilon REAL NOT NULL,         -- of the turns of one device in all jobs
  delta REAL NOT NULL,           -- the same in all rows
  since INTEGER NOT NULL
) STRICT;
CREATE TABLE recoveries (  -- of an older copy as all there is
  number INTEGER PRIMARY KEY,    -- from 1; the last one holds
  last_device INTEGER NOT NULL,  -- position; later devices have lost nothing
  job INTEGER NOT NULL,          -- the last one of the copy; 0: none had begun
  first_job INTEGER NOT NULL,    -- the same of an earlier recovery that still lacked receipts
  life INTEGER NOT NULL,         -- number of the life epsilon that the copy has; 0: none
  since INTEGER NOT NULL
) STRICT;
CREATE TABLE settled (  -- devices that showed what the copy had lost
  recovery INTEGER NOT NULL REFERENCES recoveries (number),
  device INTEGER NOT NULL REFERENCES devices (position),
  job INTEGER NOT NULL REFERENCES jobs (number),  -- of the receipt, or that was the last one then
  receipt BLOB NOT NULL,    -- which the device showed; empty: none, of a later device
  turns INTEGER NOT NULL,   -- that it was charged for, as if in this job
  mu_squared REAL,          -- of these; NULL: infinite
  coordinates REAL NOT NULL,
  too_long REAL NOT NULL,
  settled INTEGER NOT NULL,
  PRIMARY KEY (recovery, device)
) STRICT, WITHOUT ROWID;
)sql";

// The columns, of whatever table, that nobody may read who reads the database alone: what devices
// and receipts rest on, who was drawn in an attempt that came to nothing, and receipts. sql.h,
// SecretBytes.
inline const std::vector<std::string>& SecretColumns() {
  static const std::vector<std::string> kColumns = {"receipt_key", "secret", "cohort", "receipt"};
  return kColumns;
}

}  // namespace sotto::server
