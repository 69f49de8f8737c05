//! The rest of the page: conclusions and doubts, drive, machine, plan, raw values.

use maud::{Markup, html as markup};
use record::{DriveIdentity, Evidence, Plan, Run, State};
use workload::units::{binary, decimal, latency, span};

use super::sheet::{self, Fact};
use crate::describe;
use crate::facts::{self, Doubt};
use crate::peers;
use crate::quantity::{self, UNKNOWN};
use crate::table::Align::{Left, Right};
use crate::wear;

pub(super) fn conclusions(run: &Run) -> Markup {
    markup! {
        @if !run.verdicts.is_empty() {
            section {
                h2 { "Why" }
                @for verdict in &run.verdicts {
                    article.finding {
                        p { b { (verdict.kind) } " " (verdict.text) }
                        @if let Some(test) = &verdict.next_test { p.dim { "Next test: " (test) } }
                        (evidence(&verdict.evidence))
                    }
                }
            }
        }
    }
}

/// The bottleneck of each main number, with its evidence.
pub(super) fn limits(run: &Run) -> Markup {
    let Some(answer) = run.answer.as_ref().filter(|answer| !answer.limits.is_empty()) else {
        return markup! {};
    };
    markup! {
        section {
            h2 { "Limits" }
            @for limit in &answer.limits {
                @let tile = answer.tiles.iter().find(|tile| tile.metric == limit.metric);
                @let name = tile.map_or("This run", |tile| tile.label.as_str());
                article.finding {
                    @match facts::limiting(run, limit) {
                        Some(verdict) => {
                            p { b { (name) } " " (verdict.text) }
                            (evidence(&verdict.evidence))
                        }
                        None => p { b { (name) } " " (limit.by) },
                    }
                }
            }
        }
    }
}

/// The main numbers from other sources, and the conditions that differ.
pub(super) fn normal(run: &Run) -> Markup {
    let peers: Vec<_> = run.answer.iter().flat_map(peers::normal).collect();
    markup! {
        @if !peers.is_empty() {
            section {
                h2 { "Is this normal?" }
                @for peer in &peers {
                    article.finding {
                        p { b { (peer.whose) } " " (peer.text) }
                        @for condition in &peer.differs { p.dim { (condition) } }
                    }
                }
            }
        }
    }
}

pub(super) fn distrust(run: &Run) -> Markup {
    let doubts = facts::doubts(run);
    markup! {
        section #distrust {
            h2 { "What to distrust" }
            @if doubts.is_empty() && run.errors.is_empty() {
                p { "No doubts were recorded." }
            }
            @for doubt in &doubts { (doubt_article(doubt)) }
            @for errors in &run.errors {
                article.finding.is-bad { p { b { "I/O errors" } " " (facts::errors(errors, run.naming())) } }
            }
        }
    }
}

fn doubt_article(doubt: &Doubt<'_>) -> Markup {
    markup! {
        article.finding.(format!("is-{}", doubt.level())) {
            p { b { (doubt.level()) } " " (doubt.text()) }
            @if let Some(advice) = &doubt.finding.advice { p.advice { "try: " (advice) } }
            @if doubt.workloads.len() > 1 { p.note { "In " (doubt.workloads.join(", ")) } }
            (evidence(&doubt.finding.evidence))
        }
    }
}

fn evidence(evidence: &[Evidence]) -> Markup {
    markup! {
        @if !evidence.is_empty() {
            ul.evidence {
                @for piece in evidence {
                    @let value = quantity::show_known(piece.unit, finite(piece.value));
                    li { (piece.name) " " b { (value) } }
                }
            }
        }
    }
}

/// JSON has no infinity or NaN, but a record read from it may contain NaN for an unknown value.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

pub(super) fn drive(run: &Run) -> Markup {
    markup! {
        section {
            h2 { "Drive" }
            @match &run.target.drive {
                Some(drive) => {
                    (sheet::facts(&[identity(drive), form(drive), link_and_health(drive)].concat()))
                    (reported(drive))
                    (wear(run))
                }
                None => p { (facts::drive(run, true).join(", ")) },
            }
        }
    }
}

/// Other details from the drive, and information that could not be queried.
fn reported(drive: &DriveIdentity) -> Markup {
    markup! {
        @if !drive.details.is_empty() {
            details {
                summary { "Other properties reported by the drive" }
                dl {
                    @for detail in &drive.details {
                        div { dt { (detail.name) } dd { (detail.value) } }
                    }
                }
            }
        }
        @for missing in &drive.missing { p.note { "Unknown: " (missing) } }
    }
}

/// The drive's counters before and after the run.
fn wear(run: &Run) -> Markup {
    let rows = wear::rows(run);
    let headings = [("Counter", Left), ("Before", Right), ("After", Right), ("In this run", Right)];
    let cells = markup! {
        @for row in &rows {
            tr {
                th scope="row" { (row.name) }
                td.number { (row.before) }
                td.number { (row.after) }
                td.number { (row.added) }
            }
        }
    };
    markup! { @if !rows.is_empty() { (sheet::sheet("The drive's counters", &headings, cells)) } }
}

fn identity(drive: &DriveIdentity) -> Vec<Fact> {
    vec![
        ("Name", Some(drive.path.clone().unwrap_or_else(|| drive.name.clone()))),
        ("Vendor", drive.vendor.clone()),
        ("Model", drive.model.clone()),
        ("Serial number", drive.serial.clone()),
        ("Firmware", drive.firmware.clone()),
        ("Bus", Some(drive.bus.clone())),
        ("Hardware", drive.hardware_id.clone()),
    ]
}

fn form(drive: &DriveIdentity) -> Vec<Fact> {
    let [logical, physical] = [drive.logical_block_bytes, drive.physical_block_bytes]
        .map(|bytes| bytes.map(|bytes| binary(u64::from(bytes))));
    let discard = drive.discard_max_bytes.map(|b| if b == 0 { "none".into() } else { binary(b) });
    vec![
        ("Capacity", drive.bytes.map(|b| format!("{} ({b} bytes)", decimal(b)))),
        ("Logical block", logical),
        ("Physical block (declared)", physical),
        ("Supported block sizes", formats(drive)),
        ("Spinning", yes_no(drive.rotational)),
        ("Read-only", yes_no(drive.read_only)),
        ("Volatile write cache", yes_no(drive.write_cache)),
        ("Maximum discard", discard),
        ("I/O scheduler", drive.scheduler.clone()),
        ("Memory, not flash", yes_no(Some(drive.ram))),
    ]
}

fn link_and_health(drive: &DriveIdentity) -> Vec<Fact> {
    let link = drive.link.clone().unwrap_or_default();
    let health = &drive.health;
    let [temperature, limit] = [health.temperature_c, health.temperature_warn_c]
        .map(|celsius| celsius.map(|celsius| format!("{celsius:.0} C")));
    let [wear, spare] = [health.wear_percent, health.spare_percent]
        .map(|percent| percent.map(|percent| format!("{percent:.0}%")));
    vec![
        ("Link", link.now),
        ("Best link mode", link.best),
        ("Maximum link rate", link.ceiling_bytes_per_s.map(workload::units::throughput)),
        ("Temperature", temperature),
        ("Warning temperature", limit),
        ("Rated life used", wear),
        ("Written over its life", health.written_bytes.map(decimal)),
        ("Written to flash", health.flash_written_bytes.map(decimal)),
        ("Rated endurance", health.rated_bytes.map(decimal)),
        ("Spare blocks left", spare),
        ("Media errors", count(health.media_errors)),
        ("Reallocated blocks", count(health.reallocated)),
        ("Link errors", count(health.link_errors)),
        ("Power-on hours", count(health.power_on_hours)),
        ("Power cycles", count(health.power_cycles)),
        ("Warnings", (!health.warnings.is_empty()).then(|| health.warnings.join(", "))),
    ]
}

fn count(count: Option<u64>) -> Option<String> {
    count.map(|n| n.to_string())
}

fn formats(drive: &DriveIdentity) -> Option<String> {
    let sizes: Vec<String> = drive.formats.iter().map(|b| binary(u64::from(*b))).collect();
    (!sizes.is_empty()).then(|| sizes.join(", "))
}

fn yes_no(value: Option<bool>) -> Option<String> {
    value.map(|v| if v { "yes" } else { "no" }.to_string())
}

pub(super) fn machine(run: &Run) -> Markup {
    let machine = &run.environment;
    let facts: Vec<Fact> = vec![
        ("Host", machine.host.clone()),
        ("Board", machine.board.clone()),
        ("System", machine.os.clone()),
        ("Kernel", machine.kernel.clone()),
        (
            "Hypervisor",
            machine.hypervisor.clone().or(run.origin.is_none().then(|| "none found".into())),
        ),
        ("Processor", machine.cpu.model.clone()),
        ("Threads", machine.cpu.threads.map(|t| t.to_string())),
        ("Governor", machine.cpu.governor.clone()),
        ("Memory", machine.memory_bytes.map(binary)),
        ("Load at the start", machine.load.map(|l| format!("{l:.2}"))),
        ("Backend", machine.backend.clone()),
        ("Clock", machine.clock.clone()),
        ("Instrument overhead", machine.instrument_ns_per_io.map(per_io)),
        ("Page cache", run.target.direct.map(|d| facts::caching(Some(d)).to_string())),
        (
            if run.origin.is_some() { "Read by ssdyno" } else { "ssdyno" },
            Some(machine.ssdyno.clone()),
        ),
    ];
    markup! { section { h2 { "Machine" } (sheet::facts(&facts)) } }
}

fn per_io(ns: f64) -> String {
    format!("{} per I/O", latency(ns))
}

/// The origin of a record from elsewhere.
pub(super) fn origin(run: &Run) -> Markup {
    let Some(origin) = &run.origin else { return Markup::default() };
    let facts: Vec<Fact> = vec![
        ("Tool", origin.tool_name()),
        ("Source", Some(origin.source.clone())),
        ("Position", origin.place.clone()),
        ("Command or settings", origin.command.clone()),
        ("Started", origin.start_known.then(|| facts::when(run))),
        ("Took", run.seconds.map(span)),
    ];
    markup! {
        section {
            h2 { "Origin" }
            p { (facts::ending(run)) "." }
            (sheet::facts(&facts))
        }
    }
}

pub(super) fn plan(run: &Run) -> Markup {
    let Some(plan) = &run.plan else { return Markup::default() };
    let target = &run.target;
    let layers = (!target.layers.is_empty()).then(|| target.layers.join(", "));
    let facts: Vec<Fact> = vec![
        ("Target", Some(target.path.clone().unwrap_or_else(|| target.spec.clone()))),
        ("File system", target.filesystem.as_ref().map(|f| f.kind.clone())),
        ("Layers to the drive", Some(layers.unwrap_or_else(|| "none".to_string()))),
        ("Region", Some(binary(plan.region_bytes))),
        ("Safety class", Some(plan.safety.name().to_string())),
        ("Destroys", Some(plan.destroys.clone().unwrap_or_else(|| "nothing".to_string()))),
        ("Planned time", finite(plan.seconds).map(span)),
        ("Expected writes", plan.write_bytes_expected.map(decimal)),
        ("Maximum writes", Some(decimal(plan.write_bytes_max))),
        (
            "State before",
            state(run.state_before).map(|state| match facts::as_of(run) {
                Some(time) => format!("{state} as of {time}"),
                None => state,
            }),
        ),
        ("State after", state(run.state_after)),
    ];
    markup! {
        section {
            h2 { "Plan" }
            p.command {
                @match facts::command(run) {
                    Some(command) => code { (command) },
                    None => span.unknown { "command unknown" },
                }
            }
            (sheet::facts(&facts))
            (steps(run, plan))
        }
    }
}

fn state(state: State) -> Option<String> {
    (state != State::Unknown).then(|| state.to_string())
}

fn steps(run: &Run, plan: &Plan) -> Markup {
    let issued: Vec<_> = run.known_workloads().collect();
    if plan.steps.is_empty() {
        return markup! { @for w in &issued { p { (describe::workload(w).join(", ")) } } };
    }
    let headings = [
        ("Step", Left),
        ("Times", Right),
        ("Together", Right),
        ("Maximum writes", Right),
        ("Workload", Left),
    ];
    let rows = markup! {
        @for step in &plan.steps {
            tr {
                th scope="row" { (step.name) }
                td.number { (step.times()) }
                td.number { (finite(step.seconds).map_or_else(|| UNKNOWN.to_string(), span)) }
                td.number { (decimal(step.write_bytes_max)) }
                @let workload = issued.iter().find(|workload| workload.name == step.name);
                td { (workload.map(|w| describe::workload(w).join(", ")).unwrap_or_default()) }
            }
        }
    };
    sheet::sheet("Steps", &headings, rows)
}

pub(super) fn raw(run: &Run) -> Markup {
    markup! {
        section {
            h2 { "Raw values" }
            p {
                button #save type="button" { "Save the record as JSON" }
                " " span.note { (run.id) }
            }
            @if !run.metrics.is_empty() {
                details { summary { (run.metrics.len()) " metrics, unrounded" } (unrounded(run)) }
            }
        }
    }
}

fn unrounded(run: &Run) -> Markup {
    let headings = [
        ("Metric", Left),
        ("Unit", Left),
        ("Value", Right),
        ("Low", Right),
        ("High", Right),
        ("n", Right),
        ("Samples", Left),
    ];
    let rows = markup! {
        @for m in &run.metrics {
            tr {
                th scope="row" { (m.name) }
                td { (m.unit.name()) }
                @for value in [m.value, m.low, m.high] { td.number { (value.map_or_else(|| UNKNOWN.to_string(), |v| v.to_string())) } }
                td.number { (m.n) }
                td { (m.samples.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")) }
            }
        }
    };
    sheet::sheet("Metrics, unrounded", &headings, rows)
}
