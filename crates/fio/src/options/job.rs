//! Options of the section: name, clones, order, waiting and time.

use std::time::Duration;

use super::{OptionEntry, supported};
use crate::value::{Parsed, Value, put};
use crate::{Amount, CpuPolicy, ExitWhat};

/// Maximum number of clones of one job, and of all jobs, as in fio.
const JOBS_MAX: u32 = 4096;
const SECOND: Duration = Duration::from_secs(1);

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("name", &[], |d, v| put(&mut d.job.name, v.text()?.into())),
    supported("description", &[], |d, v| put(&mut d.job.description, Some(v.text()?.into()))),
    supported("numjobs", &[], |d, v| put(&mut d.job.numjobs, v.count32(1, JOBS_MAX)?)),
    supported("thread", &[], |d, v| put(&mut d.job.thread, v.set()?))
        .bare()
        .says("clones are always threads; what is printed names what was requested"),
    supported("stonewall", &["wait_for_previous"], |d, v| put(&mut d.stonewall, v.set()?)).bare(),
    supported("wait_for", &[], |d, v| put(&mut d.wait_for, Some(v.text()?.into()))),
    supported("new_group", &[], |d, v| put(&mut d.new_group, v.set()?)).bare(),
    supported("group_reporting", &[], |d, v| put(&mut d.job.reporting.group, v.set()?)).bare(),
    supported("startdelay", &[], |d, v| put(&mut d.job.schedule.startdelay, v.times(SECOND)?)),
    supported("runtime", &["timeout"], |d, v| {
        let time = v.time(SECOND)?;
        d.job.schedule.runtime = Some(time).filter(|time| !time.is_zero());
        Ok(())
    }),
    supported("time_based", &[], |d, v| put(&mut d.job.schedule.time_based, v.set()?)).bare(),
    supported("ramp_time", &[], |d, v| put(&mut d.job.schedule.ramp_time, v.time(SECOND)?)),
    supported("ramp_size", &[], |d, v| put(&mut d.job.schedule.ramp_size, v.bytes()?)),
    supported("loops", &[], |d, v| put(&mut d.job.schedule.loops, v.count32(0, u32::MAX)?.max(1))),
    supported("exitall", &[], |d, v| put(&mut d.job.schedule.exitall, v.set()?))
        .bare()
        .says("as in fio, it applies to all jobs if one job has it"),
    supported("exit_what", &[], |d, v| {
        let words = [
            ("group", ExitWhat::Group),
            ("stonewall", ExitWhat::Stonewall),
            ("all", ExitWhat::All),
        ];
        put(&mut d.job.schedule.exit_what, v.word(&words)?)
    })
    .says("`group` ends the jobs that run at the same time, as `stonewall` does"),
    supported("exitall_on_error", &[], |d, v| put(&mut d.job.schedule.exitall_on_error, v.set()?))
        .bare()
        .says("jobs that run at the same time end"),
    supported("size", &[], |d, v| put(&mut d.job.space.size, nothing_is_none(v.amount()?))),
    supported("io_size", &["io_limit"], |d, v| {
        let amount = nothing_is_none(v.amount()?);
        if matches!(amount, Some(Amount::Percent(_))) {
            d.job.space.pass_share = amount;
        }
        put(&mut d.job.space.io_size, amount)
    }),
    supported("filesize", &[], |d, v| put(&mut d.job.space.filesize, Some(file_size(v)?))),
    supported("fill_device", &["fill_fs"], |d, v| put(&mut d.job.space.fill_device, v.flag()?))
        .says("10% of the file system stays free, at least 64 MiB and at most 8 GiB, as the result mentions; several files share the space"),
    supported("file_append", &[], |d, v| put(&mut d.job.space.file_append, v.flag()?))
        .says("appending to another program's file needs --destroy"),
    supported("offset", &["fileoffset"], |d, v| put(&mut d.job.space.offset, v.amount()?)),
    supported("offset_increment", &[], |d, v| put(&mut d.job.space.offset_increment, v.amount()?)),
    supported("offset_align", &[], |d, v| {
        put(&mut d.job.space.offset_align, v.count(0, u64::from(u32::MAX))?)
    }),
    supported("number_ios", &[], |d, v| {
        put(&mut d.job.space.number_ios, Some(v.bytes()?).filter(|ops| *ops > 0))
    }),
    supported("cpus_allowed", &[], |d, v| put(&mut d.job.machine.cpus, cpu_list(v.text()?)?)),
    supported("cpumask", &[], |d, v| {
        let mask = v.count(0, u64::from(u32::MAX))?;
        put(&mut d.job.machine.cpus, (0..32).filter(|cpu| mask >> cpu & 1 == 1).collect())
    }),
    supported("cpus_allowed_policy", &[], |d, v| {
        let words = [("shared", CpuPolicy::Shared), ("split", CpuPolicy::Split)];
        put(&mut d.job.machine.cpu_policy, v.word(&words)?)
    }),
    supported("nice", &[], |d, v| put(&mut d.job.machine.nice, v.signed(-20, 19)? as i32)),
    supported("prio", &[], |d, v| put(&mut d.job.machine.prio, Some(v.count(0, 7)? as u8))),
    supported("prioclass", &[], |d, v| put(&mut d.job.machine.prioclass, Some(v.count(0, 3)? as u8))),
];

/// `size=0` and `size=0%` mean no size.
fn nothing_is_none(amount: Amount) -> Option<Amount> {
    Some(amount).filter(|amount| !matches!(amount, Amount::Bytes(0) | Amount::Percent(0)))
}

/// One size, or two: minimum and maximum.
fn size(value: &Value, text: &str) -> Parsed<u64> {
    match value.size(text)?.bytes()? {
        0 => Err("must be at least 1 byte".to_string()),
        bytes => Ok(bytes),
    }
}

fn file_size(value: &Value) -> Parsed<(u64, u64)> {
    let parts = crate::value::parts(value.text()?);
    match parts[..] {
        [text] => size(value, text).map(|bytes| (bytes, bytes)),
        [low, high] => {
            let (low, high) = (size(value, low)?, size(value, high)?);
            Ok((low.min(high), low.max(high)))
        }
        _ => Err("has more than two sizes".into()),
    }
}

/// A list of processors in the kernel's format, which is also fio's.
pub(crate) fn cpu_list(text: &str) -> Parsed<Vec<u32>> {
    numbers(text, 8192, "the number of a processor")
}

/// `0,2-4`: numbers below `end`, ascending; `what` names them in errors.
pub(super) fn numbers(text: &str, end: u32, what: &str) -> Parsed<Vec<u32>> {
    let mut numbers = std::collections::BTreeSet::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let [low, high] = [low, high].map(|text| match text.trim().parse::<u32>() {
            Ok(number) if number < end => Ok(number),
            _ => Err(format!("'{text}' is not {what}")),
        });
        let (low, high) = (low?, high?);
        if low > high {
            return Err(format!("'{part}' goes backwards"));
        }
        numbers.extend(low..=high);
    }
    if numbers.is_empty() {
        Err(format!("does not contain {what}"))
    } else {
        Ok(numbers.into_iter().collect())
    }
}
