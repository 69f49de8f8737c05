//! The file of a protocol: TOML, checked in full before anything runs. Pure.
//!
//! An error is one line: file, line number, key, the mistake, and the nearest existing name.

use std::collections::BTreeMap;
use std::ops::Range;

use emit::did_you_mean;
use script::Options;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::{Spanned, Value};
use workload::units;

use super::{Action, Ask, Measure, Preparing, Protocol, ProtocolRun, ProtocolStep};
use crate::error::{LabError, Result};
use crate::work;

/// Maximum numbers of steps and repetitions.
const STEPS_MAX: usize = 1000;
const REPEATS_MAX: u32 = 100;

/// Maximum rest, seconds, and the range of temperatures to cool to, degrees Celsius.
const REST_MAX_S: f64 = 86_400.0;
const COOL_C: [f64; 2] = [0.0, 100.0];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    compare: Vec<Spanned<String>>,
    step: Vec<WrittenStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStep {
    id: Spanned<String>,
    ask: Option<Spanned<String>>,
    field: Option<Spanned<String>>,
    method: Option<Spanned<String>>,
    io: Option<Spanned<String>>,
    options: Option<Spanned<BTreeMap<String, Value>>>,
    #[serde(default)]
    prepare: Vec<Spanned<String>>,
    repeat: Option<Spanned<u32>>,
    side: Option<Spanned<String>>,
}

/// The text of a file, for locating mistakes.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    /// An error at this byte range.
    fn wrong(&self, span: Option<Range<usize>>, message: &str) -> LabError {
        let file = self.file;
        let Some(span) = span else {
            return LabError::usage(format!("{file}: {message}"));
        };
        let line = line_of(self.text, span.start);
        let content = self.text.lines().nth(line - 1).unwrap_or_default();
        let key = content.split('=').next().unwrap_or_default().trim();
        let key = if content.contains('=') { format!("{key}: ") } else { String::new() };
        LabError::usage(format!("{file}:{line}: {key}{message}"))
    }
}

/// The number of the line with this byte, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.get(..at.min(text.len())).unwrap_or_default().matches('\n').count() + 1
}

/// Parses a protocol; `file` is its name in errors.
pub fn parse(file: &str, text: &str) -> Result<Protocol> {
    let source = Source { file, text };
    let protocol: Written = toml::from_str(text)
        .map_err(|error| source.wrong(error.span(), &explained(error.message())))?;
    check_name(&source, &protocol.name, "a name")?;
    if protocol.step.len() > STEPS_MAX {
        return Err(source.wrong(None, &format!("more than {STEPS_MAX} steps")));
    }
    let steps = protocol.step.iter().map(|step| step.read(&source)).collect::<Result<Vec<_>>>()?;
    let mut ids = std::collections::BTreeSet::new();
    if let Some(twice) = protocol.step.iter().find(|step| !ids.insert(step.id.get_ref())) {
        let message = format!("two steps are named '{}'", twice.id.get_ref());
        return Err(source.wrong(Some(twice.id.span()), &message));
    }
    let sides = sides(&source, &protocol, &steps)?;
    let hash = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let Written { name, title, about: description, .. } = protocol;
    let protocol = Protocol {
        name: name.into_inner(),
        title,
        about: description.trim().into(),
        hash,
        steps,
        sides,
    };
    match protocol.measurements() {
        0 => Err(source.wrong(None, "no step measures anything: add `method` or `io`")),
        _ => Ok(protocol),
    }
}

/// The sides to compare: two of the steps' sides, or none.
fn sides(source: &Source<'_>, written: &Written, steps: &[ProtocolStep]) -> Result<Vec<String>> {
    let names = steps.iter().filter_map(|step| match &step.action {
        Action::Measure(measure) => measure.side.as_deref(),
        Action::Ask(_) => None,
    });
    let names: Vec<&str> = names.collect();
    for side in &written.compare {
        if !names.contains(&side.get_ref().as_str()) {
            let suggestion = did_you_mean(side.get_ref(), names.iter().copied());
            let message = format!("no step has the side '{}'{suggestion}", side.get_ref());
            return Err(source.wrong(Some(side.span()), &message));
        }
    }
    let compared: Vec<String> = written.compare.iter().map(|side| side.get_ref().clone()).collect();
    match compared.as_slice() {
        [] => Ok(compared),
        [a, b] if a != b => Ok(compared),
        _ => {
            let message = "`compare` takes two different sides";
            Err(source.wrong(written.compare.first().map(Spanned::span), message))
        }
    }
}

impl WrittenStep {
    fn read(&self, source: &Source<'_>) -> Result<ProtocolStep> {
        check_name(source, &self.id, "the name of a step")?;
        let action = match (&self.ask, &self.method, &self.io) {
            (Some(ask), None, None) => Action::Ask(self.question(source, ask)?),
            (None, Some(method), None) => {
                let options = self.options(source, method)?;
                let name = work::method(method.get_ref())
                    .map_err(|e| source.wrong(Some(method.span()), &e.to_string()))?
                    .name;
                Action::Measure(self.measure(source, ProtocolRun::Method(name, options))?)
            }
            (None, None, Some(io)) => {
                if let Some(options) = &self.options {
                    let message = "are for methods; `io` contains the options of a workload";
                    return Err(source.wrong(Some(options.span()), message));
                }
                Action::Measure(self.measure(source, ProtocolRun::Io(io.get_ref().clone()))?)
            }
            _ => {
                let message =
                    format!("step '{}' must have one of ask, method and io", self.id.get_ref());
                return Err(source.wrong(Some(self.id.span()), &message));
            }
        };
        Ok(ProtocolStep { id: self.id.get_ref().clone(), action })
    }

    fn question(&self, source: &Source<'_>, ask: &Spanned<String>) -> Result<Ask> {
        let stray = [
            self.options.as_ref().map(Spanned::span),
            self.prepare.first().map(Spanned::span),
            self.repeat.as_ref().map(Spanned::span),
            self.side.as_ref().map(Spanned::span),
        ];
        if let Some(span) = stray.into_iter().flatten().next() {
            return Err(source.wrong(Some(span), "belongs to a measurement, not a question"));
        }
        if let Some(field) = &self.field {
            check_name(source, field, "the name of a field")?;
        }
        if ask.get_ref().trim().is_empty() {
            return Err(source.wrong(Some(ask.span()), "the question is empty"));
        }
        let field = self.field.as_ref().map(|field| field.get_ref().clone());
        Ok(Ask { text: ask.get_ref().trim().to_string(), field })
    }

    fn measure(&self, source: &Source<'_>, run: ProtocolRun) -> Result<Measure> {
        if let Some(field) = &self.field {
            return Err(source.wrong(Some(field.span()), "belongs to a question (`ask`)"));
        }
        if let Some(side) = &self.side {
            check_name(source, side, "the name of a side")?;
        }
        let repeat = self.repeat.as_ref().map_or(1, |repeat| *repeat.get_ref());
        if !(1..=REPEATS_MAX).contains(&repeat) {
            let message = format!("{repeat} is not between 1 and {REPEATS_MAX}");
            return Err(source.wrong(self.repeat.as_ref().map(Spanned::span), &message));
        }
        let prepare = self.prepare.iter().map(|words| {
            preparing(words.get_ref()).map_err(|why| source.wrong(Some(words.span()), &why))
        });
        let side = self.side.as_ref().map(|side| side.get_ref().clone());
        Ok(Measure { run, prepare: prepare.collect::<Result<_>>()?, repeat, side })
    }

    /// Options of a method: the common ones `size`, `time` and `replicates`, and its own.
    fn options(&self, source: &Source<'_>, method: &Spanned<String>) -> Result<Options> {
        let Some(options) = &self.options else { return Ok(Options::default()) };
        let error = |why: &str| source.wrong(Some(options.span()), why);
        let mut common = Options::default();
        let mut typed = Vec::new();
        for (name, value) in options.get_ref() {
            let words = words(value).ok_or_else(|| error(&format!("{name}: not a value")))?;
            let word = words.first().map(String::as_str).unwrap_or_default();
            let value_error = |why: String| error(&format!("{name}: {why}"));
            match name.as_str() {
                "size" => common.size = Some(units::parse_bytes(word).map_err(value_error)?),
                "time" => common.time = Some(units::parse_duration(word).map_err(value_error)?),
                "replicates" => {
                    let count = word.parse().ok().filter(|n| (1..=1000).contains(n));
                    let range = "must be between 1 and 1000";
                    common.replicates = Some(count.ok_or_else(|| value_error(range.into()))?);
                }
                _ if *value == Value::Boolean(false) => {}
                _ => typed.push((name.clone(), words)),
            }
        }
        let methods = [method.get_ref().clone()];
        work::options(&methods, &typed, common).map_err(|e| {
            let options =
                work::method(method.get_ref()).map(|info| info.options).unwrap_or_default();
            let names = options.iter().map(|option| option.name());
            let unknown = typed.iter().find(|(name, _)| !names.clone().any(|k| k == name));
            match unknown {
                Some((name, _)) => {
                    let suggestion =
                        did_you_mean(name, names.chain(["size", "time", "replicates"]));
                    let method = method.get_ref();
                    error(&format!("method {method} has no option '{name}'{suggestion}"))
                }
                None => error(&e.to_string()),
            }
        })
    }
}

/// The words of an option: none for `true`, the items of a list, one for anything else.
fn words(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Boolean(_) => Some(Vec::new()),
        Value::Array(items) => items.iter().map(|item| Some(words(item)?.concat())).collect(),
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Float(number) => Some(vec![number.to_string()]),
        _ => None,
    }
}

/// Names of the preparations, for messages.
const PREPARATIONS: [&str; 5] = ["fstrim", "blkdiscard", "fill", "rest", "cool"];

/// Parses a preparation: `fstrim`, `blkdiscard`, `fill`, `rest 30s`, `cool 40C`.
fn preparing(text: &str) -> std::result::Result<Preparing, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["fstrim"] => Ok(Preparing::TrimFree),
        ["blkdiscard"] => Ok(Preparing::Discard),
        ["fill"] => Ok(Preparing::Fill),
        ["rest", time] => {
            let seconds = units::parse_duration(time)?.as_secs_f64();
            if seconds <= REST_MAX_S {
                Ok(Preparing::Rest(seconds))
            } else {
                Err(format!("a rest of {time} is longer than a day"))
            }
        }
        ["cool", degrees] => {
            let number = degrees.strip_suffix('C').unwrap_or(degrees).parse::<f64>().ok();
            let number = number.filter(|c| (COOL_C[0]..=COOL_C[1]).contains(c));
            number.map(Preparing::Cool).ok_or_else(|| {
                format!("'{degrees}' is not a temperature from 0C to 100C; write for example 40C")
            })
        }
        _ => {
            let word = words.first().copied().unwrap_or_default();
            let suggestion = did_you_mean(word, PREPARATIONS.into_iter());
            Err(if suggestion.is_empty() {
                format!(
                    "no preparation '{text}'; there are fstrim, blkdiscard, fill, rest TIME and cool \
                     DEGREES"
                )
            } else {
                format!("no preparation '{text}'{suggestion}")
            })
        }
    }
}

/// Checks a name: letters, digits, dashes and dots, because names are keys of answers and parts of
/// records.
fn check_name(source: &Source<'_>, name: &Spanned<String>, what: &str) -> Result<()> {
    let text = name.get_ref();
    if !text.is_empty()
        && text.len() <= 64
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    {
        Ok(())
    } else {
        let message = format!("{what} has 1 to 64 letters, digits, dashes and dots");
        Err(source.wrong(Some(name.span()), &message))
    }
}

/// Shortens the parser's message to one line, and adds the nearest name for an unknown key.
fn explained(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default().trim();
    let quoted: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
    match (line.starts_with("unknown field"), quoted.split_first()) {
        (true, Some((name, known))) => match did_you_mean(name, known.iter().copied()).as_str() {
            "" => format!("unknown key '{name}'; known: {}", known.join(", ")),
            near => format!("unknown key '{name}'{near}"),
        },
        _ => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name = \"x\"\ntitle = \"X\"\n";

    fn error(steps: &str) -> String {
        parse("x.toml", &format!("{HEAD}{steps}")).expect_err(steps).to_string()
    }

    #[test]
    fn an_error_is_one_line_with_the_location_and_the_nearest_name() {
        let step = |text: &str| error(&format!("[[step]]\nid = \"a\"\n{text}\n"));
        let table = [
            (
                step("metod = \"quick\""),
                "x.toml:5: metod: unknown key 'metod'; did you mean 'method'?",
            ),
            (step("method = \"quik\""), "x.toml:5: method: there is no method 'quik'"),
            (
                step("method = \"quick\"\nrepeat = 0"),
                "x.toml:6: repeat: 0 is not between 1 and 100",
            ),
            (
                step("method = \"quick\"\nprepare = [\"fstrm\"]"),
                "x.toml:6: prepare: no preparation 'fstrm'; did you mean 'fstrim'?",
            ),
            (
                step("method = \"quick\"\nprepare = [\"cool 400C\"]"),
                "x.toml:6: prepare: '400C' is not a temperature",
            ),
            (
                step("method = \"quick\"\noptions = { tme = \"1s\" }"),
                "x.toml:6: options: method quick has no option 'tme'; did you mean 'time'?",
            ),
            (
                step("method = \"quick\"\noptions = { time = \"soon\" }"),
                "x.toml:6: options: time: 'soon' is not a time",
            ),
            (step("ask = \"Ready?\"\nrepeat = 2"), "x.toml:6: repeat: belongs to a measurement"),
            (
                step("ask = \"Ready?\"\nmethod = \"quick\""),
                "x.toml:4: id: step 'a' must have one of",
            ),
            (step("ask = \"Ready?\""), "x.toml: no step measures anything"),
            (step("method = "), "x.toml:"),
            (
                error("[[step]]\nid = \"a b\"\nmethod = \"quick\""),
                "x.toml:4: id: the name of a step has",
            ),
        ];
        for (found, expected) in table {
            assert!(found.starts_with(expected), "{found}\n{expected}");
            assert!(!found.contains('\n'), "{found}");
        }
        let twice = "[[step]]\nid = \"a\"\nmethod = \"quick\"\n".repeat(2);
        assert!(error(&twice).starts_with("x.toml:7: id: two steps are named 'a'"));
    }

    #[test]
    fn compared_sides_must_exist() {
        let text =
            "compare = [\"A\", \"b\"]\n[[step]]\nid = \"a\"\nmethod = \"quick\"\nside = \"A\"\n";
        assert!(error(text).starts_with("x.toml:3: compare: no step has the side 'b'"));
    }

    #[test]
    fn steps_are_read_with_their_options_and_preparations() {
        let text = format!(
            "{HEAD}[[step]]\nid = \"a\"\nmethod = \"mark\"\noptions = {{ legacy = true, size = \"64MiB\" }}\n\
             prepare = [\"fstrim\", \"rest 2m\", \"cool 40C\"]\nrepeat = 3\n"
        );
        let protocol = parse("x.toml", &text).expect("well formed");
        assert_eq!((protocol.measurements(), protocol.hash.len()), (3, 64));
        let Action::Measure(measure) = &protocol.steps[0].action else { panic!("it measures") };
        let expected = [Preparing::TrimFree, Preparing::Rest(120.0), Preparing::Cool(40.0)];
        assert_eq!(measure.prepare, expected);
        let ProtocolRun::Method("mark", options) = &measure.run else { panic!("{measure:?}") };
        assert_eq!(options.size, Some(64 << 20));
    }
}
