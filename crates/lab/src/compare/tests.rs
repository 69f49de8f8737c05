//! Tests comparisons of published records and of synthetic ones.

use record::{Finding, Labels, Level, Metric, Origin};

use super::*;
use crate::published;

fn published(id: &str) -> Run {
    published::find(id).unwrap_or_else(|e| panic!("{}", e))
}

fn side(runs: impl IntoIterator<Item = Run>) -> Side {
    Side { runs: runs.into_iter().collect(), repeats: Vec::new() }
}

/// A run of quick with these rates of `seq-read-1MiB-q8`, `seq-write-1MiB-q8`, ...
fn quick(id: &str, rates: &[f64]) -> Run {
    let names = ["seq-read-1MiB-q8", "seq-write-1MiB-q8", "seq-read-1MiB-q1"];
    let each = names.iter().zip(rates);
    let metrics = each.map(|(name, v)| Metric::single(*name, Unit::BytesPerSecond, *v)).collect();
    let run = published("pub:003/m225-fresh");
    Run { id: id.into(), method: "quick".into(), metrics, origin: None, ..run }
}

fn one(a: Side, b: Side) -> RunComparison {
    compare(&[a, b], None).unwrap_or_else(|e| panic!("{e}")).remove(0)
}

fn claims_of(found: &RunComparison) -> Vec<(&str, Brief)> {
    found.pairs.iter().map(|p| (p.name.as_str(), p.claim)).collect()
}

#[test]
fn a_pair_of_single_runs_states_the_difference_a_claim_would_need() {
    let found = one(side([quick("a", &[100.0])]), side([quick("b", &[110.0])]));
    assert_eq!(claims_of(&found), [("seq-read-1MiB-q8", Brief::Inconclusive)]);
    let least = found.pairs[0].threshold.expect("tested");
    assert!((0.2..0.3).contains(&least), "{least}");
    assert_eq!(
        found.sentence,
        "Inconclusive: these two runs differ by up to 10%; a claim about the drives needs more \
         than 25%."
    );
    let far = one(side([quick("a", &[100.0])]), side([quick("b", &[400.0])]));
    assert_eq!(claims_of(&far), [("seq-read-1MiB-q8", Brief::SecondFaster)]);
    assert!(
        far.sentence.starts_with("B is 4.00 times as fast at sequential 1 MiB reads at depth 8")
    );
}

#[test]
fn the_sentence_names_the_faster_side_and_its_largest_differences_first() {
    let runs = |factors: [f64; 5]| {
        let names = ["seq-read", "seq-write", "rand-read", "rand-write", "mixed-read"];
        let ends = ["1MiB-q8", "1MiB-q8", "4KiB-q32", "4KiB-q32", "4KiB-q32"];
        let pair = |i: usize| {
            let (low, high) = (factors[i] * 0.99, factors[i] * 1.01);
            Pair {
                name: format!("{}-{}", names[i], ends[i]),
                label: format!("{} figures", names[i]),
                unit: record::Unit::BytesPerSecond,
                ratio: Some(factors[i]),
                low: Some(low),
                high: Some(high),
                outcome: Some(if factors[i] > 1.0 { ClaimKind::Faster } else { ClaimKind::Slower }),
                ..one(side([quick("a", &[1.0])]), side([quick("b", &[1.0])])).pairs.remove(0)
            }
        };
        super::sentence::compose(&(0..5).map(pair).collect::<Vec<_>>(), &[], None, LETTERS)
    };
    assert_eq!(
        runs([0.5, 0.8, 0.25, 0.1, 2.0]),
        "B is 2.00 times as fast at mixed-read figures (1.98 to 2.02). A is faster at 4 of 5 \
         figures: 10.0 times (9.90 to 10.1) at rand-write figures; 4.00 times (3.96 to 4.04) at \
         rand-read figures; 2.00 times (1.98 to 2.02) at seq-read figures and 1 more."
    );
    assert!(
        runs([2.0, 2.0, 0.5, 2.0, 3.0])
            .ends_with("A is 2.00 times as fast as B at rand-read figures (1.98 to 2.02).")
    );
}

#[test]
fn only_primary_metrics_are_tested_and_a_chosen_one_needs_less() {
    let (a, b) = ([100.0, 100.0, 100.0], [150.0, 100.0, 400.0]);
    let sides = [side([quick("a", &a)]), side([quick("b", &b)])];
    let found = compare(&sides, None).expect("compared").remove(0);
    assert_eq!(
        claims_of(&found),
        [
            ("seq-read-1MiB-q8", Brief::SecondFaster),
            ("seq-write-1MiB-q8", Brief::Inconclusive),
            ("seq-read-1MiB-q1", Brief::NoClaim)
        ]
    );
    let chosen = compare(&sides, Some("seq-write-1MiB-q8")).expect("compared").remove(0);
    assert_eq!(chosen.pairs[0].name, "seq-write-1MiB-q8", "the tested one comes first");
    assert!(chosen.pairs[0].threshold < found.pairs[0].threshold);
    assert_eq!(chosen.pairs.iter().filter(|p| p.primary).count(), 1);
    let error = compare(&sides, Some("speed")).expect_err("no such metric").to_string();
    assert!(error.contains("no metric 'speed'; known: seq-read-1MiB-q8"), "{error}");
}

#[test]
fn groups_and_repeats_from_the_store_lower_the_threshold() {
    let least = |a: Side, b: Side| one(a, b).pairs[0].threshold.expect("tested");
    let runs = |name: &str, rates: &[f64]| {
        let each = rates.iter().enumerate();
        each.map(|(i, v)| quick(&format!("{name}{i}"), &[*v])).collect::<Vec<_>>()
    };
    let bare = least(side(runs("a", &[100.0])), side(runs("b", &[101.0])));
    let rates = [100.0, 101.0, 99.0, 100.5, 99.5];
    let groups = least(side(runs("a", &rates)), side(runs("b", &rates)));
    let known = Side { runs: runs("a", &[100.0]), repeats: runs("r", &rates) };
    let repeated = least(known, side(runs("b", &[101.0])));
    assert!(groups < 0.05 && repeated < bare && bare > 0.2, "{groups} {repeated} {bare}");
    let same = one(side(runs("a", &rates)), side(runs("b", &rates)));
    assert_eq!(same.sentence, "The same within 5%: sequential 1 MiB reads at depth 8.");
}

#[test]
fn every_further_side_is_compared_with_the_first() {
    let sides = [10.0, 30.0, 2.0].map(|v| side([quick(&format!("{v}"), &[v])]));
    let found = compare(&sides, None).expect("compared");
    let claims: Vec<_> = found.iter().map(|c| c.pairs[0].claim).collect();
    assert_eq!(claims, [Brief::SecondFaster, Brief::FirstFaster]);
}

/// Document 004's main result: the class 2 card writes at 6 to 7 MB/s, the other at 17.
#[test]
fn a_printed_range_is_compared_with_its_nearest_end() {
    let found = one(
        side([published("pub:004/usd-sandisk-4g-class2")]),
        side([published("pub:004/sd-transcend-4g-150x")]),
    );
    let write = found.pairs.iter().find(|p| p.name == "write").expect("the row of writes");
    assert_eq!((write.ranges[0], write.claim), (Some([6e6, 7e6]), Brief::SecondFaster));
    assert!(write.low.expect("an interval") < 17.0 / 7.0);
    let read = found.pairs.iter().find(|p| p.name == "read").expect("the row of reads");
    assert_eq!(read.claim, Brief::Inconclusive);
}

#[test]
fn doubts_are_shown_for_both_sides_and_reads_from_memory_permit_no_claim() {
    let doubtful = |id: &str| {
        let mut run = quick(id, &[9e9, 1e8]);
        let finding = Finding::new(FindingKind::ServedFromRam, Level::Warn, "read from memory");
        run.warnings = vec![Finding { workload: Some("seq-read-1MiB-q8".into()), ..finding }];
        run
    };
    let found = one(side([doubtful("a")]), side([doubtful("b")]));
    let text = "read from memory".to_string();
    assert_eq!(found.doubts, [Doubt { side: "both", kind: FindingKind::ServedFromRam, text }]);
    let claims = claims_of(&found);
    assert!(claims.contains(&("seq-read-1MiB-q8", Brief::FromMemory)), "{claims:?}");
    assert!(claims.contains(&("seq-write-1MiB-q8", Brief::Inconclusive)), "{claims:?}");
    assert!(found.sentence.ends_with("Reads came from memory."), "{}", found.sentence);
}

#[test]
fn a_chosen_metric_that_was_read_from_memory_is_compared_without_a_claim() {
    let cached = |id: &str| {
        let mut run = quick(id, &[9e9, 1e8]);
        run.warnings =
            vec![Finding::new(FindingKind::ServedFromRam, Level::Warn, "read from memory")];
        run
    };
    let sides = [side([cached("a")]), side([cached("b")])];
    let found = compare(&sides, Some("seq-read-1MiB-q8")).expect("compared").remove(0);
    assert!(claims_of(&found).contains(&("seq-read-1MiB-q8", Brief::FromMemory)));
    assert_eq!(found.sentence, "No claim about a drive can be made. Reads came from memory.");
    compare(&sides, Some("speed")).expect_err("no such metric");
}

/// fio's runs of document 002: the first laid out its file.
#[test]
fn a_run_that_laid_out_its_file_is_in_another_state() {
    let fio = |number: i64, iops: f64, laid_out: bool| {
        let mut run = quick(&format!("{number}"), &[]);
        run.method = "fio".into();
        run.number = Some(number);
        run.metrics = vec![Metric::single("mixed-read-4KiB-q64", Unit::Iops, iops)];
        run.warnings.clear();
        if laid_out {
            run.warnings = vec![Finding::new(FindingKind::LaidOut, Level::Note, "laid out")];
        }
        run
    };
    let a = side([fio(3, 6987.0, true), fio(4, 6171.0, false)]);
    let found = one(a, side([fio(7, 5991.0, false), fio(8, 6044.0, false)]));
    assert_eq!(claims_of(&found), [("mixed-read-4KiB-q64", Brief::Inconclusive)]);
    assert_eq!(found.odd.iter().map(|o| o.run.as_str()).collect::<Vec<_>>(), ["run 3"]);
    let like = found.like_for_like.as_ref().expect("a run is left on each side");
    let factor = like.pairs[0].factor().expect("both");
    assert_eq!(factor.words_about(LETTERS), "A 1.03 times");
    assert!(found.sentence.contains("Run 3 was in another state: it laid out its file first."));
    assert!(found.sentence.contains("Like for like A has 1.03 times the"), "{}", found.sentence);
}

#[test]
fn a_published_figure_matches_the_metric_of_the_same_quantity() {
    let mut own = quick("own", &[]);
    own.metrics = vec![Metric::single("seq-read-8MiB-q1", Unit::BytesPerSecond, 3e8)];
    let found = one(side([published("pub:000/sandisk-128")]), side([own]));
    assert_eq!(found.pairs.len(), 1);
    assert_eq!(found.pairs[0].name_b.as_deref(), Some("seq-read-8MiB-q1"));
}

#[test]
fn metrics_of_other_tools_match_published_figures() {
    let own = |method: &str, names: &[&str], unit| {
        let metrics = names.iter().map(|name| Metric::single(*name, unit, 1e3)).collect();
        Run { method: method.into(), metrics, ..quick("own", &[]) }
    };
    let named = |id: &str, own: &Run| {
        let found = one(side([published(id)]), side([own.clone()]));
        found.pairs.into_iter().filter_map(|pair| pair.name_b).collect::<Vec<_>>()
    };
    let fio = own("fio", &["a job.read.iops", "a job.write.iops"], Unit::Iops);
    assert_eq!(named("pub:002/mini-base-fio-1", &fio), ["a job.read.iops", "a job.write.iops"]);
    let other = own("fio", &["another.read.iops"], Unit::Iops);
    assert!(one(side([fio]), side([other])).pairs.is_empty(), "different jobs");
    let names = ["iozone-100MiB-4KiB.rewrite", "iozone-8MiB-4KiB.read"];
    let iozone = own("iozone", &names, Unit::BytesPerSecond);
    assert_eq!(named("pub:002/mini-base-iozone-1", &iozone), names[..1]);
    let states = ["states-read-fresh", "states-read-used", "states-filled"];
    let states = own("states", &states, Unit::BytesPerSecond);
    assert_eq!(named("pub:003/m225-fresh", &states), ["states-read-fresh"]);
    assert_eq!(named("pub:003/m225-used", &states), ["states-read-used"]);
    assert_eq!(named("pub:003/m225-filled", &states), ["states-filled"]);
}

#[test]
fn differing_and_unknown_conditions_are_listed() {
    let (a, mut b) = (published("pub:003/m225-fresh"), published("pub:003/m225-used"));
    b.environment.kernel = Some("6.1".into());
    let found = one(side([a]), side([b])).conditions_differ;
    let find = |what| found.iter().find(|d| d.what == what);
    assert_eq!(find("state before").and_then(|d| d.a.as_deref()), Some("fresh"));
    let kernel = Difference { what: "kernel".into(), a: None, b: Some("6.1".into()) };
    assert_eq!(find("kernel"), Some(&kernel));
    assert_eq!(find("drive"), None);
}

#[test]
fn runs_are_grouped_by_a_condition() {
    let titled = |id: &str, title: &str| {
        let origin = Origin { title: Some(title.into()), ..Origin::imported(None, "") };
        Run { origin: Some(origin), ..quick(id, &[1.0]) }
    };
    let runs = vec![titled("1", "board a"), titled("2", "board b"), titled("3", "board a")];
    let groups = group_by(runs.clone(), "title").expect("grouped");
    let sizes: Vec<_> = groups.iter().map(|(name, runs)| (name.as_str(), runs.len())).collect();
    assert_eq!(sizes, [("board a", 2), ("board b", 1)]);
    let error = group_by(runs, "colour").expect_err("no such condition").to_string();
    assert!(error.contains("known: title, drive, serial-number"), "{error}");
}

#[test]
fn runs_are_grouped_by_a_tag_which_is_a_condition() {
    let tagged = |id: &str, board: &str| {
        let tags = [("board".to_string(), board.to_string())].into();
        Run { labels: Some(Labels { tags, ..Labels::default() }), ..quick(id, &[1.0]) }
    };
    let runs = vec![tagged("1", "mini-a"), tagged("2", "mini-b"), quick("3", &[1.0])];
    for by in ["board", "tag:board"] {
        let groups = group_by(runs.clone(), by).expect("grouped");
        let names: Vec<_> = groups.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["mini-a", "mini-b", "unknown"]);
    }
    let error = group_by(runs.clone(), "fan").expect_err("no such tag").to_string();
    assert!(error.ends_with("kernel, tag:board"), "{error}");
    let [a, b, _] = runs.try_into().expect("three");
    let differences = one(side([a]), side([b])).conditions_differ;
    let board =
        Difference { what: "tag board".into(), a: Some("mini-a".into()), b: Some("mini-b".into()) };
    assert!(differences.contains(&board), "{differences:?}");
}

#[test]
fn text_about_a_further_side_uses_its_name() {
    let doubtful = |id: &str, rates: &[f64]| {
        let mut run = quick(id, rates);
        run.warnings.push(Finding::new(
            FindingKind::Throttled,
            Level::Warn,
            "the drive was throttled",
        ));
        run
    };
    let sides = [
        side([quick("a", &[100.0])]),
        side([quick("b", &[400.0])]),
        side([doubtful("c", &[25.0])]),
    ];
    let found = compare(&sides, None).unwrap_or_else(|e| panic!("{e}"));
    let words =
        |i: usize, names| (found[i].sentence_about(names), found[i].pairs[0].claim.words(names));
    let (sentence, claim) = words(0, LETTERS);
    assert!(sentence.starts_with("B is 4.00 times as fast at"), "{sentence}");
    assert_eq!((claim.as_str(), &sentence), ("B faster", &found[0].sentence));
    let (sentence, claim) = words(1, ["A", "C"]);
    assert!(sentence.starts_with("A is 4.00 times as fast as C at"), "{sentence}");
    assert_eq!(claim, "A faster");
    let warnings = found[1].remarks(["A", "C"]).warnings;
    assert!(warnings.contains(&"C: the drive was throttled".to_string()), "{warnings:?}");
}

/// Runs of `ssdyno io` on one drive: the figures are alike only in name.
#[test]
fn unlike_work_is_refused_and_heads_the_sentence_if_compared_anyway() {
    let io = |id: &str, depth: u32, reads: u32| {
        let (pattern, mix) = (workload::Pattern::UniformOnce, workload::Mix::read_percent(reads));
        let region = workload::Region::first(1 << 30);
        let mut w = workload::Workload::new("io", pattern, mix, 4096, region);
        w.depth = depth;
        let plan = serde_json::json!({
            "safety": "reads", "seconds": 0.0, "write_bytes_max": 0, "region_bytes": 0,
            "steps": [], "workloads": [w],
        });
        let plan = serde_json::from_value(plan).expect("a plan");
        let metrics = vec![Metric::single("iops", record::Unit::Iops, 1e5)];
        Run { method: "io".into(), plan: Some(plan), metrics, ..quick(id, &[]) }
    };
    let pair = |b: Run| [side([io("a", 8, 100)]), side([b])];
    assert!(check_alike(&pair(io("b", 8, 100))).is_ok());
    let sides = pair(io("b", 32, 50));
    let error = check_alike(&sides).expect_err("unlike work");
    let text = "A and B did unlike work: operation reads | 50% reads, depth 8 | 32";
    assert!(error.to_string().starts_with(text), "{error}");
    assert!(error.advice().is_some_and(|advice| advice.starts_with("--anyway")));
    let sentence = compare(&sides, None).expect("compared").remove(0).sentence;
    assert!(sentence.starts_with("Unlike work (operation reads | 50% reads"), "{sentence}");
    // A side of runs that did unlike work is no side.
    let mixed = [side([io("a", 8, 100), io("c", 32, 100)]), side([io("b", 8, 100)])];
    assert!(check_alike(&mixed).is_err());
    // What another tool does not tell is unknown.
    let mut other = io("b", 32, 100);
    other.plan = None;
    other.origin = Some(Origin::imported(Some("fio"), "results.json"));
    let sides = pair(other);
    assert!(check_alike(&sides).is_ok());
    let notes = compare(&sides, None).expect("compared").remove(0).remarks(LETTERS).notes.join("");
    assert!(notes.contains("depth") && notes.contains("block size"), "{notes}");
}
