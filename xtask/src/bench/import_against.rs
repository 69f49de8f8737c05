//! `cargo xtask bench import-against [--outputs N] [--seed S] [--keep DIR]`: what `ssdyno import`
//! makes of the outputs of real tools. `--keep` leaves the outputs in a directory, with the command
//! of each in `commands.tsv`.
//!
//! The tools run on files and a loop device of this benchmark, with drawn options and, for dd, in
//! all locales of the machine; several at once, because most of their time is waiting. Several
//! formats of one run of fio must give equal figures. Every output is then disturbed as pastes are;
//! the example `import-against` of `compat` reads all of them, and fails if a figure is wrong or a
//! record empty.

mod commands;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use fuzz::Random;

use self::commands::{Draw, ToolCommand};
use super::places::{Bench, Loop};
use super::results;
use crate::run::{cargo, find, output, printed, program};

/// Size of the loop device, MiB: f3 fills it.
const LOOP_MIB: u64 = 40;

/// Tools that run at once.
const WORKERS: usize = 8;

/// Outputs per thousand of each tool; fio makes the rest.
const SHARES: [(&str, usize); 8] = [
    ("dd", 250),
    ("iozone", 60),
    ("ioping", 40),
    ("trim", 20),
    ("f3", 10),
    ("hdparm", 3),
    ("sysbench", 4),
    ("bonnie++", 2),
];

/// Where the outputs go, with their commands.
struct Outputs {
    dir: PathBuf,
    commands: Mutex<String>,
}

/// Runs the tools and reads their outputs.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    let option = |name: &str, default: u64| -> Result<u64> {
        let value = words.windows(2).find(|pair| pair[0] == name).map(|pair| pair[1]);
        value.map_or(Ok(default), |value| value.parse().with_context(|| format!("{name} N")))
    };
    let (number, seed) = (option("--outputs", 2000)? as usize, option("--seed", 1)?);
    let keep = words.windows(2).find(|pair| pair[0] == "--keep").map(|pair| PathBuf::from(pair[1]));
    let bench = Bench::new()?;
    let dir = keep.unwrap_or_else(|| bench.path("outputs"));
    fs::create_dir_all(&dir)?;
    let outputs = Outputs { dir, commands: Mutex::default() };
    make(&bench, &outputs, number, seed)?;
    let (seed, dir) = (seed.to_string(), outputs.dir.display().to_string());
    let example = ["run", "-q", "-p", "compat", "--example", "import-against", "--", &dir, &seed];
    let (is_met, text) = printed(&mut cargo(&example))?;
    ensure!(!text.trim().is_empty(), "the example printed nothing");
    print!("{text}");
    let command = format!("cargo xtask bench import-against --outputs {number} --seed {seed}");
    results::write("import against the tools", &command, &text)?;
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the tools with options drawn from a seed.
fn make(bench: &Bench, outputs: &Outputs, number: usize, seed: u64) -> Result<()> {
    let locales = output(&mut program("locale", &["-a"]))?;
    let mut draw = Draw::new(seed, locales.lines().map(String::from).collect());
    let device = Loop::new(LOOP_MIB).ok();
    let path = device.as_ref().map(|device| device.device.clone());
    if path.is_none() {
        println!("without a loop device, which needs root: no hdparm, f3 and trims");
    }
    let counts = SHARES.map(|(tool, share)| {
        let is_here = match tool {
            "trim" => path.is_some(),
            "f3" => path.is_some() && find("f3write").is_some(),
            "hdparm" => path.is_some() && find(tool).is_some(),
            _ => find(tool).is_some(),
        };
        if !is_here {
            println!("without {tool}");
        }
        (tool, if is_here { (number * share).div_ceil(1000) } else { 0 })
    });
    let device_path = path.unwrap_or_default();
    let (mut anywhere, mut on_device) = (Vec::new(), Vec::new());
    for (tool, count) in counts.into_iter().filter(|(tool, _)| *tool != "f3") {
        let list = if ["hdparm", "trim"].contains(&tool) { &mut on_device } else { &mut anywhere };
        list.extend((0..count).map(|_| draw.command(tool, &device_path)));
    }
    // f3write and f3read print one output each.
    let fills = counts.iter().find(|(tool, _)| *tool == "f3").map_or(0, |(_, count)| count / 2);
    let card = device.map(|device| (device, fills, draw.random.clone()));
    let planned = anywhere.len() + on_device.len() + 2 * fills;
    let fio = number.saturating_sub(planned);
    anywhere.extend((0..fio).map(|_| draw.command("fio", "")));
    run_all(bench, outputs, &anywhere, (&on_device, card))?;
    // Drawn options that exclude each other fail; others take their place.
    for _ in 0..20 {
        let missing = number.saturating_sub(outputs.count());
        let more: Vec<_> = (0..missing).map(|_| draw.command("fio", "")).collect();
        run_all(bench, outputs, &more, (&[], None))?;
    }
    let count = outputs.count();
    ensure!(count >= number, "most runs of the tools fail: {count} outputs of {number}");
    let commands = outputs.commands.lock().map_err(|_| anyhow::anyhow!("a worker panicked"))?;
    fs::write(outputs.dir.join("commands.tsv"), &*commands).context("cannot write the commands")
}

/// The loop device, how often to fill it, and what damages it.
type Card = (Loop, usize, Random);

/// Runs commands, each worker in a directory of its own; those on the loop device one by one.
fn run_all(
    bench: &Bench,
    outputs: &Outputs,
    commands: &[ToolCommand],
    (on_device, card): (&[ToolCommand], Option<Card>),
) -> Result<()> {
    let queue = Mutex::new(commands.iter());
    std::thread::scope(|scope| {
        let work = |at: PathBuf| -> Result<()> {
            fs::create_dir_all(&at)?;
            loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.next());
                let Some(command) = next else { return Ok(()) };
                outputs.keep(command, &at)?;
            }
        };
        let workers: Vec<_> = (0..WORKERS.min(commands.len()))
            .map(|i| scope.spawn(move || work(bench.path(&format!("worker-{i}")))))
            .collect();
        let at = bench.path("device");
        fs::create_dir_all(&at)?;
        on_device.iter().try_for_each(|command| outputs.keep(command, &at))?;
        if let Some((device, count, mut random)) = card.filter(|(_, count, _)| *count > 0) {
            let (_mounted, mount) = device.mounted(bench.path("mount"))?;
            (0..count).try_for_each(|_| fill(outputs, &mount, &mut random))?;
        }
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
        }
        Ok(())
    })
}

/// f3 on a good card, or on one that lost content.
fn fill(outputs: &Outputs, at: &Path, random: &mut Random) -> Result<()> {
    let mount = at.display().to_string();
    let tool = |program: &str| ToolCommand::new(program, &[&mount]);
    outputs.keep(&tool("f3write"), at)?;
    if random.below(2) == 0 {
        let block = vec![random.below(256) as u8; 512 * (1 + random.below(40))];
        let path = at.join("1.h2w");
        let mut file = fs::read(&path)?;
        let start = 512 * random.below(file.len() / 1024);
        let end = (start + block.len()).min(file.len());
        file[start..end].copy_from_slice(&block[..end - start]);
        fs::write(&path, file)?;
    }
    outputs.keep(&tool("f3read"), at)
}

impl Outputs {
    /// Runs a tool in a directory and keeps what it prints.
    fn keep(&self, command: &ToolCommand, at: &Path) -> Result<()> {
        let tool = command.tool();
        let mut process = command.process(at)?;
        let said = process.output().with_context(|| format!("cannot run {tool}"))?;
        // A tool that failed has no whole result. f3read fails if content is lost.
        if !said.status.success() && tool != "f3read" {
            return Ok(());
        }
        let mut commands =
            self.commands.lock().map_err(|_| anyhow::anyhow!("a worker panicked"))?;
        let name = format!("{tool}-{:05}.txt", commands.lines().count() + 1);
        *commands += &format!("{name}\t{}\n", command.line());
        fs::write(self.dir.join(name), [said.stdout, said.stderr].concat())
            .context("cannot write an output")
    }

    fn count(&self) -> usize {
        self.commands.lock().map_or(0, |commands| commands.lines().count())
    }
}

impl ToolCommand {
    /// The command as a process in a directory, with the files that it needs.
    fn process(&self, at: &Path) -> Result<Command> {
        let mut process = Command::new(&self.program);
        process.args(&self.words).current_dir(at).stdin(Stdio::null());
        if let Some(locale) = &self.locale {
            process.env("LC_ALL", locale).env("LANGUAGE", "");
        }
        match self.program.as_str() {
            "ioping" => fs::write(at.join("ioping.tmp"), vec![1; 2 << 20])?,
            "sysbench" => {
                let words = self.words.iter().filter(|word| !word.starts_with("--file-test-mode"));
                let words = words.map(|word| if word == "run" { "prepare" } else { word.as_str() });
                let _ = Command::new("sysbench").args(words).current_dir(at).output();
            }
            // Progress goes to the other stream, which people leave out.
            "bonnie++" => {
                process.stderr(Stdio::null());
            }
            _ => {}
        }
        Ok(process)
    }
}
