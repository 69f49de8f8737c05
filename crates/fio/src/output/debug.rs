//! What `--debug=` adds before all other output: the seeds of clones, and the thresholds of steady
//! states, in the lines of fio that scripts look for. The rest of fio's internals do not exist here.

use std::fmt::Write;

use crate::Plan;

/// The lines; empty without `--debug=`.
pub fn debug(plan: &Plan) -> String {
    let (debug, mut text) = (&plan.globals.debug, String::new());
    for topic in &debug.topics {
        let _ = writeln!(text, "fio: set debug option {topic}");
    }
    let id = std::process::id();
    for threshold in debug.thresholds.iter().filter(|_| debug.shows("parse")) {
        let _ = writeln!(text, "parse    {id:<5} {threshold}");
    }
    let seeds = plan.jobs.iter().flat_map(|job| (0..job.numjobs).map(|clone| job.seed(clone)));
    // fio has several generators for each clone; here, all are made from one seed.
    for seed in seeds.filter(|_| debug.shows("random")) {
        let _ = writeln!(text, "random   {id:<5} FIO_RAND_NR_OFFS=1");
        let _ = writeln!(text, "random   {id:<5} rand_seeds[0]={seed}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommandLine, parse, testing::Small};

    #[test]
    fn seeds_and_thresholds_are_in_fios_words() {
        let words =
            ["--debug=random,parse", "--name=a", "--numjobs=2", "--randseed=7", "--size=1m"];
        let mut plan = crate::testing::plan(&[&words[..], &["--ss=bw:2m", "--ss_dur=4"]].concat());
        let text = debug(&plan);
        for line in ["rand_seeds[0]=7\n", "set steady state BW threshold to 2097152\n"] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(text.matches("FIO_RAND_NR_OFFS=1").count(), 2, "{text}");
        plan.globals.debug.topics = vec!["mem".into()];
        assert_eq!(debug(&plan), "fio: set debug option mem\n");
    }

    #[test]
    fn thresholds_are_shown_without_a_job() {
        for (criterion, line) in [
            ("iops:10", "set steady state IOPS threshold to 10.000000"),
            ("bw_slope:.1%", "set steady state threshold to 0.100000%"),
        ] {
            let words = ["--parse-only", "--debug=parse", &format!("--ss={criterion}")];
            match parse(&words.map(String::from), &Small::default()) {
                Ok(CommandLine::Answer(text)) => assert!(text.contains(line), "{text}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn only_jobs_that_may_differ_have_drawn_seeds() {
        let seed = |words: &[&str]| {
            let mut plan = crate::testing::plan(&[&["--name=a", "--size=1m"], words].concat());
            plan.draw_seeds(5);
            plan.jobs[0].seed(0)
        };
        for words in [&["--randrepeat=0"][..], &["--allrandrepeat=0"]] {
            assert_eq!(seed(words), 5);
        }
        let repeated: [&[&str]; 4] = [
            &[],
            &["--randrepeat=0", "--verify=crc32c"],
            &["--randrepeat=0", "--filename=sim:samsung-980-1t"],
            &["--randrepeat=0", "--randseed=137"],
        ];
        assert!(repeated.iter().all(|words| seed(words) == 137));
    }
}
