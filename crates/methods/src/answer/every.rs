//! Tests that every registered method, run on a small drive, produces an answer that people can
//! read.

use record::{Answer, ChartKind, FindingKind, HEADLINE_MAX, Run, Stamp, TargetKind, VerdictKind};

use crate::ALL;
use script::test_drive::{Fake, FlashTraits, Traits, perform};
use script::{MethodInfo, Options, Outcome};

const MIB: u64 = 1 << 20;

/// The outcome of a run on a small drive that supports every feature.
fn ran(method: &MethodInfo) -> Outcome {
    ran_with(method, 0.01)
}

/// The same, on a drive whose rates scatter by this fraction.
fn ran_with(method: &MethodInfo, noise: f64) -> Outcome {
    let flash = FlashTraits { cache_bytes: 8 * MIB, cache_gain: 3.0, ..FlashTraits::default() };
    let traits = Traits { rate: 10e6, command_ns: 1_000_000, noise, flash, ..Traits::default() };
    let mut fake = Fake::confirmed(traits, 128 * MIB).that_formats();
    if method.name == "command" {
        fake.info.target.kind = TargetKind::Directory;
    }
    let mut options =
        Options { time: Some(std::time::Duration::from_secs(200)), ..Options::default() };
    let words = vec!["true".to_string()];
    if let Some(command) = method.options.iter().find(|o| o.name() == "command") {
        options.parse(*command, &words).expect("a command");
    }
    let mut out = Outcome::default();
    let result = perform(method, &mut fake, &options, &mut out);
    assert!(result.is_ok(), "{}: {result:?}", method.name);
    out
}

/// The parts of an answer that people could not read.
fn faults(out: &Outcome, answer: &Answer) -> Vec<String> {
    let mut faults = Vec::new();
    let mut demand = |kept: bool, fault: String| faults.extend((!kept).then_some(fault));
    let keys = || out.metrics.iter().filter(|m| m.name.contains(['-', '.']));
    let plain = |text: &str| keys().all(|m| !text.contains(m.name.as_str()));
    let headline = &answer.headline;
    let length = headline.chars().count();
    demand((10..=HEADLINE_MAX).contains(&length), format!("{length} characters: {headline}"));
    demand(headline.ends_with('.') && !headline.contains('\n'), format!("no sentence: {headline}"));
    demand(plain(headline), format!("a key: {headline}"));
    demand(answer.question.ends_with('?'), answer.question.clone());
    let tiles = out.metrics.len().min(3)..=6;
    demand(tiles.contains(&answer.tiles.len()), format!("{} tiles", answer.tiles.len()));
    for tile in &answer.tiles {
        demand(plain(&tile.label), format!("a key: {}", tile.label));
        demand(tile.value.is_some() && tile.label.len() <= 40, format!("{tile:?}"));
    }
    demand(!answer.charts.is_empty(), "no chart".into());
    for chart in &answer.charts {
        let title = &chart.title;
        demand(title.split(' ').count() >= 2 && title.len() <= 70, format!("title: {title}"));
        demand(!chart.sources.is_empty(), format!("{title}: nothing to draw"));
        let n = chart.sources.len();
        let counts = [chart.labels.len(), chart.groups.len(), chart.places.len()];
        demand(counts.iter().all(|c| *c == 0 || *c == n), format!("{title}: {counts:?} of {n}"));
        let points = chart.kind == ChartKind::Points;
        demand(points != chart.places.is_empty(), format!("{title}: places"));
        for label in chart.labels.iter().chain(&chart.groups) {
            demand(plain(label), format!("{title}: a key: {label}"));
        }
    }
    faults
}

/// The stamp shows that a run ended early, for every method, whether the record was stored with an
/// answer or the run was killed before it had one.
#[test]
fn no_record_of_a_run_that_ended_early_is_stamped_believable() {
    let ends = [
        (Some("I/O error: EIO"), FindingKind::RunFailed),
        (Some("interrupted"), FindingKind::CutShort),
        (None, FindingKind::CutShort),
    ];
    for method in ALL {
        let name = method.name;
        let out = ran(method);
        for ((why, kind), stored) in ends.iter().flat_map(|end| [(end, true), (end, false)]) {
            let mut run = Run::new(name, Fake::new(Traits::default()).info.target.clone());
            run.cut_short = why.map(String::from);
            run.answer = out.answer.clone().filter(|_| stored);
            run.metrics.clone_from(&out.metrics);
            let answer = crate::answer(&run);
            match &answer.stamp {
                Stamp::Reservations(kinds) => assert_eq!(kinds[0], *kind, "{name}, {why:?}"),
                // Numbers from memory are worse than numbers from an incomplete run.
                Stamp::NotTheDrive(_) => assert!(stored, "{name}, {why:?}"),
                Stamp::Believable | Stamp::Other(_) => panic!("{name}, {why:?}: believable"),
            }
            let whole = crate::answer(&Run { complete: true, answer: None, ..run });
            assert_eq!(whole.stamp, Stamp::Believable, "{name}");
        }
    }
}

#[test]
fn every_method_answers_its_question_in_a_sentence_with_tiles_and_a_chart() {
    let mut all_faults = Vec::new();
    for method in ALL {
        let name = method.name;
        let out = ran(method);
        let Some(answer) = &out.answer else {
            all_faults.push(format!("{name}: no answer"));
            continue;
        };
        println!("{name}: {}", answer.headline);
        all_faults.extend(faults(&out, answer).into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert_eq!(all_faults, Vec::<String>::new());
}

/// Claims of answers, each with the verdicts that permit it.
const CLAIMS: [(&str, &[VerdictKind]); 9] = [
    ("No tricks found. Content gains", &[VerdictKind::Incompressible]),
    ("Writes are compressed", &[VerdictKind::Compressible]),
    ("Misaligned 4 KiB writes are", &[VerdictKind::Misaligned]),
    ("Alignment makes no visible difference", &[VerdictKind::AlignmentIsFree]),
    ("Throttles after", &[VerdictKind::Heat]),
    ("No throttling", &[VerdictKind::Cool]),
    ("TRIM works", &[VerdictKind::TrimWorks]),
    ("Asleep", &[VerdictKind::PowerState]),
    ("The capacity of", &[VerdictKind::CapacityReal]),
];

/// On a quiet drive and on drives so noisy that checks have no power, for every method: an answer
/// is believable only if all checks could tell, and it claims only what its verdicts say.
#[test]
fn no_answer_is_believable_if_a_check_could_not_tell_or_a_verdict_disagrees() {
    let mut without_power = 0;
    for (method, noise) in ALL.iter().flat_map(|method| [0.01, 0.2, 0.8].map(|n| (method, n))) {
        let outcome = ran_with(method, noise);
        let Some(answer) = &outcome.answer else { continue };
        let case = format!("{} at a scatter of {noise}: {}", method.name, answer.headline);
        let is_believable = answer.stamp == Stamp::Believable;
        let could_not_tell = outcome.warnings.iter().any(|w| w.kind == FindingKind::Inconclusive);
        without_power += u32::from(could_not_tell);
        assert!(!(could_not_tell && is_believable), "{case}");
        assert!(!(answer.headline.starts_with("Undetermined") && is_believable), "{case}");
        for (claim, verdicts) in CLAIMS {
            let is_permitted =
                outcome.verdicts.iter().any(|verdict| verdicts.contains(&verdict.kind));
            assert!(!answer.headline.starts_with(claim) || is_permitted, "{case}");
        }
    }
    assert!(without_power > 5, "only {without_power} runs had a check without power");
}
