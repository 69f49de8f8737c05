-- Version 2 of the store: a list of runs reads no record, and a record takes a third of the space.
-- Never changed once released; what comes later is a step of its own. `migrate.rs` fills it.

-- Words that repeat in every run: names of metrics, units, workloads.
CREATE TABLE word (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
) STRICT;

-- What was measured: each combination of target and drive once, however many runs it has.
CREATE TABLE place (
  id INTEGER PRIMARY KEY,
  target TEXT NOT NULL, -- as typed
  path TEXT,
  drive TEXT, -- name
  vendor TEXT,
  model TEXT,
  serial TEXT,
  drive_key TEXT, -- of history.rs in `record`; NULL without a drive
  weak INTEGER NOT NULL, -- the key names a slot rather than a drive
  search TEXT NOT NULL, -- in lower case: maker and model, serial, name, target, path, one a line
  whole TEXT NOT NULL UNIQUE -- all of the above in one text
) STRICT;
CREATE INDEX place_by_key ON place (drive_key);
CREATE INDEX place_by_model ON place (model);

-- One row a run, with everything a list shows. Rows are narrow: records are in a table of their own.
CREATE TABLE run (
  number INTEGER PRIMARY KEY AUTOINCREMENT, -- "run 12"; the number of a removed run stays unused
  id TEXT NOT NULL, -- of the record; two records of one id are a conflict, and both are kept
  hash BLOB, -- SHA-256 of the content; NULL while it is written, and if it was killed then
  kind TEXT NOT NULL, -- measured (by this store's machine), carried, imported
  machine TEXT, -- id of the machine that measured it
  started_ms INTEGER NOT NULL, -- since 1970
  started TEXT NOT NULL,
  start_known INTEGER NOT NULL,
  method TEXT NOT NULL,
  place INTEGER NOT NULL REFERENCES place (id),
  complete INTEGER NOT NULL,
  cut_short TEXT,
  answer TEXT, -- its headline
  headline BLOB NOT NULL, -- positions of the metrics that stand for the run, two bytes each
  state_after TEXT NOT NULL,
  reads_only INTEGER NOT NULL, -- it could not change the state of the drive
  whole_drive INTEGER NOT NULL,
  written_bytes INTEGER, -- by hosts over the drive's life, after the run
  -- The process that writes it; NULL once nobody does.
  writer_pid INTEGER,
  writer_start INTEGER, -- clock ticks since boot
  writer_boot TEXT -- id of that boot
) STRICT;
CREATE INDEX run_by_id ON run (id COLLATE NOCASE);
CREATE INDEX run_by_start ON run (started_ms);
CREATE INDEX run_by_place ON run (place);
CREATE INDEX run_by_method ON run (method, started_ms);

-- The record as JSON, compressed, without the parts that the other tables hold completely.
CREATE TABLE record (
  run INTEGER PRIMARY KEY REFERENCES run (number) ON DELETE CASCADE,
  body BLOB NOT NULL,
  latencies BLOB NOT NULL -- histograms, packed as `latencies.rs` says, compressed
) STRICT;

-- Metrics in the order of the record. `value`, `low` and `high` are NULL where unknown.
CREATE TABLE metric (
  run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name INTEGER NOT NULL REFERENCES word (id),
  unit INTEGER NOT NULL REFERENCES word (id),
  value REAL,
  low REAL,
  high REAL,
  n INTEGER NOT NULL,
  samples BLOB, -- the replicates, IEEE 754 doubles, little-endian; NULL: the value alone
  PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX metric_by_name ON metric (name, run);

-- Pieces of the series of a run: one for each second while it runs, one for the whole once it is
-- finished. `position` numbers the series of a run, the rowid orders the pieces of one series.
CREATE TABLE piece (
  number INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name INTEGER NOT NULL REFERENCES word (id), -- of the workload
  replicate INTEGER NOT NULL,
  start_ns INTEGER NOT NULL, -- since the run began
  points INTEGER NOT NULL,
  data BLOB NOT NULL -- packed as `series.rs` says, compressed
) STRICT;
CREATE INDEX piece_by_run ON piece (run, position);
