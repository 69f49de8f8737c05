//! Options about I/O logs: writing one, and repeating it.

use workload::OpKind;

use super::files::list;
use super::{OptionEntry, supported};
use crate::value::put;

pub(super) const OPTIONS: &[OptionEntry] = &[
    supported("write_iolog", &[], |d, v| put(&mut d.job.logs.iolog, Some(v.text()?.into())))
        .says("version 3, appended as in fio; without the operations of the ramp"),
    supported("read_iolog", &[], |d, v| put(&mut d.replay.logs, list(v.text()?)?)).says(
        "versions 2 and 3; the log runs once, whatever `size` and `loops` say; a line that fio would \
         skip is an error",
    ),
    supported("replay_no_stall", &[], |d, v| put(&mut d.replay.no_stall, v.flag()?)),
    supported("replay_time_scale", &[], |d, v| {
        put(&mut d.replay.time_scale, v.count32(1, u32::MAX)?)
    }),
    supported("replay_redirect", &[], |d, v| put(&mut d.replay.redirect, Some(v.text()?.into()))),
    supported("replay_scale", &[], |d, v| put(&mut d.replay.scale, v.count32(1, u32::MAX)?)),
    supported("replay_align", &[], |d, v| {
        let align = v.bytes()?;
        if !align.is_power_of_two() {
            return Err(format!("{align} is not a power of 2"));
        }
        put(&mut d.replay.align, align)
    }),
    supported("replay_skip", &[], |d, v| {
        let words = [
            ("read", OpKind::Read),
            ("write", OpKind::Write),
            ("trim", OpKind::Discard),
            ("sync", OpKind::Flush),
        ];
        for text in v.text()?.split(',') {
            let kind = words.iter().find(|(word, _)| *word == text.trim());
            let Some((_, kind)) = kind else {
                return Err(format!("'{text}' is not one of read, write, trim, sync"));
            };
            d.replay.skips.push(*kind);
        }
        Ok(())
    }),
];
