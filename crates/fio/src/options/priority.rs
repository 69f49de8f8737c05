//! Options for priorities of single operations, for a job's NUMA nodes, and for flows, in which
//! jobs keep a ratio.

use std::time::Duration;

use super::{OptionEntry, supported};
use crate::draft::JobDraft;
use crate::value::{Parsed, Value, put};
use crate::{MemoryPolicy, PriorityShare};

/// Options of the engines that pass priorities to the kernel.
pub(super) const ENGINES: &[OptionEntry] = &[
    supported("cmdprio_percentage", &[], |d, v| {
        v.per_kind(&mut d.priority.percent, |text| number(text, 100))
    }),
    supported("cmdprio_class", &[], |d, v| v.per_kind(&mut d.priority.class, |t| number(t, 3))),
    supported("cmdprio", &[], |d, v| v.per_kind(&mut d.priority.level, |text| number(text, 7))),
    supported("cmdprio_hint", &[], |d, v| v.per_kind(&mut d.priority.hint, |t| number(t, 1023))),
    supported("cmdprio_bssplit", &[], by_size),
];

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("flow", &[], |d, v| put(&mut d.job.pace.flow.weight, v.count32(0, 1000)?))
        .says("the jobs of a flow that run at the same time"),
    supported("flow_id", &[], |d, v| put(&mut d.job.pace.flow.id, v.count32(0, u32::MAX)?)),
    supported("flow_sleep", &[], |d, v| {
        put(&mut d.job.pace.flow.sleep, v.time(Duration::from_micros(1))?)
    })
    .says("at least 0.1 ms"),
    supported("numa_cpu_nodes", &[], |d, v| put(&mut d.job.machine.numa_nodes, nodes(v.text()?)?)),
    supported("numa_mem_policy", &[], |d, v| {
        put(&mut d.job.machine.memory, memory_policy(v.text()?)?)
    }),
];

fn number(text: &str, most: u32) -> Parsed<u32> {
    match text.trim().parse::<u32>() {
        Ok(number) if number <= most => Ok(number),
        _ => Err(format!("'{text}' is not a number from 0 to {most}")),
    }
}

/// `64k/25/1/1:64k/75/3/2,1024k/0`: size, percent, and optionally class, level and hint.
fn by_size(d: &mut JobDraft, v: &Value) -> Parsed<()> {
    v.per_kind_commas(&mut d.priority.by_size, |text| {
        let entries = text.split(':').filter(|entry| !entry.trim().is_empty());
        let shares = entries.map(|entry| share(v, entry)).collect::<Parsed<Vec<_>>>()?;
        let sum = |bytes| -> u32 {
            shares.iter().filter(|s| s.bytes == Some(bytes)).map(|s| s.percent).sum()
        };
        match shares.iter().filter_map(|s| s.bytes).find(|bytes| sum(*bytes) > 100) {
            Some(bytes) => Err(format!("shares of {bytes} bytes add up to {}", sum(bytes))),
            None => Ok(shares),
        }
    })
}

fn priority(class: &str, level: &str, hint: &str) -> Parsed<u16> {
    Ok(packed(number(class, 3)?, number(level, 7)?, number(hint, 1023)?))
}

fn share(v: &Value, entry: &str) -> Parsed<PriorityShare> {
    let parts: Vec<&str> = entry.split('/').collect();
    let (bytes, percent, own_priority) = match parts[..] {
        [bytes, percent] => (bytes, percent, None),
        [bytes, percent, class, level] => (bytes, percent, Some(priority(class, level, "0")?)),
        [bytes, percent, class, level, hint] => {
            (bytes, percent, Some(priority(class, level, hint)?))
        }
        _ => return Err(format!("'{entry}' is not size/percent or size/percent/class/level")),
    };
    let bytes = Some(v.size(bytes)?.bytes()?);
    Ok(PriorityShare { bytes, percent: number(percent, 100)?, own: own_priority })
}

/// Class (0 to 3), level (0 to 7) and hint (0 to 1023) in the kernel's single number.
pub(crate) fn packed(class: u32, level: u32, hint: u32) -> u16 {
    (class << 13 | hint << 3 | level) as u16
}

/// `0,2-4`.
fn nodes(text: &str) -> Parsed<Vec<u32>> {
    match text.trim() {
        "all" => Err("all: name the nodes".into()),
        text => super::job::numbers(text, 1024, "the number of a NUMA node"),
    }
}

/// `bind:0-1`, `prefer:0`, `interleave:0,1`, `local`, `default`.
fn memory_policy(text: &str) -> Parsed<Option<MemoryPolicy>> {
    let (mode, list) = text.split_once(':').unwrap_or((text, ""));
    Ok(Some(match (mode.trim(), list.trim()) {
        ("default", _) => return Ok(None),
        ("local", _) => MemoryPolicy::Local,
        ("prefer", list) => match nodes(list)?[..] {
            [node] => MemoryPolicy::Prefer(node),
            _ => return Err("prefer: takes one node".into()),
        },
        ("bind", list) => MemoryPolicy::Bind(nodes(list)?),
        ("interleave", list) => MemoryPolicy::Interleave(nodes(list)?),
        (other, _) => {
            return Err(format!(
                "'{other}' is not one of default, prefer, bind, interleave, local"
            ));
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommandLine, Job, parse, testing::Small};

    fn job(words: &[&str]) -> Result<Job, String> {
        let all = [&["--name=x", "--size=1m", "--ioengine=libaio"], words].concat();
        let words: Vec<String> = all.iter().map(ToString::to_string).collect();
        match parse(&words, &Small::default()) {
            Ok(CommandLine::Run(plan)) => Ok(plan.jobs[0].clone()),
            Ok(CommandLine::Answer(text) | CommandLine::Inflate(text)) => Err(text),
            Err(error) => Err(error.what),
        }
    }

    #[test]
    fn shares_by_percent_and_by_size() {
        let all = job(&["--cmdprio_percentage=20,0", "--cmdprio=3"]).expect("understood");
        let rule = |bytes, percent, own| PriorityShare { bytes, percent, own };
        assert_eq!(all.machine.priorities.read, [rule(None, 20, Some(0x2003))]);
        assert_eq!(all.machine.priorities.write, []);
        let words = ["--cmdprio_bssplit=64k/25/1/1:64k/75/3/2:1m/0,1m/10", "--cmdprio_class=2"];
        let split = job(&words).expect("understood").machine.priorities;
        let (small, large) = (Some(65536), Some(1 << 20));
        assert_eq!(split.read, [rule(small, 25, Some(0x2001)), rule(small, 75, Some(0x6002))]);
        assert_eq!(split.write, [rule(large, 10, Some(0x4000))]);
        for (wrong, why) in [
            (&["--cmdprio_bssplit=64k/60:64k/60"][..], "add up to 120"),
            (&["--cmdprio_bssplit=64k/60/1"], "is not size/percent"),
            (&["--cmdprio_percentage=101"], "from 0 to 100"),
            (&["--cmdprio_percentage=5", "--cmdprio_bssplit=4k/5"], "cannot be combined"),
            (&["--cmdprio_percentage=5", "--ioengine=psync"], "psync"),
        ] {
            let error = job(wrong).expect_err("an error");
            assert!(error.contains(why), "{wrong:?}: {error}");
        }
    }

    #[test]
    fn flows_and_nodes() {
        let job = job(&[
            "--flow=8",
            "--flow_sleep=1000",
            "--numa_cpu_nodes=0-1",
            "--numa_mem_policy=bind:0",
        ]);
        let job = job.expect("understood");
        assert_eq!((job.pace.flow.weight, job.pace.flow.sleep), (8, Duration::from_millis(1)));
        assert_eq!(job.machine.numa_nodes, [0, 1]);
        assert_eq!(job.machine.memory, Some(MemoryPolicy::Bind(vec![0])));
        assert!(self::job(&["--numa_mem_policy=prefer:0-1"]).is_err());
        assert!(self::job(&["--numa_mem_policy=near"]).is_err());
    }

    #[test]
    fn a_sequence_of_blocks() {
        use crate::Distribution;
        let words = ["--rw=randread", "--random_distribution=sequence:2,0,1"];
        let fixed = job(&words).expect("understood").access;
        assert_eq!(fixed.distribution, Distribution::Sequence(vec![2, 0, 1]));
        assert!(!fixed.sequence_stride && fixed.norandommap);
        let more = [&words[..], &["--random_sequence_stride=1"]].concat();
        assert!(job(&more).expect("understood").access.sequence_stride);
        let many = format!("--random_distribution=sequence:{}", "1,".repeat(65));
        for wrong in ["--random_distribution=sequence", "--random_distribution=sequence:1,x", &many]
        {
            assert!(job(&["--rw=randread", wrong]).is_err(), "{wrong}");
        }
    }
}
