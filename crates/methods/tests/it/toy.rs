//! A new method needs one file and one registration. This one also declares an option, and uses
//! only the public API.

use std::time::Duration;

use methods::ALL;
use record::{Metric, Safety, Unit};
use rig::TargetInfo;
use script::{
    Budget, Common, Form, MethodError, MethodInfo, MetricInfo, Opt, Options, Round, Session,
    catalog,
};
use workload::{Mix, Pattern, Region, Stop, Workload};

static BLOCK: Opt<u32> = Opt::value(
    "toy-block",
    "BYTES",
    "bytes of a block",
    |words| match words.first().and_then(|word| word.parse().ok()) {
        Some(bytes) if bytes >= 512 => Ok(bytes),
        _ => Err("512 or more".into()),
    },
    || 4096,
);

/// Writes blocks until it has enough of it.
static TOY: MethodInfo = MethodInfo {
    name: "toy",
    summary: "how long does it take to get bored",
    about: "Writes blocks at random, round after round, 1 MiB at most.",
    safety: Safety::Scratch,
    seconds: 3.0,
    writes: "1 MiB at most",
    options: &[&BLOCK],
    metrics: &[&[MetricInfo::ns("toy", "time until it had enough")]],
    run,
    ..MethodInfo::EMPTY
};

fn run(session: &mut Session<'_>, options: &Options) -> Result<(), MethodError> {
    let region = Region::first(session.target().bytes);
    let block = options.get(&BLOCK);
    let mut w = Workload::new("toy-write", Pattern::Uniform, Mix::WRITE, block, region);
    (w.stop, w.flush_at_end) = (Stop::after_ns(1_000_000_000), true);
    let budget = Budget { bytes: 1 << 20, ..Budget::default() };
    session.budget("toy-writes", budget, |session| {
        session.rounds(10, None, |session, round| {
            let m = session.measure(&w, round)?;
            session.put_metric(Metric::single("toy", Unit::Nanoseconds, m.seconds() * 1e9));
            Ok(Round::settled_if(m.seconds() > 0.5))
        })?;
        Ok(())
    })?;
    session.rest("toy-rest", 2.0)
}

#[test]
fn a_toy_is_found_planned_and_its_option_typed() {
    let all = [ALL, &[&TOY]].concat();
    let toy = catalog::find(&all, "toy").expect("registered");
    let declared = catalog::declared(&all);
    let (option, methods) = declared.iter().find(|d| d.0.name() == "toy-block").expect("declared");
    assert_eq!((option.form(), &methods[..]), (Form::Value("BYTES"), &["toy"][..]));

    let typed = [("toy-block".to_string(), vec!["65536".to_string()])];
    let options = catalog::options(&all, &[toy], &typed, Options::default()).expect("known");
    assert_eq!(options.get(&BLOCK), 65_536);
    let timed = || Options { time: Some(Duration::from_secs(9)), ..Options::default() };
    catalog::options(&all, &[], &[], timed()).expect("no method ignores it");
    catalog::options(&all, &[toy], &[], timed()).expect("the toy uses it");
    let ignored = MethodInfo { ignores: &[Common::Time], ..*toy };
    let error = catalog::options(&all, &[&ignored], &[], timed()).expect_err("no effect");
    assert_eq!(error.to_string(), "--time has no effect on -m toy");
    catalog::options(&all, &[&ignored, toy], &[], timed()).expect("one of them uses it");
    assert_eq!(Options::default().get(&BLOCK), 4096);
    let info = TargetInfo::null(1 << 30);
    let plan = Session::plan(&info, |session| session.run(toy, &options)).expect("allowed");
    let steps: Vec<_> = plan.steps.iter().map(|s| (s.name.as_str(), s.repeats)).collect();
    assert_eq!(steps, [("toy-writes", 1), ("toy-rest", 1)]);
    assert_eq!((plan.write_bytes_max, plan.safety), (1 << 20, Safety::Scratch));
    assert_eq!(plan.workloads[0]["blocks"]["fixed"], 65_536);
}

#[test]
fn an_option_of_another_method_is_refused_with_the_names_of_those_that_declare_it() {
    let all = [ALL, &[&TOY]].concat();
    let refused = |method: &str, name: &str, words: &[&str]| {
        let typed = [(name.to_string(), words.iter().map(|w| w.to_string()).collect())];
        let chosen = [catalog::find(&all, method).expect("exists")];
        catalog::options(&all, &chosen, &typed, Options::default())
            .expect_err("refused")
            .to_string()
    };
    assert_eq!(
        refused("quick", "toy-block", &["512"]),
        "--toy-block goes with -m toy, not with quick"
    );
    assert_eq!(refused("toy", "legacy", &[]), "--legacy goes with -m mark, not with toy");
    let command = "a command after -- goes with -m command, not with toy";
    assert_eq!(refused("toy", "command", &["ls"]), command);
    assert_eq!(refused("toy", "toy-block", &["7"]), "toy-block is 7, must be 512 or more");
    assert_eq!(
        refused("mark", "reference", &["tape"]),
        "reference is tape, must be ram or riscos-ramfs"
    );
}
