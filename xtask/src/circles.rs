//! Import cycles between the files of a crate: files that import each other, directly or
//! indirectly. Such files can only be read together and are in effect one file.
//!
//! A parent and its child may import each other. An import counts for the file named by its path;
//! an item that a parent re-exports counts for the parent. Tests do not count: they may import
//! anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::source::code_of;

/// A module, as its path of names from the crate root.
type Module = Vec<String>;

/// One line per cycle among the files of one crate, given by their paths below its `src`.
pub fn findings(src: &str, files: &[(PathBuf, String)]) -> Vec<String> {
    let modules: BTreeMap<Module, &Path> =
        files.iter().map(|(path, _)| (module(path), path.as_path())).collect();
    let imports: BTreeMap<&Module, BTreeSet<&Module>> = files
        .iter()
        .filter_map(|(path, text)| modules.get_key_value(&module(path)).map(|(own, _)| (own, text)))
        .map(|(own, text)| (own, imports(own, text, &modules)))
        .collect();
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for &start in imports.keys() {
        let there = reachable(start, &imports);
        let circle: Vec<_> =
            there.iter().filter(|other| reachable(other, &imports).contains(start)).collect();
        if circle.len() > 1 && seen.insert(circle.clone().into_iter().cloned().collect::<Vec<_>>())
        {
            let names: Vec<_> = circle.iter().map(|m| modules[**m].display().to_string()).collect();
            findings.push(format!("{src}: an import cycle: {}", names.join(", ")));
        }
    }
    findings
}

/// Converts a path: `a/b.rs` and `a/b/mod.rs` are the module `a::b`.
fn module(path: &Path) -> Module {
    let mut names: Module =
        path.with_extension("").iter().map(|n| n.to_string_lossy().into_owned()).collect();
    let last = names.last().map_or("", String::as_str);
    if last == "mod" || (names.len() == 1 && ["lib", "main"].contains(&last)) {
        names.pop();
    }
    names
}

/// All modules reachable from a module along imports.
fn reachable<'a>(
    start: &Module,
    imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = vec![start];
    while let Some(module) = next.pop() {
        for &other in imports.get(module).into_iter().flatten() {
            if reached.insert(other) {
                next.push(other);
            }
        }
    }
    reached
}

/// The modules imported by a file, except those above and below it.
fn imports<'a>(
    own: &Module,
    text: &str,
    modules: &'a BTreeMap<Module, &Path>,
) -> BTreeSet<&'a Module> {
    let named = paths(&code(text)).into_iter().filter_map(|path| {
        let full = absolute(own, &path)?;
        (0..=full.len()).rev().find_map(|n| modules.get_key_value(&full[..n]).map(|(m, _)| m))
    });
    named.filter(|other| !other.starts_with(own) && !own.starts_with(other)).collect()
}

/// The text without its tests, comments and strings.
fn code(text: &str) -> String {
    let tests = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..tests].lines().map(code_of).collect::<Vec<_>>().join("\n")
}

/// Converts a path that begins with `crate`, `self` or `super` to one from the crate root.
fn absolute(own: &Module, path: &[String]) -> Option<Module> {
    let mut full: Module = match path.first()?.as_str() {
        "crate" => Vec::new(),
        _ => own.clone(),
    };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => drop(full.pop()?),
            _ => full.push(name.clone()),
        }
    }
    Some(full)
}

/// All paths in a text that begin with `crate::`, `self::` or `super::`, with braces expanded.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                expand(&mut code[at..].chars().peekable(), &[], &mut found);
            }
        }
    }
    found
}

/// Reads one path, which may end in braces with several; adds each, prefixed with the names so far.
fn expand(
    text: &mut std::iter::Peekable<std::str::Chars<'_>>,
    before: &[String],
    found: &mut Vec<Vec<String>>,
) {
    let mut path = before.to_vec();
    loop {
        while text.next_if(|c| c.is_whitespace()).is_some() {}
        if text.next_if_eq(&'{').is_some() {
            loop {
                expand(text, &path, found);
                while text.next_if(|c| !",}".contains(*c)).is_some() {}
                if text.next() != Some(',') {
                    return;
                }
            }
        }
        let mut name = String::new();
        while let Some(c) = text.next_if(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
        }
        path.extend((!name.is_empty()).then_some(name));
        if text.next_if_eq(&':').is_none() || text.next_if_eq(&':').is_none() {
            found.push(path);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (PathBuf::from(path), text.to_string())).collect();
        findings("crates/x/src", &files)
    }

    #[test]
    fn files_that_import_each_other_are_a_cycle() {
        let two =
            [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use super::a;")];
        assert_eq!(circles(&two), ["crates/x/src: an import cycle: a.rs, b.rs"]);
        let three = [
            ("a.rs", "use crate::{\n    b::{B, C as D},\n    e,\n};"),
            ("b.rs", "fn f() { crate::c::g() }"),
            ("c/mod.rs", "mod d;"),
            ("c/d.rs", "use super::super::a::A;"),
            ("e.rs", ""),
        ];
        assert_eq!(circles(&three), Vec::<String>::new(), "not c but its child imports a");
        let around =
            [("a.rs", "use crate::b;"), ("b.rs", "use crate::c::d;"), ("c/d.rs", "use crate::a;")];
        assert_eq!(circles(&around), ["crates/x/src: an import cycle: a.rs, b.rs, c/d.rs"]);
    }

    #[test]
    fn parents_children_tests_and_texts_are_not_cycles() {
        for files in [
            [("a/mod.rs", "mod b; use b::B; use self::b::C;"), ("a/b.rs", "use super::A;")],
            [("lib.rs", "mod a; pub use a::A;"), ("a.rs", "use crate::B;")],
            [("a.rs", "use crate::b;"), ("b.rs", "//! see crate::a\nlet x = \"crate::a\";")],
            [("a.rs", "use crate::b;"), ("b.rs", "\n#[cfg(test)]\nmod tests {\nuse crate::a;")],
            [("a.rs", "use crate::b;"), ("b.rs", "use ::othercrate::a; use mycrate::a;")],
        ] {
            assert_eq!(circles(&files), Vec::<String>::new(), "{files:?}");
        }
    }
}
