//! Tests methods that detect a drive's internals, on virtual drives with known internals and few
//! seeds. `cargo xtask bench inside` counts the errors over 20 seeds.

mod limits;
mod rates;
mod wear;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::Simulator;
use model::DriveSpec;
use rig::Event;
use script::{MethodInfo, Options, Outcome, Session};
use workload::{Op, OpKind};

/// Runs a method on a virtual drive, with options as typed.
fn run(method: &str, spec: &DriveSpec, seconds: u64, typed: &[(&str, &str)]) -> Outcome {
    let method = methods::find(method).expect("a method");
    let time = Some(Duration::from_secs(seconds)).filter(|time| !time.is_zero());
    let mut options = Options { time, ..Options::default() };
    for (name, word) in typed {
        let declared = method.options.iter().find(|o| o.name() == *name).expect("declared");
        options.parse(*declared, &[word.to_string()]).expect("a value");
    }
    run_with(method, spec, &options)
}

fn run_with(method: &MethodInfo, spec: &DriveSpec, options: &Options) -> Outcome {
    let never = Arc::new(AtomicBool::new(false));
    let mut rig = Simulator::new(spec.clone(), "sim:drive", never, Box::new(|_: &Event| {}));
    let mut session = Session::new(&mut rig);
    session.run(method, options).expect("nothing is wrong");
    session.finish()
}

fn preset(name: &str, overrides: &[(&str, &str)]) -> DriveSpec {
    let preset = DriveSpec::preset(name).expect("a preset");
    preset.with_overrides(overrides).expect("permitted")
}

fn find(out: &Outcome, name: &str) -> Option<f64> {
    out.metrics.iter().find(|m| m.name == name)?.value
}

fn value(out: &Outcome, name: &str) -> f64 {
    find(out, name).unwrap_or_else(|| panic!("no {name}"))
}

/// Every preset on USB or an SD bus, large ones with 4 GiB.
fn removable() -> impl Iterator<Item = DriveSpec> {
    let all = DriveSpec::presets().map(|name| match preset(name, &[]) {
        small if small.capacity.0 <= 4 << 30 => small,
        _ => preset(name, &[("capacity", "4GiB")]),
    });
    all.filter(|spec| {
        let bus = spec.link.first().map_or("", |link| link.bus.value.as_str());
        bus.starts_with("sd") || bus.starts_with("usb")
    })
}

#[test]
fn speed_reports_the_same_rate_for_a_chunk_in_sweep_and_headline() {
    let mut wrong = Vec::new();
    for spec in removable() {
        let out = run("speed", &spec, 0, &[]);
        for kind in ["read", "write"] {
            let headline = value(&out, &format!("speed-{kind}"));
            // The largest chunk, which the headline uses, comes last.
            let chunk =
                |name: &str| name.starts_with(&format!("speed-{kind}-")) && name.ends_with("iB");
            let sweep = out.metrics.iter().rfind(|m| chunk(&m.name)).expect("a sweep");
            println!("{} {kind}: {headline:.0}, {} {:?}", spec.name, sweep.name, sweep.value);
            let sweep = sweep.value.expect("measured");
            if (sweep / headline - 1.0).abs() > 0.03 {
                wrong.push(format!("{} {kind}: {headline} and {sweep}", spec.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The rate of random 4 KiB reads with a full queue, in operations per second, after a fill and a
/// rest.
fn capacity(spec: &DriveSpec) -> f64 {
    completed(spec, OpKind::Read, 128, 40_000)
}

/// The rate of `count` random 4 KiB operations at this depth, in operations per second, after a
/// fill and a rest, computed by the model itself.
fn completed(spec: &DriveSpec, kind: OpKind, depth: u32, count: u32) -> f64 {
    let mut drive = model::Drive::new(spec, *spec.seed);
    let bytes = drive.bytes().min(1 << 30);
    let mut now = 0;
    for offset in (0..bytes).step_by(1 << 20) {
        now = drive.submit(now, &Op { kind: OpKind::Write, offset, bytes: 1 << 20 }).done_ns;
    }
    now = drive.submit(now, &Op::FLUSH).done_ns + 10_000_000_000;
    let begin = now;
    let mut flight = std::collections::BinaryHeap::new();
    let (mut last, mut place) = (now, 1u64);
    for number in 0..count {
        if number >= depth {
            let std::cmp::Reverse(done) = flight.pop().expect("in flight");
            now = now.max(done);
        }
        place =
            place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (place >> 33) % (bytes / 4096) * 4096;
        let done = drive.submit(now, &Op { kind, offset, bytes: 4096 }).done_ns;
        last = last.max(done);
        flight.push(std::cmp::Reverse(done));
    }
    f64::from(count) * 1e9 / (last - begin) as f64
}

#[test]
fn curve_finds_the_knee_at_the_capacity_of_the_model() {
    let drives = ["samsung-970-evo-plus-250", "crucial-bx100-120", "sd-150x", "usb-16k"];
    let mut wrong = Vec::new();
    for name in drives {
        let spec = preset(name, &[("capacity", "2GiB"), ("vary", "0")]);
        let (out, truth) = (run("curve", &spec, 60, &[("p99", "1ms")]), capacity(&spec));
        let knee = value(&out, "curve-knee");
        println!("{name}: knee {knee:.0} of {truth:.0}, 1 ms up to {:?}", find(&out, "curve-kept"));
        println!("closed {:?}, 110% {:?}", find(&out, "curve-closed"), find(&out, "curve-110"));
        println!("{:?}", out.answer.as_ref().map(|answer| &answer.headline));
        if (knee / truth - 1.0).abs() > 0.05 {
            wrong.push(format!("{name}: knee {knee}, capacity {truth}"));
        }
        let [tenth, near] = ["curve-10.p99", "curve-110.p99"].map(|point| find(&out, point));
        assert!(tenth.is_none() || tenth < near, "{name}: {tenth:?} and {near:?}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Verdict and real capacity found by `fake` on a card of 1 GiB with these parameters.
fn fake(alias: &[(&str, &str)], seed: u64) -> (String, Option<(f64, f64)>, String) {
    let card = [("capacity", "1GiB"), ("vary", "0")];
    let spec = preset("sd-150x", &[&card[..], alias].concat());
    let method = methods::find("fake").expect("a method");
    let options = Options { seed, ..Options::default() };
    let out = run_with(method, &spec, &options);
    let capacity = out.metrics.iter().find(|m| m.name == "fake-capacity");
    let range = capacity.and_then(|m| Some((m.low.or(m.value)?, m.high.or(m.value)?)));
    let headline = out.answer.map_or(String::new(), |answer| answer.headline);
    (out.verdicts[0].kind.to_string(), range, headline)
}

#[test]
fn fake_finds_counterfeit_cards_of_three_kinds_and_clears_a_good_one() {
    const MIB: f64 = 1048576.0;
    for seed in [1, 2] {
        let (verdict, range, headline) = fake(&[], seed);
        assert_eq!(
            (verdict.as_str(), range),
            ("CAPACITY REAL", Some((1024.0 * MIB, 1024.0 * MIB)))
        );
        assert_eq!(
            headline,
            "The capacity of 1.07 GB is real. Only a cache of 256 MiB could hide missing capacity."
        );
        for (kind, real, cache) in [
            ("wrap", "256MiB", "0"),
            ("wrap", "317MiB", "0"),
            ("wrap", "1000MiB", "0"),
            ("black-hole", "256MiB", "0"),
            ("black-hole", "1000MiB", "0"),
            ("black-hole", "317MiB", "1MiB"),
            ("black-hole", "960MiB", "8MiB"),
            // Within the start, which is written last.
            ("wrap", "20MiB", "0"),
            ("black-hole", "20MiB", "0"),
            ("black-hole", "20MiB", "8MiB"),
            ("black-hole", "20MiB", "40MiB"),
        ] {
            let alias = [("alias", kind), ("real", real), ("alias.cache", cache)];
            let (verdict, range, headline) = fake(&alias, seed);
            let truth = real.trim_end_matches("MiB").parse::<f64>().expect("a number") * MIB;
            println!("{kind} {real} {cache}: {verdict} {range:?} {headline}");
            assert_eq!(verdict, "ALIASING", "{kind} {real} {cache}");
            let (low, high) = range.expect("a capacity");
            assert!(low <= truth && truth <= high, "{kind} {real}: {low} to {high}");
            assert!(headline.starts_with("Counterfeit: "), "{headline}");
        }
    }
}

/// The classes that `sdclass` finds: Speed, UHS, Video, application.
fn classes(overrides: &[(&str, &str)]) -> ([f64; 4], Outcome) {
    let drive = [("capacity", "1GiB"), ("vary", "0")];
    let spec = preset("samsung-970-evo-plus-250", &[&drive[..], overrides].concat());
    let out = run("sdclass", &spec, 0, &[]);
    let classes = ["speed", "uhs", "video", "application"];
    (classes.map(|name| value(&out, &format!("sdclass-{name}"))), out)
}

#[test]
fn sdclass_grades_correctly_at_every_boundary() {
    for (mb_s, below, above) in [
        (2.0, [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]),
        (4.0, [2.0, 0.0, 0.0], [4.0, 0.0, 0.0]),
        (6.0, [4.0, 0.0, 0.0], [6.0, 0.0, 6.0]),
        (10.0, [6.0, 0.0, 6.0], [10.0, 1.0, 10.0]),
        (30.0, [10.0, 1.0, 10.0], [10.0, 3.0, 30.0]),
        (60.0, [10.0, 3.0, 30.0], [10.0, 3.0, 60.0]),
        (90.0, [10.0, 3.0, 60.0], [10.0, 3.0, 90.0]),
    ] {
        for (share, right) in [(0.95, below), (1.05, above)] {
            let intake = (mb_s * share).to_string();
            let (found, out) = classes(&[("buffer.intake_mb_s", &intake)]);
            assert_eq!(found[..3], right, "{intake} MB/s: {:?}", out.verdicts[0].text);
        }
    }
    // A core takes so long per command that a queue of 32 just reaches this rate.
    let each = |iops: f64| (1e6 / iops).to_string();
    for (key, bound, at_bound, number) in [
        ("command.read_us", 4000.0, "command.write_us", 2.0),
        ("command.write_us", 2000.0, "command.read_us", 2.0),
    ] {
        for (share, right) in [(0.95, number - 1.0), (1.05, number)] {
            let slow = each(bound * share);
            let (found, out) = classes(&[("command.cores", "1"), (key, &slow), (at_bound, "20")]);
            assert_eq!(found[3], right, "{key} {slow}: {}", out.verdicts[0].text);
        }
    }
    // At depth 1, the total time of a command counts.
    let base = |out: &Outcome, kind: &str| 1e6 / value(out, &format!("sdclass-rand-{kind}-q1"));
    let (_, plain) = classes(&[("command.cores", "1")]);
    for (kind, bound) in [("read", 1500.0), ("write", 500.0)] {
        for (share, right) in [(0.95, 0.0), (1.05, 1.0)] {
            let more = 1e6 / (bound * share) - base(&plain, kind) + 4.0;
            let key = format!("command.{kind}_us");
            let (found, out) = classes(&[("command.cores", "1"), (&key, &more.to_string())]);
            assert_eq!(found[3], right, "{kind} {share}: {}", out.verdicts[0].text);
        }
    }
}

/// A configuration as IOMeter saves it.
const ICF: &str = "Version 1.1.0 \n'Run Time\n'\thours      minutes    seconds\n\t0          0          5\n\
    'Ramp Up Time (s)\n\t1\n'Test Type\n\tNORMAL\n'ACCESS SPECIFICATIONS ===\n\
    'Access specification name,default assignment\n\t4K reads,NONE\n\
    'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,100,100,100,0,1,0,0\n\
    'Access specification name,default assignment\n\tmixed,NONE\n\
    'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,60,67,100,0,1,0,0\n\t65536,40,0,0,0,1,0,0\n\
    'Worker\n\tWorker 1\n'Worker type\n\tDISK\n\
    'Number of outstanding IOs,test connection rate,transactions per connection\n\t16,DISABLED,1\n\
    'Assigned access specs\n\t4K reads\n\tmixed\n'End assigned access specs\n'End worker\n\
    'Worker\n\tWorker 2\n'Worker type\n\tDISK\n\
    'Number of outstanding IOs,test connection rate,transactions per connection\n\t16,DISABLED,1\n\
    'Assigned access specs\n\t4K reads\n\tmixed\n'End assigned access specs\n'End worker\nVersion 1.1.0 \n";

#[test]
fn an_iometer_configuration_runs_with_its_workers_and_shares() {
    let spec = preset("samsung-970-evo-plus-250", &[("capacity", "2GiB"), ("vary", "0")]);
    let out = run("iometer", &spec, 0, &[("icf", ICF)]);
    let direct = run("curve", &spec, 30, &[]);
    // Two workers keep 32 I/Os in flight; `curve` keeps 128, so its deeper queue is faster.
    let (reads, most) = (value(&out, "iometer-1"), value(&direct, "curve-closed"));
    assert!(reads < 1.02 * most && reads > 0.3 * most, "{reads} of {most}");
    let [read, write] = ["read", "write"].map(|kind| value(&out, &format!("iometer-2-{kind}")));
    let share = read / (read + write);
    assert!((share - 0.6 * 0.67).abs() < 0.02, "{share}");
    let bytes = value(&out, "iometer-2.throughput") / (read + write);
    assert!((bytes / (0.6 * 4096.0 + 0.4 * 65536.0) - 1.0).abs() < 0.02, "{bytes}");
    let notes: Vec<_> = out.warnings.iter().map(|finding| finding.kind.name()).collect();
    assert_eq!(notes, ["laid-out", "alignment-forced"]);
}

/// Half of the accesses are of the second line, which pauses 10 ms after four of them: 1.25 ms for
/// each access.
#[test]
fn lines_of_an_iometer_specification_pause_by_their_own_delay_and_burst() {
    let lines = "4096,50,100,100,0,1,0,0\n\t8192,50,100,100,10,4,0,0\n";
    let icf = ICF.replacen("4096,100,100,100,0,1,0,0\n", lines, 1);
    let spec = preset("samsung-970-evo-plus-250", &[("capacity", "2GiB"), ("vary", "0")]);
    let out = run("iometer", &spec, 0, &[("icf", &icf)]);
    // Two workers, each with 16 I/Os in flight, which complete during its pauses.
    let rate = value(&out, "iometer-1");
    assert!((rate / 1600.0 - 1.0).abs() < 0.02, "{rate}");
    let bytes = value(&out, "iometer-1.throughput") / rate;
    assert!((bytes / 6144.0 - 1.0).abs() < 0.02, "{bytes}");
}

#[test]
fn authentic_measures_the_saving_on_compressible_data() {
    for (compression, expected) in [("0", None), ("0.6", Some(0.6)), ("0.3", Some(0.3))] {
        let drive = [("capacity", "1GiB"), ("vary", "1"), ("compression", compression)];
        let out = run("authentic", &preset("crucial-bx100-120", &drive), 0, &[]);
        let found = find(&out, "check-compression");
        let rates: Vec<_> =
            out.metrics.iter().filter(|m| m.name.contains("compressible")).collect();
        println!(
            "{compression}: {found:?}, {:?}",
            rates.iter().map(|m| m.value).collect::<Vec<_>>()
        );
        match expected {
            Some(truth) => {
                let found = found.expect("it saves");
                assert!((found - truth).abs() < 0.05, "{found} of {truth}");
                assert_eq!(rates.len(), 5);
            }
            None => assert!(found.is_none() && rates.is_empty(), "{found:?}"),
        }
    }
}

#[test]
fn authentic_measures_the_saving_on_duplicate_data() {
    for (name, seed) in
        [("crucial-bx100-120", 1), ("crucial-bx100-120", 2), ("samsung-970-evo-plus-250", 3)]
    {
        for (dedupe, compression) in
            [("false", "0"), ("true", "0"), ("false", "0.5"), ("true", "0.5")]
        {
            let content = [("dedupe", dedupe), ("compression", compression)];
            // A cache that a rest empties on a full drive would mix two rates.
            let cache: &[_] = if name.starts_with("samsung") { &[("slc", "13GB")] } else { &[] };
            let drive = [&[("capacity", "1GiB"), ("vary", "1")], &content[..], cache].concat();
            let spec = preset(name, &drive);
            let options = Options { seed, ..Options::default() };
            let out = run_with(methods::find("authentic").expect("a method"), &spec, &options);
            let saved = ["check-dedupe", "check-compression"]
                .map(|key| out.metrics.iter().find(|m| m.name == key).map(|m| (m.value, m.low)));
            let headline = out.answer.as_ref().map(|answer| &answer.headline);
            println!("{name} {seed} {content:?}: {saved:?} {headline:?}");
            for (found, truth) in saved
                .into_iter()
                .zip([f64::from(dedupe == "true"), compression.parse().expect("a share")])
            {
                assert_eq!(found.is_some(), truth > 0.0, "{name} {seed} {content:?}");
                let (Some((Some(value), low)), true) = (found, truth > 0.0) else { continue };
                // A lower bound if the link limits the gain.
                assert!(
                    value <= truth + 0.05 && (low.is_some() || value >= truth - 0.05),
                    "{value} of {truth}"
                );
            }
        }
    }
}

#[test]
fn authentic_measures_the_bytes_covered_by_the_map_cache() {
    const MIB: f64 = 1048576.0;
    // A map cache of 64 KiB covers 1024 times as much data; the whole map of 1 GiB takes 1 MiB.
    let cases = [("0", None), ("64KiB", Some(64.0)), ("192KiB", Some(192.0)), ("8MiB", None)];
    let drives = ["samsung-970-evo-plus-250", "crucial-bx100-120"];
    for (name, seed) in drives.into_iter().flat_map(|name| (1..=3).map(move |seed| (name, seed))) {
        for (cache, expected) in cases {
            let spec = preset(name, &[("capacity", "1GiB"), ("vary", "1"), ("map_cache", cache)]);
            let options = Options { seed, ..Options::default() };
            let out = run_with(methods::find("authentic").expect("a method"), &spec, &options);
            let found = out.metrics.iter().find(|m| m.name == "check-map-held");
            let kinds: Vec<_> = out.verdicts.iter().map(|v| v.kind.name()).collect();
            let range = found.and_then(|m| Some([m.low? / MIB, m.value? / MIB, m.high? / MIB]));
            println!("{name} {seed} {cache}: {range:?} {:?}", find(&out, "check-map-miss"));
            assert!(kinds.contains(if expected.is_some() {
                &"MAP CACHE"
            } else {
                &"NO MAP CACHE"
            }));
            assert_eq!(range.is_some(), expected.is_some(), "{name} {cache}");
            if let Some((truth, [low, value, high])) = expected.zip(range) {
                assert!(low <= truth && truth <= high, "{name} {cache}: {low} to {high} MiB");
                assert!((value / truth - 1.0).abs() < 0.15, "{name} {cache}: {value} MiB");
                let miss = find(&out, "check-map-miss").expect("a miss");
                assert!((miss / 60e3 - 1.0).abs() < 0.15, "{name} {cache}: {miss} ns");
            }
        }
    }
}

/// The results of `geometry`: page, pages read at once, erase block, and open blocks, linear and
/// random.
fn geometry(name: &str, overrides: &[(&str, &str)], seed: u64) -> ([Option<f64>; 5], Outcome) {
    let spec = preset(name, &[&[("capacity", "512MiB")], overrides].concat());
    let options = Options { seed, ..Options::default() };
    let out = run_with(methods::find("geometry").expect("a method"), &spec, &options);
    let names = ["page", "plane", "erase-block", "open-linear", "open-random"];
    (names.map(|name| find(&out, &format!("geometry-{name}"))), out)
}

#[test]
fn geometry_finds_erase_blocks_of_both_forms_and_the_number_of_open_ones() {
    const MIB: f64 = 1048576.0;
    const PAGES: [Option<f64>; 2] = [Some(8192.0), Some(16384.0)];
    // The first card was used to develop the method; the others are held out. A page of the last
    // one adds less than 2% to a read over its slow bridge, so it is not claimed.
    for (name, overrides, [page, plane], erase, linear, random) in [
        ("sd-class2", &[][..], PAGES, 4.0, 1.0, 0.0),
        ("sd-150x", &[], PAGES, 4.0, 5.0, 5.0),
        ("usb-16k", &[], [None; 2], 4.0, 2.0, 0.0),
        ("sd-class2", &[("map.au", "1572864"), ("open_aus", "2")], PAGES, 1.5, 2.0, 0.0),
        ("sd-150x", &[("map.au", "12582912"), ("open_aus", "6")], PAGES, 12.0, 6.0, 6.0),
    ] {
        let (found, out) = geometry(name, overrides, 1);
        println!("{name} {overrides:?}: {found:?} {}", out.verdicts[0].text);
        println!("{:?}", out.answer.as_ref().map(|answer| &answer.headline));
        assert_eq!(
            found,
            [page, plane, Some(erase * MIB), Some(linear), Some(random)],
            "{name} {overrides:?}"
        );
    }
    for name in ["samsung-970-evo-plus-250", "samsung-980-pro-1t", "crucial-p2-500"] {
        let (found, out) = geometry(name, &[], 1);
        println!("{name}: {found:?} {}", out.verdicts[0].text);
        assert_eq!(found, [None; 5], "{name}");
        assert_eq!(out.verdicts[0].kind.name(), "UNDETERMINED");
    }
}

/// Period of slow writes and size of the FAT zone, bytes.
fn in_writes(out: &Outcome) -> [Option<f64>; 2] {
    ["geometry-write-period", "geometry-fat-zone"].map(|name| find(out, name))
}

#[test]
fn geometry_finds_the_period_of_slow_writes_and_the_fat_zone() {
    const MIB: f64 = 1048576.0;
    // Only a card that relocates its erase block for small writes shows a zone that does not.
    for (name, overrides, period, zone) in [
        ("sd-class2", &[][..], Some(4.0), None),
        ("sd-class2", &[("map.fat", "8MiB")], Some(4.0), Some(8.0)),
        ("sd-class2", &[("map.fat", "1MiB"), ("map.au", "2MiB")], Some(2.0), Some(2.0)),
        ("sd-class2", &[("map.au", "1572864"), ("map.fat", "9MiB")], Some(1.5), Some(9.0)),
        ("sd-150x", &[("map.fat", "8MiB")], Some(4.0), None),
        // A card with unwritten blocks need not erase any, so no period shows.
        ("sd-class2", &[("capacity", "2GiB")], None, None),
        ("sd-150x", &[("capacity", "4GiB")], None, None),
        ("sd-150x", &[("capacity", "2GiB")], Some(4.0), None),
        ("sd-150x", &[("map.au", "12582912")], Some(12.0), None),
        ("usb-16k", &[("map.fat", "4MiB")], Some(4.0), Some(4.0)),
    ] {
        let (_, out) = geometry(name, overrides, 1);
        println!("{name} {overrides:?}: {:?} {}", in_writes(&out), out.verdicts[0].text);
        println!("{:?}", out.answer.as_ref().map(|answer| &answer.headline));
        let mib = |size: Option<f64>| size.map(|size| size * MIB);
        assert_eq!(in_writes(&out), [mib(period), mib(zone)], "{name} {overrides:?}");
    }
}

#[test]
fn geometry_reports_the_declared_sizes_with_those_found() {
    let declared = |out: &Outcome| -> Vec<(String, f64)> {
        let of = |m: &&record::Metric| m.name.starts_with("geometry-declared-");
        let metrics = out.metrics.iter().filter(of);
        metrics
            .map(|m| (m.name["geometry-declared-".len()..].into(), m.value.expect("known")))
            .collect()
    };
    let text = |out: &Outcome| {
        let answer = out.answer.as_ref().expect("an answer");
        (out.verdicts[0].text.clone(), answer.headline.clone())
    };
    let found = |overrides: &[(&str, &str)]| geometry("sd-class2", overrides, 1);
    let (sizes, out) = found(&[]);
    assert_eq!(declared(&out), []);
    assert!(!text(&out).0.contains("declare"), "{}", text(&out).0);
    let of = |unit, preferred| {
        let unit = [("declared.allocation_unit", unit), ("declared.preferred_erase", preferred)];
        let (same, out) = found(&unit);
        assert_eq!(same, sizes, "a declaration changes the results");
        (declared(&out), text(&out))
    };
    let (metrics, (verdict, headline)) = of("4MiB", "4MiB");
    assert_eq!(metrics.len(), 2);
    assert!(verdict.contains("The device declares the same: allocation unit 4 MiB."), "{verdict}");
    assert!(!headline.contains("declares"), "{headline}");
    let (metrics, (verdict, headline)) = of("0", "512KiB");
    assert_eq!(metrics, [("preferred-erase".to_string(), 524_288.0)]);
    let other = "The device declares another size: preferred erase size 512 KiB.";
    assert!(verdict.contains(other), "{verdict}");
    assert!(headline.ends_with("It declares 512 KiB."), "{headline}");
    // If no erase block shows, the declaration does not replace it.
    let nvme = [
        ("declared.write_granularity", "16KiB"),
        ("declared.optimal_write", "128KiB"),
        ("declared.discard_granularity", "4MiB"),
        ("declared.discard_alignment", "1MiB"),
    ];
    let (sizes, out) = geometry("samsung-970-evo-plus-250", &nvme, 1);
    assert_eq!(sizes, [None; 5]);
    let all: Vec<f64> = declared(&out).into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(all, [16384.0, 131_072.0, 4_194_304.0, 1_048_576.0]);
    assert_eq!(out.verdicts[0].kind.name(), "UNDETERMINED");
}

#[test]
fn power_finds_the_idle_time_after_which_a_drive_sleeps() {
    for (sleep_ms, wake_us, expected) in [
        ("100", "0", None),
        ("20", "2000", Some((10e6, 30e6))),
        ("500", "300", Some((300e6, 1e9))),
        ("20000", "80000", Some((10e9, 30e9))),
    ] {
        let sleepy = [("command.sleep_after_ms", sleep_ms), ("command.wake_us", wake_us)];
        let spec =
            preset("samsung-970-evo-plus-250", &[&[("capacity", "1GiB")], &sleepy[..]].concat());
        let out = run("power", &spec, 0, &[]);
        println!("{sleep_ms} ms: {}", out.verdicts[0].text);
        let sleep = out.metrics.iter().find(|m| m.name == "power-sleep");
        assert_eq!(sleep.and_then(|m| m.low.zip(m.high)), expected, "{sleep_ms} ms");
        if expected.is_some() {
            let truth = 1e3 * wake_us.parse::<f64>().expect("a number");
            let wake = value(&out, "power-wake");
            assert!((wake / truth - 1.0).abs() < 0.2, "{wake} of {truth}");
        }
        let kind = if expected.is_some() { "POWER STATE" } else { "NO POWER STATE" };
        assert_eq!(out.verdicts[0].kind.name(), kind);
    }
}
