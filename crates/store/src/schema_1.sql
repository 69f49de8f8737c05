-- Version 1 of the store. Never changed once released; what comes later is a step of its own.

-- One row a run. `body` is the record as JSON, without metrics and series, and the one place where
-- its fields are written; what is searched or listed is drawn from it by SQLite itself.
CREATE TABLE run (
  number INTEGER PRIMARY KEY AUTOINCREMENT, -- "run 12"; the number of a removed run stays unused
  id TEXT NOT NULL UNIQUE GENERATED ALWAYS AS (body ->> '$.id') STORED,
  started_ms INTEGER NOT NULL, -- since 1970
  started TEXT GENERATED ALWAYS AS (body ->> '$.started') STORED,
  method TEXT GENERATED ALWAYS AS (body ->> '$.method') STORED,
  target TEXT GENERATED ALWAYS AS (body ->> '$.target.spec') STORED,
  path TEXT GENERATED ALWAYS AS (body ->> '$.target.path') STORED,
  drive TEXT GENERATED ALWAYS AS (body ->> '$.target.drive.name') STORED,
  vendor TEXT GENERATED ALWAYS AS (body ->> '$.target.drive.vendor') STORED,
  model TEXT GENERATED ALWAYS AS (body ->> '$.target.drive.model') STORED,
  serial TEXT GENERATED ALWAYS AS (body ->> '$.target.drive.serial') STORED,
  complete INTEGER GENERATED ALWAYS AS (body ->> '$.complete') STORED,
  cut_short TEXT GENERATED ALWAYS AS (body ->> '$.cut_short') STORED,
  body TEXT NOT NULL,
  -- The process that writes it; NULL once nobody does.
  writer_pid INTEGER,
  writer_start INTEGER, -- clock ticks since boot
  writer_boot TEXT -- id of that boot
) STRICT;
CREATE INDEX run_by_start ON run (started_ms);
CREATE INDEX run_by_serial ON run (serial, method);

-- Metrics in the order of the record. `value`, `low` and `high` are NULL where unknown; `samples`
-- are the replicates, each an IEEE 754 double, little-endian.
CREATE TABLE metric (
  run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  value REAL,
  low REAL,
  high REAL,
  n INTEGER NOT NULL,
  samples BLOB NOT NULL,
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX metric_by_name ON metric (name, run);

-- Pieces of the series of a run: one for each second while it runs, one for the whole once it is
-- finished. `position` numbers the series of a run, the rowid orders the pieces of one series.
CREATE TABLE piece (
  number INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name TEXT NOT NULL, -- of the workload
  replicate INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, -- since the run began
  points INTEGER NOT NULL,
  data BLOB NOT NULL -- packed as `series.rs` says
) STRICT;
CREATE INDEX piece_by_run ON piece (run, position);
