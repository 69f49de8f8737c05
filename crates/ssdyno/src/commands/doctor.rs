//! `ssdyno doctor`: checks whether this machine is fit for measuring.

use lab::machine::{self, Fitness};
use record::{Finding, Level};
use report::{Ink, Style};
use serde_json::json;
use workload::units;

use crate::cli::DoctorArgs;
use crate::failure::Result;
use crate::{present, screen};

/// Observes the machine for a short time and lists everything that could spoil a measurement.
pub fn run(args: &DoctorArgs) -> Result {
    let Fitness { environment, clock, findings } = machine::fitness();
    if args.json {
        let all = json!({"environment": environment, "clock": clock, "findings": findings});
        return present::done(&present::json(&all)?);
    }
    let style = screen::style();
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let memory = environment.memory_bytes.map_or("unknown".into(), units::binary);
    let mut text = format!(
        "machine   {}   {} x {}   {memory}\nsystem    {}   Linux {}   clock {}\n\n",
        environment.board.clone().or(environment.hypervisor.clone()).unwrap_or("unknown".into()),
        environment.cpu.threads.map_or("unknown".into(), |threads| threads.to_string()),
        known(&environment.cpu.model),
        known(&environment.os),
        known(&environment.kernel),
        clock,
    );
    findings.iter().for_each(|finding| text += &line(finding, &style));
    let worst = findings.iter().map(|f| f.level).max();
    text += match worst {
        None | Some(Level::Note) => "fit for measuring\n",
        Some(Level::Warn) => "fit for measuring, with care\n",
        Some(Level::Bad | Level::Other(_)) => "numbers from this machine do not describe a drive\n",
    };
    present::done(&text)
}

fn line(finding: &Finding, style: &Style) -> String {
    let (ink, mark) = match finding.level {
        Level::Note => (Ink::Dim, "-"),
        Level::Warn => (Ink::Warn, "!"),
        Level::Bad | Level::Other(_) => (Ink::Bad, "x"),
    };
    let lines = |text: &str| screen::wrap(text, style.width.saturating_sub(3));
    let mut text = style.paint_lines(Ink::Plain, &lines(&finding.text));
    if let Some(advice) = &finding.advice {
        text += &format!("\n{}", style.paint_lines(Ink::Dim, &lines(&format!("try: {advice}"))));
    }
    format!("{}  {}\n", style.paint(ink, mark), text.replace('\n', "\n   "))
}
