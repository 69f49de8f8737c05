//! `cargo xtask names`: figures of how the code names things, room by room; with the name of a room,
//! the places in it, worst files first.
//!
//! The figures are symptoms of code that is hard to read, not goals: a name is changed where its next
//! reader gains by it. Production code only, without tests, strings and comments.

mod code;
mod limits;
mod measure;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::run::root;
pub use limits::findings;
use measure::{Figures, Habit};

/// The words that name no value, with the rule by which they were chosen.
const WORDS: &str = include_str!("words.txt");

/// The rooms with invariants that the code asserts.
const ASSERTING: [&str; 8] =
    ["engine", "model", "nvme", "fat", "journal", "drive", "fio", "controller"];

/// A room with the figures of each of its files.
struct Room {
    name: String,
    files: Vec<(String, Figures)>,
}

/// Figures of all rooms, or of one and its places.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    let rooms = measure(&root())?;
    match arguments {
        [option] if option == "--shrink" => limits::shrink()?,
        [] => print_table(&rooms),
        [name] => match rooms.iter().find(|room| room.name == *name) {
            Some(room) => print_places(room, &rooms),
            None => bail!("no room '{name}'"),
        },
        _ => bail!("usage: cargo xtask names [ROOM | --shrink]"),
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(root: &Path) -> Result<Vec<Room>> {
    let words: Vec<_> = WORDS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect();
    let mut names: Vec<_> = std::fs::read_dir(root.join("crates"))?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    let mut rooms = Vec::new();
    for name in names {
        let files = code::read(root, &Path::new("crates").join(&name).join("src"))?;
        let figures = |file| (file_name(&file), Figures::measure(&file, &words));
        rooms.push(Room { files: files.into_iter().map(figures).collect(), name });
    }
    Ok(rooms)
}

fn file_name(file: &code::SourceFile) -> String {
    file.path.display().to_string()
}

impl Room {
    fn figures(&self) -> impl Iterator<Item = &Figures> {
        self.files.iter().map(|(_, figures)| figures)
    }

    fn lines(&self) -> usize {
        self.figures().map(|figures| figures.lines).sum()
    }

    fn let_names(&self) -> usize {
        self.figures().map(|figures| figures.let_names).sum()
    }

    fn assertions(&self) -> usize {
        self.figures().map(|figures| figures.assertions).sum()
    }

    fn count(&self, habit: Habit) -> usize {
        let places = self.figures().flat_map(|figures| &figures.places);
        places.filter(|place| place.habit == habit).count()
    }

    fn public_types(&self) -> BTreeSet<&str> {
        let types = self.figures().flat_map(|figures| &figures.types);
        types.filter(|t| t.is_public).map(|t| t.name.as_str()).collect()
    }

    /// The public types whose name another room gives to a public type too.
    fn shared_types<'a>(&'a self, rooms: &[Room]) -> BTreeSet<&'a str> {
        let others = rooms.iter().filter(|room| room.name != self.name);
        let others: BTreeSet<_> = others.flat_map(Room::public_types).collect();
        self.public_types().into_iter().filter(|name| others.contains(name)).collect()
    }
}

fn print_table(rooms: &[Room]) {
    println!(
        "{:<11}{:>8}{:>7}{:>8}{:>9}{:>8}{:>6}{:>10}{:>8}{:>8}{:>10}",
        "room",
        "lines",
        "share",
        "let",
        "weak",
        "types",
        "of()",
        "closures",
        "bool",
        "match()",
        "asserts"
    );
    let all_lines: usize = rooms.iter().map(Room::lines).sum();
    let row = |name: &str, rooms_of_row: &[&Room]| {
        let sum =
            |f: &dyn Fn(&Room) -> usize| rooms_of_row.iter().map(|room| f(room)).sum::<usize>();
        let lines = sum(&Room::lines);
        let per_thousand = |count: usize| count as f64 * 1000.0 / lines.max(1) as f64;
        let percent = |part: usize, whole: usize| part as f64 * 100.0 / whole.max(1) as f64;
        println!(
            "{name:<11}{lines:>8}{:>6.1}%{:>8}{:>8.1}%{:>7.0}%{:>6}{:>10.1}{:>8}{:>8}{:>10.1}",
            percent(lines, all_lines),
            sum(&Room::let_names),
            percent(sum(&|room| room.count(Habit::WeakName)), sum(&Room::let_names)),
            percent(sum(&|room| room.shared_types(rooms).len()), sum(&|r| r.public_types().len())),
            sum(&|room| room.count(Habit::Of)),
            per_thousand(sum(&|room| room.count(Habit::LocalClosure))),
            sum(&|room| room.count(Habit::BooleanArm)),
            sum(&|room| room.count(Habit::EmptyMatch)),
            per_thousand(sum(&Room::assertions)),
        );
    };
    rooms.iter().for_each(|room| row(&room.name, &[room]));
    row("all", &rooms.iter().collect::<Vec<_>>());
    let asserting = rooms.iter().filter(|room| ASSERTING.contains(&room.name.as_str()));
    row("asserting", &asserting.collect::<Vec<_>>());
    println!(
        "\nlines: of code, without tests; let: names that a `let` binds; weak: those of words.txt;\n\
         types: public ones with the name of another room's; closures and asserts: per 1,000 lines;\n\
         asserting: {}",
        ASSERTING.join(", ")
    );
}

/// Prints the places of a room, the file with the most first, then its shared type names.
fn print_places(room: &Room, rooms: &[Room]) {
    let mut files: Vec<_> = room.files.iter().filter(|(_, f)| !f.places.is_empty()).collect();
    files.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.places.len()));
    for (file, figures) in files {
        println!("{file}: {} in {} lines", figures.places.len(), figures.lines);
        let mut lines: BTreeMap<(Habit, &str), Vec<String>> = BTreeMap::new();
        for place in &figures.places {
            lines.entry((place.habit, &place.text)).or_default().push(place.line.to_string());
        }
        for ((habit, text), lines) in lines {
            println!("  {:<14}{text:<20}{}", habit.name(), lines.join(" "));
        }
    }
    println!("type names of other rooms too:");
    for name in room.shared_types(rooms) {
        let sharing = rooms.iter().filter(|other| other.public_types().contains(name));
        let sharing: Vec<_> = sharing.map(|other| other.name.as_str()).collect();
        println!("  {name:<20}{}", sharing.join(" "));
    }
}

impl Habit {
    fn name(self) -> &'static str {
        match self {
            Habit::WeakName => "weak name",
            Habit::Of => "fn of",
            Habit::BooleanArm => "boolean arm",
            Habit::EmptyMatch => "match ()",
            Habit::LocalClosure => "local closure",
        }
    }
}
