//! Reads drive descriptions: built-in presets, users' files and overrides such as `capacity=64GB`.
//! Also lists all figures with their sources.

use serde::Serialize;
use toml::{Table, Value};
use workload::units;

use crate::classes;
use crate::figure::{Figure, FigureOrigin, Size};
use crate::link::{BUSES, bus};
use crate::nearest::meant;
use crate::ranges;
use crate::shape::Shape;
use crate::spec::{DriveSpec, LinkSpec, MapKind};

/// Maximum number of names in a message.
const LISTED_MAX: usize = 12;

/// An error in a description, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{key}: {message}", place(.file, .line))]
pub struct SpecError {
    /// File name or preset name.
    pub file: String,
    /// Line number, from 1; 0 if unknown.
    pub line: usize,
    /// Key, such as `nand.dies`.
    pub key: String,
    pub message: String,
}

fn place(file: &str, line: &usize) -> String {
    match (file, line) {
        ("", _) => String::new(),
        (file, 0) => format!("{file}: "),
        (file, line) => format!("{file}:{line}: "),
    }
}

/// One figure of a description, for display.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureLine {
    /// Key, such as `nand.dies`.
    pub key: String,
    /// Value, as written in a file.
    pub value: String,
    pub from: String,
    /// Source; empty if not given.
    pub source: String,
}

/// Memory that a map may take on a 32-bit system, bytes: most of the 3 GiB of a process.
const MAP_BYTES_MAX_32: u64 = 5 << 29;

/// Short names for overrides.
const SHORT: [(&str, &str); 29] = [
    ("temperature", "heat.ambient_c"),
    ("cooled", "heat.cooled"),
    ("format", "block_bytes"),
    ("policy", "collect.policy"),
    ("superblock", "collect.superblock"),
    ("slc", "slc.dynamic"),
    ("drain", "slc.drain"),
    ("buffer", "buffer.size"),
    ("protected", "buffer.protected"),
    ("unit", "map.unit_bytes"),
    ("trim", "discard.honoured"),
    ("endurance", "wear.endurance"),
    ("vary", "vary.amount"),
    ("flush_ignored", "command.flush_ignored"),
    ("depth", "link.0.depth"),
    ("turnaround", "link.0.turnaround_us"),
    ("host", "host.command_us"),
    ("wake", "command.wake_us"),
    ("sleep_after", "command.sleep_after_ms"),
    ("compression", "content.compression"),
    ("dedupe", "content.dedupe"),
    ("read_cache", "buffer.read_cache"),
    ("map_cache", "map.cache"),
    ("open_aus", "map.open_aus"),
    ("bad_blocks", "wear.bad"),
    ("wear", "wear.used"),
    ("alias", "alias.kind"),
    ("real", "alias.real"),
    ("fault", "fault.kind"),
];

impl DriveSpec {
    /// Parses a description; errors name it `file`.
    pub fn parse(file: &str, text: &str) -> Result<DriveSpec, SpecError> {
        let spec: DriveSpec = toml::from_str(text).map_err(|e| {
            let start = e.span().map_or(0, |span| span.start);
            let (line, key) = line_and_key(text, start);
            SpecError { file: file.into(), line, key, message: in_words(&e) }
        })?;
        let spec = classes::inherit(spec, text).map_err(|message| SpecError {
            file: file.into(),
            line: line_of(text, "class"),
            key: "class".into(),
            message,
        })?;
        spec.check().map_err(|(key, message)| SpecError {
            file: file.into(),
            line: line_of(text, &key),
            key,
            message,
        })?;
        Ok(spec)
    }

    pub fn preset(name: &str) -> Result<DriveSpec, SpecError> {
        let preset = crate::presets::PRESETS.iter().find(|(known, _)| *known == name);
        let Some((_, text)) = preset else {
            let names = crate::presets::PRESETS.iter().map(|(name, _)| *name);
            let longer_names: Vec<_> =
                names.clone().filter(|known| known.starts_with(name)).collect();
            let message = match &longer_names[..] {
                [] => format!("no such drive{}", meant(name, names)),
                [one] => format!("no such drive; did you mean '{one}'?"),
                several if name.is_empty() => {
                    let (first, count) = (several[0], several.len());
                    format!("no drive is named; there are {count}, such as sim:{first}")
                }
                several => format!("no such drive; names that begin so: {}", listed(several)),
            };
            let key = if name.is_empty() { "sim" } else { name }.into();
            return Err(SpecError { file: String::new(), line: 0, key, message });
        };
        DriveSpec::parse(&format!("drives/{name}.toml"), text)
    }

    /// A drive of a class, for which nothing better is known.
    pub fn from_class(class: &str) -> Result<DriveSpec, SpecError> {
        let words = format!("A drive of the class {class}.");
        let text =
            format!("name = {class:?}\nmodel = {words:?}\nabout = {words:?}\nclass = {class:?}\n");
        DriveSpec::parse("", &text).map_err(|e| SpecError { line: 0, ..e })
    }

    pub fn presets() -> impl Iterator<Item = &'static str> {
        crate::presets::PRESETS.iter().map(|(name, _)| *name)
    }

    /// Returns the description with parameters overridden, by full names (`capacity`, `nand.dies`)
    /// or short ones (`temperature` for `heat.ambient_c`). `slc=SIZE` is the size of the whole cache,
    /// none of it fixed. `link=BUS` inserts a host port before the drive's own links; `bus=BUS` puts
    /// the drive itself on another bus, without the limits of the one it has; `host=NAME` attaches
    /// the drive to a known host.
    pub fn with_overrides(&self, pairs: &[(&str, &str)]) -> Result<DriveSpec, SpecError> {
        let mut spec = self.clone();
        for (key, value) in pairs {
            spec = spec.overridden(key, value).map_err(|message| SpecError {
                file: String::new(),
                line: 0,
                key: (*key).into(),
                message,
            })?;
        }
        spec.check().map_err(|(key, message)| SpecError {
            file: String::new(),
            line: 0,
            key,
            message,
        })?;
        Ok(spec)
    }

    fn overridden(&self, key: &str, value: &str) -> Result<DriveSpec, String> {
        let mut spec = self.clone();
        if key == "link" {
            let bus =
                Figure { value: value.into(), from: FigureOrigin::Given, source: String::new() };
            spec.link.insert(0, LinkSpec { bus, ..LinkSpec::default() });
            return Ok(spec);
        }
        if key == "bus" {
            // Ceilings and turn-arounds are those of the old bus.
            let bus =
                Figure { value: value.into(), from: FigureOrigin::Given, source: String::new() };
            spec.link.pop();
            spec.link.push(LinkSpec { bus, ..LinkSpec::default() });
            return Ok(spec);
        }
        if key == "host" && value.parse::<f64>().is_err() {
            return spec.behind(value);
        }
        if key == "slc" && spec.slc.fixed.0 > 0 {
            spec.slc.fixed =
                Figure { value: Size(0), from: FigureOrigin::Given, source: String::new() };
        }
        let full = SHORT.iter().find(|(short, _)| *short == key).map_or(key, |(_, full)| full);
        let mut table = Table::try_from(&spec).map_err(|e| e.to_string())?;
        let place = leaf(&mut table, full).ok_or_else(|| {
            let figures = self.figures();
            let names = figures.iter().map(|line| line.key.as_str());
            let short = SHORT.iter().map(|(short, _)| *short).chain(["link", "bus"]);
            format!("no such parameter{}", meant(key, names.chain(short)))
        })?;
        let mut figure = Table::new();
        figure.insert("value".into(), parse_value(value));
        figure.insert("from".into(), Value::String("given".into()));
        *place = Value::Table(figure);
        DriveSpec::from_table(&table).map_err(|e| in_words(&e))
    }

    /// Reads a description from a table, through its text: a second deserializer of this large type
    /// doubles the time to compile the room.
    pub(crate) fn from_table(table: &Table) -> Result<DriveSpec, toml::de::Error> {
        toml::from_str(&table.to_string())
    }

    /// Attaches the drive to the host of that name: replaces the host's costs, and inserts the
    /// host's links before the drive's. They keep their origins.
    fn behind(mut self, host: &str) -> Result<DriveSpec, String> {
        let description = crate::hosts::HOSTS.iter().find(|(known, _)| *known == host);
        let Some((_, text)) = description else {
            let names = crate::hosts::HOSTS.iter().map(|(name, _)| *name);
            let suggestion = meant(host, names);
            return Err(format!("'{host}' is neither a time in us nor a known host{suggestion}"));
        };
        let file = format!("drives/hosts/{host}.toml");
        let host = DriveSpec::parse(&file, text).map_err(|e| e.to_string())?;
        self.host = host.host;
        self.link.splice(0..0, host.link);
        Ok(self)
    }

    /// All figures of the description, sorted by key.
    pub fn figures(&self) -> Vec<FigureLine> {
        let mut lines = Vec::new();
        if let Ok(table) = Table::try_from(self) {
            walk("", &table, &mut lines);
        }
        lines
    }

    /// Checks all values. An error consists of a key and a message.
    fn check(&self) -> Result<(), (String, String)> {
        let table = Table::try_from(self).map_err(|e| (String::new(), e.to_string()))?;
        ranges::check(&table)?;
        for (key, value) in
            [("block_bytes", *self.block_bytes), ("map.unit_bytes", *self.map.unit_bytes)]
        {
            if !value.is_power_of_two() {
                return Err((key.into(), format!("{value} is not a power of two")));
            }
        }
        let units = self.capacity.0 / u64::from(*self.map.unit_bytes);
        if units > 1 << 31 {
            return Err(("capacity".into(), "more than 2^31 mapping units".into()));
        }
        let pages = Shape::new(self).layout.page_numbers();
        if pages >= u64::from(u32::MAX) {
            let reason = "too large: with the spare flash, and the pages of a superblock rounded up \
                       to a power of two, page numbers exceed 32 bits";
            return Err(("capacity".into(), reason.into()));
        }
        if *self.map.kind != MapKind::Au {
            admit_map(units + pages, usize::BITS).map_err(|why| ("capacity".into(), why))?;
        }
        match self.link.iter().find(|link| bus(&link.bus, 0).is_none()) {
            Some(link) => {
                Err(("link.bus".into(), format!("'{}' is not one of {BUSES}", *link.bus)))
            }
            None => Ok(()),
        }
    }
}

/// The entry of a figure in a table; `None` if it does not exist.
fn leaf<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    let (head, rest) = key.split_once('.').unwrap_or((key, ""));
    match (table.get_mut(head)?, rest) {
        (Value::Table(inner), "") if !inner.contains_key("value") => None,
        (Value::Array(items), rest) => {
            let (index, rest) = rest.split_once('.')?;
            leaf(items.get_mut(index.parse::<usize>().ok()?)?.as_table_mut()?, rest)
        }
        (place, "") => Some(place),
        (Value::Table(inner), rest) => leaf(inner, rest),
        _ => None,
    }
}

/// Checks that a map of so many entries, from units to pages and back, can be addressed.
fn admit_map(entries: u64, pointer_bits: u32) -> Result<(), String> {
    let bytes = entries * size_of::<u32>() as u64;
    if pointer_bits >= 64 || bytes <= MAP_BYTES_MAX_32 {
        return Ok(());
    }
    Err(format!(
        "its map needs {} of memory, more than a 32-bit system can address: a 64-bit system is \
         needed",
        units::binary(bytes)
    ))
}

/// Parses a number, percentage or boolean; anything else is text.
fn parse_value(text: &str) -> Value {
    if let Ok(whole) = text.parse() {
        return Value::Integer(whole);
    }
    if let Some(share) = text.strip_suffix('%').and_then(|t| t.parse::<f64>().ok()) {
        return Value::Float(share / 100.0);
    }
    match (text.parse(), text.parse()) {
        (Ok(float), _) => Value::Float(float),
        (_, Ok(truth)) => Value::Boolean(truth),
        _ => Value::String(text.into()),
    }
}

fn walk(prefix: &str, table: &Table, lines: &mut Vec<FigureLine>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) if inner.contains_key("value") => {
                let [origin, source] = ["from", "source"]
                    .map(|name| inner.get(name).and_then(Value::as_str).unwrap_or("").into());
                let value = inner.get("value").map(shown).unwrap_or_default();
                lines.push(FigureLine { key, value, from: origin, source });
            }
            Value::Table(inner) => walk(&key, inner, lines),
            Value::Array(items) => {
                for (i, item) in
                    items.iter().enumerate().filter_map(|(i, v)| Some((i, v.as_table()?)))
                {
                    walk(&format!("{key}.{i}"), item, lines);
                }
            }
            _ => {}
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(whole) => whole.to_string(),
        Value::Float(float) => float.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        _ => String::new(),
    }
}

/// Returns the line number of a byte offset, from 1, and the key on that line with its section.
fn line_and_key(text: &str, at: usize) -> (usize, String) {
    let line = text[..at.min(text.len())].matches('\n').count() + 1;
    let mut section = "";
    let mut key = "";
    for content in text.lines().take(line).map(str::trim) {
        if let Some(name) = content.strip_prefix('[') {
            section = name.trim_matches(['[', ']']);
            key = "";
        } else {
            key = content.split('=').next().unwrap_or("").trim();
        }
    }
    (line, [section, key].iter().filter(|s| !s.is_empty()).copied().collect::<Vec<_>>().join("."))
}

/// Returns the line on which a key is set, from 1; 0 if it is not set.
fn line_of(text: &str, key: &str) -> usize {
    let mut start = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if line_and_key(text, start).1 == key {
            return i + 1;
        }
        start += line.len();
    }
    0
}

/// The message of an error, without the names of Rust's number types.
fn in_words(error: &toml::de::Error) -> String {
    let message = error.message().trim();
    let parts = message.strip_prefix("invalid type: ").and_then(|m| m.rsplit_once(", expected "));
    match parts {
        Some((found, "f64")) => format!("must be a number, not {found}"),
        Some((found, "u8" | "u16" | "u32" | "u64" | "usize")) => {
            format!("must be a whole number, not {found}")
        }
        _ => message.to_string(),
    }
}

/// Names to choose from; of many, the first.
fn listed(names: &[&str]) -> String {
    let first = names.iter().take(LISTED_MAX).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(LISTED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_windows_line_ends_reports_the_right_line() {
        let text = "# \u{e9}\r\n# \u{e9}\r\n# \u{e9}\u{e9}\u{e9}\r\n[nand]\r\nread_us = -1\r\n";
        assert_eq!(line_of(text, "nand.read_us"), 5);
        assert_eq!(line_of(text, "nand.program_us"), 0);
    }

    #[test]
    fn errors_name_file_line_and_key() {
        let error = |text: &str| DriveSpec::parse("x.toml", text).expect_err("wrong").to_string();
        let text = error("name = \"x\"\n[nand]\ndyes = 4\n");
        assert!(text.starts_with("x.toml:3: nand.dyes: unknown field"), "{text}");
        let text = error("[nand]\nbits = 3\ndies = { value = \"many\" }\n");
        assert!(
            text == "x.toml:3: nand.dies: must be a whole number, not string \"many\"",
            "{text}"
        );
        let text = error("[nand]\nbits = 3\ndies = 0\n");
        assert_eq!(text, "x.toml:3: nand.dies: 0 is not between 1 and 4096");
        let text = error("[[link]]\nbus = \"pcie-9x4\"\n");
        assert!(text.starts_with("x.toml:2: link.bus: 'pcie-9x4' is not one of"), "{text}");
        let text = error("capacity = { value = \"1TB\", form = \"published\" }\n");
        assert!(text.starts_with("x.toml:1: capacity: unknown field `form`"), "{text}");
    }

    #[test]
    fn overrides_take_short_and_full_names() {
        let spec = DriveSpec::default();
        let pairs =
            [("capacity", "64GB"), ("op", "28%"), ("nand.dies", "4"), ("temperature", "40")];
        let spec = spec.with_overrides(&pairs).expect("known");
        assert_eq!((spec.capacity.0, *spec.op, *spec.nand.dies), (64_000_000_000, 0.28, 4));
        assert_eq!((*spec.heat.ambient_c, spec.heat.ambient_c.from), (40.0, FigureOrigin::Given));
        let spec = spec.with_overrides(&[("link", "pcie-2x1")]).expect("known");
        assert_eq!(*spec.link[0].bus, "pcie-2x1");
    }

    #[test]
    fn a_host_brings_its_costs_and_its_links() {
        let drive = DriveSpec::preset("sabrent-sb1342-512").expect("a preset");
        let with = |value| drive.with_overrides(&[("host", value)]).map_err(|e| e.to_string());
        let behind = with("riscos-cm4").expect("a host");
        assert_eq!(
            (*behind.host.command_us, behind.host.command_us.from),
            (1500.0, FigureOrigin::Fitted)
        );
        let buses: Vec<&str> = behind.link.iter().map(|link| link.bus.as_str()).collect();
        assert_eq!(buses, ["pcie-2x1", "pcie-3x4"]);
        assert_eq!(*with("100").expect("a time").host.command_us, 100.0);
        let error = with("riscos-cm5").expect_err("no such host");
        assert!(error.contains("did you mean 'riscos-cm4'?"), "{error}");
    }

    #[test]
    fn every_preset_attaches_to_every_host() {
        let drives = DriveSpec::presets().filter_map(|name| DriveSpec::preset(name).ok());
        for (drive, (host, _)) in drives.zip(crate::hosts::HOSTS.iter().cycle()) {
            let behind = drive.with_overrides(&[("host", host)]).unwrap_or_else(|e| panic!("{e}"));
            assert!(behind.link.ends_with(&drive.link), "{} behind {host}", drive.name);
        }
    }

    #[test]
    fn every_host_is_well_formed_and_named_after_its_file() {
        for (name, text) in crate::hosts::HOSTS {
            let host = DriveSpec::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(host.name, *name);
            assert!(!host.about.is_empty(), "{name}");
            // A host leaves all other parameters at their defaults.
            let rest = DriveSpec {
                name: host.name.clone(),
                about: host.about.clone(),
                host: host.host.clone(),
                link: host.link.clone(),
                ..DriveSpec::default()
            };
            assert_eq!(host, rest, "{name}");
        }
    }

    #[test]
    fn a_link_or_a_throttle_step_is_overridden_by_its_number() {
        let drive = DriveSpec::preset("samsung-980-pro-1t").expect("a preset");
        let with = |key, value| drive.with_overrides(&[(key, value)]).map_err(|e| e.to_string());
        let slower = with("link.0.bus", "pcie-2x1").expect("its link");
        assert_eq!(
            (&**slower.link[0].bus, slower.link[0].bus.from),
            ("pcie-2x1", FigureOrigin::Given)
        );
        assert_eq!(*with("depth", "2").expect("its depth").link[0].depth, 2);
        let error = with("link.0.bus", "x").expect_err("no bus");
        assert!(error.starts_with("link.bus: 'x' is not one of"), "{error}");
        let error = with("link.7.bus", "pcie-2x1").expect_err("no such link");
        assert!(error.starts_with("link.7.bus: no such parameter"), "{error}");
        assert!(with("link.0", "pcie-2x1").is_err());
    }

    #[test]
    fn unknown_overrides_name_the_nearest() {
        let error = |key, value| {
            DriveSpec::default().with_overrides(&[(key, value)]).expect_err("wrong").to_string()
        };
        assert_eq!(error("capacty", "1"), "capacty: no such parameter; did you mean 'capacity'?");
        assert_eq!(error("dyes", "1"), "dyes: no such parameter; did you mean 'nand.dies'?");
        assert_eq!(error("op", "much"), "op: must be a number, not string \"much\"");
        assert_eq!(error("op", "0"), "op: 0 is not between 0.01 and 10");
    }

    #[test]
    fn short_names_are_documented_and_known() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/virtual-drives.md");
        let Ok(page) = std::fs::read_to_string(page) else {
            return println!("skipped: a package without the project's docs");
        };
        let known = DriveSpec::preset("sd-150x").expect("a preset").figures();
        for (short, full) in SHORT {
            let row = format!("\n| `{short}` | `{full}` |");
            assert!(page.contains(&row), "docs/virtual-drives.md has no row of {short}");
            assert!(known.iter().any(|line| line.key == full), "{full}");
        }
    }

    /// Whether a source names a published document by its number (`003`), or a web address.
    fn names_a_document(source: &str) -> bool {
        let numbered = |word: &str| word.len() == 3 && word.starts_with("00");
        let words = || source.split([' ', ',', ';', ':', '/', ')']);
        let address = |word: &str| {
            let (name, top) = word.rsplit_once('.').unwrap_or_default();
            !name.is_empty() && ["com", "de", "in", "net", "org"].contains(&top)
        };
        words().any(numbered) || words().any(address)
    }

    #[test]
    fn every_preset_is_well_formed_and_named_after_its_file() {
        for name in DriveSpec::presets() {
            let spec = match DriveSpec::preset(name) {
                Ok(spec) => spec,
                // Its map exceeds the memory of a 32-bit system.
                Err(e) if cfg!(target_pointer_width = "32") && e.to_string().contains("32-bit") => {
                    continue;
                }
                Err(e) => panic!("{e}"),
            };
            assert_eq!(spec.name, name);
            assert!(!spec.model.is_empty() && !spec.about.is_empty(), "{name} is not explained");
            let lines = spec.figures();
            let unsourced = lines
                .iter()
                .find(|l| l.from != "guessed" && l.from != "class" && !names_a_document(&l.source));
            assert_eq!(unsourced, None, "{name} claims a figure without a document");
        }
        let error = DriveSpec::preset("samsung-980-pro-1").expect_err("no such").to_string();
        assert!(error.ends_with("did you mean 'samsung-980-pro-1t'?"), "{error}");
    }

    /// On 32 bits, the description of 2 TB itself is refused.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn a_map_that_memory_cannot_address_is_refused() {
        let entries = |name: &str| {
            let spec = DriveSpec::preset("samsung-980-pro-1t").expect("a preset");
            let spec = spec.with_overrides(&[("capacity", name)]).expect("on 64 bits");
            spec.capacity.0 / 4096 + Shape::new(&spec).layout.page_numbers()
        };
        assert_eq!(admit_map(entries("2TB"), 64), Ok(()));
        let why = admit_map(entries("2TB"), 32).expect_err("2 TB");
        assert!(why.ends_with("a 32-bit system can address: a 64-bit system is needed"), "{why}");
        assert_eq!(admit_map(entries("1TB"), 32), Ok(()));
    }

    #[test]
    fn flash_whose_page_numbers_exceed_32_bits_is_refused() {
        let drive = DriveSpec::preset("samsung-980-pro-1t").expect("a preset");
        let with = |pairs: &[(&str, &str)]| drive.with_overrides(pairs).map_err(|e| e.to_string());
        for op in ["1", "10"] {
            let error = with(&[("capacity", "8TB"), ("op", op)]).expect_err("too much spare flash");
            assert!(error.starts_with("capacity: too large: with the spare flash"), "{error}");
        }
        assert!(with(&[("capacity", "2TB"), ("op", "10")]).is_err());
        // So many superblocks of one unit that their number exceeds 32 bits, too.
        let small = [("unit", "512"), ("format", "512"), ("nand.page_bytes", "512")];
        let single = [("nand.planes", "1"), ("nand.bits", "1"), ("superblock", "4096")];
        let large = [("capacity", "1TB"), ("op", "10")];
        assert!(with(&[small.as_slice(), &single, &large].concat()).is_err());
        let usual = with(&[("capacity", "8TB"), ("op", "0.07")]);
        assert!(usual.is_ok() || cfg!(target_pointer_width = "32"), "{usual:?}");
    }
}
