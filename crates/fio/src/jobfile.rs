//! Parses job files into sections.
//!
//! `[name]` starts a section; `key=value` or `key` is an option; `;` and `#` start a comment
//! anywhere in a line; `include FILE` is replaced by the lines of a file, which is searched for in
//! the current directory and then next to the including file. `${NAME}` is an environment variable;
//! `$ncpus`, `$mb_memory` and `$pagesize` describe the machine, and values may be computed from
//! them.

use super::section::{Given, Section};
use super::value::{Unit, evaluate};
use super::{FioError, Note, World};

/// Maximum depth of included files, which also ends a cycle.
const DEEPEST: usize = 16;
/// Maximum number of files in total, including the job file, to bound the input.
const FILES_MAX: usize = 64;
/// Maximum length of a line after substitution of variables, bytes; as in fio.
const LONGEST_LINE: usize = 8192;

/// The sections of a job file: `global` and the `wanted` ones, or all if none are named.
pub(crate) fn sections(
    path: &str,
    wanted: &[String],
    world: &dyn World,
    notes: &mut Vec<Note>,
) -> Result<Vec<Section>, FioError> {
    let mut reader =
        JobFileReader { world, wanted, notes, sections: Vec::new(), skip: false, files: 0 };
    reader.file(path, "command line", 0)?;
    Ok(reader.sections)
}

struct JobFileReader<'a> {
    world: &'a dyn World,
    wanted: &'a [String],
    notes: &'a mut Vec<Note>,
    sections: Vec<Section>,
    /// Inside an unwanted section.
    skip: bool,
    files: usize,
}

impl JobFileReader<'_> {
    fn file(&mut self, path: &str, from: &str, depth: usize) -> Result<(), FioError> {
        let wrong = |what: String| FioError::new(from, what);
        self.files += 1;
        if depth > DEEPEST || self.files > FILES_MAX {
            return Err(wrong(format!("include {path}: too many included files, or a cycle")));
        }
        let bytes = self
            .world
            .read(path)
            .map_err(|error| wrong(format!("job file '{path}' cannot be read: {error}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| wrong(format!("job file '{path}' is not text (UTF-8)")))?;
        for (number, line) in text.lines().enumerate() {
            let line = line.split([';', '#']).next().unwrap_or_default();
            let line = line.trim_matches(|c: char| c.is_whitespace() || c.is_control());
            if !line.is_empty() {
                self.line(line, &format!("{path}:{}", number + 1), path, depth)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str, place: &str, path: &str, depth: usize) -> Result<(), FioError> {
        if let Some(rest) = line.strip_prefix('[') {
            let Some(name) = rest.strip_suffix(']').filter(|name| !name.is_empty()) else {
                let advice = "a section header needs its own line, such as [job1]";
                return Err(
                    FioError::new(place, format!("'{line}' is not a section")).advise(advice)
                );
            };
            if depth > 0 {
                return Err(FioError::new(place, "an included file cannot start a section"));
            }
            self.skip = !self.wanted.is_empty()
                && !name.starts_with("global")
                && !self.wanted.iter().any(|wanted| wanted == name);
            let section =
                Section { name: Some(name.into()), place: place.into(), ..Section::default() };
            if !self.skip {
                self.sections.push(section);
            }
            return Ok(());
        }
        if self.skip {
            return Ok(());
        }
        if self.sections.is_empty() {
            let advice = "start with [global], or with [NAME] for a job";
            let text = format!("'{line}' comes before the first section");
            return Err(FioError::new(place, text).advise(advice));
        }
        match line.strip_prefix("include").filter(|rest| rest.starts_with([' ', '\t', '='])) {
            Some(rest) => self.include(rest[1..].trim(), place, path, depth),
            None => self.option(line, place),
        }
    }

    /// Reads an included file: in the current directory, or else next to the including file.
    fn include(
        &mut self,
        name: &str,
        place: &str,
        path: &str,
        depth: usize,
    ) -> Result<(), FioError> {
        let sibling = path.rsplit_once('/').map(|(directory, _)| format!("{directory}/{name}"));
        let exists = self.world.read(name).is_ok();
        let path = sibling.filter(|_| !exists).unwrap_or_else(|| name.into());
        self.file(&path, place, depth + 1)
    }

    fn option(&mut self, line: &str, place: &str) -> Result<(), FioError> {
        let line = self.substituted(line, place)?;
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, Some(value.trim().to_string())),
            None => (line.as_str(), None),
        };
        let option = Given { place: place.into(), name: name.trim().into(), value };
        if let Some(section) = self.sections.last_mut() {
            section.options.push(option);
        }
        Ok(())
    }

    /// The line with environment variables and the machine's numbers substituted.
    fn substituted(&mut self, line: &str, place: &str) -> Result<String, FioError> {
        let mut expanded = String::new();
        let mut rest = line;
        while let Some((before, name, after)) = variable(rest) {
            expanded.push_str(before);
            match self.world.env(name) {
                Some(value) => expanded.push_str(&value),
                None => self.notes.push(Note::new(
                    place,
                    format!("${{{name}}} is not set; it is empty, as in fio"),
                )),
            }
            rest = after;
            if expanded.len() > LONGEST_LINE {
                break;
            }
        }
        expanded.push_str(rest);
        if expanded.len() > LONGEST_LINE {
            let text = format!("the line is longer than {LONGEST_LINE} bytes");
            return Err(FioError::new(place, text));
        }
        Ok(self.machine(expanded))
    }

    fn machine(&self, line: String) -> String {
        let words = [
            ("$pagesize", self.world.page_bytes()),
            ("$mb_memory", self.world.memory_mib()),
            ("$ncpus", self.world.cpus()),
        ];
        let filled = words
            .iter()
            .fold(line.clone(), |line, (word, value)| line.replace(word, &value.to_string()));
        // As in fio, only values with such a word are evaluated without parentheses.
        let computed =
            filled.split_once('=').filter(|_| filled != line).and_then(|(name, value)| {
                let value = value.contains(['+', '-', '*', '/']).then_some(value)?;
                let number = evaluate(&format!("({value})"), Unit::Bytes).ok()?;
                Some(format!("{name}={number}"))
            });
        computed.unwrap_or(filled)
    }
}

/// The text before the first `${NAME}`, the name, and the text after it.
fn variable(text: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = text.split_once("${")?;
    let (name, tail) = rest.split_once('}')?;
    Some((head, name, tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Small;

    fn read(world: &Small) -> Result<Vec<Section>, FioError> {
        sections("a.fio", &[], world, &mut Vec::new())
    }

    fn options(section: &Section) -> Vec<String> {
        section.options.iter().map(|option| option.shown()).collect()
    }

    #[test]
    fn comments_may_start_anywhere() {
        let text = "; first\n[global] # all\n bs = 4k ; small\n#x\n\n[a]\nthread\nfilename=a#b\n";
        let found = read(&Small::with(&[("a.fio", text)])).expect("sections");
        assert_eq!(found.len(), 2);
        assert!(found[0].global() && !found[1].global());
        assert_eq!(options(&found[0]), ["bs=4k"]);
        assert_eq!(options(&found[1]), ["thread", "filename=a"]);
        assert_eq!(found[1].options[0].place, "a.fio:7");
    }

    #[test]
    fn variables_and_numbers_of_the_machine() {
        let text = "[a]\nsize=${SIZE}k\ndirectory=/x${NO}\nnumjobs=$ncpus*2\nbs=$pagesize\n";
        let mut world = Small::with(&[("a.fio", text)]);
        world.env.insert("SIZE".into(), "64".into());
        let mut notes = Vec::new();
        let found = sections("a.fio", &[], &world, &mut notes).expect("sections");
        assert_eq!(options(&found[0]), ["size=64k", "directory=/x", "numjobs=8", "bs=4096"]);
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].place, "a.fio:3");
    }

    #[test]
    fn files_are_included_from_the_same_directory() {
        let files = [("d/a.fio", "[a]\ninclude b.fio\nsize=1k\n"), ("d/b.fio", "bs=2k\n")];
        let mut notes = Vec::new();
        let found = sections("d/a.fio", &[], &Small::with(&files), &mut notes).expect("sections");
        assert_eq!(options(&found[0]), ["bs=2k", "size=1k"]);
        assert_eq!(found[0].options[0].place, "d/b.fio:1");
    }

    #[test]
    fn include_cycles_end() {
        let files =
            [("a.fio", "[a]\ninclude b.fio\n"), ("b.fio", "include b.fio\ninclude b.fio\n")];
        let error = read(&Small::with(&files)).expect_err("a cycle");
        assert!(error.what.contains("or a cycle"), "{error}");
    }

    #[test]
    fn errors_name_their_line() {
        for (text, line) in [("bs=4k\n", 1), ("\n[a\n", 2), ("[]\n", 1), ("[a]\ninclude no\n", 2)] {
            let error = read(&Small::with(&[("a.fio", text)])).expect_err(text);
            assert_eq!(error.place, format!("a.fio:{line}"), "{error}");
        }
        let files = [("a.fio", "[a]\ninclude b\n"), ("b", "[b]\n")];
        assert_eq!(read(&Small::with(&files)).expect_err("a section").place, "b:1");
    }

    #[test]
    fn only_wanted_sections() {
        let text = "[global]\nbs=1k\n[a]\nsize=1k\n[b]\nsize=2k\n";
        let wanted = ["b".to_string()];
        let world = Small::with(&[("a.fio", text)]);
        let found = sections("a.fio", &wanted, &world, &mut Vec::new()).expect("sections");
        let names: Vec<_> = found.iter().map(|s| s.name.as_deref()).collect();
        assert_eq!(names, [Some("global"), Some("b")]);
    }
}
