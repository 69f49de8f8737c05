//! What is counted in a file: names of values, closures, matches on booleans, types, assertions.

use crate::names::code::SourceFile;

/// What is said of a place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Habit {
    /// A `let` name from the list of words that name no value.
    WeakName,
    /// `fn of(`, where Rust says `new`, `from_x` or `read`.
    Of,
    /// An arm `true =>` or `false =>`, where Rust says `if`.
    BooleanArm,
    /// `match ()` with conditions.
    EmptyMatch,
    /// A closure with a name.
    LocalClosure,
}

/// A place in the code with one of the habits.
#[derive(Debug)]
pub struct Place {
    pub habit: Habit,
    pub line: usize,
    /// The name, or the start of the expression.
    pub text: String,
}

/// The figures of a file.
#[derive(Default)]
pub struct Figures {
    pub lines: usize,
    /// All names that a `let` binds.
    pub let_names: usize,
    pub assertions: usize,
    pub places: Vec<Place>,
    pub types: Vec<TypeName>,
}

/// A struct, enum, union or trait that a file declares.
pub struct TypeName {
    pub name: String,
    /// Declared `pub`, without a restriction.
    pub is_public: bool,
}

impl Figures {
    pub fn measure(file: &SourceFile, weak_words: &[&str]) -> Figures {
        let mut figures = Figures { lines: file.count_lines(), ..Figures::default() };
        let code = &file.code;
        let mut note = |habit, position: usize, text: &str| {
            let line = file.line_number(position);
            figures.places.push(Place { habit, line, text: text.into() });
        };
        for (position, after) in occurrences(code, "let") {
            let names = bound_names(after);
            figures.let_names += names.len();
            for name in names.into_iter().filter(|name| weak_words.contains(name)) {
                note(Habit::WeakName, position, name);
            }
            if let Some((pattern, value)) = after.split_once('=')
                && pattern.trim().chars().all(|c| c.is_alphanumeric() || "_ ".contains(c))
                && let value = value.trim_start()
                && value.strip_prefix("move").unwrap_or(value).trim_start().starts_with('|')
            {
                note(Habit::LocalClosure, position, pattern.trim().trim_start_matches("mut "));
            }
        }
        for (position, after) in occurrences(code, "fn") {
            if after.trim_start().starts_with("of(") || after.trim_start().starts_with("of<") {
                note(Habit::Of, position, "fn of");
            }
        }
        for word in ["true", "false"] {
            for (position, after) in occurrences(code, word) {
                let is_alone = code[..position].trim_end().ends_with(['{', '}', ',', '|']);
                let before_arrow = after.split_once("=>").map_or("", |(guard, _)| guard).trim();
                if is_alone && is_arm(after) && !before_arrow.contains([',', ';']) {
                    note(Habit::BooleanArm, position, &format!("{word} =>"));
                }
            }
        }
        for (position, after) in occurrences(code, "match") {
            if after.trim_start().starts_with("() {") {
                note(Habit::EmptyMatch, position, "match ()");
            }
        }
        for name in ["assert!", "assert_eq!", "assert_ne!"] {
            figures.assertions += occurrences(code, name).count();
        }
        figures.types = declared_types(file);
        figures
    }
}

/// The structs, enums, unions and traits of a file.
fn declared_types(file: &SourceFile) -> Vec<TypeName> {
    let mut types = Vec::new();
    for keyword in ["struct", "enum", "union", "trait"] {
        for (position, after) in occurrences(&file.code, keyword) {
            let name = word(after.trim_start());
            if name.starts_with(char::is_uppercase) {
                let line_start = file.code[..position].rfind('\n').map_or(0, |end| end + 1);
                let is_public = file.code[line_start..position].trim_start().starts_with("pub ");
                types.push(TypeName { name: name.into(), is_public });
            }
        }
    }
    types
}

/// The places of a whole word, each with the text after it.
fn occurrences<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let places = code.match_indices(name);
    let places = places.map(move |(position, _)| (position, &code[position + name.len()..]));
    places.filter(move |(position, after)| {
        !code[..*position].ends_with(is_part)
            && (name.ends_with('!') || !after.starts_with(is_part))
    })
}

/// The word at the start of a text.
fn word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// Whether the text after a pattern is the rest of an arm: `=> ..` or `if .. => ..`.
fn is_arm(after: &str) -> bool {
    let after = after.trim_start();
    after.starts_with("=>") || (after.starts_with("if ") && after.contains("=>"))
}

/// The names that a pattern binds; `text` begins after `let`.
fn bound_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut depth, mut position) = (0, 0);
    while let Some(c) = text[position..].chars().next() {
        let rest = &text[position..];
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ':' if rest.starts_with("::") => position += 1,
            '=' | ';' | ':' if depth <= 0 => break,
            _ if c.is_alphanumeric() || c == '_' => {
                let name = word(rest);
                let after = text[position + name.len()..].trim_start();
                let is_field = after.starts_with(':');
                let is_path = after.starts_with(['(', '{', '!']) || after.starts_with("::");
                let is_name = name.starts_with(|c: char| c.is_lowercase() || c == '_');
                let is_keyword = ["mut", "ref", "_", "true", "false"].contains(&name);
                let is_top = depth == 0;
                if is_name && !is_keyword && !is_path && (!is_field || is_top) {
                    names.push(name);
                }
                position += name.len();
                continue;
            }
            _ => {}
        }
        position += c.len_utf8();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(code: &str) -> Figures {
        let file = SourceFile { path: "a.rs".into(), code: code.into() };
        Figures::measure(&file, &["found", "at"])
    }

    fn count(code: &str, habit: Habit) -> usize {
        figures(code).places.iter().filter(|place| place.habit == habit).count()
    }

    #[test]
    fn names_are_read_from_patterns() {
        for (pattern, names) in [
            (" a = b", vec!["a"]),
            (" mut a: Vec<b> = c", vec!["a"]),
            (" (a, mut b) = c", vec!["a", "b"]),
            (" Some(At { a, b: ref c, .. }) = d", vec!["a", "c"]),
            (" a::B(c) = d", vec!["c"]),
            (" &[a, _, b] = c", vec!["a", "b"]),
            (" a;", vec!["a"]),
        ] {
            assert_eq!(bound_names(pattern), names, "{pattern}");
        }
        let code = "let found = at; if let Some((at, b)) = found {}\nlet x = 1;";
        assert_eq!(figures(code).let_names, 4);
        assert_eq!(count(code, Habit::WeakName), 2);
    }

    #[test]
    fn habits_are_counted() {
        let closures = "let f = |a| a; let mut g = move || {}; let h = x.map(|y| y);";
        assert_eq!(count(closures, Habit::LocalClosure), 2);
        let arms = "match a { true => 1, false if b => 2, _ => 3 } match c { (true, d) => true }";
        assert_eq!(count(arms, Habit::BooleanArm), 2);
        assert_eq!(count("Some(true) => 1, x if true => 2, f(a, false)", Habit::BooleanArm), 0);
        assert_eq!(count("match () { () if a => 1, () => 2 }", Habit::EmptyMatch), 1);
        assert_eq!(count("fn of(a: A) {} fn of<T>() {} fn of_it() {}", Habit::Of), 2);
        let code = "assert!(a); assert_eq!(b, c); debug_assert!(d); assert_ne!(e, f);";
        assert_eq!(figures(code).assertions, 3);
    }

    #[test]
    fn types_are_listed_with_their_visibility() {
        let code = "pub struct A;\n    enum B {}\npub(crate) trait C {}\npub unsafe trait D {}";
        let types = figures(code).types;
        let types: Vec<_> = types.iter().map(|t| (t.name.as_str(), t.is_public)).collect();
        assert_eq!(types, [("A", true), ("B", false), ("C", false), ("D", true)]);
    }
}
