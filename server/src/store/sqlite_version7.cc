// Version 7 of a SQLite store's tables, frozen as text: see sqlite_versions.h. Part of
// sotto::server/store.
#include "store/sqlite_version7.h"

namespace sotto::server {

const char kTablesSince6[] = R"sql(
CREATE TABLE rotations (
  device INTEGER NOT NULL REFERENCES devices (position),
  number INTEGER NOT NULL,  -- of the device's rotations, from 1; the last one's secret is in use
  secret BLOB NOT NULL UNIQUE CHECK (length(secret) = 32),
  rotated INTEGER NOT NULL,
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
CREATE TABLE pauses (
  number INTEGER PRIMARY KEY,  -- from 1; the last one holds
  paused INTEGER NOT NULL CHECK (paused IN (0, 1)),
  since INTEGER NOT NULL
) STRICT;
)sql";

const char kFleetChangesOfVersion6[] = R"sql(
CREATE TEMP VIEW rotations AS
  SELECT 0 AS device, 0 AS number, x'' AS secret, 0 AS rotated WHERE 0;
CREATE TEMP VIEW fleets AS
  SELECT 0 AS job, 0 AS number, 0 AS round, 0 AS attempt, 0 AS devices WHERE 0;
CREATE TEMP VIEW extensions AS
  SELECT 0 AS job, 0 AS number, 0 AS rounds, 0.0 AS epsilon_budget, 0 AS extended WHERE 0;
CREATE TEMP VIEW pauses AS SELECT 0 AS number, 0 AS paused, 0 AS since WHERE 0
)sql";

}  // namespace sotto::server
