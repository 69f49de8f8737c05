-- The central store. Every record once, by its hash; names as ids. Made by `collect` at its start;
-- only additions.

-- Keys that may sign, each for one machine.
CREATE TABLE IF NOT EXISTS enrolment (
  key bytea PRIMARY KEY,
  machine text NOT NULL,
  host text NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  revoked timestamptz -- from then on, it signs for nothing
);

-- Names of metrics and methods.
CREATE TABLE IF NOT EXISTS word (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  text text NOT NULL UNIQUE
);

-- Models with their firmware; '' is unknown.
CREATE TABLE IF NOT EXISTS model (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  firmware text NOT NULL,
  is_virtual boolean NOT NULL,
  UNIQUE (name, firmware, is_virtual)
);

CREATE TABLE IF NOT EXISTS run (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash bytea NOT NULL UNIQUE, -- SHA-256 of its canonical JSON
  record_id text NOT NULL,
  key bytea NOT NULL, -- that signed it
  machine text, -- NULL: a virtual drive, the same everywhere
  method int NOT NULL,
  model int NOT NULL,
  serial text,
  started text NOT NULL,
  is_complete boolean NOT NULL,
  tags text[] NOT NULL, -- name=value
  packed bytea NOT NULL, -- the record, deflated, as it was sent
  received timestamptz NOT NULL DEFAULT now()
);
-- It is compressed already.
ALTER TABLE run ALTER COLUMN packed SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS run_by_tags ON run USING gin (tags);

-- Values of metrics. The model is repeated here, so that a question reads one index and nothing else.
CREATE TABLE IF NOT EXISTS metric (
  name int NOT NULL,
  model int NOT NULL,
  run bigint NOT NULL,
  value float8 NOT NULL
);
CREATE INDEX IF NOT EXISTS metric_by_name ON metric (name, model) INCLUDE (value);

-- What became of jobs.
CREATE TABLE IF NOT EXISTS notice (
  hash bytea PRIMARY KEY, -- SHA-256 of its text
  key bytea NOT NULL,
  job text NOT NULL,
  machine text NOT NULL,
  target text NOT NULL,
  job_end text NOT NULL,
  reason text NOT NULL,
  record bytea, -- its hash
  at text NOT NULL, -- on the machine's clock
  received timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS notice_by_job ON notice (job text_pattern_ops);

-- What the collector refused, each once; of each sender, the latest.
CREATE TABLE IF NOT EXISTS refusal (
  sender text NOT NULL, -- the machine, as NATS knows it; '' if it has no subject of its own
  key bytea NOT NULL,
  hash bytea NOT NULL,
  reason text NOT NULL,
  times bigint NOT NULL DEFAULT 1,
  last timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (sender, key, hash, reason)
);
