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
        let report = json!({"environment": environment, "clock": clock, "findings": findings});
        return present::done(&present::json(&report)?);
    }
    let style = screen::style();
    let memory = environment.memory_bytes.map_or("unknown".into(), units::binary);
    let mut text = format!(
        "machine   {}   {} x {}   {memory}\nsystem    {}   Linux {}   clock {}\n\n",
        environment.board.clone().or(environment.hypervisor.clone()).unwrap_or("unknown".into()),
        environment.cpu.threads.map_or("unknown".into(), |threads| threads.to_string()),
        environment.cpu.model.as_deref().unwrap_or("unknown"),
        environment.os.as_deref().unwrap_or("unknown"),
        environment.kernel.as_deref().unwrap_or("unknown"),
        clock,
    );
    findings.iter().for_each(|finding| text += &line(finding, &style));
    text += match findings.iter().map(|f| f.level).max() {
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
    let width = style.width.saturating_sub(3);
    let mut text = style.paint_lines(Ink::Plain, &screen::wrap(&finding.text, width));
    if let Some(advice) = &finding.advice {
        let advice = screen::wrap(&format!("try: {advice}"), width);
        text += &format!("\n{}", style.paint_lines(Ink::Dim, &advice));
    }
    format!("{}  {}\n", style.paint(ink, mark), text.replace('\n', "\n   "))
}
