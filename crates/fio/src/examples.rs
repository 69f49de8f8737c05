//! fio's example job files: those that parse, and the reasons why others do not. For `docs/fio.md`;
//! `tests/examples.rs` compares the lists with the files.

/// Examples of fio 3.42, without `.fio`, that need only local files or devices and supported
/// engines, and that parse.
pub const EXAMPLES: &[&str] = &[
    "1mbs_clients",
    "aio-read",
    "backwards-read",
    "basic-verify",
    "butterfly",
    "cmdprio-bssplit",
    "cmdprio-percentage",
    "cross-stripe-verify",
    "dedupe-global",
    "disk-zone-profile",
    "enospc-pressure",
    "example_latency_steadystate",
    "exitwhat",
    "fio-rand-RW",
    "fio-rand-read",
    "fio-rand-write",
    "fio-seq-RW",
    "fio-seq-read",
    "fio-seq-write",
    "fixed-rate-submission",
    "flow",
    "fsx",
    "iometer-file-access-server",
    "jesd219",
    "latency-profile",
    "null",
    "numa",
    "poisson-rate-submission",
    "rand-zones",
    "sequence-distribution",
    "sprandom",
    "ssd-steadystate",
    "ssd-test",
    "steadystate",
    "surface-scan",
    "tiobench-example",
    "waitfor",
    "xnvme-compare",
    "zipf",
];

/// Examples that need no more but are refused.
pub const EXAMPLES_REFUSED: &[&str] = &["atomic-verify"];

/// Total number of examples.
const ALL: usize = 107;

/// The page's section on examples.
fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub(super) fn markdown() -> String {
    format!(
        "\n## fio's own examples\n\n\
         fio 3.42 comes with {ALL} example job files. These {} parse: {}.\n\n\
         These need only local files and supported engines, but are refused for an option: {}.\n\n\
         The other {} need an engine that is not supported (a network, a library, a GPU, commands that bypass \
         the block layer) or a zoned device; the tables above say why.\n",
        EXAMPLES.len(),
        quoted(EXAMPLES),
        quoted(EXAMPLES_REFUSED),
        ALL - EXAMPLES.len() - EXAMPLES_REFUSED.len(),
    )
}
