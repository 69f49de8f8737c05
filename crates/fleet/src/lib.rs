//! Many machines: who measures what, and one place where all records can be asked.
//!
//! The truth stays on each host. An agent takes jobs from NATS JetStream, runs them by the command
//! `ssdyno` (which keeps its guard and its journals), and sends the records of its store to a collector,
//! which writes them to PostgreSQL. A record counts as delivered only when the collector has returned
//! its hash after PostgreSQL's commit; until then it is in the outbox, for any time. Sending twice is
//! harmless: the hash of its content identifies a record, and PostgreSQL keeps it once.
//!
//! The hub can ask for a destruction; only a file of root's on the drive's own host permits it.
//!
//! | file | owns |
//! |---|---|
//! | `job`, `words` | what the hub may ask for |
//! | `campaign` | a file of presets, methods and seeds, or of experiments, as jobs |
//! | `experiment` | an experiment of a document, as a job |
//! | `grant` | the permission to destroy, on the drive's host |
//! | `key`, `envelope` | who signed which record |
//! | `hub_key`, `members` | what the hub signs, and whom NATS lets in |
//! | `ledger`, `outbox` | what an agent must not forget, and what it has still to send |
//! | `hub` | streams and subjects of NATS |
//! | `agent`, `child` | taking jobs, running the command |
//! | `central`, `collect` | PostgreSQL, and what gets there |
//! | `ask` | jobs and questions of a person |
//! | `publish` | all records as a Parquet file |
//! | `config`, `private` | files with addresses and passwords |
//! | `trial`, `servers` | both services on loopback, for a trial |

#![forbid(unsafe_code)]

pub mod agent;
pub mod ask;
pub mod campaign;
pub mod central;
#[cfg(target_os = "linux")]
mod child;
pub mod collect;
pub mod config;
pub mod digits;
pub mod envelope;
pub mod experiment;
#[cfg(target_os = "linux")]
pub mod grant;
pub mod hub;
pub mod hub_key;
pub mod job;
pub mod key;
pub mod ledger;
#[cfg(target_os = "linux")]
pub mod members;
pub mod notice;
pub mod outbox;
#[cfg(target_os = "linux")]
pub mod private;
pub mod publish;
#[cfg(target_os = "linux")]
pub mod servers;
#[cfg(target_os = "linux")]
pub mod trial;
mod words;
